//! Report, table and bands as files.

use crate::cli::DuplicatesArgs;
use crawl_archive::{ColumnKind, ParquetTable, Value, guard_cell};
use crawl_corpus::{COLUMNS, Cell, Column, Findings, Origin};
use crawl_engine::exit::{Exit, Failure};
use crawl_output::{Replacement, write_advice};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// Writes the outputs that the flags request.
pub(super) fn write(args: &DuplicatesArgs, findings: &Findings, origin: &Origin) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        let mut out = create(path)?;
        crawl_corpus::write_report(findings, origin, &mut out).map_err(|e| cannot(path, &e.into()))?;
        out.finish().map_err(|e| cannot(path, &e.into()))?;
    }
    if let Some(path) = &args.table {
        csv_table(findings, create(path)?).map_err(|e| cannot(path, &e))?;
        if args.parquet {
            let path = beside(path);
            parquet_table(findings, create(&path)?).map_err(|e| cannot(&path, &e))?;
        }
    }
    if let Some(path) = &args.html {
        let mut out = create(path)?;
        crawl_corpus::write_html(findings, origin, &mut out).map_err(|e| cannot(path, &e.into()))?;
        out.finish().map_err(|e| cannot(path, &e.into()))?;
    }
    if let Some(path) = &args.bands {
        bands(findings, create(path)?).map_err(|e| cannot(path, &e))?;
    }
    if let Some(path) = &args.terms {
        terms(findings, create(path)?).map_err(|e| cannot(path, &e))?;
    }
    Ok(())
}

/// The Parquet file that goes with a table.
pub(super) fn beside(table: &Path) -> PathBuf {
    table.with_extension("parquet")
}

fn create(path: &Path) -> Result<Replacement, Failure> {
    Replacement::create(path).map_err(|e| cannot(path, &anyhow::anyhow!("{e}; {}", write_advice(&e))))
}

fn cannot(path: &Path, error: &anyhow::Error) -> Failure {
    Failure::new(Exit::Storage, format!("{}: {error:#}", path.display()))
}

fn csv_table(findings: &Findings, out: Replacement) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_writer(out);
    out.write_record(COLUMNS.map(|(name, _)| name))?;
    for row in crawl_corpus::rows(findings) {
        for cell in row? {
            match cell {
                Cell::Text(text) => out.write_field(guard_cell(&text).as_bytes())?,
                Cell::Integer(number) => out.write_field(number.to_string())?,
                Cell::Float(number) => out.write_field(number.to_string())?,
                Cell::Boolean(value) => out.write_field(if value { "True" } else { "False" })?,
            }
        }
        out.write_record(None::<&[u8]>)?;
    }
    out.into_inner().map_err(|e| anyhow::Error::msg(e.to_string()))?.finish()?;
    Ok(())
}

fn parquet_table(findings: &Findings, out: Replacement) -> anyhow::Result<()> {
    let columns = COLUMNS.map(|(name, column)| {
        (
            name,
            match column {
                Column::Text => ColumnKind::Text,
                Column::Integer => ColumnKind::Integer,
                Column::Float => ColumnKind::Float,
                Column::Boolean => ColumnKind::Boolean,
            },
        )
    });
    let mut table = ParquetTable::new(out, &columns)?;
    for row in crawl_corpus::rows(findings) {
        table.push(row?.map(|cell| match cell {
            Cell::Text(text) => Value::Text(text),
            Cell::Integer(number) => Value::Integer(number),
            Cell::Float(number) => Value::Float(number),
            Cell::Boolean(value) => Value::Boolean(value),
        }))?;
    }
    table.finish()?.finish()?;
    Ok(())
}

/// The bands of every document: two documents that have the same hash in the same band are candidates.
fn bands(findings: &Findings, out: Replacement) -> anyhow::Result<()> {
    let columns =
        [("doc_id", ColumnKind::Text), ("band", ColumnKind::Integer), ("hash", ColumnKind::Integer)];
    let mut table = ParquetTable::new(out, &columns)?;
    for document in 0..findings.documents.len() {
        let id = findings.documents.id(document);
        for (band, hash) in (0..).zip(findings.bands(findings.documents.text_of(document))?) {
            // the table has only signed integers; a join needs only equality
            table.push([
                Value::Text(id.to_owned()),
                Value::Integer(band),
                Value::Integer(hash.cast_signed()),
            ])?;
        }
    }
    table.finish()?.finish()?;
    Ok(())
}

/// The vocabulary: term, times in the corpus, documents, inverse document frequency.
fn terms(findings: &Findings, mut out: Replacement) -> anyhow::Result<()> {
    writeln!(out, "term\tcount\tdocuments\tidf")?;
    for (text, term) in findings.vocabulary().into_iter().flat_map(crawl_corpus::Vocabulary::terms) {
        writeln!(out, "{}\t{}\t{}\t{}", guard_cell(text), term.count, term.documents, term.idf)?;
    }
    out.finish()?;
    Ok(())
}
