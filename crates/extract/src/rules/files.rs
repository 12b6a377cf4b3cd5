//! Rules files in their written form. Unknown keys are errors.

mod extraction;

use super::{
    author_words::AuthorWords,
    prefixes::Prefixes,
    roles::Roles,
    sites::Sites,
    source::Source,
    starts::{Starts, Words},
    tokens::TokenTable,
};
pub(crate) use extraction::{Extraction, LastPass, Markdown, Prune};
use rustc_hash::FxHashSet;
use serde::{Deserialize, de::DeserializeOwned};
use std::path::Path;

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../config/rules/", $name)))
    };
}

/// Name and text of the built-in files.
pub(super) const BUILT_IN: [(&str, &str); 8] = [
    file!("consent.toml"),
    file!("frameworks.toml"),
    file!("score.toml"),
    file!("boilerplate.toml"),
    file!("extraction.toml"),
    file!("dates.toml"),
    file!("platforms.toml"),
    file!("sites.toml"),
];

/// Names of the files that there are.
pub(super) const NAMES: [&str; 8] = [
    "consent.toml",
    "frameworks.toml",
    "score.toml",
    "boilerplate.toml",
    "extraction.toml",
    "dates.toml",
    "platforms.toml",
    "sites.toml",
];

/// All files, read.
pub(super) struct Files {
    pub(super) consent: Loaded<Consent>,
    pub(super) frameworks: Loaded<Frameworks>,
    pub(super) score: Loaded<Score>,
    pub(super) boilerplate: Loaded<Boilerplate>,
    pub(super) extraction: Loaded<Extraction>,
    pub(super) dates: Loaded<super::dates::DateFile>,
    pub(super) platforms: Loaded<Platforms>,
    pub(super) sites: Loaded<Sites>,
}

/// Rules of a file, and their positions.
pub(super) struct Loaded<T> {
    pub(super) rules: T,
    pub(super) source: Source,
}

/// Files of a directory of rules that the crate `crawl-quality` reads.
const QUALITY_FILES: [&str; 2] = ["quality.toml", "stop_words.toml"];

impl Files {
    pub(super) fn load(overlay: Option<&Path>, problems: &mut Vec<String>) -> Option<Self> {
        if let Some(dir) = overlay {
            super::source::report_unknown_files(dir, &[&NAMES[..], &QUALITY_FILES].concat(), problems);
        }
        let consent = read(file!("consent.toml"), overlay, problems);
        let frameworks = read(file!("frameworks.toml"), overlay, problems);
        let score = read(file!("score.toml"), overlay, problems);
        let boilerplate = read(file!("boilerplate.toml"), overlay, problems);
        let extraction = read(file!("extraction.toml"), overlay, problems);
        let dates = read(file!("dates.toml"), overlay, problems);
        let platforms = read(file!("platforms.toml"), overlay, problems);
        let sites = read(file!("sites.toml"), overlay, problems);
        Some(Self {
            platforms: platforms?,
            sites: sites?,
            consent: consent?,
            frameworks: frameworks?,
            score: score?,
            boilerplate: boilerplate?,
            extraction: extraction?,
            dates: dates?,
        })
    }
}

fn read<T: DeserializeOwned>(
    file: (&str, &str),
    overlay: Option<&Path>,
    problems: &mut Vec<String>,
) -> Option<Loaded<T>> {
    let mut source = Source::read(file, overlay, problems)?;
    Some(Loaded { rules: source.rules(problems)?, source })
}

/// `consent.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consent {
    pub(crate) manager: Vec<Named>,
    pub(crate) generic: Selectors,
    pub(crate) sweep: Sweep,
}

impl Consent {
    /// Lists of selectors: one per manager, then the generic ones.
    pub(super) fn lists(&self) -> impl Iterator<Item = &Vec<String>> {
        self.manager.iter().map(|manager| &manager.selectors).chain([&self.generic.selectors])
    }

    /// Manager and selector of an index, counted over all lists.
    pub(crate) fn rule(&self, index: u16) -> Option<(&str, &str)> {
        let managers = self.manager.iter().flat_map(|m| m.selectors.iter().map(|s| (m.name.as_str(), s)));
        let generic = self.generic.selectors.iter().map(|s| ("generic", s));
        managers.chain(generic).nth(index.into()).map(|(name, selector)| (name, selector.as_str()))
    }
}

/// A product and its selectors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) selectors: Vec<String>,
}

/// A list of selectors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Selectors {
    pub(crate) selectors: Vec<String>,
}

/// A list of phrases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    pub(crate) phrases: Vec<String>,
}

/// The guarded keyword sweep.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    pub(crate) tokens: Vec<String>,
    /// Lower-case phrases of a button that accepts all cookies.
    pub(crate) accept: Vec<String>,
    pub(crate) phrases: Vec<String>,
    pub(crate) max_words: u32,
    pub(crate) max_share: f32,
}

/// `frameworks.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frameworks {
    pub(crate) framework: Vec<Named>,
    pub(crate) js_roots: Selectors,
    pub(crate) empty_roots: EmptyRoots,
    pub(crate) javascript: Phrases,
    pub(crate) cookie_wall: CookieWall,
    pub(crate) paywall: Paywall,
    pub(crate) thresholds: SignalThresholds,
}

/// Containers for content, and their placeholders.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyRoots {
    pub(crate) selectors: Vec<String>,
    pub(crate) phrases: Vec<String>,
}

/// Consent walls: phrases and overlays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CookieWall {
    pub(crate) phrases: Vec<String>,
    pub(crate) demands: Vec<String>,
    pub(crate) selectors: Vec<String>,
    pub(crate) max_words: u32,
}

/// Paywalls: a phrase and a sign.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paywall {
    pub(crate) phrases: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) selectors: Vec<String>,
}

/// Word counts at which signals change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalThresholds {
    pub(crate) spa_words: u32,
    pub(crate) thin_words: u32,
    pub(crate) cookie_wall_words: u32,
    pub(crate) paywall_words: u32,
}

/// `platforms.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Platforms {
    pub(crate) documentation: Vec<Documentation>,
    pub(crate) forum: Vec<Forum>,
    pub(crate) documentation_words: Vec<String>,
    pub(crate) documentation_types: Vec<String>,
    pub(crate) thread_words: Vec<String>,
    pub(crate) thread_types: Vec<String>,
}

/// A generator of documentation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Documentation {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) sign: Vec<String>,
    pub(crate) content: Vec<String>,
    /// The heading of the page, if it is no h1.
    #[serde(default)]
    pub(crate) title: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
}

/// A program that runs forums.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forum {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) generic: bool,
    pub(crate) post: Vec<String>,
    pub(crate) body: Vec<String>,
    #[serde(default)]
    pub(crate) author: Vec<String>,
    #[serde(default)]
    pub(crate) date: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
}

/// `score.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Score {
    pub(crate) threshold: i32,
    pub(crate) max_listed: f32,
    pub(crate) url: UrlScore,
    pub(crate) content: ContentScore,
}

/// Points for the URL.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UrlScore {
    pub(crate) article_segment: i32,
    pub(crate) article_segments: Vec<String>,
    pub(crate) date: i32,
    pub(crate) long_slug: i32,
    pub(crate) single_segment: i32,
    pub(crate) excluded: i32,
    pub(crate) excluded_segments: Vec<String>,
    pub(crate) paginated: i32,
    pub(crate) author_listing: i32,
}

/// Points for the content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContentScore {
    pub(crate) words_many_points: i32,
    pub(crate) words_many: u32,
    pub(crate) words_some_points: i32,
    pub(crate) words_some: u32,
    pub(crate) words_few_points: i32,
    pub(crate) words_few: u32,
    pub(crate) one_h1: i32,
    pub(crate) author: i32,
    pub(crate) published: i32,
    pub(crate) json_ld: i32,
    pub(crate) json_ld_types: Vec<String>,
    pub(crate) og_article: i32,
    pub(crate) paragraphs: i32,
    pub(crate) paragraphs_over: u32,
    pub(crate) paragraph_chars: u32,
    pub(crate) outbound: i32,
    pub(crate) outbound_over: usize,
    pub(crate) pagination: i32,
}

/// `boilerplate.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Boilerplate {
    navigation: Vec<String>,
    footer: Vec<String>,
    header: Vec<String>,
    sidebar: Vec<String>,
    widget: Vec<String>,
    comments: Vec<String>,
    #[serde(default)]
    reviews: Vec<String>,
    advertisement: Vec<String>,
    related: Vec<String>,
    social: Vec<String>,
    newsletter: Vec<String>,
    overlay: Vec<String>,
    author: Vec<String>,
    meta: Vec<String>,
    form: Vec<String>,
    folded: Vec<String>,
    #[serde(default)]
    unseen: Vec<String>,
    #[serde(default)]
    hidden_names: Vec<String>,
    shown_names: Vec<String>,
    caption: Vec<String>,
    lead: Vec<String>,
    call: Vec<String>,
    content: Vec<String>,
    compound_words: Vec<String>,
    qualifiers: Vec<String>,
    pub(crate) lines: FxHashSet<String>,
    pub(crate) end_headings: Vec<String>,
    #[serde(default)]
    pub(crate) offer_titles: FxHashSet<String>,
    #[serde(default)]
    pub(crate) offer_headings: FxHashSet<String>,
    #[serde(default)]
    pub(crate) aside_titles: FxHashSet<String>,
    #[serde(default)]
    pub(crate) comment_titles: FxHashSet<String>,
    /// First and last letters of these titles.
    #[serde(skip)]
    title_ends: FxHashSet<(char, char)>,
    pub(crate) line_starts: Starts,
    pub(crate) credits: Starts,
    pub(crate) leads: Starts,
    pub(crate) update_starts: Starts,
    pub(crate) date_starts: Starts,
    pub(crate) no_names: Vec<String>,
    #[serde(default)]
    pub(crate) clause_starts: Vec<String>,
    /// Names of texts in labels of authors.
    #[serde(default)]
    pub(crate) text_words: Vec<String>,
    /// Labels of a date behind the name of an author.
    #[serde(default)]
    pub(crate) date_labels: Vec<String>,
    #[serde(default)]
    pub(crate) author_words: AuthorWords,
    #[serde(default)]
    pub(crate) author_paths: Prefixes,
    pub(crate) byline_starts: Starts,
    pub(crate) reading_time: Words,
    pub(crate) call_starts: Starts,
    pub(crate) calls: Words,
}

impl Boilerplate {
    /// Returns true if a text with this first and last letter may be in [`Boilerplate::aside_titles`] or
    /// [`Boilerplate::comment_titles`].
    pub(crate) fn may_be_title(&self, first: char, last: char) -> bool {
        let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
        self.title_ends.contains(&(lower(first), lower(last)))
    }

    /// Returns true for a lower-case line, without outer punctuation, that is a title of text after the
    /// content.
    pub(crate) fn ends_content(&self, line: &str) -> bool {
        self.aside_titles.contains(line)
            || self.comment_titles.contains(line)
            || self.end_headings.iter().any(|heading| heading == line)
    }

    /// Computes the fields that derive from the lists.
    pub(super) fn index_titles(&mut self) {
        let ends = |title: &String| Some((title.chars().next()?, title.chars().next_back()?));
        self.title_ends = self.aside_titles.iter().chain(&self.comment_titles).filter_map(ends).collect();
    }

    pub(super) fn token_table(&self) -> TokenTable {
        let mut table = TokenTable::default();
        for (list, roles) in [
            (&self.navigation, Roles::NAVIGATION),
            (&self.footer, Roles::FOOTER),
            (&self.header, Roles::HEADER),
            (&self.sidebar, Roles::SIDEBAR),
            (&self.widget, Roles::WIDGET),
            (&self.comments, Roles::COMMENTS),
            (&self.reviews, Roles::REVIEWS),
            (&self.advertisement, Roles::ADVERTISEMENT),
            (&self.related, Roles::RELATED),
            (&self.social, Roles::SOCIAL),
            (&self.newsletter, Roles::NEWSLETTER),
            (&self.overlay, Roles::OVERLAY),
            (&self.author, Roles::AUTHOR),
            (&self.meta, Roles::META),
            (&self.form, Roles::FORM),
            (&self.content, Roles::CONTENT),
            (&self.folded, Roles::FOLDED),
            (&self.caption, Roles::CAPTION),
            (&self.lead, Roles::LEAD),
            (&self.call, Roles::CALL),
            (&self.unseen, Roles::UNSEEN),
        ] {
            list.iter().for_each(|entry| table.add(entry, roles));
        }
        table.split_compounds(&self.compound_words);
        table.hidden_names(&self.hidden_names, &self.shown_names);
        self.qualifiers.iter().for_each(|word| table.add_qualifier(word));
        table.complete();
        table
    }
}
