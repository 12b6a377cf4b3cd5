//! `crawl duplicates`: duplicates of a corpus, grouped and reported.

use crate::{
    cli::DuplicatesArgs,
    config::{self, DuplicatesSection},
    exit::{Exit, Failure},
    progress::say,
};
use crawl_archive::{ArchiveError, Body, Document, Item, ReadOptions};
use crawl_corpus::{
    Analysis, COLUMNS, Cell, ClusterSettings, CorpusError, Findings, InputCount, Keep, Origin, Page,
    Settings, TfIdfSettings,
};
use std::{
    fs::File,
    io::{BufWriter, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// Documents that are worked on together, and bytes of theirs.
const BATCH_DOCUMENTS: usize = 512;
const BATCH_BYTES: usize = 32 << 20;

/// Messages about unreadable records of one file; further ones are only counted.
const TOLD: u64 = 20;

pub fn run(args: &DuplicatesArgs) -> Result<Exit, Failure> {
    let section = config::load(args.config.as_deref(), config::environment()?, args.overrides())?.duplicates;
    let files = crawl_archive::expand(&args.inputs)?;
    let keep = if args.table.is_some() { Keep::Pages } else { Keep::Report };
    let work_dir = match section.work_dir.as_str() {
        "" => std::env::temp_dir(),
        dir => PathBuf::from(dir),
    };
    let mut analysis = Analysis::new(settings(&section), keep, &work_dir)?;
    let mut inputs = Vec::new();
    let max_record = usize::try_from(section.max_record.as_u64()).unwrap_or(usize::MAX);
    for file in &files {
        inputs.push(read(file, &ReadOptions { max_record }, &mut analysis)?);
    }
    if inputs.iter().all(|input| input.documents == 0) {
        return Err(Failure::usage("no document could be read"));
    }
    let findings = analysis.finish()?;
    let origin = Origin { timestamp: timestamp()?, inputs };
    write(args, &findings, &origin)?;
    summarize(&findings, &origin);
    Ok(Exit::Done)
}

fn settings(section: &DuplicatesSection) -> Settings {
    Settings {
        language: section.language.clone(),
        shingle_words: section.shingle_words,
        permutations: section.permutations,
        jaccard: section.jaccard,
        tfidf: section.tfidf.then_some(TfIdfSettings {
            cosine: section.cosine,
            vocabulary: section.vocabulary,
            min_df: section.min_df,
            max_lemma_chars: section.max_lemma_chars,
            clusters: ClusterSettings { algorithm: section.cluster_algorithm, number: section.clusters },
        }),
        pairs_per_group: section.pairs_per_group,
        seed: section.seed,
        run_records: section.run_records,
    }
}

/// Now, or the time that a reproducible build is said to take place at.
fn timestamp() -> Result<String, Failure> {
    let now = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds.parse().ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
            seconds.ok_or_else(|| Failure::usage("SOURCE_DATE_EPOCH is no number of seconds"))?
        }
        Err(_) => jiff::Timestamp::now(),
    };
    Ok(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Reads a file in batches; what cannot be read is told and counted.
fn read(path: &Path, options: &ReadOptions, analysis: &mut Analysis) -> Result<InputCount, Failure> {
    let mut count = InputCount { name: path.display().to_string(), ..InputCount::default() };
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut failed: Option<CorpusError> = None;
    let mut told = 0;
    crawl_archive::read_file(path, options, &mut |item| {
        match item {
            Item::Document(document) => {
                count.documents += 1;
                bytes += document.body.len();
                batch.push(document);
            }
            Item::Skipped => count.skipped += 1,
            Item::Unreadable { number, error } => {
                *count.unreadable.entry(error.name().to_owned()).or_default() += 1;
                told += 1;
                if told <= TOLD {
                    say(&format!("{}: record {number}: {error}; left out", path.display()));
                }
            }
        }
        if batch.len() < BATCH_DOCUMENTS && bytes < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        bytes = 0;
        match analysis.add(std::mem::take(&mut batch).into_iter().map(page).collect()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    analysis.add(batch.into_iter().map(page).collect())?;
    if told > TOLD {
        say(&format!("{}: {} more records left out", path.display(), told - TOLD));
    }
    Ok(count)
}

fn page(document: Document) -> Page {
    let (text, text_source) = match document.body {
        Body::Text(text) => (text, "text"),
        Body::Html(bytes) => (String::from_utf8_lossy(&bytes).into_owned(), "html"),
    };
    Page {
        id: document.id,
        url: document.url,
        date: document.date,
        content_type: document.content_type,
        title: document.title,
        text,
        text_source: text_source.to_owned(),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file =
        File::create(path).map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", path.display())))?;
    Ok(BufWriter::with_capacity(1 << 18, file))
}

fn write(args: &DuplicatesArgs, findings: &Findings, origin: &Origin) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        crawl_corpus::write_report(findings, origin, &mut create(path)?)?;
    }
    if let Some(path) = &args.table {
        write_csv(findings, create(path)?)
            .map_err(|e| Failure::new(Exit::Storage, format!("{}: {e}", path.display())))?;
    }
    Ok(())
}

fn write_csv(findings: &Findings, out: BufWriter<File>) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    out.write_record(COLUMNS.map(|(name, _)| name))?;
    for row in crawl_corpus::rows(findings) {
        for cell in row? {
            match cell {
                Cell::Text(text) => out.write_field(text)?,
                Cell::Integer(number) => out.write_field(number.to_string())?,
                Cell::Float(number) => out.write_field(number.to_string())?,
                Cell::Boolean(value) => out.write_field(if value { "True" } else { "False" })?,
            }
        }
        out.write_record(None::<&[u8]>)?;
    }
    out.into_inner().map_err(|e| anyhow::Error::msg(e.to_string()))?.flush()?;
    Ok(())
}

fn summarize(findings: &Findings, origin: &Origin) {
    let groups = findings.groups.of_several();
    let redundant: usize = groups.iter().map(|(_, group)| group.members.len() - 1).sum();
    let unreadable: u64 = origin.inputs.iter().flat_map(|input| input.unreadable.values()).sum();
    say(&format!(
        "{} documents, {} different texts; {} groups of duplicates with {redundant} documents beside the canonical ones; \
         {} in other languages, {unreadable} records unreadable",
        findings.documents.len(),
        findings.documents.distinct().len(),
        groups.len(),
        findings.other_languages,
    ));
}

impl From<CorpusError> for Failure {
    fn from(error: CorpusError) -> Self {
        let exit = match error {
            CorpusError::Work(_) | CorpusError::Output(_) => Exit::Storage,
            CorpusError::Setting { .. } | CorpusError::TooMany => Exit::Usage,
        };
        Self { exit, error: error.into() }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let exit = if matches!(error, ArchiveError::Output(_)) { Exit::Storage } else { Exit::Usage };
        Self { exit, error: error.into() }
    }
}
