//! A page after cleaning.

use crate::{
    PageBlocks,
    blocks::{Repeated, fold_line_feeds, fold_line_feeds_outside_code, is_space, strip, strip_end},
};
use crawl_model::{BoilerplateInfo, BoilerplateStatus, RemovedSpan};
use sha2::{Digest, Sha256};

/// A page as its host's fingerprint leaves it; the fields are those of a record's `boilerplate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// The page without what its host repeats, and of judged pages without line feeds in runs of three and more.
    pub text: String,
    /// Blocks removed.
    pub blocks_removed: u32,
    /// UTF-8 bytes of the blocks removed.
    pub bytes_removed: u64,
    /// Names what the page was judged by, 16 hex digits: in the mode `exact` the set of the hashes of boilerplate, in the
    /// mode `site` all that was counted of the host's pages until then. `None` where nothing was judged.
    pub fingerprint: Option<String>,
    /// What was done.
    pub status: BoilerplateStatus,
    /// Pages that the fingerprint was computed from.
    pub pages: u64,
    /// What was removed, in order: with the page's content it gives the page back.
    pub removed: Vec<RemovedSpan>,
}

impl Cleaned {
    /// A page that was not judged.
    #[must_use]
    pub const fn untouched(content: String, status: BoilerplateStatus) -> Self {
        Self {
            text: content,
            blocks_removed: 0,
            bytes_removed: 0,
            fingerprint: None,
            status,
            pages: 0,
            removed: Vec::new(),
        }
    }

    /// As a record has it: the text, and how it came about.
    #[must_use]
    pub fn into_record(self) -> (String, BoilerplateInfo) {
        let Self { text, blocks_removed, bytes_removed, fingerprint, status, pages, removed } = self;
        (text, BoilerplateInfo { status, fingerprint, pages, blocks_removed, bytes_removed, removed })
    }

    /// A page that was not judged because its host has so many pages and no more.
    pub(crate) fn too_few_pages(content: String, pages: u64) -> Self {
        Self { pages, ..Self::untouched(content, BoilerplateStatus::TooFewPages) }
    }

    /// A page that was judged: what is left of it, and what was removed.
    fn applied(text: String, removed: Vec<RemovedSpan>, fingerprint: String, pages: u64) -> Self {
        let (blocks_removed, bytes_removed) = sums(&removed);
        Self {
            text,
            blocks_removed,
            bytes_removed,
            fingerprint: Some(fingerprint),
            status: BoilerplateStatus::Applied,
            pages,
            removed,
        }
    }

    /// A page without the blocks named, each with its indent and the blank lines after it. Runs of three line feeds and more
    /// become two, but for those of fenced code; nothing else is touched. The indent of the next line stays: it may make code of
    /// what would be a tag without it.
    pub(crate) fn cut(content: &str, removed: Vec<RemovedSpan>, fingerprint: String, pages: u64) -> Self {
        let mut text = String::with_capacity(content.len() - sums(&removed).1 as usize);
        let mut from = 0;
        let is_indent = |c: char| c != '\n' && is_space(c);
        for span in &removed {
            text.push_str(content[from..span.start as usize].trim_end_matches(is_indent));
            let next = content.len() - content[span.end as usize..].trim_start_matches(is_space).len();
            let indent = content[span.end as usize..next].rfind('\n').map(|at| span.end as usize + at + 1);
            from = indent.filter(|_| next < content.len()).unwrap_or(next);
        }
        text.push_str(&content[from..]);
        if from == content.len() && !removed.is_empty() {
            text.truncate(strip_end(&text).len());
        }
        Self::applied(fold_line_feeds_outside_code(text), removed, fingerprint, pages)
    }

    /// A page judged by a fingerprint. A page of which nothing but whitespace would be left keeps its text: that it
    /// repeats other pages as a whole is for the search for duplicates to say, and an empty record helps nobody. Runs of three line
    /// feeds and more become two in any case.
    pub(crate) fn judged(
        content: &str,
        blocks: &PageBlocks,
        boilerplate: impl Fn(u64) -> Option<Repeated>,
        fingerprint: String,
        pages: u64,
    ) -> Self {
        match blocks.strip(content, boilerplate) {
            Some((text, removed)) if !strip(&text).is_empty() => {
                Self::applied(text, removed, fingerprint, pages)
            }
            _ => Self::applied(fold_line_feeds(content.to_owned()), Vec::new(), fingerprint, pages),
        }
    }
}

/// The number of spans and their bytes.
pub(crate) fn sums(removed: &[RemovedSpan]) -> (u32, u64) {
    (removed.len().try_into().unwrap_or(u32::MAX), removed.iter().map(|span| span.end - span.start).sum())
}

/// Names a set of hashes: 16 hex digits of the SHA-256 of its members in ascending order, eight bytes each.
pub(crate) fn digest(boilerplate: impl Iterator<Item = u64>) -> String {
    let mut members: Vec<u64> = boilerplate.collect();
    members.sort_unstable();
    let mut sha = Sha256::new();
    for member in members {
        sha.update(member.to_be_bytes());
    }
    let digest = sha.finalize();
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_model::RemovalReason;

    #[test]
    fn the_indent_of_code_stays_behind_a_removed_block() {
        let content = "Head\n\n    <img onerror=y>\n\n\t<i>\n\nText\n\n  Foot\n";
        let without = |blocks: &[&str]| {
            let span = |block: &&str| {
                let start = content.find(block).unwrap() as u64;
                let end = start + block.len() as u64;
                RemovedSpan { start, end, hash: 0, key: None, reason: RemovalReason::Block, pages: 9 }
            };
            Cleaned::cut(content, blocks.iter().map(span).collect(), String::new(), 9).text
        };
        assert_eq!(without(&["Head"]), "    <img onerror=y>\n\n\t<i>\n\nText\n\n  Foot\n");
        assert_eq!(without(&["<img onerror=y>"]), "Head\n\n\t<i>\n\nText\n\n  Foot\n");
        assert_eq!(without(&["Head", "<i>", "Foot"]), "    <img onerror=y>\n\nText");
    }
}
