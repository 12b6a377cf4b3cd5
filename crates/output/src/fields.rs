//! Fields of a record that are written.

use crate::schema::{self, Field};
use crawl_model::{Change, Record};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{collections::BTreeSet, fmt};

/// A choice of fields, as `text`, `metadata`, `metadata.title`. They are written in the record's order and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    chosen: BTreeSet<String>,
    /// All keys stand at the top, in the order of [`LEAN_FIELDS`].
    is_lean: bool,
    has_tombstones: bool,
}

/// Fields of lean records: the key, which is the last part of the path, and the path in a whole record. Without a declared
/// language the key has the detected one.
const LEAN_FIELDS: [(&str, &str); 6] = [
    ("id", "id"),
    ("url", "url"),
    ("text", "text"),
    ("title", "metadata.title"),
    ("published", "metadata.published"),
    ("language", "metadata.language"),
];

/// A name that is no field's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record has no field \"{name}\"; {}", advice(.nearest.as_deref()))]
pub struct UnknownField {
    /// Name as given.
    pub name: String,
    /// The field that was perhaps meant.
    pub nearest: Option<String>,
}

fn advice(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "crawl schema names all of them".to_owned(),
        |nearest| format!("did you mean \"{nearest}\"?"),
    )
}

impl Fields {
    /// The choice of these names; none of them is no choice.
    ///
    /// # Errors
    /// For a name that is no field's.
    pub fn of(names: &[String]) -> Result<Option<Self>, UnknownField> {
        let known = schema::fields();
        let mut chosen = BTreeSet::new();
        for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            if !known.iter().any(|field| field.path == name) {
                return Err(UnknownField { name: name.to_owned(), nearest: nearest(name, &known) });
            }
            chosen.insert(name.to_owned());
        }
        Ok((!chosen.is_empty()).then_some(Self { chosen, is_lean: false, has_tombstones: false }))
    }

    /// Returns true if all keys stand at the top of a written record.
    #[must_use]
    pub(crate) const fn is_lean(&self) -> bool {
        self.is_lean
    }

    /// Six fields, all at the top: id, url, text, title, published, language.
    #[must_use]
    pub fn lean() -> Self {
        let chosen = LEAN_FIELDS.iter().map(|(_, path)| (*path).to_owned()).collect();
        Self { chosen, is_lean: true, has_tombstones: false }
    }

    /// Writes a gone page as its `id`, `url` and `metadata.change`, regardless of the selected fields. The end of the
    /// round removes the record.
    #[must_use]
    pub fn with_tombstones(mut self) -> Self {
        self.has_tombstones = true;
        self
    }

    /// Returns true if a field was chosen, by itself or with a field that contains it.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.chosen.contains(path) || path.rsplit_once('.').is_some_and(|(parent, _)| self.has(parent))
    }

    /// Returns true if some part of a field was chosen.
    pub(crate) fn has_part_of(&self, path: &str) -> bool {
        self.chosen.iter().any(|chosen| chosen.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Appends the chosen fields of a record as a JSON object.
    ///
    /// # Errors
    /// When the record is no JSON, which no record is.
    pub fn write(&self, record: &Record, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        if self.has_tombstones && record.metadata.change == Some(Change::Gone) {
            let change = record.metadata.change;
            let gone = serde_json::json!({"id": record.id, "url": record.url, "text": "", "metadata": {"change": change}});
            return serde_json::to_writer(out, &gone);
        }
        let whole = serde_json::value::to_raw_value(record)?;
        if self.is_lean { lean(&whole, out) } else { self.object((&whole, record.content()), "", out) }
    }

    fn object(
        &self,
        (object, content): (&RawValue, &str),
        within: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        out.push(b'{');
        let mut first = true;
        for (name, value) in members(object)? {
            let path = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
            let whole = self.has(&path);
            if !whole && !self.has_part_of(&path) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            serde_json::to_writer(&mut *out, &name)?;
            out.push(b':');
            // a choice of the content has it in each record, whatever the text is
            if path == "content" && value.get() == "null" {
                serde_json::to_writer(&mut *out, content)?;
            } else if whole {
                out.extend_from_slice(value.get().as_bytes());
            } else {
                self.object((value, content), &path, out)?;
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// Appends the fields of [`LEAN_FIELDS`], each with null where a record has none.
fn lean(record: &RawValue, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let top = members(record)?;
    let find = |members: &[(String, &RawValue)], name: &str| {
        members.iter().find(|(key, _)| key == name).map(|(_, value)| value.get().to_owned())
    };
    let metadata = top.iter().find(|(name, _)| name == "metadata");
    let metadata = metadata.map_or_else(|| Ok(Vec::new()), |(_, value)| members(value))?;
    for (number, (key, path)) in LEAN_FIELDS.iter().enumerate() {
        out.extend_from_slice(if number == 0 { b"{" } else { b"," });
        serde_json::to_writer(&mut *out, key)?;
        out.push(b':');
        let value = match path.strip_prefix("metadata.") {
            Some("language") => find(&metadata, "language")
                .filter(|language| language != "null")
                .or_else(|| find(&metadata, "languageDetected")),
            Some(name) => find(&metadata, name),
            None => find(&top, path),
        };
        out.extend_from_slice(value.as_deref().unwrap_or("null").as_bytes());
    }
    out.push(b'}');
    Ok(())
}

/// The known field that is most like a name: by its last part too, since `title` is short for `metadata.title`.
fn nearest(name: &str, known: &[Field]) -> Option<String> {
    let alike = |field: &Field| {
        let last = field.path.rsplit('.').next().unwrap_or_default();
        strsim::jaro_winkler(name, &field.path).max(strsim::jaro_winkler(name, last))
    };
    known
        .iter()
        .map(|field| (alike(field), field))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(alike, _)| *alike > 0.8)
        .map(|(_, field)| field.path.clone())
}

/// The members of a JSON object in their order, their values as they are written.
pub(super) fn members(object: &RawValue) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(object.get()).deserialize_map(Members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Option<Fields>, UnknownField> {
        Fields::of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn chosen_fields_keep_the_record_structure() {
        let record = crate::lines::tests::record("7");
        let text = serde_json::to_string(&record.text).unwrap();
        let line = |names: &[&str]| {
            let mut out = Vec::new();
            of(names).unwrap().unwrap().write(&record, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            line(&["metadata.title", "text"]),
            format!(r#"{{"text":{text},"metadata":{{"title":"Pears"}}}}"#)
        );
        assert_eq!(line(&["links", " url ", "links"]), r#"{"url":"https://a.test/pears","links":[]}"#);
        let whole = line(&["boilerplate", "boilerplate.pages"]);
        assert!(whole.contains("bytesRemoved"), "the whole wins over its part: {whole}");
    }

    #[test]
    fn a_lean_record_has_six_keys_at_the_top() {
        let mut record = crate::lines::tests::record("7");
        record.metadata.language = None;
        let mut out = Vec::new();
        Fields::lean().write(&record, &mut out).unwrap();
        let line = String::from_utf8(out).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["title"], "Pears");
        assert_eq!(value["language"], serde_json::Value::Null);
        let language = |record: &Record| {
            let mut out = Vec::new();
            Fields::lean().write(record, &mut out).unwrap();
            serde_json::from_slice::<serde_json::Value>(&out).unwrap()["language"].clone()
        };
        record.metadata.language_detected = Some("en".to_owned());
        assert_eq!(language(&record), "en");
        record.metadata.language = Some("en-GB".to_owned());
        assert_eq!(language(&record), "en-GB");
        let keys: Vec<&str> = ["id", "url", "text", "title", "published", "language"].to_vec();
        assert_eq!(value.as_object().unwrap().len(), keys.len());
        let places: Vec<_> = keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{line}");
    }

    #[test]
    fn a_chosen_content_is_there_in_each_record() {
        let mut record = crate::lines::tests::record("7").with_text("a".into(), "a".into());
        assert_eq!(serde_json::to_value(&record).unwrap()["content"], serde_json::Value::Null);
        let line = |record: &Record| {
            let mut out = Vec::new();
            of(&["content"]).unwrap().unwrap().write(record, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(line(&record), r#"{"content":"a"}"#);
        record = record.with_text("a".into(), "a b".into());
        assert_eq!(line(&record), r#"{"content":"a b"}"#);
    }

    #[test]
    fn unknown_field_names_suggest_the_nearest() {
        let nearest = |name: &str| of(&[name]).unwrap_err().nearest;
        assert_eq!(nearest("txt").as_deref(), Some("text"));
        assert_eq!(nearest("title").as_deref(), Some("metadata.title"));
        assert_eq!(nearest("metadata.titel").as_deref(), Some("metadata.title"));
        assert_eq!(nearest("qqqqqq"), None);
        assert!(of(&["text", "nope"]).unwrap_err().to_string().contains("\"nope\""));
        assert_eq!(of(&[]).unwrap(), None);
        assert_eq!(of(&["", " "]).unwrap(), None);
    }
}
