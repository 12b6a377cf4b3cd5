//! Documents with their scores and failed rules, as JSONL.

use super::Judged;
use crate::commands::json::{Members, push_key};
use crawl_engine::exit::{Exit, Failure};
use crawl_model::Quality;
use crawl_output::{Replacement, replace, write_advice};
use crawl_quality::Checker;
use serde::Serialize;
use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Output for documents.
pub(super) struct Output {
    path: PathBuf,
    out: Out,
}

/// The file is replaced when all documents are written, so that an end before that leaves the old one.
enum Out {
    File(Replacement),
    Stdout(BufWriter<io::Stdout>),
}

/// Document from another format than JSONL.
#[derive(Serialize)]
struct Written<'a> {
    id: &'a str,
    url: &'a str,
    title: &'a str,
    text: &'a str,
    quality: Quality,
}

impl Output {
    /// A file that is replaced, or standard output for `-`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let out = if path.as_os_str() == "-" {
            Out::Stdout(BufWriter::with_capacity(1 << 18, io::stdout()))
        } else {
            Out::File(Replacement::create(path).map_err(|e| cannot(path, &e))?)
        };
        Ok(Self { path: path.to_owned(), out })
    }

    /// A record keeps all that it had, in its order, and has `quality` beside it; another document has its text.
    pub fn write(&mut self, checker: &Checker, judged: &Judged) -> Result<(), Failure> {
        let quality = checker.quality(&judged.assessment);
        let mut line = Vec::with_capacity(judged.line.len() + 2048);
        if judged.line.is_empty() {
            let document = &judged.document;
            let (id, url, title, text) = (&document.id, &document.url, &document.title, &document.text);
            serde_json::to_writer(&mut line, &Written { id, url, title, text, quality }).map_err(internal)?;
        } else {
            annotate(&judged.line, &quality, &mut line).map_err(internal)?;
        }
        line.push(b'\n');
        let written = match &mut self.out {
            Out::File(file) => file.write_all(&line),
            Out::Stdout(out) => out.write_all(&line),
        };
        written.map_err(|e| cannot(&self.path, &e))
    }

    pub fn finish(self) -> Result<(), Failure> {
        let finished = match self.out {
            Out::File(file) => file.finish(),
            Out::Stdout(mut out) => out.flush(),
        };
        finished.map_err(|e| cannot(&self.path, &e))
    }
}

/// Object of a line with the member `quality`: replaced in place, or added at its end.
fn annotate(line: &[u8], quality: &Quality, out: &mut Vec<u8>) -> Result<(), String> {
    let text = |e: serde_json::Error| e.to_string();
    let line = std::str::from_utf8(line).map_err(|e| e.to_string())?;
    let quality = serde_json::to_string(quality).map_err(text)?;
    let mut buffer = String::new();
    let mut members = Members::of(line, "", &mut buffer)?;
    members.put("quality".into(), &quality);
    for (n, (key, value)) in members.all.iter().enumerate() {
        push_key(n == 0, key, out).map_err(text)?;
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    Ok(())
}

/// Writes a whole file.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace(path, bytes).map_err(|e| cannot(path, &e))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::new(Exit::Done, "standard output was closed by its reader"),
        _ => Failure::new(Exit::Storage, format!("{}: {error}; {}", path.display(), write_advice(error))),
    }
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotated_record_keeps_its_other_fields() {
        let quality = Quality {
            language: "en".into(),
            language_source: Some(crawl_model::LanguageSource::Declared),
            words: 1,
            content_words: 0,
            skipped: None,
            reason: None,
            failed: Vec::new(),
            scores: [("c4.policy".to_owned(), 0.25)].into(),
        };
        let said = r#"{"language":"en","languageSource":"declared","words":1,"contentWords":0,"skipped":null,"reason":null,"failed":[],"scores":"{\"c4.policy\":0.25}"}"#;
        let of = |line: &str| {
            let mut out = Vec::new();
            annotate(line.as_bytes(), &quality, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let once = of(r#"{"id":1.50,"text":"a\u00e9","x":[1e3, {"y":null}]}"#);
        assert_eq!(
            once,
            format!(r#"{{"id":1.50,"text":"a\u00e9","x":[1e3, {{"y":null}}],"quality":{said}}}"#)
        );
        assert_eq!(of(&once), once);
        assert_eq!(of("{}"), format!(r#"{{"quality":{said}}}"#));
    }
}
