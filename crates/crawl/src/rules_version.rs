//! What decides which text a body brings, as one number: with the number of the last time the same body need not be read
//! again.

use crate::config::Config;
use crawl_extract::Rules;
use crawl_model::RulesVersion;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The version of the program, its rules with those of the user, filter lists, and the settings of extraction and cleaning.
/// What cannot be read counts as empty here; loading the rules tells of it.
#[must_use]
pub fn of(config: &Config) -> RulesVersion {
    let (extract, dedup) = (&config.extract, &config.dedup);
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        // with its length: no byte can be moved from one part to the next
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
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
    let cleaning = (dedup.enabled, dedup.mode, dedup.threshold_pct, dedup.min_pages, dedup.min_block_chars);
    add(format!("{cleaning:?} {}", dedup.settle_pages).as_bytes());
    let head = digest.finalize().first_chunk::<8>().copied().unwrap_or_default();
    RulesVersion(i64::from_le_bytes(head))
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
    fn what_changes_the_text_changes_the_number_and_nothing_else_does() {
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
    fn rules_are_known_by_what_stands_in_them() {
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
