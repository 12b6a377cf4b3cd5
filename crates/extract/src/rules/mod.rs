//! Rules as data, read from TOML, checked as a whole and compiled once.

mod author_words;
mod dates;
mod files;
mod lists;
mod phrases;
mod prefixes;
mod roles;
mod selector;
mod sites;
mod source;
mod starts;
mod tokens;

pub(crate) use author_words::is_label;
pub(crate) use dates::{DateRules, Order};
pub(crate) use files::{
    Boilerplate, Consent, Extraction as ExtractionRules, Frameworks, LastPass, Markdown as MarkdownRules,
    Platforms, Prune as PruneRules, Score,
};
pub use lists::ListReport;
pub(crate) use lists::{FilterLists, HostFilters};
pub(crate) use phrases::SignalPhrases;
pub(crate) use prefixes::{Prefixes, behind};
pub(crate) use roles::Roles;
pub(crate) use selector::{Pass, SelectorSet};
pub(crate) use sites::Sites;
pub(crate) use tokens::{KnownNames, TokenTable};

use aho_corasick::AhoCorasick;
use files::{Files, Loaded};
use phrases::phrases;
use source::{Source, Step};
use std::path::{Path, PathBuf};

/// All problems of the rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.problems.join("\n"))]
#[non_exhaustive]
pub struct RulesError {
    /// One line per problem: file, line, key and problem.
    pub problems: Vec<String>,
}

/// Signs of consent banners: `consent.toml`, and `cookie_wall` of `frameworks.toml`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConsentBanners<'a> {
    /// CSS selectors of banners: the managers' by name, then the generic ones.
    pub selectors: Vec<&'a str>,
    /// Words of a banner's class or id.
    pub tokens: &'a [String],
    /// Lower-case phrases, one of which the text of such an element must contain.
    pub phrases: &'a [String],
    /// Maximum words of a banner.
    pub max_words: u32,
    /// Maximum share of the page's words in a banner.
    pub max_share: f32,
    /// CSS selectors of overlays with a button, to which that share does not apply: an overlay may be the
    /// only text of the page.
    pub overlays: &'a [String],
    /// Maximum words of a banner that is such an overlay.
    pub max_overlay_words: u32,
}

/// Meaning of a selector of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A consent banner, by the index of its rule (see [`Consent::rule`]).
    Consent(u16),
    /// The framework of that index.
    Framework(u16),
    /// A root that scripts fill.
    JsRoot,
    /// A container for content, which may be empty.
    EmptyRoot,
    /// An overlay.
    Overlay,
    /// Something that meters content.
    Paywall,
    /// The priority selector of that rank.
    Priority(u16),
    /// The anchor of that rank.
    Anchor(u16),
    /// The content container of that rank.
    Container(u16),
    /// A part of the output of a platform, by index.
    Platform(Part, u16),
}

/// A part of a page that a platform names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A sign of a documentation generator.
    DocSign,
    /// Text of documentation.
    DocContent,
    /// Heading of a page of documentation, if it is no h1.
    DocTitle,
    /// Left out of it.
    DocDrop,
    /// A post of a forum.
    Post,
    /// Its text, by the rank of the selector: the first selector with a match gives the text.
    PostBody(u8),
    /// Author of the post.
    PostAuthor,
    /// Date of the post.
    PostDate,
    /// Left out of its text.
    PostDrop,
    /// Content of a template of a site.
    SiteContent,
    /// Left out of it.
    SiteDrop,
    /// The title of such a page.
    SiteTitle,
    /// Content by the selector of [`Rules::with_selected`].
    Selected,
}

/// Compiled rules. Immutable; built once per process.
#[derive(Debug)]
pub struct Rules {
    pub(crate) extraction: ExtractionRules,
    pub(crate) score: Score,
    pub(crate) frameworks: Frameworks,
    pub(crate) consent: Consent,
    pub(crate) boilerplate: Boilerplate,
    pub(crate) dates: DateRules,
    pub(crate) platforms: Platforms,
    pub(crate) sites: Sites,
    pub(crate) selectors: SelectorSet<Hit>,
    pub(crate) tokens: TokenTable,
    /// Phrases of the consent sweep.
    pub(crate) sweep: AhoCorasick,
    pub(crate) phrases: SignalPhrases,
    /// Filter lists of the user.
    pub(crate) lists: Option<FilterLists>,
    /// The selector that chooses the content of every page.
    pub(crate) selected: Option<String>,
}

impl Rules {
    /// Built-in rules.
    ///
    /// # Errors
    /// When a built-in file is invalid, which a test excludes.
    pub fn embedded() -> Result<Self, RulesError> {
        Self::load(None)
    }

    /// Name and text of each built-in file, to detect changes since an earlier version.
    #[must_use]
    pub const fn built_in_files() -> [(&'static str, &'static str); 8] {
        files::BUILT_IN
    }

    /// Merges the files of a directory into the built-in rules: `consent.toml`, `boilerplate.toml`,
    /// `frameworks.toml`, `score.toml`, `extraction.toml`, `dates.toml`, `platforms.toml`, `sites.toml`. Each
    /// file is optional.
    ///
    /// A key of such a file replaces the built-in one; in a list of texts `"..."` inserts the built-in
    /// entries. Named entries (consent managers, frameworks, platforms) come before the built-in ones and
    /// replace those of the same name.
    ///
    /// # Errors
    /// Names every fault of every file, with file, line and key.
    pub fn load(overlay: Option<&Path>) -> Result<Self, RulesError> {
        let mut problems = Vec::new();
        let files = Files::load(overlay, &mut problems);
        let rules = files.and_then(|files| Self::compile(files, &mut problems));
        match rules {
            Some(rules) if problems.is_empty() => Ok(rules),
            _ => Err(RulesError { problems }),
        }
    }

    fn compile(files: Files, problems: &mut Vec<String>) -> Option<Self> {
        let mut selectors = SelectorSet::default();
        add_selectors(&files, &mut selectors, problems);
        let Files { consent, frameworks, score, boilerplate, extraction, dates, platforms, sites } = files;
        let mut boilerplate = boilerplate.rules;
        boilerplate.index_titles();
        let mut tokens = boilerplate.token_table();
        for token in &consent.rules.sweep.tokens {
            tokens.add(token, Roles::CONSENT);
        }
        let sweep = phrases(&consent.source, ["sweep", "phrases"], &consent.rules.sweep.phrases, problems)?;
        let signal_phrases = SignalPhrases::compile(&frameworks.rules, &frameworks.source, problems)?;
        let dates = DateRules::compile(dates.rules)
            .map_err(|(key, problem)| problems.push(format!("{}: {problem}", dates.source.at(&[key.into()]))))
            .ok()?;
        Some(Self {
            extraction: extraction.rules,
            score: score.rules,
            frameworks: frameworks.rules,
            consent: consent.rules,
            boilerplate,
            dates,
            platforms: platforms.rules,
            sites: sites.rules,
            selectors,
            tokens,
            sweep,
            phrases: signal_phrases,
            lists: None,
            selected: None,
        })
    }

    /// Adds filter lists in EasyList syntax: elements that match their hiding rules are removed as consent
    /// banners. [`Rules::list_report`] lists skipped invalid lines.
    ///
    /// # Errors
    /// Names every unreadable file.
    pub fn with_consent_lists(mut self, paths: &[PathBuf]) -> Result<Self, RulesError> {
        let mut problems = Vec::new();
        if !paths.is_empty() {
            self.lists = Some(FilterLists::load(paths, &mut problems));
        }
        if problems.is_empty() { Ok(self) } else { Err(RulesError { problems }) }
    }

    /// Makes the elements that match a selector the content of every page, instead of a choice by rules. A
    /// page without such an element has no content.
    ///
    /// # Errors
    /// Names the fault of a selector that rules do not support.
    pub fn with_selected(mut self, selector: &str) -> Result<Self, String> {
        let added = self.selectors.add(selector, Hit::Platform(Part::Selected, 0));
        added.map_err(|refusal| refusal.to_string())?;
        self.selected = Some(selector.to_owned());
        Ok(self)
    }

    /// Signs of consent banners, for code outside of this parser.
    #[must_use]
    pub fn consent_banners(&self) -> ConsentBanners<'_> {
        let sweep = &self.consent.sweep;
        ConsentBanners {
            selectors: self.consent.lists().flatten().map(String::as_str).collect(),
            tokens: &sweep.tokens,
            phrases: &sweep.phrases,
            max_words: sweep.max_words,
            max_share: sweep.max_share,
            overlays: &self.frameworks.cookie_wall.selectors,
            max_overlay_words: self.frameworks.cookie_wall.max_words,
        }
    }

    /// Counts of the filter lists' lines, if there are lists.
    #[must_use]
    pub fn list_report(&self) -> Option<&ListReport> {
        self.lists.as_ref().map(FilterLists::report)
    }
}

/// All selectors of all files.
fn add_selectors(files: &Files, selectors: &mut SelectorSet<Hit>, problems: &mut Vec<String>) {
    let mut add = |source: &Source, key: &[Step], list: &[String], hit: &dyn Fn(u16) -> Hit| {
        for (rank, text) in list.iter().enumerate() {
            if let Err(problem) = selectors.add(text, hit(rank as u16)) {
                let key: Vec<Step> = key.iter().cloned().chain([rank.into()]).collect();
                problems.push(format!("{}: {problem}", source.at(&key)));
            }
        }
    };
    let Files { consent, frameworks, extraction, platforms, .. } = files;
    let mut before = 0;
    for (index, list) in consent.rules.lists().enumerate() {
        let named = ["manager".into(), index.into(), "selectors".into()];
        let generic = ["generic".into(), "selectors".into()];
        let key: &[Step] = if index < consent.rules.manager.len() { &named } else { &generic };
        add(&consent.source, key, list, &|rank| Hit::Consent(before + rank));
        before += list.len() as u16;
    }
    for (index, framework) in frameworks.rules.framework.iter().enumerate() {
        let key = ["framework".into(), index.into(), "selectors".into()];
        add(&frameworks.source, &key, &framework.selectors, &|_| Hit::Framework(index as u16));
    }
    for (key, list, hit) in [
        ("js_roots", &frameworks.rules.js_roots.selectors, Hit::JsRoot),
        ("empty_roots", &frameworks.rules.empty_roots.selectors, Hit::EmptyRoot),
        ("cookie_wall", &frameworks.rules.cookie_wall.selectors, Hit::Overlay),
        ("paywall", &frameworks.rules.paywall.selectors, Hit::Paywall),
    ] {
        add(&frameworks.source, &[key.into(), "selectors".into()], list, &|_| hit);
    }
    let rules = &extraction.rules;
    add(&extraction.source, &["priority_selectors".into()], &rules.priority_selectors, &Hit::Priority);
    add(&extraction.source, &["anchors".into()], &rules.anchors, &Hit::Anchor);
    add(&extraction.source, &["containers".into()], &rules.containers, &Hit::Container);
    let mut of_platform = |kind: &str, index: usize, lists: &[PlatformList<'_>]| {
        for (name, list, part) in lists {
            let key = [kind.into(), index.into(), (*name).into()];
            add(&platforms.source, &key, list, &|rank| Hit::Platform(part(rank as u8), index as u16));
        }
    };
    for (index, p) in platforms.rules.documentation.iter().enumerate() {
        let lists: [PlatformList<'_>; 4] = [
            ("sign", &p.sign, |_| Part::DocSign),
            ("content", &p.content, |_| Part::DocContent),
            ("title", &p.title, |_| Part::DocTitle),
            ("drop", &p.drop, |_| Part::DocDrop),
        ];
        of_platform("documentation", index, &lists);
    }
    for (index, p) in platforms.rules.forum.iter().enumerate() {
        let lists: [PlatformList<'_>; 5] = [
            ("post", &p.post, |_| Part::Post),
            ("body", &p.body, Part::PostBody),
            ("author", &p.author, |_| Part::PostAuthor),
            ("date", &p.date, |_| Part::PostDate),
            ("drop", &p.drop, |_| Part::PostDrop),
        ];
        of_platform("forum", index, &lists);
    }
    add_sites(&files.sites, selectors, problems);
}

/// Adds the selectors of single sites, each by the index of its template.
fn add_sites(sites: &Loaded<Sites>, selectors: &mut SelectorSet<Hit>, problems: &mut Vec<String>) {
    for (index, template, key, problem) in sites.rules.faults() {
        let mut steps: Vec<Step> = vec!["site".into(), index.into()];
        steps.extend(template.into_iter().flat_map(|number| [Step::from("template"), number.into()]));
        steps.push(key.into());
        problems.push(format!("{}: {problem}", sites.source.at(&steps)));
    }
    let mut place = 0;
    for (index, site) in sites.rules.site.iter().enumerate() {
        for (number, template) in site.template.iter().enumerate() {
            for (name, list, part) in [
                ("content", &template.content, Part::SiteContent),
                ("drop", &template.drop, Part::SiteDrop),
                ("title", &template.title, Part::SiteTitle),
            ] {
                for (rank, text) in list.iter().enumerate() {
                    if let Err(problem) = selectors.add(text, Hit::Platform(part, place)) {
                        let key: [Step; 6] = [
                            "site".into(),
                            index.into(),
                            "template".into(),
                            number.into(),
                            name.into(),
                            rank.into(),
                        ];
                        problems.push(format!("{}: {problem}", sites.source.at(&key)));
                    }
                }
            }
            place += 1;
        }
    }
}

/// A key of a platform's entry, its selectors, and the part for the selector of a rank.
type PlatformList<'a> = (&'a str, &'a [String], fn(u8) -> Part);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_rules_parse() {
        let rules = Rules::embedded().unwrap();
        assert!(rules.consent.manager.len() >= 30, "thirty named consent managers");
    }

    fn load(files: &[(&str, &str)]) -> Result<Rules, Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let prefix = format!("{}/", dir.path().display());
        Rules::load(Some(dir.path()))
            .map_err(|error| error.problems.iter().map(|problem| problem.replace(&prefix, "")).collect())
    }

    #[test]
    fn all_rule_errors_are_reported_with_file_line_and_key() {
        let faults = load(&[
            ("score.toml", "threshold = \"x\"\n\n[url]\ndate = true\nlong_slugs = 5\n"),
            (
                "platforms.toml",
                "forum = [\n  { name = \"One\", post = [\".p\"], body = [\".b\", 7] },\n  { name = \"Two\", pots = [\".p\"], body = [] },\n\
                 { name = \"Three\", body = [] },\n { name = \"Four\", post = [\".p\"], body = [\"*\"] },\n]\n",
            ),
            ("consent.toml", "[generic]\nselectors = [\"...\", \".a:hover\"]\n[sweep]\nphrases = [\"Accept\"]\n"),
            ("dates.toml", "months = [\n"),
            ("forums.toml", ""),
        ])
        .unwrap_err();
        let expected = [
            "forums.toml: no file of this name is read;",
            "score.toml:1: threshold: invalid type: string \"x\", expected i32",
            "score.toml:4: url.date: invalid type: boolean `true`, expected i32",
            "score.toml:5: url.long_slugs: unknown field `long_slugs`",
            "dates.toml:",
            "platforms.toml:2: forum[0].body[1]: invalid type: integer `7`, expected a string",
            "platforms.toml:3: forum[1].pots: unknown field `pots`",
            "platforms.toml:3: forum[1]: missing field `post`",
            "platforms.toml:4: forum[2]: missing field `post`",
            "platforms.toml:5: forum[3].body[0]: \"*\" is not supported in the selector \"*\"",
            "consent.toml:2: generic.selectors[",
            "consent.toml:4: sweep.phrases[0]: the phrase \"Accept\" has to be lower case",
        ];
        let all = faults.join("\n");
        for part in expected {
            assert!(all.contains(part), "{part} is not in\n{all}");
        }
        assert_eq!(faults.len(), expected.len(), "{all}");
    }

    #[test]
    fn selector_and_phrase_errors_name_line_and_key() {
        let faults = load(&[
            (
                "consent.toml",
                "[generic]\nselectors = [\n\"...\",\n\".a:hover\"]\n[sweep]\nphrases = [\"Accept\"]\n",
            ),
            ("platforms.toml", "[[documentation]]\nname = \"Own\"\ncontent = [\n  \"#\",\n]\n"),
            ("dates.toml", "months = [\"jan\"]"),
        ])
        .unwrap_err();
        let all = faults.join("\n");
        for part in [
            "consent.toml:2: generic.selectors[",
            "consent.toml:6: sweep.phrases[0]: the phrase \"Accept\" has to be lower case",
            "platforms.toml:4: documentation[0].content[0]: a name is missing after \"#\" in the selector \"#\"",
            "dates.toml:1: months: has 1 entries, not 12",
        ] {
            assert!(all.contains(part), "{part} is not in\n{all}");
        }
        assert_eq!(faults.len(), 4, "{all}");
    }

    #[test]
    fn user_entries_precede_and_replace_built_in_entries() {
        let built_in = Rules::embedded().unwrap();
        let rules = load(&[(
            "platforms.toml",
            "forum = [{ name = \"Own\", post = [\".p\"], body = [\".b\"] }, { name = \"Flarum\", post = [\".f\"], body = [\".g\"] }]",
        )])
        .unwrap();
        let names: Vec<&str> = rules.platforms.forum.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names[..2], ["Own", "Flarum"]);
        assert_eq!(names.iter().filter(|name| **name == "Flarum").count(), 1);
        assert_eq!(names.len(), built_in.platforms.forum.len() + 1);
        assert_eq!(rules.platforms.documentation.len(), built_in.platforms.documentation.len());

        let rules =
            load(&[("boilerplate.toml", "lines = [\"...\", \"own line\"]\ncredits = [\"snapped by\"]")])
                .unwrap();
        assert_eq!(rules.boilerplate.lines.len(), built_in.boilerplate.lines.len() + 1);
        assert!(
            rules.boilerplate.credits.begin("snapped by ada")
                && !rules.boilerplate.credits.begin("photo: ada")
        );
    }
}
