//! The outputs of a run: opened before its first batch, closed after its last.

use super::parts;
use crate::{
    config::Config,
    context::Context,
    ending::Ending,
    exit::{Exit, Failure, exit_code},
    rotation::{self, RotatingOutput},
    state::{self, SharedCrawl, State},
};
use crawl_model::{OutputMark, StoreError, now_ms};
use crawl_output::{
    FileOutput, LineRecords, Output, OutputError, Place, RecordOutput, StdoutOutput, is_folder,
};
use crawl_store::private;
use std::{io, path::Path};

/// The outputs of a run.
pub(super) struct Outputs {
    pub(super) records: Box<dyn RecordOutput>,
    pub(super) errors: Box<dyn Output>,
}

/// Checks settings of outputs against each other, without a look at the outputs.
///
/// # Errors
/// When a setting cannot be used (exit 2).
pub fn check_settings(config: &Config) -> Result<(), Failure> {
    let mut output = config.output.clone();
    output.expand_dates(now_ms())?;
    output.check_endings()?;
    output.chosen_fields()?;
    let replaces = !output.replace.is_empty();
    if output.max_file.is_some() && (replaces || is_folder(Path::new(&output.append))) {
        return Err(Failure::usage("output.max_file: only a file of -o continues in another file"));
    }
    output_path(config).map(drop)
}

/// Checks the outputs that the settings name, and changes none.
///
/// # Errors
/// When a setting cannot be used (exit 2), or an output cannot be written (exit 3).
pub fn check(config: &Config) -> Result<(), Failure> {
    check_settings(config)?;
    let mut config = config.clone();
    config.output.expand_dates(now_ms())?;
    let config = &config;
    let archive = Path::new(&config.archive.dir);
    let archive = Some(archive).filter(|dir| !dir.as_os_str().is_empty());
    let given = output_path(config)?;
    let is_shared = SharedCrawl::of(config)?.is_some();
    let folder = given.filter(|path| is_shared && parts::is_pattern(path)).map(parts::folder_of);
    if folder.is_some() && !config.output.replace.is_empty() {
        return Err(Failure::usage("-O replaces one file: name the parts of several workers with -o"));
    }
    let records = folder.as_deref().map(|folder| (folder, true));
    let records = records.or_else(|| given.map(|path| (path, is_folder(path))));
    for (path, is_folder) in records.into_iter().chain(archive.map(|dir| (dir, true))) {
        let name = path.display().to_string();
        if name.contains("://") {
            return Err(Failure::usage(format!("{name}: records go to a file or a folder, not to a URL")));
        }
        check_writable(path, is_folder).map_err(|source| OutputError::Write { name, source })?;
    }
    Ok(())
}

/// Fails if a file, or the folder that will hold it, cannot be written. A folder may be missing with those above it.
fn check_writable(path: &Path, is_folder: bool) -> io::Result<()> {
    let existing = if is_folder {
        path.ancestors().find(|above| above.exists())
    } else if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    } else if path.exists() {
        Some(path)
    } else {
        path.parent()
    };
    let existing = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(rustix::fs::access(existing, rustix::fs::Access::WRITE_OK)?)
}

/// Name in the store of the start of a round, as `ROUND:MILLISECONDS`.
const START_KEY: &str = "round_start";

/// Start of the round of a state, for names of outputs with a date. A resumed round keeps the names of its start.
pub(super) fn round_start_ms(state: &State) -> Result<i64, StoreError> {
    let noted = state.store.get(START_KEY)?;
    let known = noted.as_deref().and_then(|text| text.split_once(':'));
    if let Some((round, start)) = known
        && round == state.round.to_string()
        && let Ok(start) = start.parse()
    {
        return Ok(start);
    }
    let now = now_ms();
    state.store.put(START_KEY, &format!("{}:{now}", state.round))?;
    Ok(now)
}

/// Opens the output and the error log, each cut back to what was settled.
pub(super) fn open(context: &Context, state: &State) -> Result<Outputs, Failure> {
    let output = &context.config.output;
    let replace = !output.replace.is_empty();
    let fields = output.chosen_fields()?;
    let log = state.dir.join(state::ERROR_LOG);
    let place = Place::of_lines(&log);
    let before = state.before(&place, &log, true)?;
    private::create(&place.path)
        .map_err(|source| OutputError::Write { name: log.display().to_string(), source })?;
    let errors = FileOutput::open(&place.path, before)?;
    if errors.missing() > 0 {
        tracing::warn!("{}: lines of this round are not there any more", log.display());
    }
    state.output_opened(&place, errors.length(), errors.is_stale())?;
    let records: Box<dyn RecordOutput> = match output_path(&context.config)? {
        None => {
            Box::new(LineRecords::new(Box::new(StdoutOutput::new(context.control.cancel.clone())), fields))
        }
        Some(given) => {
            let part = parts::part_of(&*state.store, given)?;
            let base = part.as_deref().unwrap_or(given);
            // a part of several workers is one file
            let max_bytes = output.max_file.map(|size| size.as_u64()).filter(|_| part.is_none());
            let path = match max_bytes {
                Some(_) => rotation::current(&*state.store, base)?,
                None => base.to_owned(),
            };
            let place = Place::of(&path);
            if part.is_some() {
                parts::end_earlier(state, fields.as_ref())?;
                parts::add(state, &place)?;
            }
            let opened = place.open(state.before(&place, &path, replace)?, fields.clone())?;
            state.note_damage(&opened)?;
            state.output_opened(&place, opened.offset, opened.stale)?;
            match max_bytes {
                Some(max_bytes) => Box::new(RotatingOutput::new(
                    state,
                    (base, fields, max_bytes),
                    (opened.output, opened.offset),
                )),
                None => opened.output,
            }
        }
    };
    // from here on the outputs change: whatever happens, the next run has to know what they held
    state.store.sync()?;
    Ok(Outputs { records, errors: Box::new(errors) })
}

/// The file or folder that records go to; `None` for standard output.
fn output_path(config: &Config) -> Result<Option<&Path>, Failure> {
    let output = &config.output;
    if !output.append.is_empty() && !output.replace.is_empty() {
        return Err(Failure::usage("output.append and output.replace are both set: name one output"));
    }
    Ok(output.path())
}

/// Closes the outputs of a run that ended without an error, and the round, if nothing of it is left. Until then the same
/// command resumes the round.
pub fn close(context: &Context, state: &State, names: [&str; 2], ending: Ending) -> Result<(), Failure> {
    let store = &*context.store;
    context.save_retry_after()?;
    let given = output_path(&context.config)?;
    let part = given.map(|path| parts::part_of(&*state.store, path)).transpose()?.flatten();
    let place = part.as_deref().or(given).map(Place::of);
    for name in names {
        state::output_closed(store, name)?;
    }
    let done = exit_code(ending, &store.counts()?, &context.stats) == Exit::Done;
    if let Some(place) = place.as_ref().filter(|_| done && !context.config.output.replace.is_empty()) {
        state::replace_by_nothing(store, place)?;
    }
    if let Some(place) = place.as_ref().filter(|_| done) {
        let name = place.name();
        // a kill between the two leaves an index that is longer than noted, as one that a user has added to
        place.tidy(&mut |offset| {
            store.settle(&[], &[OutputMark { name: name.clone(), offset }])?;
            Ok(store.sync()?)
        })?;
    }
    if let (Some(_), Some(place), Some(given)) = (&part, &place, given) {
        parts::end(&*state.store, place)?;
        parts::write_manifest(&*state.store, given)?;
    }
    // the last change: once the end is noted, the same command begins another round
    state::note_end(store)?;
    Ok(())
}
