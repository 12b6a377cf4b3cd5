//! `crawl report`: writes the HTML report of the last run again from its data.

use crate::{cli::ReportArgs, logging::say, report::Report};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    state::{self, SharedCrawl},
};
use std::path::{Path, PathBuf};

pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let settings =
        config::load(args.state.config.as_deref(), config::environment()?, args.state.overrides())?;
    let dir = match settings.state.dir.as_str() {
        "" if settings.state.is_shared() => {
            return Err(Failure::usage(
                "each worker leaves a report of its own: name its directory with --state-dir",
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
