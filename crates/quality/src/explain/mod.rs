//! Explanation of a failure: matches of the rules in the text, and the decision tree of the specification of
//! the repetition filter.

mod places;
mod verdict;

use crate::{Assessment, Checker, repetition};
use std::{collections::HashMap, ops::Range};
pub use verdict::{Cause, Verdict};

/// Words that are listed.
const WORDS: usize = 8;

/// Maximum positions per word or rule.
const PLACES: usize = 5;

/// Explanation of an assessment.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Broken rules, in the order of the assessment.
    pub findings: Vec<Finding>,
    /// The most frequent words, including stop words.
    pub words: Vec<RepeatedWord>,
    /// Lines of boilerplate, with the matching phrase.
    pub boilerplate: Vec<(Range<usize>, String)>,
    /// Cause of the ratios; none if they keep to their thresholds.
    pub verdict: Option<Verdict>,
}

/// A broken rule, and its positions in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Position among the rules of the checker.
    pub rule: usize,
    /// Positions in the text, the first of each wording.
    pub places: Vec<Occurrence>,
    /// Places of further wordings.
    pub more: usize,
}

/// Words of a text that break a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Bytes of the text.
    pub bytes: Range<usize>,
    /// Places with the same words.
    pub times: usize,
    /// Reason, if the rule alone does not explain it.
    pub note: Option<&'static str>,
}

/// A frequent word.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedWord {
    /// First form in the text.
    pub word: String,
    /// Times, however it is written.
    pub count: usize,
    /// True if the word ratio leaves it out.
    pub stop_word: bool,
    /// Share of the content words; of all words for a stop word.
    pub share: f64,
    /// True if at most two fifths of its occurrences stand between known neighbours among content words.
    pub term: bool,
    /// The first places (bytes).
    pub places: Vec<Range<usize>>,
}

impl Checker {
    /// Explains an assessment of this text, with positions in it. It costs as much as some assessments.
    #[must_use]
    pub fn explain(&self, text: &str, assessment: &Assessment) -> Explanation {
        let spans: Vec<(usize, &str)> = crate::words(text).collect();
        let words: Vec<&str> = spans.iter().map(|(_, word)| *word).collect();
        let findings = assessment.failed.iter().map(|rule| self.finding(*rule, text, &spans)).collect();
        let boilerplate = places::split(text, '\n')
            .filter_map(|(bytes, line)| {
                Some((bytes, self.line_rules.boilerplate.phrase_of(line)?.to_owned()))
            })
            .collect();
        Explanation {
            findings,
            words: self.repeated_words(&spans, &words, assessment),
            boilerplate,
            verdict: self.verdict(text, assessment),
        }
    }

    fn finding(&self, rule: usize, text: &str, words: &[(usize, &str)]) -> Finding {
        let name = self.rules().get(rule).map_or("", |rule| rule.name.as_str());
        let (mut places, mut more): (Vec<Occurrence>, _) = (Vec::new(), 0);
        // position of each wording among the reported ones; none for one beyond the maximum
        let mut known: HashMap<&str, Option<usize>> = HashMap::new();
        for place in self.places(name, text, words) {
            let fits = places.len() < PLACES;
            let at = known.entry(text.get(place.bytes.clone()).unwrap_or_default());
            match *at.or_insert(fits.then_some(places.len())) {
                Some(at) => match places.get_mut(at) {
                    Some(known) => known.times += 1,
                    None => places.push(place),
                },
                None => more += 1,
            }
        }
        Finding { rule, places, more }
    }

    fn repeated_words(
        &self,
        spans: &[(usize, &str)],
        words: &[&str],
        assessment: &Assessment,
    ) -> Vec<RepeatedWord> {
        let list = self.line_rules.stop_words.of(&assessment.language);
        let apart = repetition::countable_words(words, list, self.seed);
        let counts = repetition::counts(&apart);
        let content = apart.iter().filter(|word| word.content).count();
        let lettered = apart.iter().filter(|word| word.letter).count();
        let repeated = |(hash, count): (u64, usize)| {
            let mut of = apart.iter().filter(|word| word.hash == hash).peekable();
            let stop_word = !of.peek()?.content;
            let place = |word: &repetition::Word| {
                let (at, word) = spans.get(word.at)?;
                Some(*at..at + word.len())
            };
            let places: Vec<_> = of.filter_map(place).take(PLACES).collect();
            let first = places.first()?.start;
            let word = spans.iter().find(|(at, _)| *at == first).map(|(_, word)| (*word).to_owned())?;
            let share = crate::text::ratio(count, if stop_word { lettered } else { content });
            let term = repetition::is_term(&apart, hash);
            Some(RepeatedWord { word, count, stop_word, share, term, places })
        };
        counts.into_iter().filter(|(_, count)| *count > 1).take(WORDS).filter_map(repeated).collect()
    }
}
