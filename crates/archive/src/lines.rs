//! Lines of a stream, with a bound on each in memory.

use std::io::{self, BufRead};

/// Outcome of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// In the buffer, without its line feed.
    Whole,
    /// Too long: read to its end and dropped.
    TooLong,
    /// End of the input.
    End,
}

/// Reads a line of at most `most` bytes into a buffer.
///
/// # Errors
/// When the input cannot be read.
pub fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<Line> {
    line.clear();
    let (mut read, mut too_long) = (false, false);
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if available.is_empty() {
            return Ok(if too_long {
                Line::TooLong
            } else if read {
                Line::Whole
            } else {
                Line::End
            });
        }
        read = true;
        let end = memchr::memchr(b'\n', available);
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        if line.len() + part.len() > most {
            too_long = true;
            *line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// UTF-8's byte order mark, with which some programs begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Passes over a byte order mark at the start of the input. It is looked for in the first bytes that the input yields.
///
/// # Errors
/// When the input cannot be read.
pub fn skip_byte_order_mark(input: &mut (impl BufRead + ?Sized)) -> io::Result<()> {
    let begins = loop {
        match input.fill_buf() {
            Ok(available) => break available.starts_with(BYTE_ORDER_MARK),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    };
    if begins {
        input.consume(BYTE_ORDER_MARK.len());
    }
    Ok(())
}

/// Replaces the escapes of single surrogates in a line of JSON (`\ud83d` without its other half) by that of U+FFFD. Other
/// programs write them where a text was cut within a character. They encode no character, so a reader of JSON
/// refuses the whole line.
pub fn replace_lone_surrogates(line: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = line.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match (surrogate(line, at), surrogate(line, at + ESCAPE)) {
            (Some(Half::First), Some(Half::Second)) => 2 * ESCAPE,
            (Some(_), _) => {
                if let Some(escape) = line.get_mut(at..at + ESCAPE) {
                    escape.copy_from_slice(br"\ufffd");
                }
                ESCAPE
            }
            // the second byte may be a backslash itself
            (None, _) => 2,
        };
    }
}

/// Bytes of `\ud83d`.
const ESCAPE: usize = 6;

/// Halves of a character beyond U+FFFF in UTF-16.
enum Half {
    First,
    Second,
}

/// The surrogate whose escape begins at a place.
fn surrogate(line: &[u8], at: usize) -> Option<Half> {
    let digits = line.get(at..at + ESCAPE)?.strip_prefix(br"\u")?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    match digits {
        [b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', ..] if is_hex => Some(Half::First),
        [b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..] if is_hex => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn only_single_surrogates_are_replaced() {
        for (line, want) in [
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uD83D\uDE00 \ude00\ud83d""#, r#""\uD83D\uDE00 \ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \n\u00e9 \ud8""#, r#""\\ud83d \n\u00e9 \ud8""#),
            (r"\", r"\"),
        ] {
            let mut bytes = line.as_bytes().to_vec();
            replace_lone_surrogates(&mut bytes);
            assert_eq!(String::from_utf8(bytes).unwrap(), want);
        }
    }

    #[test]
    fn overlong_lines_are_reported_and_skipped() {
        let mut input = BufReader::with_capacity(3, &b"ab\n\nlonger than eight\nlast"[..]);
        let mut line = Vec::new();
        let mut next = || {
            let kind = next_line(&mut input, &mut line, 8).unwrap();
            (kind, String::from_utf8(line.clone()).unwrap())
        };
        assert_eq!(next(), (Line::Whole, "ab".into()));
        assert_eq!(next(), (Line::Whole, String::new()));
        assert_eq!(next(), (Line::TooLong, String::new()));
        assert_eq!(next(), (Line::Whole, "last".into()));
        assert_eq!(next(), (Line::End, String::new()));
    }
}
