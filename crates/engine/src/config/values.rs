//! Formats of setting values.

use crawl_dedup::FingerprintSettings;
use ipnet::IpNet;
use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{fmt::Display, net::IpAddr, str::FromStr, time::Duration};
use toml::Value;

/// A number, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

impl Limit {
    /// Returns true if `count` is still below the limit.
    #[must_use]
    pub fn allows(self, count: u64) -> bool {
        self.0.is_none_or(|limit| count < limit)
    }

    /// The limit as a number; the maximum without a limit.
    #[must_use]
    pub fn or_max(self) -> u64 {
        self.0.unwrap_or(u64::MAX)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Integer(n) => {
                u64::try_from(n).map(|n| Self(Some(n))).map_err(|_| D::Error::custom("must not be negative"))
            }
            Value::String(word) if word == UNLIMITED => Ok(Self(None)),
            other => Err(D::Error::custom(format!("expected a number or \"unlimited\", not {other}"))),
        }
    }
}

/// A limit that leaves something to do.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
    match Limit::deserialize(deserializer)? {
        Limit(Some(0)) => {
            Err(D::Error::custom("must be at least 1, or \"unlimited\": 0 would write nothing"))
        }
        limit => Ok(limit),
    }
}

pub(super) fn from_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

pub(super) fn list_from_text<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|t| t.parse().map_err(|e| D::Error::custom(format!("\"{t}\": {e}")))).collect()
}

/// Reads expressions for URLs.
pub(super) fn url_patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Regex>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| url_pattern(text).map_err(D::Error::custom)).collect()
}

/// An expression for whole URLs. One that begins with the path of a URL matches none, and would leave out all pages, or none.
pub(super) fn url_pattern(text: &str) -> Result<Regex, String> {
    const SCHEME: &str = "http";
    let pattern = Regex::new(text).map_err(|error| pattern_fault(text, &error))?;
    // with alternatives another one may match
    if let Some(rest) = text.strip_prefix('^').filter(|rest| !rest.contains('|')) {
        let mut literal: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect();
        // the last letter may be left out
        if rest.get(literal.len()..).is_some_and(|rest| rest.starts_with(['?', '*', '{'])) {
            literal.pop();
        }
        if !SCHEME.starts_with(&literal) && !literal.starts_with(SCHEME) {
            let host = if rest.starts_with('/') { "[^/]+" } else { "" };
            return Err(format!(
                "\"{text}\" matches no URL, since it is compared with the whole URL; write \"^https?://{host}{rest}\""
            ));
        }
    }
    Ok(pattern)
}

/// The message about a faulty expression. A glob is a frequent one.
fn pattern_fault(text: &str, error: &regex::Error) -> String {
    let glob = if text.starts_with('*') {
        "\n  a pattern is a regular expression, not a glob: write .* for any characters, and \\. for a dot"
    } else {
        ""
    };
    format!("\"{text}\": {error}{glob}")
}

/// Reads networks; a bare address is a network of its own.
pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let read = |text: String| {
        let network = text.parse().or_else(|_| text.parse().map(|address: IpAddr| IpNet::from(address)));
        network.map_err(|_| D::Error::custom(format!("\"{text}\" is no network, such as 127.0.0.1/32")))
    };
    Vec::<String>::deserialize(deserializer)?.into_iter().map(read).collect()
}

/// A number from 1 to a ceiling: a larger one would only use up the machine.
pub(super) fn up_to<'de, const MOST: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<usize, D::Error> {
    at_most::<MOST, D>(deserializer).and_then(|number| match number {
        0 => Err(D::Error::custom("must be at least 1")),
        number => Ok(number),
    })
}

/// A number from 0 to a ceiling.
pub(super) fn at_most<'de, const MOST: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        number if number > MOST => Err(D::Error::custom(format!("must be at most {MOST}, not {number}"))),
        number => Ok(number),
    }
}

pub(super) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match f64::deserialize(deserializer)? {
        n if (0.0..=1.0).contains(&n) => Ok(n),
        n => Err(D::Error::custom(format!("{n} is not between 0 and 1"))),
    }
}

/// A value of a setting of cleaning, whose ranges the dedup crate states.
macro_rules! ranged {
    ($name:ident, $type:ty, $range:ident) => {
        pub(super) fn $name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
            let given = <$type>::deserialize(deserializer)?;
            FingerprintSettings::$range.check(given as f64).map_err(|e| {
                D::Error::custom(format!("{} is not from {} to {}", e.given, e.least, e.most))
            })?;
            Ok(given)
        }
    };
}
ranged!(threshold_pct, f64, THRESHOLD_PCT);
ranged!(min_pages, usize, MIN_PAGES);
ranged!(min_block_chars, usize, MIN_BLOCK_CHARS);

pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse_duration(&duration_text(deserializer)?).map_err(D::Error::custom)
}

/// The text of a duration. A bare number is accepted here, so that its error names the missing unit.
pub(super) fn duration_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Integer(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("expected a duration such as \"1s\", not {other}"))),
    }
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    // Zero is the same in every unit.
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = text.parse::<jiff::SignedDuration>().map_err(|_| {
        if is_number(text) {
            return format!("\"{text}\" has no unit; write \"{text}s\" for seconds, or \"{text}ms\"");
        }
        if let Some(hours) = hours_of(text) {
            return format!("\"{text}\": the largest unit is the hour; write \"{hours}h\"");
        }
        format!("\"{text}\" is not a duration; write for example \"200ms\", \"1s\" or \"2m 30s\"")
    })?;
    Duration::try_from(parsed).map_err(|_| format!("\"{text}\" is negative"))
}

/// Returns true for digits, with or without a decimal point.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.parse::<f64>().is_ok()
}

/// Hours of a number of days or weeks, whose length in hours is not fixed in all time zones.
fn hours_of(text: &str) -> Option<u64> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    match unit.trim() {
        "d" | "day" | "days" => number.checked_mul(24),
        "w" | "week" | "weeks" => number.checked_mul(7 * 24),
        _ => None,
    }
}

/// The word for no bound.
const UNLIMITED: &str = "unlimited";

/// A duration that leaves time for something, or no bound.
pub(super) fn unlimited_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    match duration_text(deserializer)?.as_str() {
        UNLIMITED => Ok(None),
        text => match parse_duration(text) {
            Ok(Duration::ZERO) => Err(D::Error::custom("must be more than nothing, or \"unlimited\"")),
            Ok(time) => Ok(Some(time)),
            Err(error) => Err(D::Error::custom(error)),
        },
    }
}

/// An address with its port, or nothing.
pub(super) fn address_or_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<std::net::SocketAddr>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            D::Error::custom(format!("\"{text}\" is no address; write for example \"127.0.0.1:9464\""))
        }),
    }
}

/// A number of bytes, or no bound.
pub(super) fn unlimited_size<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bytesize::ByteSize>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(word) if word == UNLIMITED => Ok(None),
        Value::Integer(0) => Err(D::Error::custom("must be more than nothing, or \"unlimited\"")),
        Value::Integer(n) => u64::try_from(n)
            .map(|n| Some(bytesize::ByteSize(n)))
            .map_err(|_| D::Error::custom("must not be negative")),
        Value::String(text) => text
            .parse()
            .map(Some)
            .map_err(|_| D::Error::custom(format!("\"{text}\" is no size; write for example \"500 MiB\""))),
        other => Err(D::Error::custom(format!("expected a size or \"unlimited\", not {other}"))),
    }
}

/// Maximum pause of a host: a longer one is a mistake.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// A duration of at most a day.
pub(super) fn pause<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse_pause(&duration_text(deserializer)?).map_err(D::Error::custom)
}

pub(super) fn parse_pause(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        long if long > LONGEST_PAUSE => Err("must be at most \"24h\"".into()),
        pause => Ok(pause),
    }
}
