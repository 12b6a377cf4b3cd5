//! `crawl extract` of many pages: a web archive or a folder, a record a line.

use super::{extract, warn_if_empty};
use crate::{
    cli::ExtractArgs,
    commands::{
        kept::Kept,
        select::{self, Select},
        write_json,
    },
    logging::say,
};
use crawl_archive::{ArchiveKind, MAX_RECORD_BYTES};
use crawl_engine::{
    captures::{self, Capture, CaptureReader, Tally},
    exit::{Exit, Failure},
};
use crawl_extract::PageExtractor;
use crawl_model::Record;
use rayon::prelude::*;
use std::{
    fs::File,
    io::{self, BufRead, Read},
    path::Path,
};
use url::Url;

/// Most bytes of a page or record.
const MAX_PAGE: usize = 8 * MAX_RECORD_BYTES;
/// Pages that are extracted side by side, and bytes of theirs.
const BATCH_PAGES: usize = 64;
const BATCH_BYTES: usize = 32 << 20;
/// First bytes of a zstd frame.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An input of many pages.
pub(super) enum Pages<'a> {
    /// A folder.
    Folder(&'a Path),
    /// An archive with its name in messages.
    Archive(ArchiveKind, File, String),
}

/// An input by its content.
pub(super) enum Input<'a> {
    /// One page, with its bytes if they had to be read.
    One(Option<Vec<u8>>),
    /// Many pages.
    Many(Pages<'a>),
}

/// Finds out whether a file, folder or standard input has many pages.
pub(super) fn of(file: Option<&Path>) -> Result<Input<'_>, Failure> {
    let Some(path) = file.filter(|path| path.as_os_str() != "-") else { return of_stdin() };
    if path.is_dir() {
        return Ok(Input::Many(Pages::Folder(path)));
    }
    let Some(kind) = captures::archive_kind(path)? else { return Ok(Input::One(None)) };
    let file = File::open(path).map_err(|e| Failure::input(path, &e))?;
    Ok(Input::Many(Pages::Archive(kind, file, path.display().to_string())))
}

/// Looks at the first bytes, which stay in the buffer of standard input. An archive is copied, since its reader seeks.
fn of_stdin() -> Result<Input<'static>, Failure> {
    let input = "standard input";
    let fail = |e: io::Error| Failure::input(Path::new(input), &e);
    let mut stdin = io::stdin().lock();
    let head = stdin.fill_buf().map_err(fail)?;
    if ArchiveKind::of_head(head).is_none() && !head.starts_with(&ZSTD) {
        return Ok(Input::One(None));
    }
    let mut file = Kept::of(stdin)?.reader()?;
    if let Some(kind) = ArchiveKind::of(&mut file).map_err(fail)? {
        return Ok(Input::Many(Pages::Archive(kind, file, input.to_owned())));
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
    pages: Pages<'_>,
) -> Result<Exit, Failure> {
    let mut batch = Batch { extractor, select, pages: Vec::new(), bytes: 0 };
    let mut each = |capture: Capture| batch.add(capture);
    let (most, tally) = (MAX_PAGE, Tally::default());
    let mut reader = CaptureReader { base: args.url.as_ref(), most, report: &say, each: &mut each, tally };
    let name = match pages {
        Pages::Folder(path) => {
            reader.path(path)?;
            path.display().to_string()
        }
        Pages::Archive(kind, file, name) => {
            reader.archive(kind, file, &name)?;
            name
        }
    };
    let tally = reader.tally;
    batch.write()?;
    if tally.bodiless > 0 {
        say(&format!("{name}: {} revisits without their page left out", tally.bodiless));
    }
    match tally.damage() {
        Some(damage) => Err(Failure::new(
            Exit::Damaged,
            format!("{name}: {damage}; the output has the {} readable pages", tally.pages),
        )),
        None if tally.pages == 0 => Err(Failure::usage(format!("{name}: no page of HTML or text in it"))),
        None => Ok(Exit::Done),
    }
}

/// Pages that wait for their extraction.
struct Batch<'a> {
    extractor: &'a PageExtractor,
    select: Option<&'a Select>,
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
            serde_json::to_writer(&mut out, record)
                .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
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
        warn_if_empty(self.extractor, &record, || capture.url.as_ref().map(Url::to_string).or_else(path));
        if let (None, Some(path)) = (&capture.url, path()) {
            record.id = path;
        }
        record.metadata.fetched_at.clone_from(&capture.date);
        record
    }
}
