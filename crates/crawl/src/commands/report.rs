//! `crawl report`: writes the HTML report of the last run again from its data.

use crate::{cli::ReportArgs, distinct_files, logging::say, report::Report};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    state::{self, SharedCrawl},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let settings =
        config::load(args.state.config.as_deref(), config::environment()?, args.state.overrides())?;
    let dir = match settings.state.dir.as_str() {
        "" if settings.state.is_shared() => {
            return Err(Failure::usage(
                "each worker has its own report: name the worker's directory with --state-dir",
            ));
        }
        dir if settings.state.is_shared() => {
            if let Some(crawl) = SharedCrawl::of(&settings)? {
                crawl.check_dir(Path::new(dir))?;
            }
            PathBuf::from(dir)
        }
        _ => state::dir_to_read(&settings, &args.state.all_seeds())?,
    };
    let report = Report::read(&dir).map_err(|e| {
        Failure::usage(format!("{}: no report of a run can be read here: {e}", dir.display()))
    })?;
    check_name(args, &dir)?;
    let written = match &args.output {
        Some(page) => report.write_page(page).map(|()| page.clone()),
        // a run that ends may write the data at the same time
        None => report.write_page_in(&dir),
    };
    let place = args.output.as_deref().unwrap_or(&dir).display();
    let page = written.map_err(|e| Failure::new(Exit::Storage, format!("{place}: {e}")))?;
    say(&page.display().to_string());
    if args.open {
        opener::open(&page)
            .map_err(|e| Failure::usage(format!("{} cannot be shown: {e}", page.display())))?;
    }
    Ok(Exit::Done)
}

/// Refuses a page that would replace the seeds, the settings or a file of the state.
fn check_name(args: &ReportArgs, dir: &Path) -> Result<(), Failure> {
    let state = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let state = state.filter(|path| path.extension() != Some(OsStr::new("html")));
    let seeds = args.state.all_seeds().into_iter().filter(|name| name.is_file());
    let inputs: Vec<PathBuf> = state.chain(seeds).chain(args.state.config.clone()).collect();
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    distinct_files::check(&inputs, &[("-o", args.output.as_deref())])?;
    match args.output.as_deref().filter(|path| holds_other(path)) {
        Some(path) => Err(Failure::usage(format!(
            "-o {}: not overwritten, since it is no HTML page such as a report; name another file",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Returns true for a file that holds anything but a page of HTML, such as records of the crawl.
fn holds_other(path: &Path) -> bool {
    let mut head = [0];
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    is_file
        && File::open(path).and_then(|mut file| file.read(&mut head)).is_ok_and(|n| n > 0 && head != *b"<")
}
