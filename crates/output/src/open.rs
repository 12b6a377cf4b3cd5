//! Opening, tidying and emptying of an output by its place.

use crate::{
    OutputError,
    damaged::missing_words,
    fields::Fields,
    file::{Before, FileOutput},
    folder,
    frames::Packing,
    lines::LineRecords,
    output::RecordOutput,
    packed, parquet,
    place::{Kind, Place},
};

/// An output that was opened.
pub struct Opened {
    /// The output.
    pub output: Box<dyn RecordOutput>,
    /// Its length in bytes.
    pub offset: u64,
    /// True if the content is of an earlier round; it goes when the first record comes.
    pub stale: bool,
    /// Settled records that it does not hold any more, in words.
    pub damage: Option<String>,
}

impl Opened {
    fn of_file(output: Box<dyn RecordOutput>, (offset, stale, missing): (u64, bool, u64)) -> Self {
        let damage = (missing > 0).then(|| missing_words(output.name(), missing));
        Self { output, offset, stale, damage }
    }
}

/// Opens an output by its name, cut back as `before` says.
///
/// # Errors
/// When it cannot be written, holds something else than this output writes, or another process writes it.
pub fn open(place: &Place, before: Before, fields: Option<Fields>) -> Result<Opened, OutputError> {
    let path = place.path.as_path();
    let of_file = |file: &FileOutput| (file.length(), file.is_stale(), file.missing());
    Ok(match place.kind {
        Kind::Lines => {
            let file = FileOutput::open(path, before)?;
            let state = of_file(&file);
            Opened::of_file(Box::new(LineRecords::new(Box::new(file), fields)), state)
        }
        Kind::Gzip | Kind::Zstd => {
            let packing = if place.kind == Kind::Zstd { Packing::Zstd } else { Packing::Gzip };
            let packed = packed::PackedOutput::open(path, before, packing)?;
            let state = of_file(packed.file());
            Opened::of_file(Box::new(LineRecords::new(Box::new(packed), fields)), state)
        }
        Kind::Parquet => {
            let table = parquet::ParquetRecords::open(path, before, fields)?;
            let (offset, stale, damage) = (table.journal().file().length(), table.is_stale(), table.damage());
            Opened { output: Box::new(table), offset, stale, damage }
        }
        Kind::Folder => {
            let folder = folder::MarkdownFolder::open(path, before, fields)?;
            let state = of_file(folder.index());
            Opened::of_file(Box::new(folder), state)
        }
    })
}

/// Puts an output in order after a round. Called when its end is noted in the store, so that nothing has to be cut back.
///
/// # Errors
/// When it cannot be written.
pub fn tidy(place: &Place, note: &mut dyn FnMut(u64) -> Result<(), OutputError>) -> Result<(), OutputError> {
    if place.kind == Kind::Folder { folder::tidy(&place.path, note) } else { Ok(()) }
}

/// Empties an output of earlier rounds, for a round that replaces it and has no records.
///
/// # Errors
/// When it cannot be written.
pub fn replace_by_nothing(place: &Place) -> Result<(), OutputError> {
    if place.kind == Kind::Parquet {
        return parquet::empty(&place.path);
    }
    let mut opened = open(place, Before::Replace, None)?;
    opened.output.commit()?;
    opened.output.finish().map(|_| ())
}
