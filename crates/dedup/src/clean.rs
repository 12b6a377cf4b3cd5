//! A page after cleaning.

use crate::{
    PageBlocks,
    blocks::{Repeated, fold_line_feeds, fold_line_feeds_outside_code, is_space, strip, strip_end},
};
use crawl_model::{BoilerplateInfo, BoilerplateStatus, RemovedSpan};
use sha2::{Digest, Sha256};

/// A page cleaned by its host's fingerprint; the fields are those of a record's `boilerplate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// Text without the host's boilerplate. In judged pages runs of three or more line feeds are folded.
    pub text: String,
    /// Blocks removed.
    pub blocks_removed: u32,
    /// UTF-8 bytes of the blocks removed.
    pub bytes_removed: u64,
    /// Identity of the fingerprint, 16 hex digits. In the mode `exact` it identifies the set of boilerplate
    /// hashes. In the mode `site` it identifies all counts of the host's pages so far. `None` if the page was
    /// not judged.
    pub fingerprint: Option<String>,
    /// Effect of the fingerprint.
    pub status: BoilerplateStatus,
    /// Pages from which the fingerprint was computed.
    pub pages: u64,
    /// Removed spans, in order: together with the content they restore the page.
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

    /// Text and boilerplate information for a record.
    #[must_use]
    pub fn into_record(self) -> (String, BoilerplateInfo) {
        let Self { text, blocks_removed, bytes_removed, fingerprint, status, pages, removed } = self;
        let mut info = BoilerplateInfo::new(status);
        info.fingerprint = fingerprint;
        info.pages = pages;
        info.blocks_removed = blocks_removed;
        info.bytes_removed = bytes_removed;
        info.removed = removed;
        (text, info)
    }

    /// A page that was not judged, since its host has only `pages` pages.
    pub(crate) fn too_few_pages(content: String, pages: u64) -> Self {
        Self { pages, ..Self::untouched(content, BoilerplateStatus::TooFewPages) }
    }

    /// A judged page with its remaining text and removed spans.
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

    /// Removes the given blocks of a page, each with its indent and the blank lines after it. Runs of three
    /// or more line feeds become two, except within fenced code. The indent of the next line stays: without
    /// it, code could become a tag.
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

    /// Judges a page by a fingerprint. A page that would be left with only whitespace keeps its text:
    /// duplicate detection handles such pages, and an empty record has no use. Runs of three or more line
    /// feeds always become two.
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

/// Number and total bytes of spans.
pub(crate) fn sums(removed: &[RemovedSpan]) -> (u32, u64) {
    (removed.len().try_into().unwrap_or(u32::MAX), removed.iter().map(|span| span.end - span.start).sum())
}

/// Identity of a set of hashes: 16 hex digits of the SHA-256 of its members in ascending order, eight bytes
/// each.
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
    fn indent_after_a_removed_block_stays() {
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
