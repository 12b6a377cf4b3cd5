//! Rows from one database to the other.

use super::{
    super::{
        affinity::domain_of,
        db::{Db, text},
    },
    tables::{Export, Import, Kind},
};
use crate::sqlite::rows::{blob_checksum, sql};
use crawl_model::{StoreError, UrlKey};
use futures::TryStreamExt;
use rusqlite::{Connection, ErrorCode, Row, params_from_iter, types::Value};
use std::{fmt::Display, pin::pin};
use tokio_postgres::{
    binary_copy::{BinaryCopyInWriter, BinaryCopyOutRow, BinaryCopyOutStream},
    types::{ToSql, Type},
};
use uuid::Uuid;

type Cell = Box<dyn ToSql + Sync>;

/// Number of copied rows, and of rows that are damaged and were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) copied: u64,
    pub(super) damaged: u64,
}

/// Copies a table into PostgreSQL.
pub(super) fn import(conn: &Connection, db: &mut Db, table: &Import) -> Result<Rows, StoreError> {
    let types: Vec<Type> = stored(table.kinds).map(Kind::pg_type).collect();
    let into = format!("COPY {} ({}) FROM STDIN BINARY", table.table, table.columns);
    let mut select = conn.prepare(table.select).map_err(sql)?;
    db.with_link(|link| {
        let client = link.client()?;
        let sink = link.wait(client.copy_in(&into))?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        let mut damaged = 0;
        let mut rows = select.query([]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let failed =
                |error: &dyn Display| in_row(table.table, table.key.0, &key(row, table.key.1), error);
            if !is_intact(row, table.kinds).map_err(|e| failed(&e))? {
                damaged += 1;
                continue;
            }
            let cells: Vec<Cell> = stored(table.kinds)
                .enumerate()
                .map(|(n, kind)| cell(row, n, kind))
                .collect::<Result<_, _>>()
                .map_err(|e| failed(&e))?;
            let values: Vec<&(dyn ToSql + Sync)> = cells.iter().map(AsRef::as_ref).collect();
            link.wait(writer.as_mut().write(&values))?;
        }
        Ok(Rows { copied: link.wait(writer.finish())?, damaged })
    })
}

/// Kinds without the checksum, which is last.
fn stored(kinds: &[Kind]) -> impl Iterator<Item = Kind> {
    kinds.iter().copied().filter(|kind| *kind != Kind::Checksum)
}

/// Returns true if the last column is the checksum of the one before it, or no checksum.
fn is_intact(row: &Row<'_>, kinds: &[Kind]) -> rusqlite::Result<bool> {
    let Some(at) = kinds.iter().position(|kind| *kind == Kind::Checksum) else { return Ok(true) };
    let sum: Option<i64> = row.get(at)?;
    let blob: Vec<u8> = row.get(at - 1)?;
    Ok(sum.is_none_or(|sum| sum == blob_checksum(&blob)))
}

fn cell(row: &Row<'_>, n: usize, kind: Kind) -> rusqlite::Result<Cell> {
    Ok(match kind {
        Kind::Small => Box::new(row.get::<_, Option<i16>>(n)?),
        Kind::Int => Box::new(row.get::<_, Option<i32>>(n)?),
        Kind::Big | Kind::Checksum => Box::new(row.get::<_, Option<i64>>(n)?),
        Kind::Text => Box::new(row.get::<_, Option<String>>(n)?.map(|value| text(&value))),
        Kind::Bytes => Box::new(row.get::<_, Option<Vec<u8>>>(n)?),
        Kind::TextAsBytes => Box::new(row.get::<_, Option<String>>(n)?.map(String::into_bytes)),
        Kind::Bool => Box::new(row.get::<_, bool>(n)?),
        Kind::Key => Box::new(Uuid::from_bytes(row.get(n)?)),
        Kind::KeyOfUrl => Box::new(Uuid::from_bytes(UrlKey::of(row.get_ref(n)?.as_str()?).0)),
        Kind::DomainOfHost => Box::new(domain_of(row.get_ref(n)?.as_str()?)),
        Kind::Bands => {
            let bytes: Vec<u8> = row.get(n)?;
            Box::new(bytes.as_chunks().0.iter().map(|hash| i64::from_le_bytes(*hash)).collect::<Vec<_>>())
        }
    })
}

/// Copies a table into SQLite.
pub(super) fn export(db: &mut Db, conn: &Connection, table: &Export) -> Result<Rows, StoreError> {
    let types: Vec<Type> = stored(table.kinds).map(Kind::pg_type).collect();
    let from = format!("COPY ({}) TO STDOUT BINARY", table.select);
    let mut insert = conn.prepare(table.insert).map_err(sql)?;
    db.with_link(|link| {
        let client = link.client()?;
        let mut rows = pin!(BinaryCopyOutStream::new(link.wait(client.copy_out(&from))?, &types));
        let mut copied = 0;
        while let Some(row) = link.wait(rows.as_mut().try_next())? {
            let (name, place) = table.key;
            let failed =
                |error: &dyn Display| in_row(table.table, name, &key_of(&row, place, table.kinds), error);
            let mut values: Vec<Value> = Vec::with_capacity(table.kinds.len());
            for (n, kind) in table.kinds.iter().enumerate() {
                let value = match (kind, values.last()) {
                    (Kind::Checksum, Some(Value::Blob(blob))) => Value::Integer(blob_checksum(blob)),
                    (Kind::Checksum, _) => Value::Null,
                    (kind, _) => value(&row, n, *kind).map_err(|e| failed(&e))?,
                };
                values.push(value);
            }
            match insert.execute(params_from_iter(values)) {
                Ok(_) => copied += 1,
                // the new state has rules of its own
                Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    return Err(failed(&e));
                }
                Err(e) => return Err(sql(e)),
            }
        }
        Ok(Rows { copied, damaged: 0 })
    })
}

fn value(row: &BinaryCopyOutRow, n: usize, kind: Kind) -> Result<Value, String> {
    let failed = |e: tokio_postgres::Error| e.to_string();
    Ok(match kind {
        Kind::Small => row.try_get::<Option<i16>>(n).map_err(failed)?.into(),
        Kind::Int => row.try_get::<Option<i32>>(n).map_err(failed)?.into(),
        Kind::Big | Kind::DomainOfHost | Kind::Checksum => {
            row.try_get::<Option<i64>>(n).map_err(failed)?.into()
        }
        Kind::Text => row.try_get::<Option<String>>(n).map_err(failed)?.into(),
        Kind::Bytes => row.try_get::<Option<Vec<u8>>>(n).map_err(failed)?.into(),
        Kind::Bool => row.try_get::<bool>(n).map_err(failed)?.into(),
        Kind::Key | Kind::KeyOfUrl => row.try_get::<Uuid>(n).map_err(failed)?.into_bytes().to_vec().into(),
        Kind::TextAsBytes => {
            let bytes: Option<Vec<u8>> = row.try_get(n).map_err(failed)?;
            bytes.map(String::from_utf8).transpose().map_err(|e| e.to_string())?.into()
        }
        Kind::Bands => {
            let hashes: Vec<i64> = row.try_get(n).map_err(failed)?;
            hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect::<Vec<u8>>().into()
        }
    })
}

/// The key of a row of SQLite in words.
fn key(row: &Row<'_>, at: usize) -> String {
    row.get::<_, Value>(at).map_or_else(|e| e.to_string(), |key| words(&key))
}

/// The key of a row of PostgreSQL in words.
fn key_of(row: &BinaryCopyOutRow, at: usize, kinds: &[Kind]) -> String {
    let key = kinds.get(at).map(|kind| value(row, at, *kind));
    key.map_or_else(String::new, |key| key.map_or_else(|e| e, |key| words(&key)))
}

fn words(key: &Value) -> String {
    match key {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("\"{text}\""),
        Value::Blob(bytes) => bytes.iter().fold("x".to_owned(), |hex, byte| format!("{hex}{byte:02x}")),
    }
}

fn in_row(table: &str, name: &str, key: &str, error: &dyn Display) -> StoreError {
    StoreError::Corrupt(format!("table {table}, {name} {key}: {error}"))
}
