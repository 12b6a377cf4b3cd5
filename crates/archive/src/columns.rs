//! Columns of tables of documents.

use crate::{Body, Document, RecordError};
use encoding_rs::WINDOWS_1252;

/// Accepted names of a column for each field, in order of preference.
const NAMES: [(Field, &[&str]); 8] = [
    (Field::Id, &["id", "doc_id"]),
    (Field::Url, &["url", "warc_target_uri"]),
    (Field::Date, &["warc_date", "date"]),
    (Field::ContentType, &["content_type"]),
    (Field::Title, &["title"]),
    (Field::Language, &["language", "lang"]),
    (Field::Text, &["text", "content"]),
    (Field::Html, &["html"]),
];

/// A field of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Id,
    Url,
    Date,
    ContentType,
    Title,
    Language,
    Text,
    Html,
}

/// Field of each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns(Vec<Option<Field>>);

impl Columns {
    /// Maps column names to fields, ignoring case.
    pub(crate) fn of_header(names: &[String]) -> Result<Self, RecordError> {
        let mut columns = vec![None; names.len()];
        for (field, known) in NAMES {
            let place =
                known.iter().find_map(|k| names.iter().position(|n| n.trim().eq_ignore_ascii_case(k)));
            if let Some(column) = place.and_then(|place| columns.get_mut(place)) {
                *column = Some(field);
            }
        }
        if columns.iter().any(|c| matches!(c, Some(Field::Text | Field::Html))) {
            Ok(Self(columns))
        } else {
            Err(RecordError::NoText("no column text, content or html"))
        }
    }

    pub(crate) fn field(&self, column: usize) -> Option<Field> {
        self.0.get(column).copied().flatten()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Fields of a row during its reading.
#[derive(Debug, Default)]
pub(crate) struct Row {
    document: Document,
    text: Option<String>,
    html: Option<Vec<u8>>,
}

impl Row {
    pub(crate) fn set(&mut self, field: Field, bytes: Vec<u8>) {
        if field == Field::Html {
            self.html = Some(bytes);
            return;
        }
        let text = String::from_utf8(bytes).unwrap_or_else(|e| self.decoded(e.as_bytes()));
        match field {
            Field::Id => self.document.id = text,
            Field::Url => self.document.url = text,
            Field::Date => self.document.date = text,
            Field::ContentType => self.document.content_type = text,
            Field::Title => self.document.title = text,
            Field::Language => self.document.language = text,
            Field::Text => self.text = Some(text),
            Field::Html => {}
        }
    }

    /// Decodes a field that is not UTF-8. A field with a valid multi-byte sequence is damaged UTF-8; its
    /// invalid bytes are replaced. Any other field is windows-1252, the superset of Latin-1 that old tables
    /// use.
    fn decoded(&mut self, bytes: &[u8]) -> String {
        if bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii()) {
            self.document.decoded_from = Some("UTF-8 with replacements");
            return String::from_utf8_lossy(bytes).into_owned();
        }
        self.document.decoded_from = Some(WINDOWS_1252.name());
        WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
    }

    /// The document: its text, or else its page.
    pub(crate) fn document(self) -> Result<Document, RecordError> {
        let Self { mut document, text, html } = self;
        document.body = match (text, html) {
            (Some(text), html) if !text.is_empty() || html.as_ref().is_none_or(Vec::is_empty) => {
                Body::Text(text)
            }
            (_, Some(html)) => {
                // the table was text, so its bytes no longer have the page's declared charset
                if std::str::from_utf8(&html).is_ok() {
                    document.content_type = "text/html; charset=utf-8".to_owned();
                }
                Body::Html(html)
            }
            (_, None) => return Err(RecordError::NoText("the row has neither text nor html")),
        };
        if document.id.is_empty() {
            document.id.clone_from(&document.url);
        }
        Ok(document)
    }
}
