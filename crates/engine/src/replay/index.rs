//! The contents of an archive, for a replay.

use super::unpacked::{Unpacked, unpack};
use crate::{
    archive::Decision,
    captures::{self, CaptureInput},
    config::Config,
    exit::{Exit, Failure},
    scratch::Scratch,
    words::counted,
};
use crawl_archive::{RecordError, WarcReader, WarcRecord, parse_record_id};
use crawl_fetch::{Canonicalizer, MAX_SITEMAP_BYTES};
use crawl_model::UrlKey;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fmt,
    fs::File,
    io::{self, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicUsize},
};
use url::Url;
use uuid::Uuid;

/// Key of the canonical URL. The requested URL may be another form of it, after a redirect between the two.
pub(super) fn key_of(canonicalizer: &Canonicalizer, url: &Url) -> UrlKey {
    UrlKey::of(canonicalizer.canonical(url).as_str())
}

/// Bytes of a record beyond those that a body may have: its fields.
const FIELDS: u64 = 1 << 20;

/// Reads what an archive holds, for a replay by these settings. Archives and pages of other makers are converted first, and
/// so are several inputs; `base` is the address of a folder or file of HTML.
///
/// # Errors
/// When an input cannot be read, or none holds a page that can be replayed.
pub fn open(inputs: &[CaptureInput], base: Option<&Url>, config: &Config) -> Result<Index, Failure> {
    let most = usize::try_from(MAX_SITEMAP_BYTES.max(config.fetch.max_body.as_u64()) + FIELDS);
    let most = most.unwrap_or(usize::MAX);
    let name = captures::names(inputs);
    if let [CaptureInput::Path(input)] = inputs
        && input.is_dir()
    {
        let mut index = Index::of(input, most)?;
        if index.is_ours {
            index.note_foreign(input)?;
            index.note_unnoted().map_err(|e| Failure::input(input, &e))?;
            return index.checked(&name);
        }
    }
    let temporary = std::env::temp_dir();
    let scratch = Scratch::new(&temporary, "crawl-converted-")
        .map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", temporary.display())))?;
    let tally = captures::convert(inputs, base, most, scratch.path())?;
    let mut index = Index::of(scratch.path(), most)?;
    index.unreadable += usize::try_from(tally.unreadable).unwrap_or(usize::MAX);
    index.bodiless = usize::try_from(tally.bodiless).unwrap_or(usize::MAX);
    index.unaddressed = tally.unaddressed;
    index.converted = Some(scratch);
    index.checked(&name)
}

/// Position of a capture in the archive.
#[derive(Clone, Copy)]
struct CapturePosition {
    file: usize,
    offset: u64,
    /// The capture that has its body, if it is a revisit.
    original: Option<Uuid>,
    /// A readable note of the crawl names it.
    is_noted: bool,
}

/// Missing parts of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Parts of files that cannot be read.
    unreadable: usize,
    /// Pages whose bytes are not in the archive.
    pub(super) lost: usize,
    /// Pages with a readable response and no readable note of the crawl.
    unnoted: usize,
    /// Files with damaged bytes that a crawl has put aside.
    put_aside: usize,
}

impl Damage {
    /// Returns true if a part is missing.
    pub(super) const fn any(&self) -> bool {
        self.unreadable + self.lost + self.put_aside > 0
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.unreadable, "unreadable part", ""),
            (self.lost, "page", " without bytes"),
            (self.unnoted, "page", " without a note of the crawl"),
            (self.put_aside, "file", " of damaged bytes that a crawl has put aside"),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        let counts: Vec<String> =
            counts.map(|(count, noun, what)| counted(*count as u64, noun) + what).collect();
        write!(f, "the archive is damaged: {}", counts.join(", "))
    }
}

/// Index of an archive's contents.
pub struct Index {
    pub(super) files: Vec<PathBuf>,
    captures: FxHashMap<Uuid, CapturePosition>,
    /// Captures that count, by the canonical URL of the request.
    pub(super) pages: FxHashMap<UrlKey, Uuid>,
    pub(super) canonicalizer: Canonicalizer,
    /// Runs before the one that began the last round.
    pub(super) earlier_runs: usize,
    pub(super) most: usize,
    /// Parts of files that cannot be read.
    unreadable: usize,
    /// Pages with a readable response and no readable note of the crawl.
    unnoted: usize,
    /// Files with damaged bytes that a crawl has put aside.
    put_aside: usize,
    /// A crawl has written it, so it contains decisions.
    is_ours: bool,
    /// Revisits in archives of other makers, whose pages are not there.
    pub(super) bodiless: usize,
    /// Pages without a known URL, which are left out.
    pub(super) unaddressed: u64,
    /// Files of other makers in a folder of this program, which are left out.
    pub(super) foreign: usize,
    /// The folder of a converted archive, for the time of the replay.
    converted: Option<Scratch>,
    /// The folder of plain copies, for the time of the replay.
    _unpacked: Option<Scratch>,
    /// Pages that the replay did not find.
    pub(super) missing: Arc<AtomicUsize>,
}

impl Index {
    fn of(dir: &Path, most: usize) -> Result<Self, Failure> {
        let (mut files, put_aside) = files_of(dir).map_err(|e| Failure::input(dir, &e))?;
        let Unpacked { folder, damaged } = unpack(&mut files, most)?;
        let canonicalizer = Canonicalizer::default();
        let (mut captures, mut pages) = (FxHashMap::default(), FxHashMap::default());
        let (mut runs, mut earlier_runs, mut unreadable) = (0, 0, damaged);
        for (number, file) in files.iter().enumerate() {
            let report = |is_damage: bool, error: &dyn fmt::Display| {
                unreadable += usize::from(is_damage);
                tracing::warn!(file = %file.display(), "a record cannot be read: {error}");
            };
            for (offset, record) in records(file, most, report).map_err(|e| Failure::input(file, &e))? {
                let Some(id) = parse_record_id(record.header("WARC-Record-ID")) else { continue };
                if matches!(record.record_type(), "response" | "resource" | "revisit") {
                    let original = original_of(&record);
                    captures.insert(id, CapturePosition { file: number, offset, original, is_noted: false });
                    continue;
                }
                match decision(&record) {
                    Some(Decision::Page(page)) => {
                        if let Some(capture) = captures.get_mut(&page.capture) {
                            capture.is_noted = true;
                        }
                        pages.insert(key_of(&canonicalizer, &page.request.url), page.capture);
                    }
                    Some(Decision::Gone { url }) => {
                        pages.remove(&key_of(&canonicalizer, &url));
                    }
                    Some(Decision::Run { new_round }) => {
                        earlier_runs = if new_round { runs } else { earlier_runs };
                        runs += 1;
                    }
                    Some(Decision::HostDrained { .. }) | None => {}
                }
            }
        }
        let is_ours = !pages.is_empty() || runs + put_aside > 0;
        let (bodiless, unaddressed, foreign, unnoted, converted) = (0, 0, 0, 0, None);
        Ok(Self {
            files,
            captures,
            pages,
            canonicalizer,
            earlier_runs,
            most,
            unreadable,
            unnoted,
            put_aside,
            is_ours,
            bodiless,
            unaddressed,
            foreign,
            converted,
            _unpacked: folder,
            missing: Arc::default(),
        })
    }

    /// Names and counts files of a folder that no crawl has written: their pages have no decisions.
    fn note_foreign(&mut self, dir: &Path) -> Result<(), Failure> {
        let used: FxHashSet<usize> = self
            .pages
            .values()
            .filter_map(|capture| self.captures.get(capture).map(|position| position.file))
            .collect();
        let with_captures: FxHashSet<usize> = self.captures.values().map(|position| position.file).collect();
        let mut foreign = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let is_unused = with_captures.contains(&number) && !used.contains(&number);
            if is_unused && !is_of_crawl(file, self.most).map_err(|e| Failure::input(file, &e))? {
                foreign.push(file.clone());
            }
        }
        let fail = |e: io::Error| Failure::input(dir, &e);
        for entry in std::fs::read_dir(dir).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let name = path.to_string_lossy().to_ascii_lowercase();
            if path.is_dir() || FOREIGN.iter().any(|ending| name.ends_with(ending)) {
                foreign.push(path);
            }
        }
        foreign.sort();
        for path in &foreign {
            tracing::warn!("{}: not written by crawl --warc; skipped", path.display());
        }
        self.foreign = foreign.len();
        Ok(())
    }

    /// Names and counts pages of a damaged archive whose response is readable, but not the crawl's note.
    fn note_unnoted(&mut self) -> io::Result<()> {
        if self.unreadable == 0 {
            return Ok(());
        }
        let without = self.captures.iter().filter(|(_, position)| !position.is_noted);
        let mut without: Vec<(CapturePosition, Uuid)> = without.map(|(id, at)| (*at, *id)).collect();
        without.sort_by_key(|(position, _)| (position.file, position.offset));
        let mut named = FxHashSet::default();
        for (_, id) in without {
            let Some(url) = self.capture(id)?.filter(WarcRecord::is_page).map(|record| record.target_uri())
            else {
                continue;
            };
            let Some(url) = Url::parse(&url).ok().filter(|url| !is_for_robots(url)) else { continue };
            let key = key_of(&self.canonicalizer, &url);
            if !self.pages.contains_key(&key) && named.insert(key) {
                tracing::warn!(
                    %url,
                    "the archive has this page without a readable note of the crawl: the page is skipped; `crawl extract` reads it"
                );
            }
        }
        self.unnoted = named.len();
        Ok(())
    }

    /// The index, if it has a page; `input` is the name of the archive.
    fn checked(self, input: &str) -> Result<Self, Failure> {
        if !self.pages.is_empty() {
            return Ok(self);
        }
        if self.unreadable + self.put_aside > 0 {
            let words = "no page can be read, the archive is damaged: restore it from a copy, or crawl the sites again";
            return Err(Failure::new(Exit::Damaged, format!("{input}: {words}")));
        }
        let words = "no page in it: name a folder of --warc, a WARC or WACZ, or a file or folder of HTML";
        Err(Failure::usage(format!("{input}: {words}")))
    }

    /// Missing parts, as far as they are known before the replay.
    pub(super) fn damage(&self) -> Damage {
        let has_bytes = |id: &Uuid| {
            let place = self.captures.get(id);
            place.is_some_and(|place| place.original.is_none_or(|first| self.captures.contains_key(&first)))
        };
        let lost = self.pages.values().filter(|capture| !has_bytes(capture)).count();
        let Self { unreadable, unnoted, put_aside, .. } = *self;
        Damage { unreadable, lost, unnoted, put_aside }
    }

    /// A capture by its id.
    fn capture(&self, id: Uuid) -> io::Result<Option<WarcRecord>> {
        let Some(place) = self.captures.get(&id) else { return Ok(None) };
        let Some(path) = self.files.get(place.file) else { return Ok(None) };
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(place.offset))?;
        let record = WarcReader::new(file, self.most)?.next().and_then(Result::ok);
        Ok(record.filter(|record| parse_record_id(record.header("WARC-Record-ID")) == Some(id)))
    }

    /// Returns the capture from which a page is extracted.
    pub(super) fn page(&self, id: Uuid) -> io::Result<Option<Capture>> {
        let Some(record) = self.capture(id)? else { return Ok(None) };
        let url = record.target_uri();
        if record.record_type() == "resource" {
            let content_type = record.header("Content-Type").to_owned();
            return Ok(Some(Capture { url, content_type, encoding: String::new(), body: record.block }));
        }
        let content_type = record.http_field("content-type");
        let encoding = record.http_fields("content-encoding").join(",");
        let body = match original_of(&record) {
            Some(first) => self.capture(first)?.map(|first| first.http_body().to_vec()),
            None => Some(record.http_body().to_vec()),
        };
        Ok(body.map(|body| Capture { url, content_type, encoding, body }))
    }
}

/// Archive files of a folder in the order of their names, and the number of files with damaged bytes.
fn files_of(dir: &Path) -> io::Result<(Vec<PathBuf>, usize)> {
    let (mut files, mut put_aside) = (Vec::new(), 0);
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.to_string_lossy();
        if [".warc.gz", ".warc", ".warc.gz.open"].iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        } else if name.ends_with(".warc.gz.damaged") {
            tracing::warn!("{name} has damaged bytes of the archive");
            put_aside += 1;
        }
    }
    // their names begin with the time of their run, then count
    files.sort();
    Ok((files, put_aside))
}

/// Endings of archives and pages that no crawl writes.
const FOREIGN: [&str; 5] = [".wacz", ".warc.zst", ".html", ".htm", ".xhtml"];

/// Returns true for files of a site that address crawlers.
fn is_for_robots(url: &Url) -> bool {
    matches!(url.path(), "/robots.txt" | "/ai.txt")
}

/// Returns true if the first record of a file names this program.
fn is_of_crawl(file: &Path, most: usize) -> io::Result<bool> {
    let first = WarcReader::new(File::open(file)?, most)?.next().and_then(Result::ok);
    Ok(first.is_some_and(|record| {
        record.record_type() == "warcinfo" && record.block.starts_with(b"software: crawl/")
    }))
}

/// The capture that has the body of a revisit.
fn original_of(record: &WarcRecord) -> Option<Uuid> {
    let refers = Some(record).filter(|record| record.record_type() == "revisit");
    refers.and_then(|record| parse_record_id(record.header("WARC-Refers-To")))
}

/// The readable records of a file, with their offsets. `report` is called for each unreadable part, with true
/// if it is damaged and false if it is longer than `most` bytes. The last record of a file that is being
/// written, or was when its crawl was killed, may be unfinished.
pub(super) fn records(
    path: &Path,
    most: usize,
    mut report: impl FnMut(bool, &dyn fmt::Display),
) -> io::Result<impl Iterator<Item = (u64, WarcRecord)>> {
    let mut reader = WarcReader::new(File::open(path)?, most)?;
    let is_open = path.to_string_lossy().ends_with(".open");
    let mut unfinished = None;
    Ok(std::iter::from_fn(move || {
        loop {
            let next = reader.next()?;
            // a record follows the unfinished one
            if let Some(error) = unfinished.take() {
                report(true, &error);
            }
            match next {
                Ok(record) if record.is_intact() => return Some((reader.offset(), record)),
                Ok(_) => {
                    report(true, &format_args!("{}: its digest does not match its bytes", reader.place()));
                }
                Err(error @ RecordError::Truncated) if is_open => {
                    unfinished = Some(format!("{}: {error}", reader.place()));
                }
                Err(error) => {
                    let is_damage = !matches!(error, RecordError::TooLarge(_));
                    report(is_damage, &format_args!("{}: {error}", reader.place()));
                }
            }
        }
    }))
}

pub(super) fn decision(record: &WarcRecord) -> Option<Decision> {
    let ours = record.record_type() == "metadata" && record.header("Content-Type") == "application/json";
    if ours { serde_json::from_slice(&record.block).ok() } else { None }
}

/// A page's bytes as they came, with the headers to decode them.
pub(super) struct Capture {
    /// Base URL of links.
    pub(super) url: String,
    pub(super) content_type: String,
    pub(super) encoding: String,
    pub(super) body: Vec<u8>,
}
