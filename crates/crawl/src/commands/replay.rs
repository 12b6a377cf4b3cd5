//! `crawl replay`: extraction and cleaning again, from an archive.

use super::kept;
use crate::{cli::ReplayArgs, distinct_files, logging::say, signals::stop_on_signals, words::counted};
use crawl_engine::{
    captures, config,
    exit::{Exit, Failure},
    replay,
    session::check_no_owner,
};
use std::{
    path::{Path, PathBuf},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// Runs `crawl replay INPUT`.
pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let config = config::load(args.config.as_deref(), config::environment()?, args.overrides())?;
    crate::logging::start(&config.log)?;
    crawl_engine::memory::check_address_space(config.extract.threads)?;
    let inputs: Vec<&Path> = args.inputs.iter().chain(&args.config).map(PathBuf::as_path).collect();
    distinct_files::check(&inputs, &[("-o", config.output.path())])?;
    check_no_owner(&config)?;
    let began = Instant::now();
    let inputs = kept::inputs(&args.inputs)?;
    let archive = replay::open(&inputs, args.url.as_ref(), &config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Internal, format!("the runtime cannot be started: {e}")))?;
    // caught from here on: the folder of the replay is removed whatever comes
    let stop = CancellationToken::new();
    let _runtime = runtime.enter();
    let signals = runtime.spawn(stop_on_signals(stop.clone(), args.quiet));
    let replayed = runtime.block_on(archive.replay(config, stop))?;
    signals.abort();
    if replayed.stopped {
        say("the replay was stopped and the output is incomplete; the same command starts over");
        return Ok(Exit::Interrupted);
    }
    if !args.quiet {
        let seconds = began.elapsed().as_secs_f64();
        say(&format!(
            "replayed: {} from {} in {seconds:.1} s",
            counted(replayed.records, "record"),
            counted(replayed.pages as u64, "page")
        ));
        if replayed.unaddressed > 0 {
            let pages = counted(replayed.unaddressed, "page");
            say(&format!(
                "{pages} without a known URL skipped: give the URL of the folder or file with --url"
            ));
        }
        if replayed.bodiless > 0 {
            let revisits = counted(replayed.bodiless as u64, "revisit");
            say(&format!("{revisits} skipped: the archive lacks their pages"));
        }
        if replayed.foreign > 0 {
            let paths = if replayed.foreign == 1 { "file or folder" } else { "files or folders" };
            say(&format!(
                "{} {paths} of other programs skipped: use a separate crawl replay",
                replayed.foreign
            ));
        }
    }
    match replayed.damage {
        None => Ok(Exit::Done),
        Some(damage) => Err(Failure::new(
            Exit::Damaged,
            format!("{}: {damage}; the output has the readable part", captures::names(&inputs)),
        )),
    }
}
