//! Words and errors of the command line. Secrets in arguments are hidden, and long arguments shortened.

use clap::{
    ValueEnum,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use crawl_model::hide_userinfo;
use std::ffi::OsString;

/// The arguments `crawl help COMMAND` as `crawl COMMAND --help`.
#[must_use]
pub fn as_help_flag(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let (program, words) = arguments.split_first()?;
    let (first, of) = words.split_first()?;
    let is_help = first == "help" && of.len() <= 1;
    is_help.then(|| [std::slice::from_ref(program), of, &["--help".into()]].concat())
}

/// The error for `crawl check` without a word names the words that it takes, which are those of `W`.
#[must_use]
pub fn with_checks<W: ValueEnum>(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() == ErrorKind::MissingRequiredArgument
        && arguments.get(1).is_some_and(|job| job == "check")
    {
        let words: Vec<String> = W::value_variants()
            .iter()
            .filter_map(|what| Some(what.to_possible_value()?.get_name().to_owned()))
            .collect();
        let tip = StyledStr::from(format!("WHAT is one of {}", words.join(", ")));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// The text of an error of the command line. It may repeat the words that are wrong: of those, passwords in URLs and values of headers are
/// left out.
#[must_use]
pub fn without_secrets(error: &str, words: impl Iterator<Item = String>) -> String {
    let mut text = error.to_owned();
    for word in words {
        // `--flag=VALUE` is repeated as its value
        for part in [word.as_str(), word.split_once('=').map_or("", |(_, value)| value)] {
            let shown = hide(part);
            if shown != part {
                text = text.replace(part, &shown);
            }
        }
    }
    text
}

/// Characters of the longest word that an error repeats as a whole.
const LONGEST: usize = 500;
/// Characters of a longer word at its start and at its end.
const START: usize = 300;
const END: usize = 100;

/// The text of an error with long words shortened in the middle: those of the command line, and any other run without spaces.
#[must_use]
pub fn shortened(error: &str, words: impl Iterator<Item = String>) -> String {
    let mut text = error.to_owned();
    for word in words {
        for part in [word.as_str(), word.split_once('=').map_or("", |(_, value)| value)] {
            if let Some(short) = without_middle(part) {
                text = text.replace(part, &short);
            }
        }
    }
    let runs = text.split_inclusive(char::is_whitespace);
    runs.map(|run| without_middle(run).unwrap_or_else(|| run.to_owned())).collect()
}

/// A long word without its middle; none for a short one.
fn without_middle(word: &str) -> Option<String> {
    // the number of bytes bounds the number of characters
    let length = if word.len() > LONGEST { word.chars().count() } else { 0 };
    (length > LONGEST).then(|| {
        let start: String = word.chars().take(START).collect();
        let end: String = word.chars().skip(length - END).collect();
        format!("{start}…{end}")
    })
}

/// The command line in shell syntax, without secrets.
#[must_use]
pub fn command_line(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: String| {
        let shown = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => format!("{flag}={}", hide(value)),
            _ => hide(&word),
        };
        if !shown.is_empty() && shown.chars().all(plain) {
            return shown;
        }
        format!("'{}'", shown.replace('\'', r"'\''"))
    };
    let words: Vec<String> = words.skip(1).map(quoted).collect();
    format!("crawl {}", words.join(" ")).trim_end().to_owned()
}

/// A word without what may be a password or the value of a header.
fn hide(word: &str) -> String {
    let shown = hide_userinfo(word).into_owned();
    match shown.split_once(':') {
        Some((name, value)) if is_header(name, value) => format!("{name}: …"),
        _ => shown,
    }
}

/// Returns true if two parts of a word may be the name and the value of a header. A URL and a host with its
/// port are neither.
fn is_header(name: &str, value: &str) -> bool {
    let is_name =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let port = value.split('/').next().unwrap_or_default();
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) && (port == value || name == "localhost");
    is_name && !value.starts_with('/') && !is_port
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn message_of(words: &[&str]) -> String {
        let words = || ["crawl"].iter().chain(words).map(ToString::to_string);
        let error = Cli::try_parse_from(words()).unwrap_err();
        without_secrets(&error.render().to_string(), words())
    }

    #[test]
    fn reported_command_line_hides_secrets() {
        let words =
            ["/bin/crawl", "--header=X-Key: s3cret", "--proxy", "http://u:s3cret@h/", "--include", "a'b c"];
        let line = command_line(words.into_iter().map(str::to_owned));
        assert_eq!(line, r"crawl '--header=X-Key: …' --proxy 'http://…@h/' --include 'a'\''b c'");
    }

    #[test]
    fn a_long_word_loses_its_middle() {
        let of = |words: &[&str], error: &str| shortened(error, words.iter().map(ToString::to_string));
        let long = "é".repeat(10_000);
        let short = format!("{}…{}", &long[..2 * START], &long[..2 * END]);
        assert_eq!(
            of(&[], &format!("/tmp/{long}: no such file")).chars().count(),
            401 + "no such file".len()
        );
        assert_eq!(
            of(&[&format!("--select={long} {long}")], &format!("x {long} {long}: y")).chars().count(),
            406
        );
        assert_eq!(
            of(&[&long], &format!("no \"{long}\" here\nand there")),
            format!("no \"{short}\" here\nand there")
        );
        let plain = "two  words\n\nand a URL https://a.example/";
        assert_eq!(of(&["words"], plain), plain);
    }

    #[test]
    fn usage_errors_repeat_no_password_or_header() {
        for words in [
            &["--seed", "a.test", "http://u:s3cret@h"][..],
            &["http://u:s3cret@h"],
            &["--seed", "a.test", "X-Api-Key: s3cret"],
            &["--seed", "a.test", "Authorization:s3cret"],
            &["--concurrency", "http://u:s3cret@h"],
            &["--concurrency=http://u:s3cret@h"],
            &["workers", "http://u:s3cret@h"],
            &["--proxi=http://u:s3cret@h"],
            &["--proxy", "http://u:s3cret@h", "--proxy", "http://u:s3cret@h"],
        ] {
            let told = message_of(words);
            assert!(told.starts_with("error: ") && !told.contains("s3cret"), "{words:?}: {told}");
        }
        for word in ["harbour", "http://harbour.test/", "localhost:80", "localhost:80/a"] {
            assert!(
                message_of(&["workers", word]).contains(&format!("'{word}'")),
                "other words are repeated"
            );
        }
    }
}
