//! `crawl dedup --html`: an HTML report that contains its data and loads no other file.
//!
//! The page states its bounds: rows for [`MAX_PAGES`] pages of a domain, texts of pages for [`TEXT_BYTES`] in
//! all, [`BLOCK_CHARS`] characters of a block. The texts are taken at equal distances, so that all of a
//! domain is seen. Of a domain's removed blocks it shows the [`MAX_BLOCKS`] that took most bytes.

use super::internal;
use crawl_dedup::{
    Cleaned, FingerprintSettings, Mode, PageText,
    fingerprint::{DomainAnalysisResult, ProjectAnalysisResult},
};
use crawl_engine::exit::Failure;
use crawl_model::RemovalReason;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

const MAX_PAGES: usize = 20_000;
const TEXT_BYTES: usize = 16 << 20;
const MAX_BLOCKS: usize = 500;
const BLOCK_CHARS: usize = 600;

const TEMPLATE: &str = include_str!("report.html");
/// Place of the data in the template.
const PLACE: &str = "/*DATA*/";

/// Data of the page, gathered while pages are cleaned.
pub struct Report {
    mode: Mode,
    settings: FingerprintSettings,
    domains: BTreeMap<String, Domain>,
}

#[derive(Default)]
struct Domain {
    /// Bytes of all pages, and of those seen so far.
    bytes: usize,
    seen: usize,
    rows: Vec<Row>,
    reasons: BTreeMap<RemovalReason, u64>,
    blocks: FxHashMap<(u64, RemovalReason), Block>,
}

/// URL, bytes, bytes removed, blocks removed, and the text where it is shown.
#[derive(Serialize)]
struct Row(String, usize, u64, u32, Option<Vec<Part>>);

/// Kept and removed parts of a text, in turn.
#[derive(Serialize)]
#[serde(untagged)]
enum Part {
    Kept(String),
    /// Text, reason, pages that gave the evidence.
    Removed(String, RemovalReason, u64),
}

/// One block that was removed, from however many pages.
#[derive(Clone, Serialize)]
struct Block {
    text: String,
    reason: RemovalReason,
    /// Pages that it was removed from.
    pages: u64,
    /// The most pages that gave the evidence.
    evidence: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Data<'a> {
    mode: Mode,
    #[serde(rename = "thresholdPct")]
    threshold_pct: f64,
    #[serde(rename = "minPages")]
    min_pages: usize,
    #[serde(rename = "minBlockChars")]
    min_block_chars: usize,
    caps: Caps,
    domains: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Caps {
    pages: usize,
    blocks: usize,
    characters: usize,
    bytes: usize,
}

#[derive(Serialize)]
struct Shown<'a> {
    /// Statistics as `--stats` writes them.
    stats: &'a DomainAnalysisResult,
    bytes: usize,
    reasons: &'a BTreeMap<RemovalReason, u64>,
    /// Distinct blocks, of which those that took most bytes are listed.
    distinct: usize,
    blocks: Vec<&'a Block>,
    rows: &'a [Row],
}

impl Report {
    /// Creates a report without pages. Each page must be [counted](Self::count), and then [added](Self::page).
    pub const fn new(mode: Mode, settings: &FingerprintSettings) -> Self {
        Self { mode, settings: *settings, domains: BTreeMap::new() }
    }

    /// Counts a page that will come.
    pub fn count(&mut self, domain: &str, page: &PageText<'_>) {
        self.domains.entry(domain.to_owned()).or_default().bytes += page.content.len();
    }

    /// A page was cleaned.
    pub fn page(&mut self, domain: &str, page: &PageText<'_>, cleaned: &Cleaned) {
        let share = TEXT_BYTES / self.domains.len().max(1);
        let Some(domain) = self.domains.get_mut(domain) else { return };
        // of so many pages the text of one is shown
        let stride = domain.bytes.div_ceil(share.max(1)).max(1);
        domain.seen += 1;
        for (text, reason, evidence, hash) in removed(page.content, cleaned) {
            let bytes = text.len() as u64;
            *domain.reasons.entry(reason).or_default() += bytes;
            let block = domain.blocks.entry((hash, reason)).or_insert_with(|| Block {
                text: text.chars().take(BLOCK_CHARS).collect(),
                reason,
                pages: 0,
                evidence: 0,
                bytes: 0,
            });
            block.pages += 1;
            block.evidence = block.evidence.max(evidence);
            block.bytes += bytes;
        }
        if domain.rows.len() >= MAX_PAGES {
            return;
        }
        // a page that is as large as all that may be shown is shown by its beginning only in the browser's own time: left out
        let shown = domain.seen.is_multiple_of(stride) && page.content.len() <= TEXT_BYTES / 8;
        let text = shown.then(|| parts(page.content, cleaned));
        let row =
            Row(page.url.to_owned(), page.content.len(), cleaned.bytes_removed, cleaned.blocks_removed, text);
        domain.rows.push(row);
    }

    /// The page, with the statistics of the same run.
    pub fn html<'p>(&'p self, project: &'p ProjectAnalysisResult) -> Result<Vec<u8>, Failure> {
        let shown = |stats: &'p DomainAnalysisResult| -> Option<Shown<'p>> {
            let domain = self.domains.get(stats.domain.as_str())?;
            let mut blocks: Vec<&Block> = domain.blocks.values().collect();
            blocks.sort_unstable_by(|a, b| (b.bytes, &a.text, a.reason).cmp(&(a.bytes, &b.text, b.reason)));
            let distinct = blocks.len();
            blocks.truncate(MAX_BLOCKS);
            let (bytes, reasons, rows) = (domain.bytes, &domain.reasons, &domain.rows[..]);
            Some(Shown { stats, bytes, reasons, distinct, blocks, rows })
        };
        let data = Data {
            mode: self.mode,
            threshold_pct: self.settings.threshold_pct(),
            min_pages: self.settings.min_pages(),
            min_block_chars: self.settings.min_block_chars(),
            caps: Caps { pages: MAX_PAGES, blocks: MAX_BLOCKS, characters: BLOCK_CHARS, bytes: TEXT_BYTES },
            domains: project.domain_results.iter().filter_map(shown).collect(),
        };
        // the text of a script ends at the first </script, whatever it stands in
        let json = serde_json::to_string(&data).map_err(internal)?.replace('<', "\\u003c");
        let (before, after) =
            TEMPLATE.split_once(PLACE).ok_or_else(|| internal("the template has no place"))?;
        Ok([before, &json, after].concat().into_bytes())
    }
}

/// Returns the parts removed from a page: text, reason, pages that gave the evidence, hash.
fn removed<'c>(
    content: &'c str,
    cleaned: &'c Cleaned,
) -> impl Iterator<Item = (&'c str, RemovalReason, u64, u64)> {
    cleaned.removed.iter().filter_map(|span| {
        let (start, end) = (usize::try_from(span.start).ok()?, usize::try_from(span.end).ok()?);
        Some((content.get(start..end)?, span.reason, span.pages, span.key.unwrap_or(span.hash)))
    })
}

/// A page in parts; the kept ones are its text. The blank lines after a removed part belong to it.
fn parts(content: &str, cleaned: &Cleaned) -> Vec<Part> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for span in &cleaned.removed {
        let Some((start, end)) = usize::try_from(span.start).ok().zip(usize::try_from(span.end).ok()) else {
            continue;
        };
        let (Some(kept), Some(rest)) = (content.get(from..start), content.get(end..)) else { continue };
        let end = content.len() - rest.trim_start_matches('\n').len();
        parts.push(Part::Kept(kept.to_owned()));
        parts.push(Part::Removed(
            content.get(start..end).unwrap_or_default().to_owned(),
            span.reason,
            span.pages,
        ));
        from = end;
    }
    parts.push(Part::Kept(content.get(from..).unwrap_or_default().to_owned()));
    parts
}
