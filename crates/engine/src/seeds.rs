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
        // a file without a seed is of another kind
        let most = if found.seeds.is_empty() { SHOWN_LINES } else { MAX_SHOWN_LINES };
        for bad in found.bad.iter().take(most) {
            warn(&format!("{}: {bad}; skipped", name.display()));
        }
        if found.bad.len() > most {
            warn(&format!("{}: {} more lines are no seeds; skipped", name.display(), found.bad.len() - most));
        }
        if found.seeds.is_empty() {
            return Err(Failure::usage(format!("{}: no usable line", name.display())));
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
    if raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
        parse(BufReader::new(MultiGzDecoder::new(raw)))
    } else {
        parse(raw)
    }
}

fn parse(mut input: impl BufRead) -> io::Result<Seeds> {
    let mut seeds = Seeds::default();
    let mut line = Vec::new();
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
        let parsed = match () {
            () if !whole => Err("the line is too long".to_owned()),
            // another encoding would silently be another URL
            () if std::str::from_utf8(&line).is_err() => Err(text_file::wrong_encoding(&[]).to_owned()),
            () => parse_line(text),
        };
        match parsed {
            Ok((seed, site)) => {
                seeds.seeds.push(seed);
                seeds.sites.extend(site);
            }
            Err(problem) => {
                seeds.bad.push(BadLine { number, line: shown(text), problem });
            }
        }
    }
    Ok(seeds)
}

/// Returns true for a character that does not show at the end of a line: space, byte order mark, zero-width space and
/// word joiner.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ['\u{feff}', '\u{200b}', '\u{2060}'].contains(&c)
}

/// Reads a URL, or a JSON object with a URL and settings of its host.
fn parse_line(text: &str) -> Result<(Seed, Option<SiteSection>), String> {
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
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn seed_file_allows_bom_crlf_comments_and_blank_lines() {
        let text = "\u{feff}https://a.test/x\r\n\r\n# note\r\n  b.test  \r\nht tp://bad\nmailto:x@y.z\nc.test:8080/p";
        let seeds = parse(text.as_bytes()).unwrap();
        let urls: Vec<_> = seeds.seeds.iter().map(|s| (s.url.as_str(), s.bare)).collect();
        assert_eq!(
            urls,
            [("https://a.test/x", false), ("https://b.test/", true), ("https://c.test:8080/p", true)]
        );
        assert_eq!(seeds.bad.iter().map(|b| b.number).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn invisible_characters_around_a_seed_are_no_part_of_it() {
        // files that were joined have a byte order mark in the middle
        let text = "a.test/x\u{200b}\n\u{feff}b.test/y\u{a0}\n\u{2060}c.test/z\n";
        let seeds = parse(text.as_bytes()).unwrap();
        let urls: Vec<_> = seeds.seeds.iter().map(|seed| seed.url.as_str()).collect();
        assert_eq!(urls, ["https://a.test/x", "https://b.test/y", "https://c.test/z"]);
    }

    #[test]
    fn a_seed_file_in_another_encoding_is_refused() {
        let seeds = parse(&b"a.test/\xfc\n# \xfc\nb.test\n"[..]).unwrap();
        assert_eq!((seeds.seeds.len(), seeds.bad.len()), (1, 1));
        assert!(seeds.bad[0].problem.contains("save the file as UTF-8"), "{}", seeds.bad[0]);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"\xff\xfea\0.\0t\0\n\0").unwrap();
        let failure = of_names(&[file.path().to_owned()], |_| {}).unwrap_err();
        assert!(
            failure.error.to_string().ends_with("the file is UTF-16; save it as UTF-8"),
            "{}",
            failure.error
        );
    }

    #[test]
    fn urls_and_hosts_are_distinguished_from_files() {
        let urls = [
            "https://a.test/x",
            "HTTP://a.test",
            "example.org",
            "example.org/docs/a.txt",
            "example.org:8080",
            "127.0.0.1:80/x",
            "[::1]:80",
            "localhost:3000/x",
            "bücher.example",
            "a.xn--p1ai/",
        ];
        for url in urls {
            assert_eq!(as_url(Path::new(url)), Some(url), "{url}");
        }
        let files = [
            "-",
            "urls",
            "urls.txt",
            "seeds.jsonl",
            "urls.txt.gz",
            "urls.xlsx",
            "sitemap.xml",
            "docs/example.org",
            "./example.org",
            "/srv/example.org",
            "../a.test",
            "1.2",
            "v1.0",
            "u:s3cret@a.test",
            "extract",
            "a b.test",
            "ftp://a.test/",
        ];
        for file in files {
            assert_eq!(as_url(Path::new(file)), None, "{file}");
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("example.org");
        fs::write(&file, "a.test\n").unwrap();
        assert_eq!(as_url(&file), None, "a file has the name");
    }

    #[test]
    fn seed_with_password_is_refused_without_repeating_it() {
        let text =
            format!("http://u:s3cret@a.test/\nu:s3cret@a.test\nhttp://u:{}s3cret@a.test/\n", "x".repeat(90));
        let seeds = parse(text.as_bytes()).unwrap();
        assert!(seeds.seeds.is_empty());
        let told: Vec<String> = seeds.bad.iter().map(ToString::to_string).collect();
        assert!(
            told[0].starts_with("line 1: \"http://…@a.test/\": credentials in URLs are not allowed"),
            "{told:?}"
        );
        assert!(
            told.len() == 3 && !told.concat().contains("s3cret") && !told.concat().contains('x'),
            "{told:?}"
        );
    }

    #[test]
    fn gzip_is_recognised_and_may_have_several_members() {
        let mut bytes = Vec::new();
        for part in ["a.test\n", "b.test\n"] {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(part.as_bytes()).unwrap();
            bytes.extend(gz.finish().unwrap());
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        assert_eq!(read(file.path()).unwrap().seeds.len(), 2);
    }

    #[test]
    fn overlong_seed_line_is_one_bad_line() {
        let text = format!("{}\nok.test\n", "x".repeat(200_000));
        let seeds = parse(text.as_bytes()).unwrap();
        assert_eq!((seeds.seeds.len(), seeds.bad.len(), seeds.bad[0].number), (1, 1, 1));
    }
}
