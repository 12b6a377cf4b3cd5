//! Parallel map over JSON lines: results are written in input order, and few lines are in memory.

use super::{line_input::open_lines, write_json};
use crate::{cli::whole_url, logging::say};
use base64::{Engine, prelude::BASE64_STANDARD};
use crawl_archive::{next_line, replace_lone_surrogates};
use crawl_engine::exit::{Exit, Failure};
use crawl_extract::Input;
use crawl_model::hide_userinfo;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{borrow::Cow, io::BufRead, path::Path};
use url::Url;

/// Lines worked on at a time; they and their results are in memory together.
const BATCH_LINES: usize = 64;
const BATCH_BYTES: usize = 32 << 20;
/// Bytes of a line; a longer one is no page.
pub(super) const MAX_LINE: usize = 64 << 20;
/// Maximum number of errors that are reported by line; further ones are only counted.
const MAX_REPORTED: usize = 20;

/// Lines of a file or of standard input.
pub struct Lines {
    input: Box<dyn BufRead>,
    /// The name of the input, for messages.
    name: String,
    /// The number of the last line.
    number: usize,
    reports: Reports,
    /// Messages on pages whose address is left out.
    warnings: Reports,
}

/// Messages on unusable lines: one each for the first, a count of the others.
#[derive(Default)]
pub(super) struct Reports {
    bad: usize,
}

impl Reports {
    /// Reports an unusable line.
    pub(super) fn add(&mut self, name: &str, number: usize, problem: &str) {
        self.bad += 1;
        if self.bad <= MAX_REPORTED {
            say(&format!("{name}: line {number}: {problem}"));
        }
    }

    /// Returns true if there was an unusable line.
    pub(super) const fn has_any(&self) -> bool {
        self.bad > 0
    }

    /// Lines without a message of their own, if there are any.
    fn unnamed(&self) -> Option<usize> {
        self.bad.checked_sub(MAX_REPORTED).filter(|more| *more > 0)
    }

    /// Reports how many lines have no message of their own.
    ///
    /// # Errors
    /// When there were unusable lines and no `good` one.
    pub(super) fn end(&self, name: &str, good: usize) -> Result<(), Failure> {
        if let Some(more) = self.unnamed() {
            say(&format!("{name}: {more} more lines could not be read"));
        }
        if good == 0 && self.bad > 0 {
            Err(Failure::usage(format!("{name}: no line could be read")))
        } else {
            Ok(())
        }
    }
}

/// A line, or an error message if it is too long.
type NumberedLine = (usize, Result<Vec<u8>, String>);

impl Lines {
    /// Opens a file, or standard input for `-` and for none.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self::new(open_lines(path)?, input_name(path)))
    }

    /// Reads an input that messages give this name.
    pub fn new(input: Box<dyn BufRead>, name: String) -> Self {
        Self { input, name, number: 0, reports: Reports::default(), warnings: Reports::default() }
    }

    /// The next line with its number, which may be empty.
    fn next(&mut self) -> Result<Option<NumberedLine>, Failure> {
        let mut line = Vec::new();
        let read = next_line(&mut *self.input, &mut line, MAX_LINE)
            .map_err(|e| Failure::usage(format!("{}: the input cannot be read: {e}", self.name)))?;
        self.number += 1;
        replace_lone_surrogates(&mut line);
        Ok(match read {
            crawl_archive::Line::Whole => Some((self.number, Ok(line))),
            crawl_archive::Line::TooLong => Some((self.number, Err(too_long()))),
            crawl_archive::Line::End => None,
        })
    }

    fn batch(&mut self) -> Result<Vec<NumberedLine>, Failure> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < BATCH_LINES && bytes < BATCH_BYTES {
            let Some(line) = self.next()? else { break };
            bytes += line.1.as_ref().map_or(0, Vec::len);
            lines.push(line);
        }
        Ok(lines)
    }

    fn report(&mut self, number: usize, problem: &str) {
        self.reports.add(&self.name, number, problem);
    }

    fn end(&self, good: usize) -> Result<Exit, Failure> {
        if let Some(more) = self.warnings.unnamed() {
            say(&format!("{}: {more} more lines have an invalid url", self.name));
        }
        self.reports.end(&self.name, good).map(|()| Exit::Done)
    }
}

/// The name of an input in messages.
pub(super) fn input_name(path: Option<&Path>) -> String {
    path.filter(|path| path.as_os_str() != "-")
        .map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
}

/// The error of a line that is too long.
pub(super) fn too_long() -> String {
    format!("longer than {} MiB; left out", MAX_LINE >> 20)
}

/// A page as a line: `html`, or `html_base64` where its bytes are not UTF-8.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    id: Value,
    #[serde(default, borrow)]
    url: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    html: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    html_base64: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    content_type: Option<Cow<'a, str>>,
}

/// A page to work on.
pub struct Page<'a> {
    /// Identity as given.
    pub id: Value,
    /// Address as given, if it is a URL.
    pub url: Option<Url>,
    /// The bytes of the page.
    pub bytes: Cow<'a, [u8]>,
    /// Content type as given, or the charset that `html` has by being text.
    pub content_type: Option<Cow<'a, str>>,
    /// The fault of an address that is given and no URL.
    faulty_url: Option<String>,
}

impl Page<'_> {
    /// The page as the extractor takes it.
    pub fn input(&self) -> Input<'_> {
        Input::new(&self.bytes).with_url(self.url.as_ref()).with_content_type(self.content_type.as_deref())
    }
}

/// The line to write, with an error for a line that is no page, and with a warning for a faulty address.
type Outcome = Result<(Vec<u8>, Option<String>), (Vec<u8>, String)>;

#[derive(Serialize)]
struct ErrorRecord<'a> {
    id: &'a Value,
    error: String,
}

impl<'a> Line<'a> {
    fn page(self) -> Result<Page<'a>, (Value, String)> {
        let (bytes, content_type) = match (self.html, self.html_base64) {
            (Some(html), _) => {
                let bytes = match html {
                    Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                    Cow::Owned(text) => Cow::Owned(text.into_bytes()),
                };
                // the line was UTF-8: the bytes are UTF-8 now, whatever charset the page declares
                (bytes, self.content_type.or(Some(Cow::Borrowed(crawl_engine::page_rules::HTML))))
            }
            (None, Some(text)) => match BASE64_STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => (Cow::Owned(bytes), self.content_type),
                Err(e) => return Err((self.id, format!("html_base64: {e}"))),
            },
            (None, None) => return Err((self.id, "neither \"html\" nor \"html_base64\"".into())),
        };
        let (url, faulty_url) = match self.url.filter(|text| !text.is_empty()) {
            None => (None, None),
            Some(text) => match whole_url(&text) {
                Ok(url) => (Some(url), None),
                Err(problem) => {
                    let text = hide_userinfo(&text);
                    (None, Some(format!("the page is read without its url \"{text}\": {problem}")))
                }
            },
        };
        Ok(Page { id: self.id, url, bytes, content_type, faulty_url })
    }
}

/// Reads lines, runs `work` on each page, and writes the result of each as a line. A line that is no page
/// gives `{"id", "error"}`, also reported on standard error with its number.
///
/// # Errors
/// When input or output fails, or when no line at all could be used.
pub fn each<T: Serialize>(mut input: Lines, work: impl Fn(Page<'_>) -> T + Sync) -> Result<Exit, Failure> {
    let mut good = 0;
    loop {
        let lines = input.batch()?;
        if lines.is_empty() {
            break;
        }
        let outcome = |(number, line): &NumberedLine| {
            let outcome = match line {
                Ok(line) => one(line, &work),
                Err(problem) => Err(bad_line(&Value::Null, problem.clone())),
            };
            (*number, outcome)
        };
        let results: Vec<(usize, Outcome)> = lines.par_iter().map(outcome).collect();
        let mut out = Vec::new();
        for (number, result) in results {
            match result {
                Ok((line, _)) if line.is_empty() => {}
                Ok((line, warning)) => {
                    good += 1;
                    if let Some(warning) = warning {
                        input.warnings.add(&input.name, number, &warning);
                    }
                    out.extend(line);
                }
                Err((line, problem)) => {
                    input.report(number, &problem);
                    out.extend(line);
                }
            }
        }
        write_json(&out)?;
    }
    input.end(good)
}

/// Reads lines and runs `work` on each page, in parallel; `take` has the results in the order of the lines. A line that is no page is
/// passed over.
///
/// # Errors
/// When input fails.
pub fn visit<T: Send>(
    mut input: Lines,
    work: impl Fn(Page<'_>) -> T + Sync,
    mut take: impl FnMut(T),
) -> Result<(), Failure> {
    loop {
        let lines = input.batch()?;
        if lines.is_empty() {
            return Ok(());
        }
        let page = |(_, line): &NumberedLine| {
            let line = line.as_ref().ok()?;
            serde_json::from_slice::<Line<'_>>(line).ok()?.page().ok().map(&work)
        };
        let results: Vec<Option<T>> = lines.par_iter().map(page).collect();
        results.into_iter().flatten().for_each(&mut take);
    }
}

/// Reads lines of JSON objects and writes an answer for each, with its `id` if it has one. A line without an
/// answer gives `{"id", "error"}`, also reported on standard error with its number.
///
/// # Errors
/// When input or output fails, or when no line at all could be used.
pub fn each_object(
    mut input: Lines,
    work: impl Fn(&Object) -> Result<Object, String>,
) -> Result<Exit, Failure> {
    let mut good = 0;
    while let Some((number, line)) = input.next()? {
        if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
            continue;
        }
        let asked =
            line.and_then(|line| serde_json::from_slice::<Object>(&line).map_err(|e| json_problem(&e)));
        let id = asked.as_ref().ok().and_then(|asked| asked.get("id").cloned());
        let mut answer = match asked.and_then(|asked| work(&asked)) {
            Ok(answer) => {
                good += 1;
                answer
            }
            Err(problem) => {
                input.report(number, &problem);
                Object::from_iter([("error".to_owned(), Value::String(problem))])
            }
        };
        if let Some(id) = id {
            answer.insert("id".into(), id);
        }
        write_json(&encode(&answer).map_err(|e| Failure::new(Exit::Internal, e))?)?;
    }
    input.end(good)
}

/// A JSON object.
pub type Object = serde_json::Map<String, Value>;

fn one<T: Serialize>(line: &[u8], work: &(impl Fn(Page<'_>) -> T + Sync)) -> Outcome {
    if line.trim_ascii().is_empty() {
        return Ok((Vec::new(), None));
    }
    let page = serde_json::from_slice::<Line<'_>>(line)
        .map_err(|e| (Value::Null, json_problem(&e)))
        .and_then(Line::page);
    let refused = match page {
        Ok(mut page) => {
            let warning = page.faulty_url.take();
            return encode(&work(page)).map(|line| (line, warning)).map_err(|e| (Vec::new(), e));
        }
        Err((id, problem)) => bad_line(&id, problem),
    };
    Err(refused)
}

/// The error of a line as JSON, without the number that serde_json gives its only line.
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// Returns the line to write for a line that is no page, with the error.
fn bad_line(id: &Value, problem: String) -> (Vec<u8>, String) {
    (encode(&ErrorRecord { id, error: problem.clone() }).unwrap_or_default(), problem)
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(value).map_err(|e| e.to_string())?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, BufReader, Read};

    #[test]
    fn line_is_a_page_or_an_error_with_its_reason() {
        let size = |line: &str| one(line.as_bytes(), &|p: Page<'_>| (p.id, p.bytes.len()));
        assert_eq!(size(r#"{"id":7,"html":"a\nb"}"#).unwrap(), (b"[7,3]\n".to_vec(), None));
        assert_eq!(size(r#"{"id":"x","html_base64":"/////w=="}"#).unwrap(), (b"[\"x\",4]\n".to_vec(), None));
        assert_eq!(size("  \n").unwrap(), (Vec::new(), None));
        let (line, problem) = size(r#"{"id":1,"html_base64":"%"}"#).unwrap_err();
        assert!(
            String::from_utf8(line).unwrap().starts_with(r#"{"id":1,"error":"html_base64: "#),
            "{problem}"
        );
        assert!(size("{").unwrap_err().1.contains("EOF"));
        assert!(size("{}").unwrap_err().1.contains("neither"));
    }

    #[test]
    fn overlong_line_is_skipped() {
        let long = io::repeat(b'x').take(MAX_LINE as u64 + 1).chain(&b"\nlast\n"[..]);
        let mut lines = Lines::new(Box::new(BufReader::new(long)), "FILE".into());
        assert_eq!(lines.next().unwrap_or_default(), Some((1, Err("longer than 64 MiB; left out".into()))));
        assert_eq!(lines.next().unwrap_or_default(), Some((2, Ok(b"last".to_vec()))));
        assert_eq!(lines.next().unwrap_or_default(), None);
    }
}
