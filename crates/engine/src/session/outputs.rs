//! The outputs of a run: opened before its first batch, closed after its last.

use super::parts::{self, PartSeries};
use crate::{
    config::Config,
    context::Context,
    ending::Ending,
    exit::{Exit, Failure, exit_code},
    rotation::{self, FileSeries, NumberedFiles, RotatingOutput},
    state::{self, SharedCrawl, State},
};
use crawl_model::{OutputMark, Store, StoreError, now_ms};
use crawl_output::{
    Fields, FileOutput, LineRecords, Output, OutputError, Owner, Place, RecordOutput, StdoutOutput, absolute,
    is_folder,
};
use crawl_store::{StateLock, private};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The outputs of a run.
pub(super) struct Outputs {
    pub(super) records: Box<dyn RecordOutput>,
    pub(super) errors: Box<dyn Output>,
}

/// Checks settings of outputs against each other, without access to the outputs.
///
/// # Errors
/// When a setting cannot be used (exit 2).
pub fn check_settings(config: &Config) -> Result<(), Failure> {
    let mut output = config.output.clone();
    output.expand_dates(now_ms())?;
    output.check_endings()?;
    check_archive_name(Path::new(&config.archive.dir))?;
    let fields = output.chosen_fields()?;
    let replaces = !output.replace.is_empty();
    if output.max_file.is_some() && (replaces || is_folder(Path::new(&output.append))) {
        return Err(Failure::usage("output.max_file: only a file of -o can be split"));
    }
    if let (Some(fields), Some(path)) = (fields, output_path(config)?)
        && config.output.holds_state()
        && !is_folder(path)
    {
        check_fields_of_state(&fields, path)?;
    }
    Ok(())
}

/// Fails if the folder of an archive has the name of an archive file.
fn check_archive_name(dir: &Path) -> Result<(), Failure> {
    let is_file =
        |ending: &std::ffi::OsStr| ["warc", "wacz", "gz", "zst"].iter().any(|known| ending == *known);
    if dir.extension().is_some_and(is_file) && !dir.is_dir() {
        return Err(Failure::usage(format!(
            "archive.dir: {}: an archive is a folder of WARC files: name a folder, such as archive/",
            dir.display()
        )));
    }
    Ok(())
}

/// Fails if the records of an output do not identify their pages.
fn check_fields_of_state(fields: &Fields, path: &Path) -> Result<(), Failure> {
    let is_table = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    let missing = match () {
        () if !fields.has("id") && !fields.has("url") => "id or url",
        () if is_table && !fields.has("metadata.change") => "metadata.change",
        () => return Ok(()),
    };
    Err(Failure::usage(format!(
        "output.fields: -O keeps the records of unchanged pages in {}, which needs {missing}; --emit changes replaces the file by \
         the records of each round",
        path.display()
    )))
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

/// Fails if the output belongs to the crawl of another state directory than `dir`.
///
/// # Errors
/// When it does (exit 2).
pub fn check_owner(config: &Config, dir: &Path) -> Result<(), Failure> {
    let Some(place) = config.output.path().map(Place::of) else { return Ok(()) };
    let note = place.owner_file();
    match other_owner(&place, Some(dir)) {
        None => Ok(()),
        Some(owner) => Err(Failure::usage(format!(
            "{} belongs to {owner}; or name another output; or delete {} to give the file to this crawl",
            place.path.display(),
            note.display()
        ))),
    }
}

/// Fails if the output belongs to a crawl. A command without a state cannot continue that crawl's file.
///
/// # Errors
/// When it does (exit 2).
pub fn check_no_owner(config: &Config) -> Result<(), Failure> {
    let Some(place) = config.output.path().map(Place::of) else { return Ok(()) };
    match other_owner(&place, None) {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!(
            "{} is the output of a crawl, which would lose its records: name another output; or delete {} to give the file up",
            place.path.display(),
            place.owner_file().display()
        ))),
    }
}

/// The owner of an output in words, and the way to continue it; `None` if it has none but the state in `own`.
fn other_owner(place: &Place, own: Option<&Path>) -> Option<String> {
    match place.owner() {
        Owner::None => None,
        // a state that is gone leaves its outputs to others
        Owner::Crawl(state)
            if own.is_some_and(|dir| state == owner_name(dir)) || !crawl_store::state::exists(&state) =>
        {
            None
        }
        // a crawl without a page, such as one whose seeds could not be fetched, has nothing to lose
        Owner::Crawl(state) if is_without_pages(&state) => None,
        Owner::Crawl(state) => {
            let state = state.display();
            Some(format!(
                "the crawl in {state}: continue that crawl with --state-dir {state}, which may have other seeds now"
            ))
        }
        Owner::Unreadable(kind) => Some(format!("a crawl of another user ({kind}): continue as that user")),
    }
}

/// Returns true if no round of a state has brought a page, and no process uses it. A state that cannot be read counts as one with pages.
fn is_without_pages(state: &Path) -> bool {
    if StateLock::holder(state).is_some() {
        return false;
    }
    let is_empty = || -> Result<bool, StoreError> {
        let store = crawl_store::state::open_read_only(state)?;
        let counts = store.counts()?;
        let pages =
            counts.records + counts.unchanged + counts.gone + counts.held + counts.pending + counts.leased;
        Ok(pages == 0 && !state::has_records(&*store)?)
    };
    is_empty().unwrap_or(false)
}

/// The path by which a state directory owns outputs.
fn owner_name(dir: &Path) -> PathBuf {
    std::fs::canonicalize(dir).unwrap_or_else(|_| absolute(dir))
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
    let fields = fields.map(|fields| if output.holds_state() { fields.with_tombstones() } else { fields });
    let errors = open_error_log(state)?;
    let records: Box<dyn RecordOutput> = match output_path(&context.config)? {
        None => {
            Box::new(LineRecords::new(Box::new(StdoutOutput::new(context.control.cancel.clone())), fields))
        }
        Some(given) => {
            let part = parts::first_of(&*state.store, given)?;
            let max_bytes = output.max_file.map(|size| size.as_u64());
            let path = match (&part, max_bytes) {
                (Some(part), _) => part.clone(),
                (None, Some(_)) => {
                    rotation::tidy_previous(&*state.store, given)?;
                    rotation::current(&*state.store, given)?
                }
                (None, None) => given.to_owned(),
            };
            let place = match &part {
                Some(part) => parts::begin(state, given, part, fields.as_ref())?,
                None => Place::of(&path),
            };
            // records of earlier rounds stay, unless the user has removed them or wants other fields
            let keeps = output.holds_state() && context.recrawl.on && part.is_none();
            let is_there = !state.new_round || place.marked().exists();
            let keeps = keeps && !state.replaces_records && is_there && !state.is_stale(&place)?;
            let keeps = keeps && state.knows(&place, &path)?;
            let before = state.before(&place, &path, replace && !keeps)?;
            state.note_kind_of_output(&place, replace && !output.holds_state())?;
            state.note_shortened(&place, before, replace)?;
            let opened = place.open(before, fields.clone())?;
            state.note_damage(&opened)?;
            state.output_opened(&place, opened.offset, opened.stale)?;
            state::first_round::note(&*state.store, state.round, &place.name(), (before, opened.offset))?;
            if part.is_none() {
                // a folder is resolved once it exists
                let place = Place::of(&path);
                let fail =
                    |source| OutputError::Write { name: place.owner_file().display().to_string(), source };
                place.set_owner(&owner_name(&state.dir)).map_err(fail)?;
            }
            let series: Box<dyn FileSeries> = match part {
                Some(_) => Box::new(PartSeries::new(state, given)),
                None => Box::new(NumberedFiles::new(Arc::clone(&state.store) as Arc<dyn Store>, given)),
            };
            let present = (Place::of(&path), opened.output, opened.offset);
            match max_bytes {
                Some(max_bytes) => Box::new(RotatingOutput::new(state, series, (fields, max_bytes), present)),
                None => present.1,
            }
        }
    };
    // the outputs change after this point, so the next run needs their state even after a crash
    state.store.sync()?;
    Ok(Outputs { records, errors: Box::new(errors) })
}

/// Opens the error log, cut back to what was settled.
fn open_error_log(state: &State) -> Result<FileOutput, Failure> {
    let log = state.dir.join(state::ERROR_LOG);
    let place = Place::of_lines(&log);
    let before = state.before(&place, &log, true)?;
    private::create(&place.path)
        .map_err(|source| OutputError::Write { name: log.display().to_string(), source })?;
    let errors = FileOutput::open(&place.path, before)?;
    if errors.missing() > 0 {
        tracing::warn!("{}: lines of this round are missing", log.display());
    }
    state.output_opened(&place, errors.length(), errors.is_stale())?;
    if state.store.worker()?.is_some() {
        // the list of outputs of all workers leaves it out
        state.store.put(&format!("error_log:{}", place.name()), "1")?;
    }
    Ok(errors)
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
    let part = given.map(|path| parts::last_of(&*state.store, path)).transpose()?.flatten();
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
        // a kill between the two steps leaves a file longer than its mark, as an addition by the user does
        let mut note = |offset| {
            store.settle(&[], &[OutputMark { name: name.clone(), offset }])?;
            Ok(store.sync()?)
        };
        if context.config.output.holds_state() && !state::first_round::is_whole(store, &name)? {
            place.keep_latest(&mut note)?;
        }
        place.tidy(&mut note)?;
        state::note_file(store, place)?;
    }
    if let (None, Some(given), true) = (&part, given, done && context.config.output.max_file.is_some()) {
        // the last of several files; those before it were put in order at their ends
        rotation::tidy(store, &Place::of(&rotation::current(store, given)?))?;
    }
    if let (Some(_), Some(place), Some(given)) = (&part, &place, given) {
        parts::end(&*state.store, place)?;
        parts::write_manifest(&*state.store, given)?;
    }
    // the last change: once the end is noted, the same command begins another round
    state::note_end(store)?;
    Ok(())
}
