//! Positions in a text at which a rule is broken.

use super::Occurrence;
use crate::{
    Checker,
    c4::{self, LineVerdict},
    grams::Grams,
    repetition,
    text::{has_letter, is_space},
};
use std::{collections::HashSet, ops::Range};

/// Parts of a text between marks, with their byte ranges.
pub(super) fn split(text: &str, mark: char) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = 0;
    text.split(mark).map(move |part| {
        let bytes = at..at + part.len();
        at = bytes.end + mark.len_utf8();
        (bytes, part)
    })
}

fn plain(bytes: Range<usize>) -> Occurrence {
    Occurrence { bytes, times: 1, note: None }
}

/// Byte range of a part of a text.
fn bytes_of(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

impl Checker {
    /// Positions that concern a rule, by its name; none for rules about the whole text.
    pub(super) fn places(&self, rule: &str, text: &str, words: &[(usize, &str)]) -> Vec<Occurrence> {
        let (set, name) = rule.split_once('.').unwrap_or((rule, ""));
        match set {
            "text" => self.repeated_places(name, text, words),
            "gopher_repetition" => self.duplicate_places(name, text, words),
            "gopher_quality" => self.gopher_places(name, text, words),
            "c4" => self.c4_places(name, text),
            _ => self.fineweb_places(name, text),
        }
    }

    fn repeated_places(&self, name: &str, text: &str, words: &[(usize, &str)]) -> Vec<Occurrence> {
        match name {
            "char_repetition_ratio" => runs(text, self.settings.text.char_run),
            "ngram_repetition" => {
                let slices: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
                let apart = repetition::countable_words(&slices, None, self.seed);
                let found = repetition::stretches(&apart, self.settings.text.ngram_words, self.seed);
                let tokens = |stretch: Range<usize>| {
                    let stretch = apart.get(stretch)?;
                    stretch_of(words, stretch.first()?.at..stretch.last()?.at + 1)
                };
                found.into_iter().filter_map(tokens).collect()
            }
            // the words themselves are listed
            _ => Vec::new(),
        }
    }

    fn duplicate_places(&self, name: &str, text: &str, words: &[(usize, &str)]) -> Vec<Occurrence> {
        let number = || name.split('_').find_map(|part| part.parse::<usize>().ok()).unwrap_or(1);
        match name {
            "dup_line_frac" | "dup_line_char_frac" => again(crate::text::split_at_feeds(text, 1), text),
            "dup_para_frac" | "dup_para_char_frac" => {
                again(crate::text::split_at_feeds(text.trim_matches(is_space), 2), text)
            }
            _ if name.starts_with("top_") => {
                let (grams, n) = (self.grams_of(words), number());
                let Some(top) = grams.top(n) else { return Vec::new() };
                let wanted = words.get(top.words).unwrap_or_default();
                let is_wanted = |window: &&[(usize, &str)]| {
                    window.iter().map(|(_, word)| word).eq(wanted.iter().map(|(_, word)| word))
                };
                let windows = words.windows(n.max(1));
                let found = windows.enumerate().filter(|(_, window)| is_wanted(window));
                found.filter_map(|(at, _)| stretch_of(words, at..at + n)).collect()
            }
            _ => {
                let n = number();
                let found = self.grams_of(words).duplicates(n);
                found.into_iter().filter_map(|at| stretch_of(words, at..at + n)).collect()
            }
        }
    }

    fn gopher_places(&self, name: &str, text: &str, words: &[(usize, &str)]) -> Vec<Occurrence> {
        let rules = &self.line_rules.gopher;
        let found = |what: &str| -> Vec<Occurrence> {
            text.match_indices(what).map(|(at, found)| plain(at..at + found.len())).collect()
        };
        let those = |wanted: &dyn Fn(&str) -> bool| -> Vec<Occurrence> {
            let lines = crate::lines(text).filter(|line| wanted(line));
            lines.map(|line| plain(bytes_of(text, line))).collect()
        };
        match name {
            "too_many_hashes" => found(&rules.hash),
            "too_many_ellipsis" => rules.ellipses.iter().flat_map(|ellipsis| found(ellipsis)).collect(),
            "too_many_bullets" => {
                those(&|line| rules.bullets.iter().any(|b| line.trim_start().starts_with(b.as_str())))
            }
            "too_many_end_ellipsis" => {
                those(&|line| rules.ellipses.iter().any(|e| line.trim_end().ends_with(e.as_str())))
            }
            "below_alpha_threshold" => {
                let without = words.iter().filter(|(_, word)| !has_letter(word));
                without.map(|(at, word)| plain(*at..at + word.len())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn c4_places(&self, name: &str, text: &str) -> Vec<Occurrence> {
        let fates = crate::lines(text)
            .filter(|line| !line.trim().is_empty())
            .map(|line| (line, c4::line_verdict(line, &self.line_rules.c4, &self.settings.c4).0));
        let note = |verdict: LineVerdict| match (name, verdict) {
            ("lorem_ipsum", LineVerdict::LoremIpsum) | ("curly_bracket", LineVerdict::CurlyBracket) => {
                Some(None)
            }
            ("too_few_sentences", LineVerdict::TooLongWord) => Some(Some("a word too long")),
            ("too_few_sentences", LineVerdict::NoTerminalPunctuation) => {
                Some(Some("no terminal punctuation"))
            }
            ("too_few_sentences", LineVerdict::TooFewWords) => Some(Some("too few words")),
            ("too_few_sentences", LineVerdict::Javascript) => Some(Some("javascript")),
            ("too_few_sentences", LineVerdict::Policy) => Some(Some("policy")),
            _ => None,
        };
        fates
            .filter_map(|(line, verdict)| {
                Some(Occurrence { bytes: bytes_of(text, line), times: 1, note: note(verdict)? })
            })
            .collect()
    }

    fn fineweb_places(&self, name: &str, text: &str) -> Vec<Occurrence> {
        let lines = || text.split('\n').filter(|line| !line.trim().is_empty());
        let ended = |line: &str| line.chars().next_back().is_some_and(|c| self.line_rules.ends_sentence(c));
        let short = |line: &str| line.chars().nth(self.settings.fineweb.short_line_length).is_none();
        match name {
            "line_punct_ratio" => {
                lines().filter(|line| !ended(line)).map(|line| plain(bytes_of(text, line))).collect()
            }
            "short_line_ratio" => {
                lines().filter(|line| short(line)).map(|line| plain(bytes_of(text, line))).collect()
            }
            "char_dup_ratio" => again(lines(), text),
            _ => Vec::new(),
        }
    }

    fn grams_of(&self, words: &[(usize, &str)]) -> Grams {
        let words: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
        Grams::of(&words, self.seed)
    }
}

/// A range of words, from the first to the last.
fn stretch_of(words: &[(usize, &str)], stretch: Range<usize>) -> Option<Occurrence> {
    let stretch = words.get(stretch)?;
    let ((start, _), (last, word)) = (stretch.first()?, stretch.last()?);
    Some(plain(*start..last + word.len()))
}

/// Parts that stood before.
fn again<'t>(parts: impl Iterator<Item = &'t str>, text: &str) -> Vec<Occurrence> {
    let mut seen = HashSet::new();
    parts.filter(|part| !seen.insert(*part)).map(|part| plain(bytes_of(text, part))).collect()
}

/// Runs of one character.
fn runs(text: &str, least: usize) -> Vec<Occurrence> {
    let mut places: Vec<Occurrence> = Vec::new();
    let mut run: Option<(char, usize, Range<usize>)> = None;
    let mut end = |run: &Option<(char, usize, Range<usize>)>| {
        if let Some((c, count, bytes)) = run
            && *count >= least
            && !is_space(*c)
        {
            places.push(plain(bytes.clone()));
        }
    };
    for (at, c) in text.char_indices() {
        match &mut run {
            Some((last, count, bytes)) if *last == c => {
                *count += 1;
                bytes.end = at + c.len_utf8();
            }
            _ => {
                end(&run);
                run = Some((c, 1, at..at + c.len_utf8()));
            }
        }
    }
    end(&run);
    places
}
