//! Seed files: one URL or host per line.

use crate::{
    config::{IS_RECORD, SiteSection, parse_seed_object},
    exit::Failure,
    text_file,
};
use crawl_fetch::Seed;
use crawl_model::{HostKey, hide_userinfo};
use flate2::read::MultiGzDecoder;
use std::{
    fmt,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    net::IpAddr,
    path::{Path, PathBuf},
};

/// One line that is no seed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadLine {
    /// Line number, from 1.
    pub number: usize,
    /// The line, shortened, without what may be a password.
    pub line: String,
    /// Reason for the refusal.
    pub problem: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: \"{}\": {}", self.number, self.line, self.problem)
    }
}

/// Contents of a seed file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Seeds {
    /// Usable lines in order.
    pub seeds: Vec<Seed>,
    /// Settings of the hosts of lines in JSON.
    pub sites: Vec<SiteSection>,
    /// The others.
    pub bad: Vec<BadLine>,
}

/// Maximum bytes of a line. A longer one is a bad line, so that a binary file cannot fill memory.
const MAX_LINE: u64 = 64 * 1024;
/// Lines that are no seeds and are reported one by one, of a file without seeds and of any other.
const SHOWN_LINES: usize = 5;
const MAX_SHOWN_LINES: usize = 100;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Endings of seed files. None is a top-level domain.
const FILE_ENDINGS: [&str; 18] = [
    "csv", "gz", "html", "json", "jsonl", "list", "log", "lst", "parquet", "pdf", "toml", "tsv", "txt",
    "urls", "xlsx", "xml", "yaml", "yml",
];

/// The URL that was named where a seed file could be: one site needs no file. Without a scheme it is one
/// if it begins with a host, and no file has the name.
#[must_use]
pub fn as_url(named: &Path) -> Option<&str> {
    let text = named.to_str()?;
    if let Some((scheme, _)) = text.split_once("://")
        && ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Some(text);
    }
    (begins_with_host(text) && !named.exists()).then_some(text)
}

/// Returns true if a text without a scheme begins with the name or address of a host, as `example.org/path`.
fn begins_with_host(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default().trim_end_matches('.');
    let (name, is_v6) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) => (address, true),
        None => (host.split_once(':').map_or(host, |(name, _)| name), false),
    };
    let last = name.rsplit_once('.').map_or("", |(_, last)| last).to_ascii_lowercase();
    let is_named = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6() == is_v6)
        || (last.chars().all(char::is_alphabetic) && last.len() > 1 || last.starts_with("xn--"));
    is_named && !FILE_ENDINGS.contains(&&*last) && crawl_fetch::parse_seed_line(text).is_ok()
}

/// Reads what a command line names: URLs, and files of them.
///
/// # Errors
/// When a URL is faulty, a file cannot be read, or one holds no usable line (exit 2).
pub fn of_names(names: &[PathBuf], mut warn: impl FnMut(&str)) -> Result<Seeds, Failure> {
    let mut seeds = Seeds::default();
    for name in names {
        if let Some(url) = as_url(name) {
            let seed = crawl_fetch::parse_seed_line(url);
            seeds
                .seeds
                .push(seed.map_err(|e| Failure::usage(format!("--seed {}: {e}", hide_userinfo(url))))?);
            continue;
        }
        let found = read(name).map_err(|error| unreadable(name, &error))?;
        if found.seeds.is_empty() && found.bad.iter().any(|bad| bad.problem == IS_RECORD) {
            return Err(Failure::usage(format!("{}: an output of a crawl, not a seed file", name.display())));
        }
        if found.seeds.is_empty() && found.bad.iter().any(|bad| bad.problem == IS_COOKIE) {
            let name = name.display();
            return Err(Failure::usage(format!(
                "{name}: a cookie file, not a seed file: name it as cookies_file in fetch.auth"
            )));
        }
        // a file without a seed is of another kind
        let most = if found.seeds.is_empty() { SHOWN_LINES } else { MAX_SHOWN_LINES };
        for bad in found.bad.iter().take(most) {
            warn(&format!("{}: {bad}; skipped", name.display()));
        }
        if found.bad.len() > most {
            warn(&format!("{}: {} more lines are no seeds; skipped", name.display(), found.bad.len() - most));
        }
        if found.seeds.is_empty() {
            let name = if name.as_os_str() == "-" { "standard input".into() } else { name.to_string_lossy() };
            return Err(Failure::usage(format!("{name}: no usable line")));
        }
        seeds.seeds.extend(found.seeds);
        seeds.sites.extend(found.sites);
    }
    Ok(seeds)
}

/// Fails if a seed file is missing. No file is opened: it may be a pipe, whose reader takes its data.
///
/// # Errors
/// When a name is no URL, and no file has it (exit 2).
pub fn check_present(names: &[PathBuf]) -> Result<(), Failure> {
    for name in names.iter().filter(|name| name.as_os_str() != "-" && as_url(name).is_none()) {
        fs::metadata(name).map_err(|error| unreadable(name, &error))?;
    }
    Ok(())
}

/// The failure to read a seed file. A misspelled URL or command counts as the name of a file.
fn unreadable(name: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; a seed is a file, a URL such as https://example.org/, or a host",
        _ => "",
    };
    let failure = Failure::input(Path::new(&*hide_userinfo(&name.to_string_lossy())), error);
    Failure::new(failure.exit, format!("{}{hint}", failure.error))
}

/// Reads a file, or standard input for `-`; gzip is recognised by its first bytes, regardless of the name.
///
/// # Errors
/// When the input cannot be read.
pub fn read(path: &Path) -> io::Result<Seeds> {
    let raw: Box<dyn Read> =
        if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut raw = BufReader::new(raw);
    let is_csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    if raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
        parse(BufReader::new(MultiGzDecoder::new(raw)), is_csv)
    } else {
        parse(raw, is_csv)
    }
}

/// Parses the lines of a file. A file of comma-separated values whose first line names columns is a table, in which
/// a comma begins the next column.
fn parse(mut input: impl BufRead, is_csv: bool) -> io::Result<Seeds> {
    let mut seeds = Seeds::default();
    let mut line = Vec::new();
    let mut is_table = None;
    for number in 1.. {
        line.clear();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let whole = line.len() < usize::try_from(MAX_LINE).unwrap_or(usize::MAX) || line.ends_with(b"\n");
        if number == 1 && text_file::is_utf16(&line) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, text_file::wrong_encoding(&line)));
        }
        if !whole {
            skip_to_line_end(&mut input)?;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_matches(is_blank);
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let is_table = *is_table.get_or_insert_with(|| is_csv && names_columns(text));
        let parsed = match () {
            () if !whole => Err("the line is too long".to_owned()),
            // another encoding would silently be another URL
            () if std::str::from_utf8(&line).is_err() => Err(text_file::wrong_encoding(&[]).to_owned()),
            () if is_table && text.contains(',') => Err("several columns: write only the URL".to_owned()),
            () => parse_line(text),
        };
        match parsed {
            Ok((seed, site)) => {
                seeds.seeds.push(seed);
                seeds.sites.extend(site);
            }
            Err(problem) => {
                // the value of a cookie is a secret
                let line =
                    if problem == IS_COOKIE { text.split('\t').next().unwrap_or_default() } else { text };
                seeds.bad.push(BadLine { number, line: shown(line), problem });
            }
        }
    }
    Ok(seeds)
}

/// Returns true for a line such as `url,title`, which has several columns and no URL.
fn names_columns(text: &str) -> bool {
    text.contains(',') && !text.contains(['/', '.'])
}

/// Returns true for a character that does not show at the end of a line: space, byte order mark, zero-width space and
/// word joiner.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ['\u{feff}', '\u{200b}', '\u{2060}'].contains(&c)
}

/// Fields of a cookie in a cookie file in Netscape format, with tabs between them.
const COOKIE_FIELDS: usize = 7;
/// Returns true for a line of a cookie file. Its second and fourth fields are TRUE or FALSE.
fn is_cookie(text: &str) -> bool {
    let fields: Vec<&str> = text.split('\t').take(COOKIE_FIELDS + 1).collect();
    let is_flag = |at: usize| fields.get(at).is_some_and(|flag| ["TRUE", "FALSE"].contains(flag));
    fields.len() == COOKIE_FIELDS && is_flag(1) && is_flag(3)
}

/// Message for a line of a cookie file.
const IS_COOKIE: &str = "a cookie, not a URL";

/// Reads a URL, or a JSON object with a URL and settings of its host.
fn parse_line(text: &str) -> Result<(Seed, Option<SiteSection>), String> {
    if is_cookie(text) {
        return Err(IS_COOKIE.to_owned());
    }
    if !text.starts_with('{') {
        return crawl_fetch::parse_seed_line(text).map(|seed| (seed, None));
    }
    let (url, site) = parse_seed_object(text)?;
    let seed = crawl_fetch::parse_seed_line(&url)?;
    let host = HostKey::of(&seed.url).map(|host| host.as_str().to_owned());
    let site = site.map(|site| SiteSection { patterns: host.into_iter().collect(), ..site });
    Ok((seed, site))
}

/// The beginning of a line that is no seed, without what may be a password.
fn shown(line: &str) -> String {
    hide_userinfo(line).chars().take(80).collect()
}

fn skip_to_line_end(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, done) = match buffer.iter().position(|&b| b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
