//! Captures as an archive of this program, which a replay reads.

use super::{Capture, CaptureInput, CaptureReader, Tally};
use crate::{
    archive::{Decided, Decision},
    exit::{Exit, Failure},
};
use crawl_archive::{NewRecord, digest, record_id};
use crawl_fetch::Canonicalizer;
use crawl_model::{CrawlRequest, PageType, Strategy, Timings, UrlKey, Warning, rfc3339};
use rustc_hash::FxHashMap;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};
use url::Url;
use uuid::Uuid;

/// Writes the captures of inputs as one file of `folder`. Of several captures of a URL the latest counts; of captures
/// without a time, the last one.
///
/// # Errors
/// When an input cannot be read, a page has no address, or the file cannot be written.
pub fn convert(
    inputs: &[CaptureInput],
    base: Option<&Url>,
    most: usize,
    folder: &Path,
) -> Result<Tally, Failure> {
    let full = |e: &io::Error| Failure::new(Exit::Storage, format!("{}: {e}", folder.display()));
    let file = File::create(folder.join("converted.warc.gz")).map_err(|e| full(&e))?;
    let mut out = BufWriter::new(file);
    let canonicalizer = Canonicalizer::default();
    let mut latest: FxHashMap<UrlKey, i64> = FxHashMap::default();
    let mut unaddressed = 0;
    let mut without_address = None;
    let mut each = |capture: Capture| {
        let url = capture.url.as_ref().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = url else {
            unaddressed += 1;
            without_address = without_address.take().or(capture.path);
            return Ok(());
        };
        let url = canonicalizer.canonical(url);
        let taken = capture.date.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond);
        let before = latest.entry(UrlKey::of(url.as_str())).or_insert(taken);
        if *before <= taken {
            *before = taken;
            write(&mut out, &capture, url, taken).map_err(|e| full(&e))?;
        }
        Ok(())
    };
    let report = |words: &str| tracing::warn!("{words}");
    let mut tally = CaptureReader::new(base, most, &report, &mut each).read(inputs)?;
    if let Some(path) = without_address {
        let message = format!(
            "{}: the URL of this page is unknown: give the URL of the folder or file with --url",
            path.display()
        );
        if unaddressed == tally.pages {
            return Err(Failure::usage(message));
        }
        tracing::warn!("{message}");
    }
    if unaddressed > 0 {
        tally.unaddressed = unaddressed;
        tally.pages -= unaddressed;
    }
    out.flush().map_err(|e| full(&e))?;
    Ok(tally)
}

/// Writes a capture and the decision about its page.
fn write(out: &mut impl Write, capture: &Capture, url: Url, taken: i64) -> io::Result<()> {
    let (id, date) = (Uuid::new_v4(), rfc3339(taken));
    let page = NewRecord {
        kind: "resource",
        id,
        date: &date,
        target_uri: url.as_str(),
        content_type: &capture.content_type,
        payload_digest: &digest(&[&capture.bytes]),
        fields: &[("WARC-Truncated", if capture.is_truncated { "unspecified" } else { "" })],
        payload: &capture.bytes,
        ..NewRecord::default()
    };
    out.write_all(&page.member()?)?;
    let decided = decided(capture, url, taken, id);
    let decision = NewRecord {
        kind: "metadata",
        id: Uuid::new_v4(),
        date: &date,
        content_type: "application/json",
        fields: &[("WARC-Refers-To", &record_id(id))],
        payload: &serde_json::to_vec(&Decision::Page(Box::new(decided)))?,
        ..NewRecord::default()
    };
    out.write_all(&decision.member()?)
}

/// The page as a static one that was fetched at the time of its capture.
fn decided(capture: &Capture, url: Url, taken: i64, id: Uuid) -> Decided {
    let declared = capture.content_type.split(';').next().unwrap_or_default().trim();
    Decided {
        capture: id,
        final_url: url.clone(),
        request: CrawlRequest::of_seed(url),
        status: capture.status.unwrap_or(200),
        content_type: Some(declared.to_owned()).filter(|declared| !declared.is_empty()),
        strategy: Strategy::Static,
        attempts: Vec::new(),
        page_type: PageType::Unknown,
        timings: Timings { started_at_ms: taken, first_byte_ms: 0, total_ms: 0 },
        wire_bytes: capture.bytes.len() as u64,
        warnings: capture.is_truncated.then_some(Warning::BodyTruncated).into_iter().collect(),
        ai_opt_out: capture.opt_outs(),
    }
}
