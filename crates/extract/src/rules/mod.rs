//! The rules: what is data, read from TOML, checked as a whole and compiled once.

mod files;
mod lists;
mod selector;
mod tokens;

pub(crate) use files::{Boilerplate, Consent, Extraction as ExtractionRules, Frameworks, Platforms, Score};
pub use lists::ListReport;
pub(crate) use lists::{FilterLists, OnHost};
pub(crate) use selector::SelectorSet;
pub(crate) use tokens::{Roles, TokenTable};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// Everything that is wrong with the rules, all at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problems.join("\n"))]
pub struct RulesError {
    /// One line for each problem, with the file's name.
    pub problems: Vec<String>,
}

/// What a selector of the rules stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A consent banner, by the rule of that index (see [`Consent::rule`]).
    Consent(u16),
    /// The framework of that index.
    Framework(u16),
    /// A root that scripts fill.
    JsRoot,
    /// Something that meters content.
    Paywall,
    /// The priority selector of that rank.
    Priority(u16),
    /// The content container of that rank.
    Container(u16),
    /// A part of what the platform of that index writes.
    Platform(Part, u16),
}

/// A part of a page that a platform names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A sign that documentation is by this generator.
    DocSign,
    /// Text of documentation.
    DocContent,
    /// Left out of it.
    DocDrop,
    /// A post of a forum.
    Post,
    /// Its text.
    PostBody,
    /// Who wrote it.
    PostAuthor,
    /// When.
    PostDate,
    /// Left out of its text.
    PostDrop,
}

/// The compiled rules. Immutable; built once a process.
#[derive(Debug)]
pub struct Rules {
    pub(crate) extraction: ExtractionRules,
    pub(crate) score: Score,
    pub(crate) frameworks: Frameworks,
    pub(crate) consent: Consent,
    pub(crate) boilerplate: Boilerplate,
    pub(crate) dates: crate::metadata::DateRules,
    pub(crate) platforms: Platforms,
    pub(crate) selectors: SelectorSet<Hit>,
    pub(crate) tokens: TokenTable,
    /// Phrases of the consent sweep.
    pub(crate) sweep: AhoCorasick,
    pub(crate) javascript: AhoCorasick,
    pub(crate) cookie_wall: AhoCorasick,
    pub(crate) paywall: AhoCorasick,
    /// Filter lists of the user.
    pub(crate) lists: Option<FilterLists>,
}

impl Rules {
    /// The rules that are built in.
    ///
    /// # Errors
    /// When a built-in file is broken, which a test excludes.
    pub fn embedded() -> Result<Self, RulesError> {
        Self::load(None)
    }

    /// The built-in rules, with the files of a directory in their place where it has files of the same name
    /// (`consent.toml`, `boilerplate.toml`, `frameworks.toml`, `score.toml`, `extraction.toml`, `dates.toml`,
    /// `platforms.toml`).
    ///
    /// # Errors
    /// Names every problem of every file.
    pub fn load(overlay: Option<&Path>) -> Result<Self, RulesError> {
        let mut problems = Vec::new();
        let files = files::Files::load(overlay, &mut problems);
        let rules = files.and_then(|files| Self::compile(files, &mut problems));
        match rules {
            Some(rules) if problems.is_empty() => Ok(rules),
            _ => Err(RulesError { problems }),
        }
    }

    fn compile(files: files::Files, problems: &mut Vec<String>) -> Option<Self> {
        let mut selectors = SelectorSet::default();
        let mut add = |file: &str, list: &[String], hit: &dyn Fn(u16) -> Hit| {
            for (rank, text) in list.iter().enumerate() {
                if let Err(problem) = selectors.add(text, hit(rank as u16)) {
                    problems.push(format!("{file}: {problem}"));
                }
            }
        };
        let mut consent = 0;
        for list in files.consent.lists() {
            add("consent.toml", list, &|rank| Hit::Consent(consent + rank));
            consent += list.len() as u16;
        }
        for (index, framework) in files.frameworks.framework.iter().enumerate() {
            add("frameworks.toml", &framework.selectors, &|_| Hit::Framework(index as u16));
        }
        add("frameworks.toml", &files.frameworks.js_roots.selectors, &|_| Hit::JsRoot);
        add("frameworks.toml", &files.frameworks.paywall.selectors, &|_| Hit::Paywall);
        add("extraction.toml", &files.extraction.priority_selectors, &Hit::Priority);
        add("extraction.toml", &files.extraction.containers, &Hit::Container);
        for (index, platform) in (0u16..).zip(&files.platforms.documentation) {
            add("platforms.toml", &platform.sign, &|_| Hit::Platform(Part::DocSign, index));
            add("platforms.toml", &platform.content, &|_| Hit::Platform(Part::DocContent, index));
            add("platforms.toml", &platform.drop, &|_| Hit::Platform(Part::DocDrop, index));
        }
        for (index, platform) in (0u16..).zip(&files.platforms.forum) {
            add("platforms.toml", &platform.post, &|_| Hit::Platform(Part::Post, index));
            add("platforms.toml", &platform.body, &|_| Hit::Platform(Part::PostBody, index));
            add("platforms.toml", &platform.author, &|_| Hit::Platform(Part::PostAuthor, index));
            add("platforms.toml", &platform.date, &|_| Hit::Platform(Part::PostDate, index));
            add("platforms.toml", &platform.drop, &|_| Hit::Platform(Part::PostDrop, index));
        }
        let mut tokens = files.boilerplate.token_table();
        for token in &files.consent.sweep.tokens {
            tokens.add(token, Roles::CONSENT);
        }
        let sweep = phrases("consent.toml", &files.consent.sweep.phrases, problems)?;
        let javascript = phrases("frameworks.toml", &files.frameworks.javascript.phrases, problems)?;
        let cookie_wall = phrases("frameworks.toml", &files.frameworks.cookie_wall.phrases, problems)?;
        let paywall = phrases("frameworks.toml", &files.frameworks.paywall.phrases, problems)?;
        let dates = crate::metadata::DateRules::compile(files.dates, problems);
        Some(Self {
            extraction: files.extraction,
            score: files.score,
            frameworks: files.frameworks,
            consent: files.consent,
            boilerplate: files.boilerplate,
            dates,
            platforms: files.platforms,
            selectors,
            tokens,
            sweep,
            javascript,
            cookie_wall,
            paywall,
            lists: None,
        })
    }

    /// The rules with filter lists in EasyList syntax beside them: what their element hiding rules match is removed
    /// as a consent banner. Faulty lines are left out and told by [`Rules::list_report`].
    ///
    /// # Errors
    /// Names every file that cannot be read.
    pub fn with_consent_lists(mut self, paths: &[PathBuf]) -> Result<Self, RulesError> {
        let mut problems = Vec::new();
        if !paths.is_empty() {
            self.lists = Some(FilterLists::load(paths, &mut problems));
        }
        if problems.is_empty() { Ok(self) } else { Err(RulesError { problems }) }
    }

    /// What the lines of the filter lists are, if there are lists.
    #[must_use]
    pub fn list_report(&self) -> Option<&ListReport> {
        self.lists.as_ref().map(FilterLists::report)
    }
}

/// An automaton over phrases; they are searched in text that is lower case already.
fn phrases(file: &str, list: &[String], problems: &mut Vec<String>) -> Option<AhoCorasick> {
    for phrase in list {
        if phrase.is_empty() || phrase.to_lowercase() != *phrase {
            let mut problem = String::new();
            let _ = write!(problem, "{file}: the phrase \"{phrase}\" has to be lower case and not empty");
            problems.push(problem);
        }
    }
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostFirst)
        .build(list)
        .map_err(|error| problems.push(format!("{file}: {error}")))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_rules_are_whole() {
        let rules = Rules::embedded().unwrap();
        assert!(rules.consent.manager.len() >= 30, "thirty named consent managers");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let dir = std::env::temp_dir().join(format!("crawl-rules-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("score.toml"), "threshold = \"x\"").unwrap();
        std::fs::write(dir.join("dates.toml"), "unknown = 1").unwrap();
        let error = Rules::load(Some(&dir)).unwrap_err();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(error.problems.len(), 2, "{error}");
        assert!(
            error.problems[0].contains("score.toml") && error.problems[1].contains("dates.toml"),
            "{error}"
        );
    }
}
