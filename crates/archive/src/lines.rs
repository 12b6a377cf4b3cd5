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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

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
