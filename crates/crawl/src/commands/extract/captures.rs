//! `crawl extract` of a web archive or a folder: one record per line.

use super::{extract, warn_if_empty};
use crate::{
    cli::ExtractArgs,
    commands::{
        kept::{self, Kept},
        select::{self, Select},
        stdin, write_json,
    },
    logging::{say, say_as},
    words::counted,
};
use crawl_archive::{ArchiveKind, MAX_RECORD_BYTES};
use crawl_engine::{
    captures::{self, Capture, CaptureInput, CaptureReader},
    exit::{Exit, Failure},
};
use crawl_extract::PageExtractor;
use crawl_model::{Record, Warning};
use crawl_output::Fields;
use rayon::prelude::*;
use std::{
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
};
use tracing::Level;
use url::Url;

/// Most bytes of a page or record.
const MAX_PAGE: usize = 8 * MAX_RECORD_BYTES;
/// Pages that are extracted side by side, and bytes of theirs.
const BATCH_PAGES: usize = 64;
const BATCH_BYTES: usize = 32 << 20;
/// First bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An input by its content.
pub(super) enum Input {
    /// One page, with its bytes if they had to be read.
    One(Option<Vec<u8>>),
    /// Many pages.
    Many(Vec<CaptureInput>),
}

/// Finds out whether a file, folder or standard input has many pages. Several inputs have.
pub(super) fn of(file: Option<&Path>, more: &[PathBuf]) -> Result<Input, Failure> {
    if let Some(first) = file.filter(|_| !more.is_empty()) {
        let names: Vec<PathBuf> = [first.to_owned()].into_iter().chain(more.iter().cloned()).collect();
        return Ok(Input::Many(kept::inputs(&names)?));
    }
    let Some(path) = file.filter(|path| path.as_os_str() != "-") else {
        return of_stdin(file.is_some());
    };
    let is_archive = captures::archive_kind(path)?.is_some() || captures::is_named_as_archive(path);
    let has_many = path.is_dir() || is_archive;
    Ok(if has_many { Input::Many(vec![CaptureInput::Path(path.to_owned())]) } else { Input::One(None) })
}

/// Looks at the first bytes, which stay in the buffer of standard input. An archive is copied, since its reader seeks.
fn of_stdin(is_named: bool) -> Result<Input, Failure> {
    let fail = |e: io::Error| Failure::input(Path::new("standard input"), &e);
    let mut stdin = stdin(is_named).lock();
    let head = stdin.fill_buf().map_err(fail)?;
    if ArchiveKind::of_head(head).is_none() && !head.starts_with(&ZSTD) {
        return Ok(Input::One(None));
    }
    let mut file = Kept::of(stdin)?.reader()?;
    if ArchiveKind::of(&mut file).map_err(fail)?.is_some() {
        return Ok(Input::Many(vec![CaptureInput::Copy(file)]));
    }
    let mut bytes = Vec::new();
    file.take(MAX_PAGE as u64).read_to_end(&mut bytes).map_err(fail)?;
    Ok(Input::One(Some(bytes)))
}

/// Writes a record for each page.
///
/// # Errors
/// When input or output fails, no page is found, or a part of the input cannot be read.
pub(super) fn run(
    args: &ExtractArgs,
    extractor: &PageExtractor,
    select: Option<&Select>,
    inputs: &[CaptureInput],
    fields: Option<&Fields>,
) -> Result<Exit, Failure> {
    let mut batch = Batch { extractor, select, fields, pages: Vec::new(), bytes: 0 };
    let mut named = 0;
    for path in inputs.iter().filter_map(empty_archive) {
        say_as(Level::WARN, &format!("{}: is empty", path.display()));
        named += 1;
    }
    let mut each = |capture: Capture| batch.add(capture);
    let tally = CaptureReader::new(args.url.as_ref(), MAX_PAGE, &say, &mut each).read(inputs)?;
    let name = captures::names(inputs);
    batch.write()?;
    if tally.bodiless > 0 {
        say(&format!(
            "{name}: {} skipped, since their page is in no input",
            counted(tally.bodiless, "revisit")
        ));
    }
    // without a page the error says the same
    let others = tally.others.saturating_sub(named);
    if others > 0 && tally.pages > 0 {
        say(&format!("{name}: {} without HTML skipped", counted(others, "file")));
    }
    if tally.resource_folders > 0 && tally.pages > 0 {
        let folders = counted(tally.resource_folders, "folder");
        say(&format!("{name}: {folders} with the files of saved pages skipped"));
    }
    match tally.damage() {
        Some(damage) => Err(Failure::new(
            Exit::Damaged,
            format!("{name}: {damage}; the output has {}", counted(tally.pages, "readable page")),
        )),
        None if tally.pages == 0 => Err(Failure::usage(format!("{name}: contains no page of HTML or text"))),
        None => Ok(Exit::Done),
    }
}

/// The path of an empty archive, for which the reader has no message.
fn empty_archive(input: &CaptureInput) -> Option<&Path> {
    let CaptureInput::Path(path) = input else { return None };
    let is_empty = path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0);
    (is_empty && captures::is_named_as_archive(path)).then_some(path)
}

/// Pages that wait for their extraction.
struct Batch<'a> {
    extractor: &'a PageExtractor,
    select: Option<&'a Select>,
    fields: Option<&'a Fields>,
    pages: Vec<Capture>,
    bytes: usize,
}

impl Batch<'_> {
    fn add(&mut self, capture: Capture) -> Result<(), Failure> {
        self.bytes += capture.bytes.len();
        self.pages.push(capture);
        if self.pages.len() < BATCH_PAGES && self.bytes < BATCH_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let pages = std::mem::take(&mut self.pages);
        self.bytes = 0;
        let records: Vec<Record> = pages.par_iter().map(|capture| self.record(capture)).collect();
        let mut out = Vec::new();
        for record in &records {
            let written = match self.fields {
                Some(fields) => fields.write(record, &mut out),
                None => serde_json::to_writer(&mut out, record),
            };
            written.map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
            out.push(b'\n');
        }
        write_json(&out)
    }

    fn record(&self, capture: &Capture) -> Record {
        let declared = Some(capture.content_type.as_str()).filter(|declared| !declared.is_empty());
        let mut input = crawl_extract::Input::new(&capture.bytes)
            .with_url(capture.url.as_ref())
            .with_content_type(declared);
        let marked = self.select.map(|select| select.mark(&input));
        if let Some(marked) = &marked {
            (input.bytes, input.content_type) = (marked, Some(select::CONTENT_TYPE));
        }
        let mut record = extract(self.extractor, &input, None);
        let path = || capture.path.as_ref().map(|path| path.display().to_string());
        let name = || capture.url.as_ref().map(Url::to_string).or_else(path);
        if capture.bytes.trim_ascii().is_empty() {
            say_as(Level::WARN, &format!("{}: is empty", name().unwrap_or_default()));
        } else {
            warn_if_empty(self.extractor, &record, name);
        }
        if let (None, Some(path)) = (&capture.url, path()) {
            record.id = path;
        }
        record.metadata.fetched_at.clone_from(&capture.date);
        record.metadata.status_code = capture.status.unwrap_or_default();
        let media =
            declared.and_then(|declared| declared.split(';').next()).map(|media| media.trim().to_owned());
        record.metadata.content_type = media.filter(|media| !media.is_empty());
        for found in capture.opt_outs() {
            if !record.metadata.ai_opt_out.contains(&found) {
                record.metadata.ai_opt_out.push(found);
            }
        }
        if capture.is_truncated {
            record.warnings.push(Warning::BodyTruncated);
        }
        record
    }
}
