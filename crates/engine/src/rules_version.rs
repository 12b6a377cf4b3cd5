//! Version of the rules that decide the text of a body and its followed links, as one number. A body need not
//! be read again if its number is that of the last time.

use crate::{config::Config, platform::PAGE_DEADLINE};
use crawl_chrome::{SCROLL_STEPS, SCROLL_TIME};
use crawl_extract::Rules;
use crawl_model::RulesVersion;
use crawl_store::{RULES_KEYS, RULES_OF_PROGRAM, VERSION_OF_PROGRAM};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Version of text extraction. A higher number makes a round extract all pages again.
const TEXT_RULES_VERSION: u8 = 1;

/// The numbers by which pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readings {
    /// Number for pages that were read to their end.
    pub whole: RulesVersion,
    /// Number for pages that a limit has cut: they are read anew under other limits.
    pub cut: RulesVersion,
}

impl Readings {
    /// The numbers that belong to the one of whole pages.
    #[must_use]
    pub fn of(whole: RulesVersion, config: &Config) -> Self {
        let (fetch, chrome, mut parts) = (&config.fetch, &config.chrome, Parts::default());
        parts.add(&whole.0.to_le_bytes());
        parts.add(format!("{:?} {:?}", fetch.max_body, PAGE_DEADLINE).as_bytes());
        parts.add(format!("{:?} {:?}", fetch.read_timeout, fetch.total_timeout).as_bytes());
        let pages = (chrome.max_page_bytes, chrome.navigate, chrome.settle, SCROLL_TIME, SCROLL_STEPS);
        parts.add(format!("{pages:?}").as_bytes());
        let following = u32::try_from(whole.0 & i64::from(u32::MAX)).unwrap_or_default();
        Self { whole, cut: RulesVersion::new(parts.number(), following) }
    }

    /// The versions for a page whose links are all followed or all ignored.
    #[must_use]
    pub const fn of_page(self, followed: bool) -> Self {
        Self { whole: self.whole.of_page(followed), cut: self.cut.of_page(followed) }
    }

    /// Returns true if the same body brings the same text as a page that was read by `before`.
    #[must_use]
    pub const fn read_as(self, before: RulesVersion) -> bool {
        before.reads_as(self.whole) || before.reads_as(self.cut)
    }

    /// Returns true if a page that was read by `before` need not be read again if its body is the same.
    #[must_use]
    pub const fn are_covered_by(self, before: RulesVersion) -> bool {
        before.covers(self.whole) || before.covers(self.cut)
    }
}

/// The number for pages whose links are followed.
#[must_use]
pub fn of(config: &Config) -> RulesVersion {
    RulesVersion::new(reading(config), following(config))
}

/// Checksums of the rules by file, and the version of the program without its patch level. Workers of one crawl share them.
#[must_use]
pub fn checksums(config: &Config) -> BTreeMap<String, String> {
    let (extract, mut all) = (&config.extract, BTreeMap::new());
    let mut built_in = Parts::default();
    built_in.add(&[TEXT_RULES_VERSION]);
    for (_, text) in Rules::built_in_files() {
        built_in.add(text.as_bytes());
    }
    all.insert(format!("{RULES_KEYS}{RULES_OF_PROGRAM}"), built_in.shown());
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    all.insert(format!("{RULES_KEYS}{VERSION_OF_PROGRAM}"), version.to_owned());
    let mut add = |file: &Path| {
        let mut text = Parts::default();
        text.add(&std::fs::read(file).unwrap_or_default());
        all.insert(format!("{RULES_KEYS}{}", file.display()), text.shown());
    };
    let dirs =
        std::iter::once(&extract.rules).chain(config.site.iter().filter_map(|site| site.rules.as_ref()));
    dirs.filter(|dir| !dir.is_empty()).flat_map(|dir| files_in(Path::new(dir))).for_each(|file| add(&file));
    extract.consent_lists.iter().for_each(|file| add(Path::new(file)));
    all
}

/// Parts that are hashed, each with its length: no byte can be moved from one to the next.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn number(self) -> u32 {
        u32::from_le_bytes(self.0.finalize().first_chunk().copied().unwrap_or_default())
    }

    /// The hash as text.
    fn shown(self) -> String {
        format!("{:08x}", self.number())
    }
}

/// Hashes the settings by which links are followed. The depth of a page is not among them: that is a matter
/// of each page. Nor are the seeds, though one more widens the scope of all, for all pages would be read anew
/// (see docs/recrawl.md).
fn following(config: &Config) -> u32 {
    let (crawl, mut parts) = (&config.crawl, Parts::default());
    parts.add(format!("{:?} {} {}", crawl.scope, crawl.url_filters, crawl.obey_robots).as_bytes());
    // with the constants among them
    let traps = (config.traps.settings(), config.traps.host_bounds());
    parts.add(format!("{:?} {traps:?}", crawl.feeds).as_bytes());
    for patterns in [&crawl.include, &crawl.exclude] {
        parts.add(&(patterns.len() as u64).to_le_bytes());
        patterns.iter().for_each(|pattern| parts.add(pattern.as_str().as_bytes()));
    }
    // without sites the number equals that of earlier versions
    for site in &config.site {
        let lists =
            [&site.include, &site.exclude].map(|list| list.as_deref().map(|list| format!("{list:?}")));
        if lists.iter().any(Option::is_some) {
            parts.add(format!("{:?} {lists:?}", site.patterns).as_bytes());
        }
    }
    parts.number()
}

/// Hashes the version of the program, its rules with those of the user, filter lists, and the settings of
/// extraction and cleaning. An unreadable file counts as empty here; loading the rules reports it.
fn reading(config: &Config) -> u32 {
    let (extract, dedup) = (&config.extract, &config.dedup);
    let mut parts = Parts::default();
    let mut add = |part: &[u8]| parts.add(part);
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(&[TEXT_RULES_VERSION]);
    for (_, text) in Rules::built_in_files() {
        add(text.as_bytes());
    }
    let own = Some(extract.rules.as_str()).filter(|dir| !dir.is_empty());
    for file in own.map(Path::new).map(files_in).unwrap_or_default().iter().chain(&extract.consent_lists) {
        add(file.file_name().unwrap_or_default().as_encoded_bytes());
        add(&std::fs::read(file).unwrap_or_default());
    }
    let how = (extract.favor, extract.links, extract.images, extract.tables, extract.comments);
    add(format!("{how:?}").as_bytes());
    // without the setting the number equals that of earlier versions
    if extract.raw_metadata {
        add(b"raw_metadata");
    }
    let cleaning = (dedup.enabled, dedup.mode, dedup.threshold_pct, dedup.min_pages, dedup.min_block_chars);
    add(format!("{cleaning:?} {}", dedup.settle_pages).as_bytes());
    // without such sites the number equals that of earlier versions
    for site in config.site.iter().filter(|site| site.links.is_some() || site.rules.is_some()) {
        parts.add(format!("{:?} {:?}", site.patterns, site.links).as_bytes());
        for file in site.rules.iter().flat_map(|dir| files_in(Path::new(dir))) {
            parts.add(file.file_name().unwrap_or_default().as_encoded_bytes());
            parts.add(&std::fs::read(file).unwrap_or_default());
        }
    }
    parts.number()
}

/// The files of a directory, in the order of their names.
fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Override};

    fn with(key: &'static str, value: impl Into<toml::Value>) -> RulesVersion {
        let flag = Override { flag: "", key, value: value.into() };
        of(&config::load(None, std::iter::empty(), vec![flag]).unwrap())
    }

    #[test]
    fn text_settings_change_the_version_and_others_do_not() {
        let now = with("fetch.concurrency", 16);
        assert_eq!(now, with("fetch.concurrency", 3));
        assert_eq!(now, with("extract.threads", 3));
        for other in [
            with("extract.favor", "recall"),
            with("extract.images", true),
            with("dedup.enabled", false),
            with("dedup.threshold_pct", 0.5),
        ] {
            assert_ne!(now, other);
        }
    }

    #[test]
    fn link_settings_and_text_settings_have_separate_versions() {
        let now = with("fetch.concurrency", 16);
        let list = |pattern: &str| vec![toml::Value::from(pattern)];
        for other in [
            with("crawl.scope", "domain"),
            with("crawl.exclude", list("/x")),
            with("crawl.include", list("/x")),
            with("crawl.obey_robots", false),
            with("crawl.feeds", 0),
        ] {
            assert!(other.reads_as(now) && !other.follows_as(now) && !now.covers(other));
        }
        assert_ne!(with("crawl.exclude", list("/x")), with("crawl.include", list("/x")));
        assert_eq!(now, with("crawl.depth", 3), "a matter of each page");
        assert!(with("extract.images", true).follows_as(now));
    }

    #[test]
    fn size_limits_affect_only_truncated_pages() {
        let with = |key, value: &str| {
            let flag = Override { flag: "", key, value: value.into() };
            let config = config::load(None, std::iter::empty(), vec![flag]).unwrap();
            Readings::of(of(&config), &config)
        };
        let now = with("fetch.max_body", "1 MiB");
        for other in [with("fetch.max_body", "2 MiB"), with("fetch.total_timeout", "9s")] {
            assert_eq!(other.whole, now.whole);
            assert!(other.are_covered_by(now.whole) && !other.are_covered_by(now.cut));
            assert!(!other.read_as(now.cut));
        }
        assert!(now.are_covered_by(now.cut) && now.read_as(now.cut) && now.cut.follows_as(now.whole));
        assert!(!now.are_covered_by(now.of_page(false).cut), "its links were not followed");
    }

    #[test]
    fn each_rules_file_has_a_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let checksums = || {
            let flag =
                Override { flag: "", key: "extract.rules", value: dir.path().to_str().unwrap().into() };
            checksums(&config::load(None, std::iter::empty(), vec![flag]).unwrap())
        };
        let without = checksums();
        let file = dir.path().join("score.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let before = checksums();
        std::fs::write(&file, "a = 2").unwrap();
        let after = checksums();
        let differ: Vec<&String> = after.keys().filter(|key| before.get(*key) != after.get(*key)).collect();
        assert_eq!(differ, [&format!("rules:{}", file.display())]);
        assert_eq!((without.len(), after.len()), (2, 3));
    }

    #[test]
    fn rules_are_identified_by_their_content() {
        let dir = tempfile::tempdir().unwrap();
        let version = || with("extract.rules", dir.path().to_str().unwrap());
        std::fs::write(dir.path().join("score.toml"), "a = 1").unwrap();
        let before = version();
        assert_eq!(before, version());
        std::fs::write(dir.path().join("score.toml"), "a = 2").unwrap();
        assert_ne!(before, version());
        let list = dir.path().join("list.txt");
        std::fs::write(&list, "##.ad").unwrap();
        let lists = vec![toml::Value::from(list.to_str().unwrap())];
        assert_ne!(with("extract.consent_lists", lists), with("extract.favor", "balanced"));
    }
}
