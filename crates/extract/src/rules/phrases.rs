//! Phrases that are searched for in the text of a page.

use super::{files::Frameworks, source::Source};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Phrases of `frameworks.toml`, by meaning.
#[derive(Debug)]
pub(crate) struct SignalPhrases {
    /// The page asks for scripts.
    pub(crate) javascript: AhoCorasick,
    /// The content is loading.
    pub(crate) loading: AhoCorasick,
    /// The page asks for consent.
    pub(crate) consent: AhoCorasick,
    /// The page requires consent.
    pub(crate) demands: AhoCorasick,
    /// The text ends for readers who do not pay.
    pub(crate) paywall: AhoCorasick,
    /// The site has paying readers.
    pub(crate) paid: AhoCorasick,
}

impl SignalPhrases {
    pub(super) fn compile(rules: &Frameworks, source: &Source, problems: &mut Vec<String>) -> Option<Self> {
        let mut of = |key, list: &[String]| phrases(source, key, list, problems);
        Some(Self {
            javascript: of(["javascript", "phrases"], &rules.javascript.phrases)?,
            loading: of(["empty_roots", "phrases"], &rules.empty_roots.phrases)?,
            consent: of(["cookie_wall", "phrases"], &rules.cookie_wall.phrases)?,
            demands: of(["cookie_wall", "demands"], &rules.cookie_wall.demands)?,
            paywall: of(["paywall", "phrases"], &rules.paywall.phrases)?,
            paid: of(["paywall", "hints"], &rules.paywall.hints)?,
        })
    }
}

/// Automaton over the phrases of a section, for text in lower case.
pub(super) fn phrases(
    source: &Source,
    key: [&str; 2],
    list: &[String],
    problems: &mut Vec<String>,
) -> Option<AhoCorasick> {
    let at = |rank: usize| source.at(&[key[0].into(), key[1].into(), rank.into()]);
    for (rank, phrase) in list.iter().enumerate() {
        if phrase.is_empty() || phrase.to_lowercase() != *phrase {
            problems
                .push(format!("{}: the phrase \"{phrase}\" has to be lower case and not empty", at(rank)));
        }
    }
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostFirst)
        .build(list)
        .map_err(|error| problems.push(format!("{}: {error}", at(0))))
        .ok()
}
