//! Records of a JSONL file. Only the fields that cleaning needs are parsed; all others are written back unchanged.

use super::internal;
use crate::commands::{
    json::{self, Members, push_key},
    jsonl::{MAX_LINE, input_name, too_long},
    kept::Kept,
    line_input::open_lines,
};
use crawl_dedup::PageText;
use crawl_engine::exit::Failure;
use crawl_model::{BoilerplateInfo, BoilerplateStatus, Extractor, HostKey};
use crawl_projects::cleaning;
use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    io::{self, BufRead, BufReader},
    path::Path,
};
use url::Url;

/// Record to be cleaned again, with all its members.
pub struct Record<'a> {
    /// Members as they stood, but for `content`.
    members: Members<'a>,
    /// `content`, or `text` if there is none, as it was read.
    raw: &'a str,
    pub content: Cow<'a, str>,
    pub domain: Cow<'a, str>,
    pub url: Cow<'a, str>,
    pub id: Cow<'a, str>,
    title: Option<Cow<'a, str>>,
    extracted: bool,
    /// Extractor that the record names.
    pub chosen_by: Option<Extractor>,
    /// True if `text` comes from an earlier run.
    was_cleaned: bool,
    /// True if `content` is null where it equals `text`.
    has_content_once: bool,
}

/// Lines that are gone through twice: of a file, which is read twice, or of what came by a pipe, which is kept.
pub enum Input<'p> {
    File(&'p Path),
    Kept(Kept),
}

/// Bytes read at a time.
const READ: usize = 1 << 18;

impl<'p> Input<'p> {
    pub fn open(path: Option<&'p Path>) -> Result<Self, Failure> {
        match path.filter(|path| path.is_file()) {
            Some(path) => Ok(Self::File(path)),
            None => Kept::of(open_lines(path)?).map(Self::Kept),
        }
    }

    /// Visits the usable lines in order; the others are reported by `bad` with their number. `content` is
    /// cleaned, or `text` without it. A second run therefore has the same result and changes nothing.
    pub fn each(
        &self,
        mut bad: impl FnMut(usize, String),
        mut visit: impl FnMut(Record<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (file, lines): (_, Box<dyn BufRead + '_>) = match self {
            Self::File(path) => (Some(*path), open_lines(Some(path))?),
            Self::Kept(kept) => (None, Box::new(BufReader::with_capacity(READ, kept.reader()?))),
        };
        let mut text = String::new();
        each_line((lines, &input_name(file)), |number, line| {
            let record = line.ok_or_else(too_long).and_then(|line| Record::of(line, &mut text));
            match record {
                _ if line.is_some_and(|line| line.trim_ascii().is_empty()) => Ok(()),
                Ok(record) => visit(record),
                Err(problem) => {
                    bad(number, problem);
                    Ok(())
                }
            }
        })
    }
}

/// Visits lines, numbered from 1; `None` for a line that is too long. A line that stands in the reader's buffer as a
/// whole is not copied. `name` is that of the input.
fn each_line(
    (mut lines, name): (Box<dyn BufRead + '_>, &str),
    mut visit: impl FnMut(usize, Option<&[u8]>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut number, mut begun, mut is_too_long) = (1, Vec::new(), false);
    loop {
        let buffer = match lines.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Failure::usage(format!("{name}: the input cannot be read: {e}"))),
        };
        if buffer.is_empty() {
            return match begun.is_empty() {
                true if is_too_long => visit(number, None),
                true => Ok(()),
                false => visit(number, Some(&begun)),
            };
        }
        let end = memchr(b'\n', buffer).map(|at| at + 1);
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let read = part.len();
        is_too_long |= begun.len() + part.len() > MAX_LINE;
        match end {
            _ if is_too_long => begun = Vec::new(),
            Some(_) if begun.is_empty() => visit(number, Some(part))?,
            _ => begun.extend_from_slice(part),
        }
        if end.is_some() && (is_too_long || !begun.is_empty()) {
            visit(number, Some(begun.as_slice()).filter(|_| !is_too_long))?;
            begun.clear();
            is_too_long = false;
        }
        number += usize::from(end.is_some());
        lines.consume(read);
    }
}

impl<'a> Record<'a> {
    /// Parses a line, with a buffer for its text.
    fn of(line: &'a [u8], text: &'a mut String) -> Result<Self, String> {
        let line = simdutf8::compat::from_utf8(line).map_err(|e| e.to_string())?;
        let mut members = Members::of(line, "content", text)?;
        let content = members.asked.take();
        // a record of version 2 has its content once
        let has_content_once = members.get("content") == Some("null")
            || members
                .get("schema_version")
                .and_then(|raw| raw.parse().ok())
                .is_some_and(|version: u32| version >= 2);
        let text = |key: &str| members.get(key).and_then(json::string);
        let (url, id) = (text("url").unwrap_or_default(), text("id").unwrap_or_default());
        let metadata = members.get("metadata").and_then(|raw| serde_json::from_str(raw).ok());
        let metadata: Metadata<'_> = metadata.unwrap_or_default();
        let said = |value: Option<&'a RawValue>| value.and_then(|raw| json::string(raw.get()));
        let domain = said(metadata.domain).filter(|domain| !domain.is_empty()).or_else(|| host(&url));
        let chosen = if content.is_some() { "content" } else { "text" };
        let (content, raw) = content
            .or_else(|| text("text"))
            .zip(members.get(chosen))
            .ok_or("neither \"content\" nor \"text\"")?;
        let cleaned = members.get("boilerplate").and_then(|raw| serde_json::from_str(raw).ok());
        let was_cleaned = matches!(cleaned, Some(Earlier { status: BoilerplateStatus::Applied }));
        let was_cleaned = was_cleaned && members.get("text").and_then(json::string).is_some();
        members.put("content".into(), raw);
        let extractor = said(metadata.extractor);
        Ok(Self {
            domain: domain.ok_or("neither \"metadata.domain\" nor \"url\"")?,
            title: said(metadata.title),
            extracted: PageText::is_extracted_by(extractor.as_deref()),
            chosen_by: cleaning::extractor_named(extractor.as_deref()),
            was_cleaned,
            has_content_once,
            raw,
            members,
            content,
            url,
            id,
        })
    }

    pub fn text(&self) -> PageText<'_> {
        let title = self.title.as_deref();
        PageText { content: &self.content, url: &self.url, title, extracted: self.extracted }
    }

    /// Returns true if the record has the text of an earlier run and this one has not judged it.
    pub fn keeps_text(&self, status: BoilerplateStatus) -> bool {
        self.was_cleaned && status == BoilerplateStatus::TooFewPages
    }

    /// Appends the record as it stood.
    pub fn write_unchanged(&self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let is_same = self.members.get("text") == Some(self.raw);
        for (n, (key, value)) in self.members.all.iter().enumerate() {
            push_key(n == 0, key, out).map_err(internal)?;
            out.extend_from_slice(self.value(key, value, is_same).as_bytes());
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    /// The value of a key in the output; `is_same` is true if the text is the content.
    fn value<'v>(&self, key: &str, value: &'v str, is_same: bool) -> &'v str {
        if key == "content" && is_same && self.has_content_once { "null" } else { value }
    }

    /// Appends the record with `text` and `boilerplate` as cleaning made them.
    pub fn write(&self, text: &str, info: &BoilerplateInfo, out: &mut Vec<u8>) -> Result<(), Failure> {
        let write_text = |out: &mut Vec<u8>| {
            if text == self.content {
                out.extend_from_slice(self.raw.as_bytes());
                return Ok(());
            }
            json::push_string(text, out)
        };
        let write_info = |out: &mut Vec<u8>| serde_json::to_writer(out, info);
        let (mut text_written, mut info_written) = (false, false);
        for (n, (key, value)) in self.members.all.iter().enumerate() {
            push_key(n == 0, key, out).map_err(internal)?;
            match key.as_ref() {
                "text" => {
                    text_written = true;
                    write_text(out)
                }
                "boilerplate" => {
                    info_written = true;
                    write_info(out)
                }
                _ => {
                    out.extend_from_slice(self.value(key, value, text == self.content).as_bytes());
                    Ok(())
                }
            }
            .map_err(internal)?;
        }
        if !text_written {
            push_key(false, "text", out).and_then(|()| write_text(out)).map_err(internal)?;
        }
        if !info_written {
            push_key(false, "boilerplate", out).and_then(|()| write_info(out)).map_err(internal)?;
        }
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

fn host<'a>(url: &str) -> Option<Cow<'a, str>> {
    Url::parse(url).ok().as_ref().and_then(HostKey::of).map(|host| Cow::Owned(host.to_string()))
}

/// The `boilerplate` member of an earlier run.
#[derive(Deserialize)]
struct Earlier {
    status: BoilerplateStatus,
}

#[derive(Default, Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    domain: Option<&'a RawValue>,
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    extractor: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_dedup::Cleaned;

    fn untouched(line: &str) -> String {
        let mut text = String::new();
        let record = Record::of(line.as_bytes(), &mut text).unwrap();
        let mut out = Vec::new();
        let cleaned = Cleaned::untouched(record.content.to_string(), BoilerplateStatus::TooFewPages);
        let (text, info) = cleaned.into_record();
        record.write(&text, &info, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn other_fields_of_a_record_keep_their_bytes() {
        let line = r#"{"id":1.50,"url":"https://a.example/","text":"old","content":"a\u00e9\nb","x\n":[1e3, {"y":null}]}"#;
        let once = untouched(line);
        let info = r#""boilerplate":{"status":"too_few_pages","fingerprint":null,"pages":0,"blocksRemoved":0,"bytesRemoved":0}"#;
        assert!(once.starts_with(r#"{"id":1.50,"url":"https://a.example/","text":"a\u00e9\nb","content":"a\u00e9\nb","x\n":[1e3, {"y":null}],"boilerplate":{"#), "{once}");
        assert!(once.contains("too_few_pages"), "{once} {info}");
        assert_eq!(untouched(once.trim_end()), once);
    }

    #[test]
    fn a_record_of_version_2_has_its_content_once() {
        let line =
            r#"{"schema_version":2,"url":"https://a.example/","text":"a","content":null,"boilerplate":{"#;
        assert!(
            untouched(r#"{"schema_version":2,"url":"https://a.example/","text":"a","content":null}"#)
                .starts_with(line)
        );
        assert!(
            untouched(r#"{"schema_version":2,"url":"https://a.example/","text":"","content":"a"}"#)
                .starts_with(line)
        );
        let version_1 = r#"{"schema_version":1,"url":"https://a.example/","text":"a","content":"a"}"#;
        assert!(untouched(version_1).contains(r#""content":"a""#));
    }

    #[test]
    fn unusable_records_are_errors() {
        let problem = |line: &str| Record::of(line.as_bytes(), &mut String::new()).err().unwrap();
        assert!(problem(r#"{"url":"https://a.example/","content":5}"#).contains("neither \"content\""));
        assert!(problem(r#"{"url":"nothing","content":"a"}"#).contains("domain"));
        assert!(problem("[1]").contains("object"));
        assert!(Record::of(b"{\"url\":\"\xff\"}", &mut String::new()).is_err());
        let line = br#"{"metadata":{"domain":"d","title":7,"extractor":"forum"},"text":"t","text":"u"}"#;
        let mut text = String::new();
        let said = Record::of(line, &mut text);
        let said = said.unwrap();
        assert_eq!((said.domain.as_ref(), said.content.as_ref()), ("d", "u"));
        assert!(said.text().extracted && said.title.is_none());
    }
}
