//! Explanation of a document in words: its repetition, the cause and the remedy.

use super::{
    Judged, TextSource,
    context::{around, flat, part, sample},
};
use crawl_corpus::Page;
use crawl_model::LanguageSource;
use crawl_quality::{
    Cause, Checker, Explanation, Finding, Limit, Reason, RepeatedWord, Rule, RuleSet, Verdict,
};
use std::{collections::BTreeMap, fmt::Write};

/// Documents that fail that are explained in detail; of the others a line says why.
const DETAILED: u64 = 3;

/// Places of a word, and lines of boilerplate, that are shown.
const SHOWN: usize = 3;

/// Explains the documents that fail, one after the other.
#[derive(Default)]
pub(super) struct Explainer {
    failed: u64,
    causes: BTreeMap<&'static str, u64>,
}

impl Explainer {
    /// The next one that fails: in detail, or in a line.
    pub fn failed(&mut self, checker: &Checker, judged: &Judged) -> String {
        self.failed += 1;
        let explanation = checker.explain(&judged.document.text, &judged.assessment);
        let cause = explanation.verdict.as_ref().map_or("published rules", |verdict| name(verdict.cause));
        *self.causes.entry(cause).or_default() += 1;
        if self.failed <= DETAILED {
            return text(checker, judged, &explanation) + "\n";
        }
        let rules = judged.assessment.failed.iter().filter_map(|at| checker.rules().get(*at));
        let rules: Vec<&str> = rules.map(|rule| rule.name.as_str()).collect();
        format!("{}: {cause}; {}\n", title(&judged.document), rules.join(", "))
    }

    /// Returns the number of failed documents, by cause.
    /// `sets` names the sets that documents are judged by.
    pub fn summary(&self, sets: &str) -> String {
        let causes: Vec<String> =
            self.causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        match self.failed {
            0 => format!("no document fails {sets}; --drop=SET -o FILE judges by another set\n"),
            failed => {
                format!("\n{failed} documents fail; causes of the repetition: {}\n", causes.join(", "))
            }
        }
    }
}

/// One document in detail.
pub(super) fn detail(checker: &Checker, judged: &Judged) -> String {
    text(checker, judged, &checker.explain(&judged.document.text, &judged.assessment))
}

fn text(checker: &Checker, judged: &Judged, explanation: &Explanation) -> String {
    let mut out = String::new();
    // writing to a string cannot fail
    let _ = write(checker, judged, explanation, &mut out);
    out
}

fn write(
    checker: &Checker,
    judged: &Judged,
    explanation: &Explanation,
    out: &mut String,
) -> std::fmt::Result {
    let Judged { document, assessment, .. } = judged;
    let shown = &document.text;
    writeln!(out, "{}", title(document))?;
    let asked = checker.settings().sets.contains(&RuleSet::Text);
    if asked {
        writeln!(
            out,
            "  language {} ({}), {} words, {} of them no stop words",
            assessment.language,
            language_source(assessment.language_source),
            assessment.words,
            assessment.content_words
        )?;
        ratios(checker, judged, out)?;
    }
    writeln!(out, "  sample of the text, {} characters", shown.chars().count())?;
    sample(shown).iter().try_for_each(|line| writeln!(out, "      {line}"))?;
    if !explanation.words.is_empty() {
        writeln!(out, "  most frequent words")?;
        explanation.words.iter().try_for_each(|repeated| word(repeated, shown, out))?;
    }
    let mut family = String::new();
    for finding in &explanation.findings {
        let Some(rule) = checker.rules().get(finding.rule) else { continue };
        // n-grams of one kind are shown for the first n alone
        let kind = rule.name.replace(|c: char| c.is_ascii_digit(), "");
        let shown = kind != family;
        family = kind;
        broken(rule, judged, finding, shown, out)?;
    }
    if let Some(((_, phrase), count)) =
        explanation.boilerplate.first().zip(Some(explanation.boilerplate.len()))
    {
        writeln!(out, "  lines of boilerplate: {count}, the first by \"{phrase}\"")?;
        for (bytes, _) in explanation.boilerplate.iter().take(SHOWN) {
            writeln!(out, "      {}", part(shown, bytes))?;
        }
    }
    match &explanation.verdict {
        Some(verdict) => {
            writeln!(out, "  cause: {}", cause(verdict))?;
            writeln!(out, "  remedy: {}", remedy(checker, verdict, judged))
        }
        None if asked => writeln!(out, "  all ratios are within their thresholds"),
        None => Ok(()),
    }
}

fn language_source(source: LanguageSource) -> &'static str {
    match source {
        LanguageSource::Setting => "by the setting",
        LanguageSource::Declared => "declared",
        LanguageSource::Detected => "detected",
        LanguageSource::None => "neither declared nor detected",
    }
}

/// The three ratios with their thresholds.
fn ratios(checker: &Checker, judged: &Judged, out: &mut String) -> std::fmt::Result {
    let assessment = &judged.assessment;
    for (at, rule) in checker.rules().iter().enumerate().filter(|(_, rule)| rule.set == RuleSet::Text) {
        let Some(Some(value)) = assessment.values.get(at) else { continue };
        let more = match assessment.reason.filter(|_| at == 0) {
            Some(Reason::TooFewContentWords) => ", too_few_content_words".to_owned(),
            Some(Reason::Term) => {
                format!("; as a term at most {}", checker.settings().text.max_term_repetition_ratio)
            }
            None => String::new(),
        };
        let verdict = if assessment.failed.contains(&at) { "FAILS" } else { "kept" };
        let verdict = if assessment.short { "not judged" } else { verdict };
        writeln!(out, "  {} {value:.3}, {}{more}: {verdict}", rule.name, limit_text(rule.limit))?;
    }
    Ok(())
}

fn word(repeated: &RepeatedWord, text: &str, out: &mut String) -> std::fmt::Result {
    let RepeatedWord { word, count, stop_word, share, term, places } = repeated;
    let kind = match (stop_word, term) {
        (true, _) => "stop word, left out",
        (false, true) => "term: its neighbours differ",
        (false, false) => "the same neighbours again and again",
    };
    writeln!(out, "    {:<20} {count:>6} times {:>6.1} %  {kind}", flat(word), 100.0 * share)?;
    if !stop_word {
        for place in places.iter().take(SHOWN) {
            writeln!(out, "      {}", around(text, place))?;
        }
    }
    Ok(())
}

/// A rule that is broken, with its places unless they are `shown` already.
fn broken(
    rule: &Rule,
    judged: &Judged,
    finding: &Finding,
    shown: bool,
    out: &mut String,
) -> std::fmt::Result {
    let value = judged.assessment.values.get(finding.rule).copied().flatten().unwrap_or_default();
    let text = &judged.document.text;
    if rule.set != RuleSet::Text {
        writeln!(out, "  {} {}, {}: FAILS", rule.name, number(value), limit_text(rule.limit))?;
    } else if !finding.places.is_empty() {
        writeln!(out, "  {}", rule.name)?;
    }
    if !shown {
        return Ok(());
    }
    for place in &finding.places {
        let times = if place.times > 1 { format!(" ({} times)", place.times) } else { String::new() };
        let note = place.note.map_or_else(String::new, |note| format!(" ({note})"));
        writeln!(out, "      {}{times}{note}", part(text, &place.bytes))?;
    }
    match finding.more {
        0 => Ok(()),
        more => writeln!(out, "      and {more} more"),
    }
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::AtMost(most) => format!("at most {most}"),
        Limit::AtLeast(least) => format!("at least {least}"),
        Limit::None => "no limit".to_owned(),
    }
}

fn title(document: &Page) -> String {
    let Page { id, url, .. } = document;
    match (id.as_str(), url.as_str()) {
        (id, "") => flat(id),
        ("", url) => flat(url),
        (id, url) if id == url => flat(url),
        (id, url) => format!("{} ({})", flat(url), flat(id)),
    }
}

fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::ShortText => "short text",
        Cause::CommonWords => "common words",
        Cause::Boilerplate => "boilerplate",
        Cause::Terms => "terms of the field",
        Cause::Passages => "repeated passages",
        Cause::Characters => "runs of characters",
    }
}

fn cause(verdict: &Verdict) -> String {
    let Verdict { word_ratio, with_stop_words, without_boilerplate, .. } = verdict;
    let more = match verdict.cause {
        Cause::ShortText => "the text is short, and repetition says nothing of it".to_owned(),
        Cause::CommonWords => {
            format!(
                "stop words of the wrong language: the text looks like {}",
                verdict.written_in.as_deref().unwrap_or("und")
            )
        }
        Cause::Boilerplate => "without these lines the text keeps to the ratios".to_owned(),
        Cause::Terms => "the word stands in ever different company".to_owned(),
        Cause::Passages => "the same is said again and again".to_owned(),
        Cause::Characters => "rules, drawings or rubbish of one character".to_owned(),
    };
    format!(
        "{}: {more} (word ratio {word_ratio:.3}; {with_stop_words:.3} with stop words, {without_boilerplate:.3} without boilerplate)",
        name(verdict.cause)
    )
}

/// The remedies of the specification, by their numbers there.
fn remedy(checker: &Checker, verdict: &Verdict, judged: &Judged) -> String {
    let less = match judged.source {
        TextSource::Record => {
            "take less from its page (`crawl extract --favor precision`, `crawl dedup` for what its site repeats)"
        }
        TextSource::Page | TextSource::Fetched => "take less from the page (--favor precision, or --rules)",
    };
    // one page is explained, and nothing is written that it could be left out of
    let drop = match judged.source {
        TextSource::Fetched => "",
        TextSource::Record | TextSource::Page => "; -o FILE --drop leaves the document out",
    };
    match verdict.cause {
        Cause::ShortText => {
            "none is needed: short texts are not judged (text.min_words of quality.toml)".to_owned()
        }
        Cause::CommonWords => format!(
            "fix 2, exclude common words: give the language, --language {}",
            verdict.written_in.as_deref().unwrap_or("CODE")
        ),
        Cause::Boilerplate => {
            format!("fix 3, {less}; or fix 4, --remove-boilerplate (quality.remove_boilerplate)")
        }
        Cause::Terms => format!(
            "fix 1, raise the threshold: text.max_term_repetition_ratio is {}, this text needs {} (quality.toml in --rules DIR)",
            checker.settings().text.max_term_repetition_ratio,
            up(verdict.word_ratio),
        ),
        Cause::Passages => {
            format!("none: the filter exists to find this repetition{drop}")
        }
        Cause::Characters => format!(
            "if the text is worth it, raise text.max_char_repetition_ratio ({}) in quality.toml of --rules DIR{drop}",
            checker.settings().text.max_char_repetition_ratio
        ),
    }
}

/// The next twentieth above.
fn up(ratio: f64) -> f64 {
    ((ratio * 20.0).ceil() / 20.0 * 100.0).round() / 100.0
}
