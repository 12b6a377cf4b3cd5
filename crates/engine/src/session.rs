//! A crawl from its settings to the end of its stages.

mod build;
mod files;
mod outputs;
mod parts;

pub use crate::browser::check as check_browser;
pub use build::{context, context_on};
pub use files::check as check_files;
pub use outputs::{
    check as check_outputs, check_no_owner, check_owner, check_settings, close as close_outputs,
};
pub use parts::MANIFEST;

use crate::{
    address_turns::SharedTurns,
    archive::{self, Archive},
    config::Config,
    context::Context,
    duplicates,
    exit::Failure,
    links::new_url,
    outage, pipeline,
    platform::Platform,
    revisit, shard, site_counts,
    stage_error::StageError,
    state::{self, State},
};
use crawl_fetch::Seed;
use crawl_model::{Discovery, HostKey, NewUrl, Store, UrlKey};
use crawl_projects::ProjectWriter;
use std::{path::Path, sync::Arc, time::Duration};

/// Number of seeds per transaction.
const SEED_BATCH: usize = 1_000;

/// Takes the state directory of a crawl; `fresh` forgets its contents.
///
/// # Errors
/// When the output or text settings are new to it (exit 2), it cannot be written (exit 3), or another run holds
/// it (exit 6).
pub fn open_state(config: &Config, dir: &Path, fresh: bool) -> Result<State, Failure> {
    State::open(dir, fresh, config)
}

/// A run that is ready to begin: its state is restored, its seeds are enqueued, its outputs are open.
pub struct Session {
    /// The parts that the stages share.
    pub context: Arc<Context>,
    outputs: outputs::Outputs,
}

impl Session {
    /// Prepares a run on a platform. Calls `on_restored` after the state is restored and the seeds are enqueued,
    /// before the outputs are opened.
    ///
    /// # Errors
    /// When a setting cannot be used, or the state or an output cannot be read or written.
    pub fn open(
        mut config: Config,
        seeds: &[Seed],
        state: &State,
        platform: &Platform,
        on_restored: impl FnOnce(&Context),
    ) -> Result<Self, Failure> {
        check_browser(&config)?;
        if let Some(pattern) = config.output.path() {
            state::note_pattern(&*state.store, pattern)?;
        }
        config.output.expand_dates(outputs::round_start_ms(state)?)?;
        let context = Arc::new(full_context(config, state, platform)?);
        context.strategies.browser.reap();
        restore_earlier_runs(&context, state)?;
        enqueue_seeds(&context, seeds)?;
        on_restored(&context);
        let outputs = outputs::open(&context, state)?;
        Ok(Self { context, outputs })
    }

    /// Names of the output and of the error log.
    #[must_use]
    pub fn names(&self) -> (String, String) {
        let outputs::Outputs { records, errors } = &self.outputs;
        (records.name().to_owned(), errors.name().to_owned())
    }

    /// Runs all stages to their end.
    ///
    /// # Errors
    /// The first error of a stage.
    pub async fn run(self) -> Result<(), StageError> {
        let Self { context, outputs: outputs::Outputs { records, errors } } = self;
        let outcome = pipeline::run(Arc::clone(&context), records, errors).await;
        let saved = context.in_storage(|context| context.reading.sites.save(&*context.store)).await;
        let outcome = outcome.and(saved.map_err(StageError::Store));
        // the archive contains only whole records, even after an error
        let shared = Arc::clone(&context);
        let ended = context.compute.cpu.run(move || end_archive(&shared)).await;
        let ended =
            ended.unwrap_or_else(|panic| Err(StageError::Panicked { stage: "archive", words: panic.0 }));
        outcome.and(ended)
    }
}

/// Closes the files of the archive.
fn end_archive(context: &Context) -> Result<(), StageError> {
    let Some(archive) = &context.records.archive else { return Ok(()) };
    archive.finish()?;
    archive::forget(&*context.store).map_err(StageError::Store)
}

/// Restores deadlines, lessons and evidence of earlier runs from the state directory.
fn restore_earlier_runs(context: &Context, state: &State) -> Result<(), Failure> {
    duplicates::open(context)?;
    bring_forward(context, state)?;
    // a recrawl keeps the scope extensions, since the pages there are known
    context.restore_scope(state.new_round && !context.recrawl.on)?;
    context.restore_retry_after()?;
    pause_after_restart(context, state)?;
    shard::refetch_unreadable(context)?;
    state::note_emit(&*context.store, context.config.output.emit)?;
    context.save_retry_after_on_change();
    // `counts` would include the held pages of other workers
    let held: u64 = context.store.hosts_with_held()?.iter().map(|load| load.pending as u64).sum();
    context.stats.inherited.add(held);
    Ok(())
}

/// Pauses all hosts after a restart in the middle of a round: the time of the last request of the earlier process is
/// unknown.
fn pause_after_restart(context: &Context, state: &State) -> Result<(), Failure> {
    let worker = state.store.worker()?;
    if worker.map_or(!state.new_round, |start| start.epoch > 1) {
        let gate = &context.network.gate;
        gate.pause(context.config.politeness.delay);
        for (host, pause) in context.store.resumed_pauses()? {
            gate.pause_host(&host, pause);
        }
    }
    Ok(())
}

/// Maximum time by which a run postpones a URL. A `Retry-After` does not count: it is stored for the host.
fn longest_wait(config: &Config) -> Duration {
    // `spread` lengthens a pause by up to a quarter
    let longest = config.fetch.max_backoff.max(config.recrawl.confirm_gone).max(outage::LONGEST_PAUSE);
    longest.saturating_mul(5) / 4
}

/// Makes URLs due that wait longer than a run ever postpones one: the clock was wrong when they were postponed.
fn bring_forward(context: &Context, state: &State) -> Result<(), Failure> {
    let longest_ms = i64::try_from(longest_wait(&context.config).as_millis()).unwrap_or(i64::MAX);
    let now = crawl_model::now_ms();
    let moved = state.store.bring_forward(now.saturating_add(longest_ms), now)?;
    if moved > 0 {
        tracing::warn!("{moved} URLs were postponed by a clock that was ahead: they are fetched now");
    }
    Ok(())
}

/// Lets all workers of a shared crawl take turns at addresses.
fn share_addresses(context: &mut Context) {
    let gate = &context.network.gate;
    if context.config.state.is_shared() && !gate.address_pause().is_zero() {
        let turns = SharedTurns::new(Arc::downgrade(&context.compute.storage), gate.clone());
        context.network.client.take_turns(Arc::new(turns));
    }
}

/// Builds the context of a crawl: the shared state with a project and an archive.
fn full_context(config: Config, state: &State, platform: &Platform) -> Result<Context, Failure> {
    let project = ProjectWriter::open(&config.crawl.project, &config.projects.database)?;
    let mut context = context_on(platform, config, Arc::clone(&state.store) as Arc<dyn Store>)?;
    context.records.project = project;
    share_addresses(&mut context);
    if let Some(earlier) = &state.earlier {
        context.stats = earlier.for_next_session();
    }
    context.stats.run_age = state.store.run_age()?;
    context.recrawl.whole = state.new_round;
    // earlier rounds may have fetched no page
    if context.recrawl.on && state.new_round {
        context.recrawl.knows_pages = state::has_records(&*state.store)?;
    }
    context.recrawl.writes_all = state.writes_all;
    let again = site_counts::due_again(&*context.store)?;
    context.recrawl.missed_before = again.iter().map(|url| UrlKey::of(url)).collect();
    let loss = archive::loss(&*context.store, Path::new(&context.config.archive.dir))?;
    if let Some(archive) = Archive::open(&context.config, context.compute.cpu.clone())? {
        let (folder, bytes) = (&context.config.archive.dir, archive.damaged_bytes());
        let aside = (bytes > 0)
            .then(|| format!("{folder}: {bytes} damaged bytes of an earlier run were moved to another file"));
        let damages: Vec<String> = aside.into_iter().chain(loss).collect();
        if !damages.is_empty() {
            let damage = format!(
                "{}; the records in them are lost, the crawl is complete, and --fresh -O archives all of it again",
                damages.join("; ")
            );
            state::note_damage(&*context.store, &damage)?;
        }
        archive::forget(&*context.store)?;
        archive.run(state.new_round)?;
        context.network.client.record_to(Arc::new(archive.clone()));
        context.records.archive = Some(archive);
    }
    Ok(context)
}

/// Puts the seeds into the frontier and their hosts into the scope. After a finished round it adds the due
/// known URLs. URLs of the round stay as they are.
///
/// # Errors
/// When storage fails.
pub fn enqueue_seeds(context: &Context, seeds: &[Seed]) -> Result<(), Failure> {
    let urls: Vec<NewUrl> = seeds
        .iter()
        .filter_map(|seed| {
            let url = context.admission.links.canonical(&seed.url);
            context.admission.links.extend_scope(&url);
            let discovery = if seed.bare { Discovery::BareSeed } else { Discovery::Seed };
            HostKey::of(&url).map(|host| new_url(url, host, 0, discovery))
        })
        .collect();
    context.stats.seeds.add(urls.len() as u64);
    for batch in urls.chunks(SEED_BATCH) {
        if context.recrawl.revisits_seeds() {
            context.store.revisit(batch)?;
        } else {
            context.store.enqueue(batch)?;
        }
    }
    let keys = urls.iter().map(|seed| seed.key).collect();
    Ok(revisit::enqueue_due(context, &keys)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    /// A clock that was an hour ahead puts URLs off for longer than any pause, by the default settings too.
    #[test]
    fn longest_wait_of_a_url_ignores_retry_after() {
        let mut config = config::load(None, std::iter::empty(), Vec::new()).unwrap();
        assert!(longest_wait(&config) < Duration::from_secs(3_600), "{:?}", longest_wait(&config));
        config.politeness.max_retry_after = Duration::from_secs(86_400);
        (config.fetch.max_backoff, config.recrawl.confirm_gone) =
            (Duration::from_secs(100), Duration::from_secs(10));
        assert_eq!(longest_wait(&config), Duration::from_secs(125));
        config.recrawl.confirm_gone = Duration::from_secs(86_400);
        assert_eq!(longest_wait(&config), Duration::from_secs(108_000));
    }
}
