//! `crawl state copy` and `crawl state upgrade`.

use super::{
    state::{dir_of, usage},
    write_text,
};
use crate::{
    cli::{CopyArgs, StateArgs},
    logging::say,
};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    state::{self, SharedCrawl},
};
use crawl_store::{CopyReport, StateLock, StoreUrl};
use std::{fmt::Write as _, path::Path};

pub(super) fn copy(args: &CopyArgs) -> Result<Exit, Failure> {
    let place = |text: &str| text.parse::<StoreUrl>().map_err(usage);
    let report = match (place(&args.from)?, place(&args.to)?) {
        (StoreUrl::Directory(dir), StoreUrl::Database(to)) => {
            if !dir.is_dir() {
                return Err(Failure::usage(format!("{} holds no state of a crawl", dir.display())));
            }
            let _lock = StateLock::acquire(&dir)?;
            state::require_database(&dir)?;
            state::warn_of_damaged_log(&dir);
            let crawl = SharedCrawl::named(to, &args.crawl);
            crawl.copy_from(&dir).map_err(|e| e.in_state(&dir))?
        }
        (StoreUrl::Database(from), StoreUrl::Directory(dir)) => {
            refuse_worker(&dir)?;
            let is_new = !dir.exists();
            let lock = StateLock::acquire(&dir)?;
            let copied = SharedCrawl::named(from, &args.crawl).copy_to(&dir);
            if copied.is_err() && is_new {
                lock.remove(&dir);
            }
            copied?
        }
        _ => {
            return Err(Failure::usage(
                "one of the two must be postgres://USER@HOST/DATABASE, the other sqlite:DIR: copy a directory with cp -a once its \
                 process has ended, and a database with pg_dump",
            ));
        }
    };
    write_text(&in_words(&report))?;
    say("the copy is complete: continue the crawl from only one of the two");
    Ok(Exit::Done)
}

/// The directory of a worker holds its pages, and no state.
fn refuse_worker(dir: &Path) -> Result<(), Failure> {
    if dir.join(state::WORKER_FILE).exists() || dir.join(state::ERROR_LOG).exists() {
        let dir = dir.display();
        return Err(Failure::usage(format!(
            "{dir} belongs to another crawl or a worker: name another directory"
        )));
    }
    Ok(())
}

fn in_words(report: &CopyReport) -> String {
    let mut out = String::new();
    for (table, rows) in &report.rows {
        let _ = writeln!(out, "  {rows:>12}  {table}");
    }
    if report.damaged > 0 {
        let _ = writeln!(out, "  {} damaged rows were left out: they are learned again", report.damaged);
    }
    if report.fetched_again > 0 {
        let _ = writeln!(out, "  {} held pages are fetched again", report.fetched_again);
    }
    out
}

pub(super) fn upgrade(args: &StateArgs) -> Result<Exit, Failure> {
    let settings = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    if let Some(crawl) = SharedCrawl::of(&settings)? {
        let (before, now) = crawl.upgrade()?;
        let place = crawl.place();
        let words = if before == now {
            format!("{}: version {now}, up to date\n", place.display())
        } else {
            format!("{}: upgraded from version {before} to version {now}\n", place.display())
        };
        write_text(&words)?;
        return Ok(Exit::Done);
    }
    let dir = dir_of(args)?;
    state::refuse_worker(&dir)?;
    if !crawl_store::state::exists(&dir) {
        return Err(Failure::usage(format!("{} holds no state of a crawl", dir.display())));
    }
    let _lock = StateLock::acquire(&dir)?;
    state::warn_of_damaged_log(&dir);
    drop(crawl_store::open(&dir).map_err(|e| Failure::from(e).in_state(&dir))?);
    write_text(&format!("{}: up to date\n", dir.display()))?;
    Ok(Exit::Done)
}
