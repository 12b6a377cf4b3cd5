//! Captures of pages by any program: web archives, HTML files, and folders of both.

mod address;
mod converted;
mod saved;

pub use converted::convert;
pub use saved::{MHTML, is_mhtml};

use crate::{
    exit::{Exit, Failure},
    words::counted,
};
use crawl_archive::{ArchiveKind, Archived, RecordError, Revisits, read_pages, resolve_revisits};
use crawl_fetch::{OptOut, tdm_header, x_robots_tag};
use crawl_model::Headers;
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use url::Url;

/// A page as it was captured.
#[derive(Debug, Default)]
pub struct Capture {
    /// Its address, if it is known.
    pub url: Option<Url>,
    /// Path of the capture, if it is a file.
    pub path: Option<PathBuf>,
    /// Declared type, with parameters; empty for a file.
    pub content_type: String,
    /// Time of the capture in RFC 3339; empty for a file.
    pub date: String,
    /// The page.
    pub bytes: Vec<u8>,
    /// The capture has only a part of the page.
    pub is_truncated: bool,
    /// Status of the response, if it is known.
    pub status: Option<u16>,
    /// Its fields about robots and mining.
    pub robots: Headers,
}

impl Capture {
    /// Opt-outs in the fields of the response, by stable names. Those for single crawlers do not count.
    #[must_use]
    pub fn opt_outs(&self) -> Vec<String> {
        let by_word = x_robots_tag(&self.robots, "").noai.then_some(OptOut::NoAi);
        let by_tdm = (tdm_header(&self.robots) == Some(true)).then_some(OptOut::TdmHeader);
        [by_word, by_tdm].into_iter().flatten().map(|found| found.name().to_owned()).collect()
    }
}

/// Counts of a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages.
    pub pages: u64,
    /// Parts that cannot be read.
    pub unreadable: u64,
    /// Revisits whose page is not in the input.
    pub bodiless: u64,
    /// Pages that were left out, since their http URL is unknown.
    pub unaddressed: u64,
    /// Files and links of folders that are neither page nor archive.
    pub others: u64,
    /// Folders in which a browser has saved the files of a page.
    pub resource_folders: u64,
}

impl Tally {
    /// Damage in words; none if all was readable.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        (self.unreadable > 0).then(|| format!("{} cannot be read", counted(self.unreadable, "part")))
    }
}

/// Finds the format of an archive by its content; none for other files and for folders.
///
/// # Errors
/// When the file cannot be read.
pub fn archive_kind(path: &Path) -> Result<Option<ArchiveKind>, Failure> {
    let fail = |e: io::Error| Failure::input(path, &e);
    if !path.is_file() {
        return Ok(None);
    }
    ArchiveKind::of(&mut File::open(path).map_err(fail)?).map_err(fail)
}

/// An input of captures.
#[derive(Debug)]
pub enum CaptureInput {
    /// An archive, an HTML file, or a folder.
    Path(PathBuf),
    /// A copy of standard input.
    Copy(File),
}

impl CaptureInput {
    /// Name for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Copy(_) => "standard input".to_owned(),
        }
    }
}

/// Names several inputs for a message.
#[must_use]
pub fn names(inputs: &[CaptureInput]) -> String {
    let first = inputs.first().map(CaptureInput::name).unwrap_or_default();
    match inputs.len() {
        0 | 1 => first,
        2 => format!("{first} and 1 more input"),
        count => format!("{first} and {} more inputs", count - 1),
    }
}

/// An archive that was read, for the pages of revisits in other archives.
enum Source {
    Path(PathBuf),
    Copy(File),
}

impl Source {
    fn open(&self) -> io::Result<File> {
        match self {
            Self::Path(path) => File::open(path),
            Self::Copy(file) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(0))?;
                Ok(file)
            }
        }
    }
}

/// Reads captures of pages.
pub struct CaptureReader<'a> {
    /// Address of the file, or of the folder that is read, if it is known.
    base: Option<&'a Url>,
    /// Most bytes of a page or record.
    most: usize,
    /// Called for each unreadable part and each missing body.
    report: &'a dyn Fn(&str),
    /// Takes the pages in order.
    each: &'a mut dyn FnMut(Capture) -> Result<(), Failure>,
    tally: Tally,
    /// Revisits whose page has not been found yet.
    revisits: Revisits,
    /// Archives that were read, with their names.
    archives: Vec<(ArchiveKind, Source, String)>,
}

impl<'a> CaptureReader<'a> {
    /// A reader that passes each page to `each`, with at most `most` bytes of a page or record. `base` is the URL of
    /// a file or folder, if it is known. `report` is called for each unreadable part and each missing body.
    pub fn new(
        base: Option<&'a Url>,
        most: usize,
        report: &'a dyn Fn(&str),
        each: &'a mut dyn FnMut(Capture) -> Result<(), Failure>,
    ) -> Self {
        let (tally, revisits, archives) = (Tally::default(), Revisits::default(), Vec::new());
        Self { base, most, report, each, tally, revisits, archives }
    }

    /// Reads all inputs, and then the pages of revisits whose page is in another archive.
    ///
    /// # Errors
    /// When an input cannot be opened, or `each` fails.
    pub fn read(mut self, inputs: &[CaptureInput]) -> Result<Tally, Failure> {
        if self.base.is_some() && inputs.len() > 1 {
            return Err(Failure::usage("--url is the URL of one input: name one file or folder"));
        }
        for input in inputs {
            match input {
                CaptureInput::Path(path) => self.path(path)?,
                CaptureInput::Copy(file) => self.copy(file, &input.name())?,
            }
        }
        self.resolve_revisits()?;
        for (name, url) in self.revisits.into_unresolved() {
            self.tally.bodiless += 1;
            (self.report)(&format!("{name}: {url}: a revisit whose page is in no input; skipped"));
        }
        Ok(self.tally)
    }

    /// Reads standard input.
    fn copy(&mut self, file: &File, name: &str) -> Result<(), Failure> {
        let fail = |e: io::Error| Failure::input(Path::new(name), &e);
        let source = Source::Copy(file.try_clone().map_err(fail)?);
        let mut file = source.open().map_err(fail)?;
        match ArchiveKind::of(&mut file).map_err(fail)? {
            Some(kind) => self.archive(kind, source, name),
            None => self.page(file, Path::new(name), self.base.cloned()),
        }
    }

    /// Reads an archive, an HTML file or a folder. The content decides which it is.
    fn path(&mut self, path: &Path) -> Result<(), Failure> {
        if !path.is_dir() {
            return self.file(path, self.base.cloned());
        }
        let root = fs::canonicalize(path).map_err(|e| Failure::input(path, &e))?;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let base = self.base.cloned().or_else(|| address::of_host(&name.unwrap_or_default()));
        self.folder(path, path, base.as_ref())
    }

    /// Reads an archive.
    fn archive(&mut self, kind: ArchiveKind, source: Source, name: &str) -> Result<(), Failure> {
        let file = source.open().map_err(|e| Failure::input(Path::new(name), &e))?;
        self.archives.push((kind, source, name.to_owned()));
        self.revisits.begin_input(name);
        self.taking(name, |most, revisits, take| read_pages(kind, file, most, revisits, take))
    }

    /// Reads the archives again for the pages of revisits in other archives.
    fn resolve_revisits(&mut self) -> Result<(), Failure> {
        let archives = std::mem::take(&mut self.archives);
        // a single WARC file was searched by its own end
        if archives.len() < 2 && archives.iter().all(|(kind, ..)| *kind == ArchiveKind::Warc) {
            return Ok(());
        }
        for (kind, source, name) in archives {
            if self.revisits.is_empty() {
                break;
            }
            let file = source.open().map_err(|e| Failure::input(Path::new(&name), &e))?;
            self.taking(&name, |most, revisits, take| resolve_revisits(kind, file, most, revisits, take))?;
        }
        Ok(())
    }

    /// Passes the pages that `read` finds to `each`.
    fn taking(
        &mut self,
        name: &str,
        read: impl FnOnce(usize, &mut Revisits, &mut dyn FnMut(Archived) -> ControlFlow<()>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut failed = None;
        let Self { most, report, each, tally, revisits, .. } = self;
        let mut take = |found| {
            match found {
                Archived::Page(document) => {
                    tally.pages += 1;
                    let response = document.response.map(|response| *response);
                    let capture = Capture {
                        url: Url::parse(&document.url).ok(),
                        path: None,
                        content_type: document.content_type,
                        date: document.date,
                        bytes: document.body.into_bytes(),
                        is_truncated: document.is_truncated,
                        status: response.as_ref().map(|response| response.status),
                        robots: Headers(response.map(|response| response.robots).unwrap_or_default()),
                    };
                    if let Err(failure) = each(capture) {
                        failed = Some(failure);
                        return ControlFlow::Break(());
                    }
                }
                Archived::Bodiless { url } => {
                    tally.bodiless += 1;
                    report(&format!("{name}: {url}: too many unresolved revisits; skipped"));
                }
                Archived::Unreadable { place, error } => {
                    tally.unreadable += 1;
                    report(&format!("{name}: {place}: {error}; left out"));
                }
            }
            ControlFlow::Continue(())
        };
        let read = read(*most, revisits, &mut take);
        failed.map_or(Ok(()), Err)?;
        read.map_err(|e| match e.kind() {
            io::ErrorKind::StorageFull => Failure::new(Exit::Storage, format!("{name}: {e}")),
            _ => Failure::input(Path::new(name), &e),
        })
    }

    fn folder(&mut self, root: &Path, folder: &Path, base: Option<&Url>) -> Result<(), Failure> {
        let fail = |e: io::Error| Failure::input(folder, &e);
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(fail)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        let of_pages = saved::resource_folders(names.iter().map(OsString::as_os_str));
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(fail)?);
            if kind.is_dir() && of_pages.contains(&entry.file_name()) {
                self.tally.resource_folders += 1;
            } else if kind.is_dir() {
                self.folder(root, &path, base)?;
            } else if kind.is_file() {
                let url = path.strip_prefix(root).ok().and_then(|path| address::of_file(base, path));
                self.file(&path, url)?;
            } else {
                // a link may lead out of the folder, or to itself
                self.tally.others += 1;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, url: Option<Url>) -> Result<(), Failure> {
        let fail = |e: io::Error| Failure::input(path, &e);
        let mut file = File::open(path).map_err(fail)?;
        if let Some(kind) = ArchiveKind::of(&mut file).map_err(fail)? {
            return self.archive(kind, Source::Path(path.to_owned()), &path.display().to_string());
        }
        self.page(file, path, url)
    }

    /// Reads a file that is a page, or none.
    fn page(&mut self, file: File, path: &Path, url: Option<Url>) -> Result<(), Failure> {
        let fail = |e: io::Error| Failure::input(path, &e);
        let mut bytes = Vec::new();
        file.take(self.most as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
        let unpacked = match saved::unpacked(path, &bytes, self.most) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                self.tally.others += 1;
                (self.report)(&format!("{}: the packed page is damaged: {error}; left out", path.display()));
                return Ok(());
            }
        };
        let bytes = unpacked.unwrap_or(bytes);
        if is_mhtml(&bytes) {
            self.tally.others += 1;
            (self.report)(&format!("{}: {MHTML}; left out", path.display()));
            return Ok(());
        }
        if !saved::is_page(path, &bytes) {
            self.no_page(path, bytes.is_empty());
            return Ok(());
        }
        if bytes.len() > self.most {
            self.tally.unreadable += 1;
            (self.report)(&format!("{}: {}", path.display(), RecordError::TooLarge(self.most as u64)));
            return Ok(());
        }
        self.tally.pages += 1;
        (self.each)(Capture { url, path: Some(path.to_owned()), bytes, ..Capture::default() })
    }

    /// Counts a file that is no page: as damage, if it has the name of an archive.
    fn no_page(&mut self, path: &Path, is_empty: bool) {
        if is_empty || !is_named_as_archive(path) {
            self.tally.others += 1;
            return;
        }
        self.tally.unreadable += 1;
        let name = path.to_string_lossy().to_ascii_lowercase();
        let reason = if name.ends_with(".wacz") {
            "the directory of its zip file is missing, or lists no WARC file"
        } else if ARC_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            "ARC files are not read: `warcio recompress` makes a WARC file of one"
        } else {
            "the first bytes are not those of an archive"
        };
        (self.report)(&format!("{}: {reason}; left out", path.display()));
    }
}

/// Endings of the names of ARC files, the format before WARC.
const ARC_ENDINGS: [&str; 2] = [".arc", ".arc.gz"];

/// Returns true for the name of an archive, regardless of the file's contents.
#[must_use]
pub fn is_named_as_archive(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let endings = [".warc", ".warc.gz", ".warc.zst", ".warc.gz.open", ".wacz"];
    endings.iter().chain(&ARC_ENDINGS).any(|ending| name.ends_with(ending))
}
