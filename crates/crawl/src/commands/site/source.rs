//! Pages of the input of `crawl site`.

use crate::{
    cli::SiteArgs,
    commands::{documents, extract::by_site::Lines, jsonl},
    logging::say,
};
use crawl_archive::{Body, Document, ReadOptions};
use crawl_engine::{
    captures::{Capture, CaptureInput, CaptureReader},
    exit::Failure,
};
use crawl_extract::Input;
use crawl_model::HostKey;
use rayon::prelude::*;
use std::path::Path;
use url::Url;

/// Most bytes of a record of an archive, or of a file of a folder.
const MAX_RECORD: usize = 64 << 20;
/// Pages of a folder that are worked on together, and bytes of theirs.
const BATCH_PAGES: usize = 64;
const BATCH_BYTES: usize = 32 << 20;

/// A page of the input.
pub(super) struct SourcePage<'a> {
    pub host: HostKey,
    pub url: &'a Url,
    pub input: Input<'a>,
}

/// Pages that can be read twice.
pub(super) enum Source<'a> {
    Lines(Lines<'a>),
    Archive(&'a Path),
    /// A folder of HTML and archives, with the address of its first level if it is known.
    Folder(&'a Path, Option<&'a Url>),
}

impl<'a> Source<'a> {
    pub fn of(args: &'a SiteArgs) -> Result<Self, Failure> {
        let file = args.file.as_deref();
        if let Some(folder) = file.filter(|path| path.is_dir()) {
            return Ok(Self::Folder(folder, args.url.as_ref()));
        }
        if args.url.is_some() {
            return Err(Failure::usage(
                "--url is the URL of a folder: JSON lines and archives contain their URLs",
            ));
        }
        let is_archive = |path: &&Path| {
            let name = path.to_string_lossy();
            [".warc", ".warc.gz", ".warc.zst", ".parquet"].iter().any(|ending| name.ends_with(ending))
        };
        match file.filter(is_archive) {
            Some(path) => Ok(Self::Archive(path)),
            None => Ok(Self::Lines(Lines::of(file)?)),
        }
    }

    /// Reads all pages and runs `work` on each, in parallel; `take` has the results in order.
    pub fn visit<T: Send>(
        &self,
        work: impl Fn(&SourcePage<'_>) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<(), Failure> {
        match self {
            Self::Folder(path, url) => visit_folder(path, *url, &work, &mut take),
            Self::Lines(lines) => {
                let work = |page: jsonl::Page<'_>| {
                    let url = page.url.as_ref()?;
                    Some(work(&SourcePage { host: HostKey::of(url)?, url, input: page.input() }))
                };
                jsonl::visit(lines.reader()?, work, |done| done.into_iter().for_each(&mut take))
            }
            Self::Archive(path) => {
                let options = ReadOptions { max_record: MAX_RECORD, keep_lines: false };
                let work = |document: &Document| {
                    let Body::Html(bytes) = &document.body else { return None };
                    let url = Url::parse(&document.url).ok()?;
                    let content_type =
                        Some(document.content_type.as_str()).filter(|declared| !declared.is_empty());
                    let input = Input::new(bytes).with_url(&url).with_content_type(content_type);
                    Some(work(&SourcePage { host: HostKey::of(&url)?, url: &url, input }))
                };
                documents::read(path, &options, &mut |batch| {
                    let done: Vec<Option<T>> = batch.par_iter().map(work).collect();
                    done.into_iter().flatten().for_each(&mut take);
                    Ok(())
                })
                .map(|_| ())
            }
        }
    }
}

/// Reads the pages of a folder, and the archives in it.
fn visit_folder<T: Send>(
    path: &Path,
    url: Option<&Url>,
    work: &(impl Fn(&SourcePage<'_>) -> T + Sync),
    take: &mut impl FnMut(T),
) -> Result<(), Failure> {
    let work = |capture: &Capture| {
        let url = capture.url.as_ref()?;
        let declared = Some(capture.content_type.as_str()).filter(|declared| !declared.is_empty());
        let input = Input::new(&capture.bytes).with_url(Some(url)).with_content_type(declared);
        Some(work(&SourcePage { host: HostKey::of(url)?, url, input }))
    };
    let (mut pages, mut bytes): (Vec<Capture>, usize) = (Vec::new(), 0);
    let mut end = |pages: &mut Vec<Capture>| {
        let done: Vec<Option<T>> = pages.par_iter().map(work).collect();
        done.into_iter().flatten().for_each(&mut *take);
        pages.clear();
    };
    let mut each = |capture: Capture| {
        bytes += capture.bytes.len();
        pages.push(capture);
        if pages.len() >= BATCH_PAGES || bytes >= BATCH_BYTES {
            bytes = 0;
            end(&mut pages);
        }
        Ok(())
    };
    let input = [CaptureInput::Path(path.to_owned())];
    CaptureReader::new(url, MAX_RECORD, &say, &mut each).read(&input)?;
    end(&mut pages);
    Ok(())
}
