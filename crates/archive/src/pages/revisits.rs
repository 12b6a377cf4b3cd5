//! Captures that refer to the body of another one.

use super::{Archived, is_robots};
use crate::{Document, WarcReader, WarcRecord, warc};
use jiff::Timestamp;
use std::{collections::HashMap, fs::File, io, ops::ControlFlow};

/// Revisits whose page has not been found yet, in the order of their files.
#[derive(Default)]
pub struct Revisits {
    /// `None` once the page was found.
    noted: Vec<Option<Revisit>>,
    /// Positions in `noted` by what they refer to: a record id, a digest of the payload, or an address.
    by_key: HashMap<String, Vec<usize>>,
    /// Revisits without their page.
    open: usize,
    /// Bytes of all addresses and keys.
    bytes: usize,
    /// Inputs by their names; the last one is read now.
    inputs: Vec<String>,
}

struct Revisit {
    /// Position of the input with the revisit, if inputs have names.
    input: usize,
    url: String,
    date: String,
    /// Id of the record with the body.
    record: String,
    digest: String,
    /// Address and time of the capture with the body.
    of_url: String,
    of_date: String,
}

/// Maximum bytes of addresses and keys of revisits. Their records are small, so a compressed file could
/// fill the memory with them.
const MAX_REVISIT_BYTES: usize = 64 << 20;

impl Revisit {
    fn of(record: &WarcRecord, url: String, input: usize) -> Self {
        let field = |name: &str| record.header(name).to_owned();
        let mut of_url = field("WARC-Refers-To-Target-URI");
        let (refers_to, digest) = (field("WARC-Refers-To"), field("WARC-Payload-Digest"));
        if of_url.is_empty() && refers_to.is_empty() && digest.is_empty() {
            of_url.clone_from(&url);
        }
        let (date, of_date) = (field("WARC-Date"), field("WARC-Refers-To-Date"));
        Self { input, url, date, record: refers_to, digest, of_url, of_date }
    }

    fn keys(&self) -> impl Iterator<Item = &String> {
        [&self.record, &self.digest, &self.of_url].into_iter().filter(|key| !key.is_empty())
    }

    /// Returns true if a capture with one of its keys has its body. An address alone has captures of several times.
    fn is_of(&self, record: &WarcRecord) -> bool {
        if !self.record.is_empty() && self.record == record.header("WARC-Record-ID") {
            return true;
        }
        let digest = record.header("WARC-Payload-Digest");
        if are_comparable(&self.digest, digest) {
            return self.digest == digest;
        }
        self.of_date.is_empty() || is_same_second(&self.of_date, record.header("WARC-Date"))
    }
}

impl Revisit {
    /// Returns true if it names an address only, which may have been captured several times.
    const fn is_of_any_time(&self) -> bool {
        self.record.is_empty() && self.digest.is_empty() && self.of_date.is_empty()
    }
}

/// Returns true if two digests have one algorithm and one form.
fn are_comparable(one: &str, other: &str) -> bool {
    let parts = |digest: &str| digest.split_once(':').map(|(name, value)| (name.to_owned(), value.len()));
    !one.is_empty() && parts(one) == parts(other)
}

fn is_same_second(one: &str, other: &str) -> bool {
    let second = |date: &str| date.parse::<Timestamp>().map(Timestamp::as_second);
    matches!((second(one), second(other)), (Ok(one), Ok(other)) if one == other)
}

impl Revisits {
    /// Returns true if each noted revisit has its page.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Sets the name of the input whose revisits follow.
    pub fn begin_input(&mut self, name: &str) {
        self.inputs.push(name.to_owned());
    }

    /// Revisits without a page: the name of the input, and the address.
    pub fn into_unresolved(self) -> impl Iterator<Item = (String, String)> {
        let Self { noted, inputs, .. } = self;
        noted
            .into_iter()
            .flatten()
            .map(move |revisit| (inputs.get(revisit.input).cloned().unwrap_or_default(), revisit.url))
    }

    /// Notes a revisit.
    ///
    /// # Errors
    /// Its address, if there are too many.
    pub(super) fn note(&mut self, record: &WarcRecord) -> Result<(), String> {
        let url = record.target_uri();
        if is_robots(&url) || warc::is_no_page(record) {
            return Ok(());
        }
        self.add(Revisit::of(record, url, self.inputs.len().saturating_sub(1)))
    }

    fn add(&mut self, revisit: Revisit) -> Result<(), String> {
        self.bytes += revisit.url.len() + revisit.keys().map(String::len).sum::<usize>();
        if self.bytes > MAX_REVISIT_BYTES {
            return Err(revisit.url);
        }
        for key in revisit.keys() {
            self.by_key.entry(key.clone()).or_default().push(self.noted.len());
        }
        self.open += 1;
        self.noted.push(Some(revisit));
        Ok(())
    }

    /// Reads a file for the bodies of noted revisits.
    pub(super) fn resolve(
        &mut self,
        file: File,
        most: usize,
        each: &mut dyn FnMut(Archived) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        // The first pass has named a file that cannot be read.
        let Ok(records) = WarcReader::new(file, most) else { return Ok(ControlFlow::Continue(())) };
        for record in records.flatten() {
            if self.open == 0 {
                break;
            }
            // requests and notes have the address and digest of a page, but not its body
            if !matches!(record.record_type(), "response" | "resource") {
                continue;
            }
            let url = record.target_uri();
            let keys = [record.header("WARC-Record-ID"), record.header("WARC-Payload-Digest"), &url];
            let known = keys.iter().filter_map(|key| self.by_key.get(*key)).flatten().copied();
            let is_of = |at: &usize| self.noted[*at].as_ref().is_some_and(|revisit| revisit.is_of(&record));
            let found: Vec<usize> = known.filter(is_of).collect();
            if found.is_empty() {
                continue;
            }
            let is_exact =
                |at: &usize| self.noted[*at].as_ref().is_some_and(|revisit| !revisit.is_of_any_time());
            let original = match warc::document(record, most) {
                Ok(Some(original)) => original,
                // an image or a redirect, which is no page at the revisit either
                Ok(None) => {
                    for at in found.into_iter().filter(is_exact).collect::<Vec<_>>() {
                        self.open -= usize::from(self.noted[at].take().is_some());
                    }
                    continue;
                }
                Err(_) => continue,
            };
            for at in found {
                let Some(Revisit { url, date, .. }) = self.noted[at].take() else { continue };
                self.open -= 1;
                let page = Document { id: String::new(), url, date, ..original.clone() };
                if each(Archived::Page(page)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        self.forget_found();
        Ok(ControlFlow::Continue(()))
    }

    /// Frees the memory of the revisits whose pages were found.
    fn forget_found(&mut self) {
        let mut left = std::mem::take(self);
        self.inputs = std::mem::take(&mut left.inputs);
        for revisit in left.noted.into_iter().flatten() {
            // fewer bytes than before
            let _ = self.add(revisit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[(&str, &str)]) -> WarcRecord {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        WarcRecord { headers: headers.collect(), block: Vec::new() }
    }

    #[test]
    fn revisit_needs_matching_date_or_digest_besides_the_url() {
        let (url, then) = (
            ("WARC-Refers-To-Target-URI", "http://a.test/"),
            ("WARC-Refers-To-Date", "2026-01-02T03:04:05Z"),
        );
        let capture =
            |date: &str, digest: &str| record(&[("WARC-Date", date), ("WARC-Payload-Digest", digest)]);
        let of = |fields: &[(&str, &str)], capture: &WarcRecord| {
            Revisit::of(&record(fields), "http://a.test/".into(), 0).is_of(capture)
        };
        let digest = ("WARC-Payload-Digest", "sha1:AAAA");
        assert!(of(&[url, digest], &capture("2026-01-02T03:04:05Z", "sha1:AAAA")));
        assert!(!of(&[url, digest], &capture("2026-01-02T03:04:05Z", "sha1:BBBB")));
        assert!(of(&[url, digest], &capture("2026-01-02T03:04:05Z", "sha256:00ff")), "another algorithm");
        // not modified: the date names the capture
        assert!(of(&[url, then], &capture("2026-01-02T03:04:05.678Z", "sha1:AAAA")));
        assert!(!of(&[url, then], &capture("2026-01-09T03:04:05Z", "sha1:AAAA")));
        assert!(of(&[url], &capture("2026-01-09T03:04:05Z", "")));
        assert!(of(
            &[("WARC-Refers-To", "<urn:uuid:1>"), digest],
            &record(&[("WARC-Record-ID", "<urn:uuid:1>")])
        ));
    }
}
