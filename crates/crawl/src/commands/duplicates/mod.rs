//! `crawl duplicates`: duplicates of a corpus, grouped and reported.

mod output;

use super::{documents, rules};
use crate::{cli::DuplicatesArgs, distinct_files, logging::say, words::counted};
use crawl_archive::{MAX_RECORD_BYTES, ReadOptions};
use crawl_corpus::{
    Analysis, ClusterSettings, Findings, Keep, Origin, PAIRS_PER_GROUP, Settings, TfIdfSettings,
};
use crawl_engine::{
    config::{self, DuplicatesSection},
    exit::{Exit, Failure},
    judge::language,
};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

pub fn run(args: &DuplicatesArgs) -> Result<Exit, Failure> {
    let section = config::load(args.config.as_deref(), config::environment()?, args.overrides())?.duplicates;
    let files = crawl_archive::expand(&args.inputs)?;
    check_names(args, &files)?;
    let keep = match (&args.table, &args.html) {
        (Some(_), _) => Keep::Pages,
        (None, Some(_)) => Keep::Texts,
        (None, None) => Keep::Report,
    };
    let work_dir = match section.work_dir.as_str() {
        "" => std::env::temp_dir(),
        dir => PathBuf::from(dir),
    };
    let mut analysis = Analysis::new(settings(&section)?, keep, &work_dir)?;
    let mut inputs = Vec::new();
    let options = ReadOptions { max_record: MAX_RECORD_BYTES, keep_lines: false };
    let extractor = documents::extractor(rules(&args.rules)?, crawl_extract::Favor::default());
    for file in &files {
        inputs.push(documents::read(file, &options, &mut |batch| {
            let pages = batch.into_par_iter().map(|document| documents::page(document, &extractor));
            Ok(analysis.add(pages.collect())?)
        })?);
    }
    if inputs.iter().all(|input| input.documents == 0) {
        return Err(Failure::usage("no document could be read"));
    }
    let findings = analysis.finish()?;
    let origin = Origin { timestamp: timestamp()?, inputs };
    output::write(args, &findings, &origin)?;
    summarize(&findings, &origin);
    Ok(Exit::Done)
}

/// Refuses an output that is an input, or another output.
fn check_names(args: &DuplicatesArgs, files: &[PathBuf]) -> Result<(), Failure> {
    let inputs: Vec<&Path> = files.iter().chain(&args.config).map(PathBuf::as_path).collect();
    let parquet = args.table.as_deref().filter(|_| args.parquet).map(output::beside);
    let outputs = [
        ("--report", args.report.as_deref()),
        ("--table", args.table.as_deref()),
        ("--parquet", parquet.as_deref()),
        ("--html", args.html.as_deref()),
        ("--bands", args.bands.as_deref()),
        ("--terms", args.terms.as_deref()),
    ];
    distinct_files::check(&inputs, &outputs)
}

fn settings(section: &DuplicatesSection) -> Result<Settings, Failure> {
    let language = language("duplicates.language", &section.language, "all")?.unwrap_or("all");
    if language != "all" && !crawl_model::is_detected(language) {
        return Err(Failure::usage(format!(
            "duplicates.language: \"{}\" ({language}) cannot be identified: no document would remain",
            section.language
        )));
    }
    Ok(Settings {
        language: language.to_owned(),
        shingle_words: section.shingle_words,
        permutations: section.permutations,
        jaccard: section.jaccard,
        tfidf: section.tfidf.then_some(TfIdfSettings {
            cosine: section.cosine,
            vocabulary: section.vocabulary,
            min_df: section.min_df,
            ngrams: section.ngrams,
            max_lemma_chars: section.max_lemma_chars,
            clusters: ClusterSettings { algorithm: section.cluster_algorithm, number: section.clusters },
        }),
        pairs_per_group: PAIRS_PER_GROUP,
        seed: section.seed,
        run_records: section.run_records,
    })
}

/// Current time, or the time that a reproducible build sets.
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

fn summarize(findings: &Findings, origin: &Origin) {
    let groups = findings.groups.of_several();
    let redundant: usize = groups.iter().map(|(_, group)| group.members.len() - 1).sum();
    let unreadable: u64 = origin.inputs.iter().flat_map(|input| input.unreadable.values()).sum();
    let (empty, texts): (Vec<_>, Vec<_>) =
        findings.documents.distinct().iter().partition(|text| text.chars == 0);
    let without_text: u32 = empty.iter().map(|text| text.documents).sum();
    let without_text = match without_text {
        0 => String::new(),
        number => format!("{number} without text, "),
    };
    say(&format!(
        "{}, {without_text}{}; {} of duplicates with {} besides the canonical ones; {} in other languages, {} unreadable",
        counted(u64::from(findings.documents.len()), "document"),
        counted(texts.len() as u64, "different text"),
        counted(groups.len() as u64, "group"),
        counted(redundant as u64, "document"),
        findings.other_languages,
        counted(unreadable, "record"),
    ));
}
