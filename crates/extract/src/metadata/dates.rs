//! Dates in the forms that people and programs write.

use super::{DateRules, Order};
use jiff::{Zoned, civil::Date, fmt::rfc2822, tz::TimeZone};

/// Range of years of web pages. The upper end is fixed, since extraction has no clock.
const YEARS: std::ops::RangeInclusive<i16> = 1990..=2039;
/// Maximum bytes of a text that is searched for a date.
const MAX_TEXT: usize = 400;

/// The first date in a text: `YYYY-MM-DD`, or RFC 3339 if it has a time and an offset.
pub(crate) fn parse(rules: &DateRules, text: &str, order: Order) -> Option<String> {
    let text = crate::text::head(text.trim(), MAX_TEXT);
    if !has_digit(text) {
        return None;
    }
    iso(text).or_else(|| mail(text)).or_else(|| {
        let tokens = tokens(text);
        let dates = (0..tokens.len()).filter(|at| !is_version(&tokens, *at));
        dates.filter_map(|at| from_tokens(rules, &tokens[at..], order)).next().map(|date| date.to_string())
    })
}

/// Returns true if the text has a digit, as every date does.
pub(super) fn has_digit(text: &str) -> bool {
    // Without an early exit, the compiler compares many bytes at once.
    text.bytes().fold(false, |found, byte| found | byte.is_ascii_digit())
}

/// Date at the start of a text; only a weekday may precede it.
pub(crate) fn leading(rules: &DateRules, text: &str, order: Order) -> Option<String> {
    let tokens = tokens(crate::text::head(text.trim(), MAX_LEADING));
    let is_weekday = |token: &Token| match token {
        Token::Word(word) => rules.is_weekday(word),
        Token::Sign(sign) => *sign == ',',
        Token::Number(..) => false,
    };
    let at = tokens.iter().position(|token| !is_weekday(token))?;
    (!is_version(&tokens, at)).then(|| from_tokens(rules, &tokens[at..], order))?.map(|date| date.to_string())
}

/// Maximum end of a date at the start of a text (bytes).
const MAX_LEADING: usize = 40;

/// Returns true for numbers with dots that are a version: "3.2.25" after "version", "v" or a name,
/// "1.10.3.2". In a date with dots and a year of two digits, day and month have two digits each: 03.02.25.
fn is_version(tokens: &[Token], at: usize) -> bool {
    let dotted = matches!(tokens.get(at + 1), Some(Token::Sign('.')))
        && matches!(tokens.get(at + 3), Some(Token::Sign('.')));
    let [Some(Token::Number(_, first)), Some(Token::Number(_, second)), Some(Token::Number(_, third))] =
        [tokens.get(at), tokens.get(at + 2), tokens.get(at + 4)]
    else {
        return false;
    };
    // One more number, before or after, makes four: that is no date.
    let before = at >= 2 && tokens[at - 1] == Token::Sign('.') && matches!(tokens[at - 2], Token::Number(..));
    dotted && *first < 4 && *third < 4 && (before || *first < 2 || *second < 2)
}

/// Returns true for a lower-case line with only a date: besides at most a weekday, a time of day and a word
/// such as "published".
pub(crate) fn is_date_line(rules: &DateRules, line: &str) -> bool {
    if line.len() > MAX_DATE_LINE || !has_digit(line) {
        return false;
    }
    let others = tokens(line)
        .iter()
        .filter(
            |token| matches!(token, Token::Word(word) if word.chars().count() > 2 && !rules.is_month(word)),
        )
        .count();
    others <= MAX_DATE_WORDS && parse(rules, line, Order::DayFirst).is_some()
}

/// Returns true for a lower-case date with at most a weekday, a time of day and a time zone.
pub(crate) fn is_bare_date(rules: &DateRules, text: &str) -> bool {
    let beside =
        |word: &str| word.chars().count() > MAX_ZONE && !rules.is_month(word) && !rules.is_weekday(word);
    text.len() <= MAX_DATE_LINE
        && parse(rules, text, Order::DayFirst).is_some()
        && !tokens(text).iter().any(|token| matches!(token, Token::Word(word) if beside(word)))
}

/// Maximum characters of a time zone.
const MAX_ZONE: usize = 3;

/// Maximum bytes of a line with only a date.
const MAX_DATE_LINE: usize = 70;
/// Maximum words of more than two letters beside the month.
const MAX_DATE_WORDS: usize = 2;

/// ISO 8601 at the start of the text, with a valid time and offset if present.
fn iso(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i16> {
        let part = text.get(range)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let date = if bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-') {
        valid(number(0..4)?, number(5..7)?, number(8..10)?)?
    } else if bytes.len() >= 8
        && bytes[..8].iter().all(u8::is_ascii_digit)
        && !bytes.get(8).is_some_and(u8::is_ascii_digit)
    {
        return valid(number(0..4)?, number(4..6)?, number(6..8)?).map(|date| date.to_string());
    } else {
        return None;
    };
    let rest = text.get(10..).unwrap_or_default();
    if rest.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let time = rest.strip_prefix(['T', ' ', 't']).unwrap_or_default();
    let with_zone = format!("{date}T{}", time.trim().replace(' ', ""));
    let stamp = with_zone.parse::<jiff::Timestamp>().ok().or_else(|| {
        let (head, tail) = with_zone.split_at_checked(with_zone.len().checked_sub(2)?)?;
        // An offset without a colon: +0100.
        format!("{head}:{tail}").parse::<jiff::Timestamp>().ok()
    });
    if stamp.is_none() || time.is_empty() {
        return Some(date.to_string());
    }
    let offset = offset_of(time)?;
    Some(written_out(&stamp?.to_zoned(TimeZone::fixed(offset))))
}

/// RFC 3339.
fn written_out(time: &Zoned) -> String {
    let is_utc = time.offset().seconds() == 0;
    time.strftime(if is_utc { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" }).to_string()
}

/// Date in the format of mail and HTTP, with a zone: "Sat, 19 Oct 2019 00:04:00 +0200".
fn mail(text: &str) -> Option<String> {
    let time = (text.len() <= MAX_MAIL && text.contains(':')).then(|| rfc2822::parse(text).ok())??;
    YEARS.contains(&time.year()).then(|| written_out(&time))
}

/// Maximum bytes of a mail date.
const MAX_MAIL: usize = 40;

fn offset_of(time: &str) -> Option<jiff::tz::Offset> {
    let time = time.trim();
    if time.ends_with(['Z', 'z']) {
        return Some(jiff::tz::Offset::UTC);
    }
    let at = time.rfind(['+', '-'])?;
    let sign = if time.as_bytes()[at] == b'-' { -1 } else { 1 };
    let digits: String = time[at + 1..].chars().filter(char::is_ascii_digit).collect();
    let hours: i32 = digits.get(..2)?.parse().ok().filter(|hours| *hours < HOURS)?;
    let minutes: i32 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    jiff::tz::Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

/// Hours of a day; an offset has fewer (RFC 3339).
const HOURS: i32 = 24;

fn valid(year: i16, month: i16, day: i16) -> Option<Date> {
    if !YEARS.contains(&year) {
        return None;
    }
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Value and number of digits.
    Number(i32, usize),
    Word(String),
    Sign(char),
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(start, c)) = chars.peek() {
        let mut run = |test: fn(char) -> bool| {
            let mut end = start;
            while let Some(&(at, c)) = chars.peek() {
                if !test(c) {
                    break;
                }
                end = at + c.len_utf8();
                chars.next();
            }
            &text[start..end]
        };
        if c.is_ascii_digit() {
            let digits = run(|c| c.is_ascii_digit());
            out.push(Token::Number(digits.parse().unwrap_or(-1), digits.len()));
        } else if matches!(c, '年' | '月' | '日' | '년' | '월' | '일') {
            chars.next();
            out.push(Token::Sign(c));
        } else if c.is_alphabetic() {
            let word = run(|c| c.is_alphabetic() && !matches!(c, '年' | '月' | '日' | '년' | '월' | '일'));
            out.push(Token::Word(word.to_lowercase()));
        } else {
            chars.next();
            if !c.is_whitespace() {
                out.push(Token::Sign(c));
            }
        }
    }
    out
}

pub(super) fn from_tokens(rules: &DateRules, tokens: &[Token], order: Order) -> Option<Date> {
    numeric(tokens, order).or_else(|| written(rules, tokens, order))
}

fn numeric(tokens: &[Token], order: Order) -> Option<Date> {
    let [
        Token::Number(a, a_len),
        Token::Sign(first),
        Token::Number(b, b_len),
        Token::Sign(second),
        rest @ ..,
    ] = tokens
    else {
        return None;
    };
    let Some(Token::Number(c, c_len)) = rest.first() else { return None };
    let (a, b, c) = (i16::try_from(*a).ok()?, i16::try_from(*b).ok()?, i16::try_from(*c).ok()?);
    if *b_len > 2 {
        return None;
    }
    if *a_len == 4 && *c_len <= 2 {
        let joined =
            matches!((first, second), ('-', '-') | ('/', '/') | ('.', '.') | ('年', '月') | ('년', '월'));
        return joined.then(|| valid(a, b, c))?;
    }
    if *a_len > 2 || *c_len != 4 && *c_len != 2 || first != second || !matches!(first, '.' | '/' | '-') {
        return None;
    }
    let year = if *c_len == 2 { 2000 + c } else { c };
    if *c_len == 2 && *first != '.' && *first != '/' {
        return None;
    }
    let month_first = matches!(first, '/' | '-') && order == Order::MonthFirst;
    let (day, month) = if month_first { (b, a) } else { (a, b) };
    valid(year, month, day).or_else(|| valid(year, day, month))
}

/// A date with the name of a month, surrounded by day and year.
fn written(rules: &DateRules, tokens: &[Token], order: Order) -> Option<Date> {
    let filler = |token: &Token| match token {
        Token::Word(word) => {
            matches!(
                word.as_str(),
                "st" | "nd" | "rd" | "th" | "d" | "de" | "of" | "del" | "er" | "di" | "a" | "o" | "г"
            )
        }
        Token::Sign(sign) => matches!(sign, ',' | '.' | '-' | '/' | 'º' | '°' | '’' | '\''),
        Token::Number(..) => false,
    };
    let mut parts =
        tokens.iter().enumerate().filter(|(at, token)| *at == 0 || !filler(token)).map(|(_, token)| token);
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    let month = |token: &Token| match token {
        Token::Word(word) => rules.month(word, order),
        _ => None,
    };
    let number = |token: &Token, digits: &[usize]| match token {
        Token::Number(value, len) if digits.contains(len) => i16::try_from(*value).ok(),
        _ => None,
    };
    if let Some(month) = month(a) {
        // "Aug 03 12:45:00 EDT 2015": the year follows the time.
        let is_time = matches!(c, Token::Number(_, 1 | 2)) && parts.next() == Some(&Token::Sign(':'));
        let year =
            if is_time { parts.take(LATE_YEAR).find_map(|p| number(p, &[4])) } else { number(c, &[4]) };
        return valid(year?, month, number(b, &[1, 2])?);
    }
    let month = month(b)?;
    if let (Some(day), Some(year)) = (number(a, &[1, 2]), number(c, &[4])) {
        return valid(year, month, day);
    }
    valid(number(a, &[4])?, month, number(c, &[1, 2])?)
}

/// Tokens after the hour of a time that are searched for the year: minutes, seconds, zone, year.
const LATE_YEAR: usize = 5;

/// Date in a URL's path: `/2024/01/05/`, `/2024-01-05-`, `/20240105/`.
pub(crate) fn from_path(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let digits = |from: usize, len: usize| -> Option<i16> {
        let part = path.get(from..from + len)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let boundary = |at: usize| !bytes.get(at).is_some_and(u8::is_ascii_digit);
    let year_last = || {
        path.split(['/', '.']).find_map(|part| {
            let mut numbers = part.splitn(3, '-');
            let mut number = |len: usize| numbers.next().filter(|n| n.len() == len)?.parse::<i16>().ok();
            let (first, second, year) = (number(2)?, number(2)?, number(4)?);
            // With two numbers up to twelve the order is ambiguous.
            let found = if first > 12 { valid(year, second, first) } else { valid(year, first, second) };
            found.filter(|_| first.max(second) > 12 || first == second).map(|date| date.to_string())
        })
    };
    let year_first = (0..bytes.len()).filter(|at| matches!(bytes[*at], b'/' | b'-' | b'_')).find_map(|at| {
        let start = at + 1;
        let year = digits(start, 4)?;
        match bytes.get(start + 4) {
            Some(sign @ (b'/' | b'-' | b'_')) => {
                let month_len = 1 + usize::from(digits(start + 5, 2).is_some());
                let month = digits(start + 5, month_len)?;
                let after = start + 5 + month_len;
                if bytes.get(after) != Some(sign) {
                    return None;
                }
                let day_len = 1 + usize::from(digits(after + 1, 2).is_some());
                let day = digits(after + 1, day_len)?;
                boundary(after + 1 + day_len).then(|| valid(year, month, day))?
            }
            Some(c) if c.is_ascii_digit() && boundary(start + 8) => {
                valid(year, digits(start + 4, 2)?, digits(start + 6, 2)?)
            }
            _ => None,
        }
        .map(|date| date.to_string())
    });
    year_first.or_else(year_last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    #[test]
    fn dates_parse_in_many_formats_and_languages() {
        let rules = &Rules::embedded().unwrap().dates;
        for (text, want) in [
            ("2024-03-05", "2024-03-05"),
            ("2024-03-05T10:20:30Z", "2024-03-05T10:20:30Z"),
            ("2024-03-05T10:20:30.5+02:00", "2024-03-05T10:20:30+02:00"),
            ("2024-03-05T10:20:30+0200", "2024-03-05T10:20:30+02:00"),
            ("2024-03-05 10:20", "2024-03-05"),
            ("2024-03-05T10:20:30+25:00", "2024-03-05"),
            ("20240305", "2024-03-05"),
            ("March 5, 2024", "2024-03-05"),
            ("Published on Mar 5th, 2024 at noon", "2024-03-05"),
            ("Tue, 05 Mar 2024 10:00:00 GMT", "2024-03-05T10:00:00Z"),
            ("Sat, 19 Oct 2019 00:04:00 +0200", "2019-10-19T00:04:00+02:00"),
            ("Mon Aug 03 12:45:00 EDT 2015", "2015-08-03"),
            ("Mon Aug 24 2020 21:32:26 GMT+0000 (Coordinated Universal Time)", "2020-08-24"),
            ("الأربعاء، 07 أكتوبر 2020 - 12:09 م", "2020-10-07"),
            ("5. März 2024", "2024-03-05"),
            ("5 de marzo de 2024", "2024-03-05"),
            ("1er février 2024", "2024-02-01"),
            ("5 марта 2024 г.", "2024-03-05"),
            ("2024年3月5日", "2024-03-05"),
            ("05.03.2024", "2024-03-05"),
            ("05/03/2024", "2024-03-05"),
            ("13/03/2024", "2024-03-13"),
            ("2024/3/5", "2024-03-05"),
        ] {
            assert_eq!(parse(rules, text, Order::DayFirst).as_deref(), Some(want), "{text}");
        }
        assert_eq!(parse(rules, "05/03/2024", Order::MonthFirst).as_deref(), Some("2024-05-03"));
        for text in ["", "version 1.2.3", "31 February 2024", "room 101", "1024-768", "May contain nuts"] {
            assert_eq!(parse(rules, text, Order::DayFirst), None, "{text}");
        }
    }

    #[test]
    fn dates_are_read_from_url_paths() {
        for (path, want) in [
            ("/2024/03/05/slug", Some("2024-03-05")),
            ("/blog/2024-3-5-slug.html", Some("2024-03-05")),
            ("/news/20240305/x", Some("2024-03-05")),
            ("/news/29-10-2021", Some("2021-10-29")),
            ("/news/10-29-2021.html", Some("2021-10-29")),
            ("/news/03-02-2021", None),
            ("/2024/03/slug", None),
            ("/item/202403051", None),
        ] {
            assert_eq!(from_path(path).as_deref(), want, "{path}");
        }
    }
}
