//! Opt-outs of mining and machine learning: `X-Robots-Tag: noai` (see [`crate::x_robots_tag`]), the TDM
//! Reservation Protocol (W3C community group report, 2024) and `ai.txt` (Spawning).

use crate::robots::{RobotsTxt, RuleSet};
use crawl_model::Headers;
use serde::Deserialize;
use url::Url;

/// Path of an origin's TDM file.
pub const TDMREP_PATH: &str = "/.well-known/tdmrep.json";
/// Path of an origin's `ai.txt`.
pub const AI_TXT_PATH: &str = "/ai.txt";
/// Maximum bytes read of either file.
pub const OPT_OUT_MAX_BYTES: u64 = 500 * 1024;

/// Maximum entries of `tdmrep.json`: each page is checked against all of them, and sites have few.
const MAX_TDM_ENTRIES: usize = 1_000;

/// Source of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptOut {
    /// `X-Robots-Tag` or `<meta name="robots">` says `noai` or `noimageai`.
    NoAi,
    /// The response header `TDM-Reservation`.
    TdmHeader,
    /// `<meta name="tdm-reservation" content="1">` in the page.
    TdmMeta,
    /// `/.well-known/tdmrep.json`.
    TdmFile,
    /// `/ai.txt`.
    AiTxt,
    /// One of the two files is unreachable for now, and the other one reserves nothing.
    Unknown,
}

impl OptOut {
    /// Stable name for records and counts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoAi => "noai",
            Self::TdmHeader => "tdm_header",
            Self::TdmMeta => "tdm_meta",
            Self::TdmFile => "tdm_file",
            Self::AiTxt => "ai_txt",
            Self::Unknown => "unknown",
        }
    }
}

/// Value of the response header `TDM-Reservation`: reserved, expressly not reserved, or none.
#[must_use]
pub fn tdm_header(headers: &Headers) -> Option<bool> {
    match headers.get("tdm-reservation")?.trim() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

#[derive(Debug, Deserialize)]
struct TdmEntry {
    location: String,
    #[serde(rename = "tdm-reservation", default)]
    reservation: serde_json::Value,
}

/// Result of requesting one of an origin's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptOutFile<'a> {
    /// The file does not exist or may not be fetched: it reserves nothing.
    #[default]
    Missing,
    /// Its bytes.
    Found(&'a [u8]),
    /// The answer does not show if the file exists: 429, 5xx, a timeout, no connection.
    Unknown,
}

impl<'a> OptOutFile<'a> {
    const fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Found(bytes) => Some(bytes),
            Self::Missing | Self::Unknown => None,
        }
    }
}

/// Opt-outs in the files of an origin; empty if it has none.
#[derive(Clone, Debug, Default)]
pub struct OriginOptOuts {
    /// Patterns of `tdmrep.json` in order, with their reservations.
    tdm: Vec<(RuleSet, bool)>,
    ai: Option<RuleSet>,
    tdm_unknown: bool,
    ai_unknown: bool,
}

impl OriginOptOuts {
    /// Parses the two files. A file in another format reserves nothing.
    #[must_use]
    pub fn parse(tdmrep: OptOutFile<'_>, ai_txt: OptOutFile<'_>, product_token: &str) -> Self {
        let entries: Vec<TdmEntry> =
            tdmrep.bytes().and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
        let tdm = entries
            .iter()
            .filter(|entry| entry.location.starts_with(['/', '*']))
            .take(MAX_TDM_ENTRIES)
            .map(|entry| {
                let reserved =
                    entry.reservation.as_i64() == Some(1) || entry.reservation.as_str() == Some("1");
                (pattern(&entry.location), reserved)
            })
            .collect();
        Self {
            tdm,
            ai: ai_txt.bytes().map(|bytes| RobotsTxt::parse(bytes).rules(product_token)),
            tdm_unknown: tdmrep == OptOutFile::Unknown,
            ai_unknown: ai_txt == OptOutFile::Unknown,
        }
    }

    /// Approximate heap bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let of = |rules: &RuleSet| size_of::<(RuleSet, bool)>() + rules.heap_bytes();
        self.tdm.iter().map(|(rules, _)| of(rules)).sum::<usize>() + self.ai.as_ref().map_or(0, of)
    }

    /// Reservation of a page by the files; `None` for no reservation. In `tdmrep.json` the first location
    /// that matches decides (protocol, §6). The response's own `header` (see [`tdm_header`]) overrules that
    /// file, since it is specific to the page.
    #[must_use]
    pub fn reserves(&self, url: &Url, header: Option<bool>) -> Option<OptOut> {
        let tdm = || self.tdm.iter().find(|(pattern, _)| !pattern.verdict(url).allowed);
        let ai = || self.ai.as_ref().is_some_and(|ai| !ai.verdict(url).allowed);
        match () {
            () if header != Some(false) && tdm().is_some_and(|(_, reserved)| *reserved) => {
                Some(OptOut::TdmFile)
            }
            () if ai() => Some(OptOut::AiTxt),
            () if self.ai_unknown || (self.tdm_unknown && header.is_none()) => Some(OptOut::Unknown),
            () => None,
        }
    }
}

/// A location as a pattern of robots.txt (protocol, §6.1): a match means that the rule disallows.
fn pattern(location: &str) -> RuleSet {
    let line: String = location.chars().filter(|c| !c.is_control() && *c != '#').collect();
    RobotsTxt::parse(format!("user-agent: *\ndisallow: {line}").as_bytes()).rules("*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> Url {
        Url::parse(&format!("http://h.test{path}")).unwrap()
    }

    #[test]
    fn the_header_says_yes_no_or_nothing() {
        let of = |value: &str| tdm_header(&Headers(vec![("tdm-reservation".into(), value.into())]));
        assert_eq!([of("1"), of(" 0"), of("maybe")], [Some(true), Some(false), None]);
        assert_eq!(tdm_header(&Headers::default()), None);
    }

    #[test]
    fn first_matching_tdm_location_decides() {
        let file = br#"[{"location": "/free/*", "tdm-reservation": 0},
                        {"location": "/*.jpg$", "tdm-reservation": 1},
                        {"location": "/", "tdm-reservation": "1", "tdm-policy": "https://h.test/p.json"}]"#;
        let found = OriginOptOuts::parse(OptOutFile::Found(file), OptOutFile::Missing, "crawl");
        assert_eq!(found.reserves(&url("/free/a"), None), None);
        assert_eq!(found.reserves(&url("/a"), None), Some(OptOut::TdmFile));
        assert_eq!(found.reserves(&url("/a"), Some(false)), None, "the response overrules the file");
        let broken = OriginOptOuts::parse(OptOutFile::Found(b"<html>"), OptOutFile::Missing, "crawl");
        assert!(broken.reserves(&url("/a"), None).is_none());
    }

    #[test]
    fn unavailable_opt_out_file_counts_as_opt_out() {
        let of = |tdm, ai, header| OriginOptOuts::parse(tdm, ai, "crawl").reserves(&url("/a"), header);
        let (missing, unknown) = (OptOutFile::Missing, OptOutFile::Unknown);
        let (tdm, ai) = (
            OptOutFile::Found(br#"[{"location": "/", "tdm-reservation": 1}]"#),
            OptOutFile::Found(b"User-agent: *\nDisallow: /\n"),
        );
        assert_eq!(of(unknown, missing, None), Some(OptOut::Unknown));
        assert_eq!(of(missing, unknown, None), Some(OptOut::Unknown));
        assert_eq!(of(unknown, missing, Some(false)), None, "the response says it");
        assert_eq!(of(missing, unknown, Some(false)), Some(OptOut::Unknown), "of ai.txt it says nothing");
        assert_eq!(of(tdm, unknown, None), Some(OptOut::TdmFile));
        assert_eq!(of(unknown, ai, None), Some(OptOut::AiTxt));
    }

    #[test]
    fn ai_txt_parses_like_robots_txt() {
        let file = b"User-Agent: *\nDisallow: /art/\nDisallow: *.txt$\nUser-Agent: crawl\nDisallow: /ours\n";
        let ours = OriginOptOuts::parse(OptOutFile::Missing, OptOutFile::Found(file), "crawl");
        assert_eq!(
            (ours.reserves(&url("/ours"), None), ours.reserves(&url("/art/x"), None)),
            (Some(OptOut::AiTxt), None)
        );
        let other = OriginOptOuts::parse(OptOutFile::Missing, OptOutFile::Found(file), "other");
        assert_eq!(other.reserves(&url("/a.txt"), None), Some(OptOut::AiTxt));
        assert_eq!(OriginOptOuts::default().reserves(&url("/"), None), None);
    }
}
