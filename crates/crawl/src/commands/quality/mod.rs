//! `crawl quality`: scores documents by the quality rules, and explains the scores.

mod context;
mod distribution;
mod explain;
mod output;
mod report;

use super::{documents, visit, write_out, write_text};
use crate::{cli::QualityArgs, distinct_files, logging::say, words::counted};
use crawl_archive::{Body, Document, MAX_RECORD_BYTES, ReadOptions};
use crawl_corpus::Page;
use crawl_engine::{
    config::{self, Config, ExtractSection, QualitySection},
    exit::{Exit, Failure},
    judge::QualityJudge,
    page_rules,
};
use crawl_extract::{PageExtractor, Rules};
use crawl_quality::{Assessment, RuleSet};
use distribution::Distribution;
use explain::Explainer;
use output::Output;
use rayon::prelude::*;
use report::Report;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Origin of a document's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSource {
    /// The text of a record.
    Record,
    /// Extraction from a page of an archive or a table.
    Page,
    /// Extraction from the page of `--url`.
    Fetched,
}

/// A document that was judged.
struct Judged {
    document: Page,
    /// The line that it stood in, of JSONL.
    line: Vec<u8>,
    source: TextSource,
    assessment: Assessment,
}

pub fn run(args: &QualityArgs) -> Result<Exit, Failure> {
    let config = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    let section = &config.quality;
    let judge = QualityJudge::new(&config)?;
    let sets = sets(args, section)?;
    if args.show_config {
        return show_config(&judge);
    }
    if let Some(url) = &args.url {
        // the visit reads them again, and reports faulty lines of lists then
        configured_rules(&config.extract, |_| {})?;
        return explain_url(url.clone(), config.clone(), &judge);
    }
    let rules = configured_rules(&config.extract, say)?;
    let files = crawl_archive::expand(&args.inputs)?;
    check_names(args, &files)?;
    let mut job = Job::new(args, &judge, sets)?;
    let extractor = documents::extractor(rules, config.extract.favor);
    let options = ReadOptions { max_record: MAX_RECORD_BYTES, keep_lines: args.output.is_some() };
    let (mut read, mut unreadable) = (0, 0);
    for file in &files {
        let count = documents::read(file, &options, &mut |batch| {
            let judged: Vec<Judged> =
                batch.into_par_iter().map(|document| judged(document, &extractor, &judge)).collect();
            judged.iter().try_for_each(|document| job.document(document))
        })?;
        read += count.documents;
        unreadable += count.unreadable.values().sum::<u64>();
    }
    if read == 0 {
        return Err(Failure::usage("no document could be read"));
    }
    job.finish(args, unreadable)
}

/// Refuses an output that is an input, or another output.
fn check_names(args: &QualityArgs, files: &[PathBuf]) -> Result<(), Failure> {
    let inputs: Vec<&Path> = files.iter().chain(&args.config).map(PathBuf::as_path).collect();
    let (output, html, stats) = (args.output.as_deref(), args.html.as_deref(), args.stats.as_deref());
    distinct_files::check(&inputs, &[("-o", output), ("--html", html), ("--stats", stats)])
}

/// The rules of extraction that the configuration and the flags name.
fn configured_rules(settings: &ExtractSection, warn: impl Fn(&str)) -> Result<Rules, Failure> {
    let overlay = Some(settings.rules.as_str()).filter(|dir| !dir.is_empty()).map(Path::new);
    page_rules::load(overlay, &settings.consent_lists, warn)
}

fn judged(mut document: Document, extractor: &PageExtractor, judge: &QualityJudge) -> Judged {
    let line = std::mem::take(&mut document.line);
    let source = if matches!(document.body, Body::Html(_)) { TextSource::Page } else { TextSource::Record };
    let (document, language) = documents::page_and_language(document, extractor);
    let assessment = judge.assess(&document.text, &language);
    Judged { document, line, source, assessment }
}

/// The sets by which documents are dropped, or would be.
fn sets(args: &QualityArgs, section: &QualitySection) -> Result<Vec<RuleSet>, Failure> {
    let asked = match args.drop.as_deref() {
        None | Some("") => section.drop.clone(),
        Some("all") => section.sets.clone(),
        Some(names) => {
            let named: Result<_, String> = names.split(',').map(|name| name.trim().parse()).collect();
            named.map_err(|problem| Failure::usage(format!("--drop: {problem}")))?
        }
    };
    let missing = |set: &&RuleSet| !section.sets.contains(set);
    match asked.iter().find(missing) {
        Some(set) => Err(Failure::usage(format!("--drop: {set} is not among quality.sets"))),
        None => Ok(asked),
    }
}

/// Work on each document as it passes.
struct Job<'a> {
    judge: &'a QualityJudge,
    sets: Vec<RuleSet>,
    drop: bool,
    dropped: u64,
    distribution: Distribution,
    output: Option<Output>,
    report: Option<Report>,
    explainer: Option<Explainer>,
    wanted: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl<'a> Job<'a> {
    fn new(args: &QualityArgs, judge: &'a QualityJudge, sets: Vec<RuleSet>) -> Result<Self, Failure> {
        Ok(Self {
            distribution: Distribution::new(judge.checker()),
            output: args.output.as_deref().map(Output::create).transpose()?,
            report: args.html.as_ref().map(|_| Report::default()),
            explainer: args.failed.then(Explainer::default),
            wanted: args.explain.iter().cloned().collect(),
            found: BTreeSet::new(),
            drop: args.drop.is_some(),
            dropped: 0,
            judge,
            sets,
        })
    }

    fn document(&mut self, judged: &Judged) -> Result<(), Failure> {
        let checker = self.judge.checker();
        let fails = checker.fails(&judged.assessment, &self.sets);
        self.distribution.add(checker, judged, fails);
        if let Some(report) = &mut self.report {
            report.add(judged, fails);
        }
        let Page { id, url, .. } = &judged.document;
        let named: Vec<&String> =
            [id, url].into_iter().filter(|name| self.wanted.contains(name.as_str())).collect();
        if !named.is_empty() {
            write_text(&explain::detail(checker, judged))?;
            self.found.extend(named.into_iter().cloned());
        }
        if let Some(explainer) = self.explainer.as_mut().filter(|_| fails) {
            write_text(&explainer.failed(checker, judged))?;
        }
        if self.drop && fails {
            self.dropped += 1;
            return Ok(());
        }
        match &mut self.output {
            Some(output) => output.write(checker, judged),
            None => Ok(()),
        }
    }

    fn finish(self, args: &QualityArgs, unreadable: u64) -> Result<Exit, Failure> {
        if let Some(output) = self.output {
            output.finish()?;
        }
        let checker = self.judge.checker();
        if let Some(path) = &args.stats {
            let mut text = serde_json::to_vec_pretty(&self.distribution.shown(checker, &self.sets))
                .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
            text.push(b'\n');
            output::write_file(path, &text)?;
        }
        if let Some((path, report)) = args.html.as_ref().zip(self.report) {
            let mut page = Vec::new();
            report.write(self.distribution.shown(checker, &self.sets), &mut page)?;
            output::write_file(path, &page)?;
        }
        if let Some(explainer) = self.explainer {
            write_text(&explainer.summary(&names(&self.sets)))?;
        }
        let missing: Vec<&String> = self.wanted.difference(&self.found).collect();
        if let Some(id) = missing.first() {
            return Err(Failure::usage(format!("no document has the id or URL {id}")));
        }
        if args.explain.is_empty() && !args.failed {
            let table = self.distribution.table(checker, &self.sets);
            match args.output.as_deref().is_some_and(|path| path.as_os_str() == "-") {
                true => say(table.trim_end()),
                false => write_text(&table)?,
            }
        }
        let dropped =
            if self.drop { format!(", {} omitted from the output", self.dropped) } else { String::new() };
        let (all, failing) = self.distribution.counts();
        say(&format!(
            "{}, {failing} fail {}{dropped}; {} unreadable",
            counted(all, "document"),
            names(&self.sets),
            counted(unreadable, "record"),
        ));
        Ok(Exit::Done)
    }
}

/// Names of sets, as in a sentence.
fn names(sets: &[RuleSet]) -> String {
    match sets.iter().map(|set| set.name()).collect::<Vec<_>>().as_slice() {
        [] => "no set of rules".to_owned(),
        [name] => format!("the set {name}"),
        names => format!("a set of {}", names.join(", ")),
    }
}

/// Prints the thresholds as a file of rules, which `quality.rules` may name.
fn show_config(judge: &QualityJudge) -> Result<Exit, Failure> {
    let text =
        toml::to_string(judge.thresholds()).map_err(|e| Failure::new(Exit::Internal, e.to_string()))?;
    write_out(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Fetches a page as a crawl of one page would, and explains its text.
fn explain_url(url: url::Url, config: Config, judge: &QualityJudge) -> Result<Exit, Failure> {
    let record = visit::page(url, config)?;
    let assessment = judge.assess(&record.text, record.metadata.language.as_deref().unwrap_or_default());
    let document = Page {
        id: record.id,
        url: record.url,
        title: record.metadata.title.unwrap_or_default(),
        text: record.text,
        text_source: "html".to_owned(),
        ..Page::default()
    };
    let judged = Judged { document, line: Vec::new(), source: TextSource::Fetched, assessment };
    write_text(&explain::detail(judge.checker(), &judged))?;
    Ok(Exit::Done)
}
