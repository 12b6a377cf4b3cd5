//! Errors of the command line, without the secrets that its words may hold.

use crawl_model::hide_userinfo;

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
    is_name && !value.starts_with('/') && !value.bytes().all(|b| b.is_ascii_digit())
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
        for word in ["harbour", "http://harbour.test/", "localhost:80"] {
            assert!(
                message_of(&["workers", word]).contains(&format!("'{word}'")),
                "other words are repeated"
            );
        }
    }
}
