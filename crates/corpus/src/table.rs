//! The table: one row per document, for CSV and Parquet.

use crate::{CorpusError, Findings, clean, report::hex, words};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// `True` or `False` in CSV.
    Boolean,
}

/// The columns, with the specification's names and in its order, after our `id`; the last one is ours too.
pub const COLUMNS: [(&str, Column); 22] = [
    ("id", Column::Text),
    ("url", Column::Text),
    ("warc_date", Column::Text),
    ("content_type", Column::Text),
    ("title", Column::Text),
    ("text", Column::Text),
    ("len_text", Column::Integer),
    ("languages", Column::Text),
    ("text_src", Column::Text),
    ("text_clean", Column::Text),
    ("title_clean", Column::Text),
    ("len_clean", Column::Integer),
    ("tokens", Column::Text),
    ("lemmas", Column::Text),
    ("len_tokens", Column::Integer),
    ("dup_group", Column::Integer),
    ("dup_group_size", Column::Integer),
    ("canonical_ix", Column::Integer),
    ("is_canonical", Column::Boolean),
    ("exact_hash", Column::Text),
    ("exact_group_size", Column::Integer),
    ("language_confidence", Column::Float),
];

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Value of [`Column::Text`].
    Text(String),
    /// Value of [`Column::Integer`].
    Integer(i64),
    /// Value of [`Column::Float`].
    Float(f64),
    /// Value of [`Column::Boolean`].
    Boolean(bool),
}

/// All rows in the order of the documents; needs [`Keep::Pages`](crate::Keep::Pages). Tokens and lemmas are
/// separated by single spaces, lengths count characters.
///
/// # Errors
/// Each row may fail if the work directory cannot be read.
pub fn rows(findings: &Findings) -> impl Iterator<Item = Result<[Cell; COLUMNS.len()], CorpusError>> + '_ {
    (0..findings.documents.len()).map(|document| row(findings, document))
}

fn row(findings: &Findings, document: u32) -> Result<[Cell; COLUMNS.len()], CorpusError> {
    let page = findings.page(document)?;
    let number = findings.documents.text_of(document);
    let text_clean = findings.text(number)?;
    let lemmas = findings.lemmas(number)?;
    let (mut tokens, mut len_tokens) = (String::with_capacity(text_clean.len()), 0);
    for word in words(&text_clean) {
        if len_tokens > 0 {
            tokens.push(' ');
        }
        tokens.push_str(word);
        len_tokens += 1;
    }
    let text = findings.documents.distinct_of(document);
    let dup_group = findings.groups.of(document);
    let group = findings.groups.get(dup_group);
    let canonical = group.map_or(document, |g| g.canonical);
    let count = |n: usize| Cell::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let title_clean = Cell::Text(clean(&page.title));
    let len_text = count(page.text.chars().count());
    Ok([
        Cell::Text(page.id),
        Cell::Text(page.url),
        Cell::Text(page.date),
        Cell::Text(page.content_type),
        Cell::Text(page.title),
        Cell::Text(page.text),
        len_text,
        Cell::Text(text.map_or("und", |t| t.language.code).to_owned()),
        Cell::Text(page.text_source),
        Cell::Text(text_clean),
        title_clean,
        Cell::Integer(text.map_or(0, |t| i64::from(t.chars))),
        Cell::Text(tokens),
        Cell::Text(lemmas),
        Cell::Integer(len_tokens),
        Cell::Integer(i64::from(dup_group)),
        count(group.map_or(1, |g| g.members.len())),
        Cell::Integer(i64::from(canonical)),
        Cell::Boolean(canonical == document),
        Cell::Text(text.map(|t| hex(&t.hash)).unwrap_or_default()),
        Cell::Integer(text.map_or(0, |t| i64::from(t.documents))),
        Cell::Float(text.map_or(0.0, |t| t.language.confidence)),
    ])
}
