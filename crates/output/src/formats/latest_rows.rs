//! Tables that hold the latest row of each page.

use super::table_file::{NOTE, table};
use crate::{
    latest::{Latest, page_of},
    whole::{Replacement, sync_folder},
};
use crawl_archive::{ArchiveError, ParquetFile, ParquetTable, Value};
use std::{io, path::Path};

/// Leaves the latest row of each page in a table. Readers see the old table or the new one. The columns are those
/// of the table.
///
/// # Errors
/// When the table cannot be read or written.
pub(super) fn keep_latest(path: &Path) -> io::Result<()> {
    let Some(old) = table(path)? else { return Ok(()) };
    let columns = old.columns().map_err(unusable)?;
    let kept = kept(&old, &columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>())?;
    if !kept.contains(&false) {
        return Ok(());
    }
    let notes: Vec<(&str, &str)> = old.note(NOTE).map(|note| (NOTE, note)).into_iter().collect();
    let out = Replacement::create(path)?;
    let mut rows = ParquetTable::with_notes(out, &columns, &notes).map_err(unusable)?;
    let mut kept = kept.into_iter();
    old.each_row(&mut |row| if kept.next() == Some(true) { rows.push(row) } else { Ok(()) })
        .map_err(unusable)?;
    rows.finish().map_err(unusable)?.finish()?;
    sync_folder(path)
}

/// Returns for each row if it stays.
fn kept(table: &ParquetFile, names: &[&str]) -> io::Result<Vec<bool>> {
    let place = |name: &str| names.iter().position(|known| *known == name);
    let (id, url, change) = (place("id"), place("url"), place("change"));
    let text = |row: &[Value], at: Option<usize>| match at.and_then(|at| row.get(at)) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let mut latest = Latest::default();
    table
        .each_row(&mut |row| {
            let (id, url) = (text(&row, id), text(&row, url));
            let page = page_of(id.as_deref(), url.as_deref());
            latest.note(page.as_deref(), text(&row, change).as_deref() == Some("gone"));
            Ok(())
        })
        .map_err(unusable)?;
    Ok(latest.kept())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unusable(error: ArchiveError) -> io::Error {
    io::Error::other(error.to_string())
}
