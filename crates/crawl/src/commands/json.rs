//! Fast reader for JSON lines that consist mostly of long strings.
//!
//! `serde_json` reads everything but the members of the outermost object and long texts. This module reads
//! those once; `serde_json` would find the end of a text first and then read it, eight bytes at a time. Input
//! that `serde_json` refuses is refused here.

use memchr::{memchr2, memchr3};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap};

/// Members that are searched one by one: fewer than a table of them would cost.
const FEW: usize = 32;

/// The members of an object, in order: the decoded key, and the raw value. A repeated key has its last value.
pub struct Members<'a> {
    pub all: Vec<(Cow<'a, str>, &'a str)>,
    /// Places of the keys, once there are more than [`FEW`].
    places: HashMap<Cow<'a, str>, usize>,
    /// The value that was asked for, if it is there and a string.
    pub asked: Option<Cow<'a, str>>,
}

impl<'a> Members<'a> {
    /// Reads an object; the text of the member `asked` is read on the way, into a buffer.
    pub fn of(line: &'a str, asked: &str, buffer: &'a mut String) -> Result<Self, String> {
        let mut out = Self { all: Vec::with_capacity(16), places: HashMap::new(), asked: None };
        let mut reader = Reader { line, at: 0 };
        reader.expect(b'{', "an object")?;
        if !reader.next_is(b'}') {
            loop {
                let (key, value) = reader.member(asked, buffer)?;
                out.put(key, value);
                if !reader.next_is(b',') {
                    break;
                }
            }
            reader.expect(b'}', "\",\" or \"}\"")?;
        }
        if reader.peek().is_some() {
            return Err(reader.problem("the end of the line"));
        }
        out.asked = match out.get(asked).filter(|raw| raw.starts_with('"')) {
            Some(raw) if buffer.is_empty() => string(raw),
            Some(_) => Some(Cow::Borrowed(buffer)),
            None => None,
        };
        Ok(out)
    }

    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.place(key).and_then(|place| self.all.get(place)).map(|(_, value)| *value)
    }

    fn place(&self, key: &str) -> Option<usize> {
        if self.all.len() > FEW {
            self.places.get(key).copied()
        } else {
            self.all.iter().position(|(name, _)| name == key)
        }
    }

    /// Sets the value of a key, in its place or at the end.
    pub fn put(&mut self, key: Cow<'a, str>, value: &'a str) {
        let place = self.place(&key);
        if let Some((_, old)) = place.and_then(|place| self.all.get_mut(place)) {
            *old = value;
            return;
        }
        match self.all.len() {
            FEW => {
                let names = self.all.iter().map(|(name, _)| name.clone()).chain([key.clone()]);
                self.places = names.zip(0..).collect();
            }
            count if count > FEW => {
                self.places.insert(key.clone(), count);
            }
            _ => {}
        }
        self.all.push((key, value));
    }
}

/// The text of a value, if that is a string; borrowed where it has no escapes.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    let within = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', within.as_bytes()).is_none() && !has_control(within.as_bytes()) {
        return Some(Cow::Borrowed(within));
    }
    serde_json::from_str(raw).ok().map(Cow::Owned)
}

/// A place in a line. All places are on characters' boundaries: before or after a byte of ASCII.
struct Reader<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.line.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        let space =
            self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.at += space;
        self.rest().first().copied()
    }

    fn next_is(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, byte: u8, name: &str) -> Result<(), String> {
        if self.next_is(byte) { Ok(()) } else { Err(self.problem(name)) }
    }

    fn problem(&self, expected: &str) -> String {
        format!("expected {expected} at column {}", self.at + 1)
    }

    /// A key and its value.
    fn member(&mut self, asked: &str, buffer: &mut String) -> Result<(Cow<'a, str>, &'a str), String> {
        if self.peek() != Some(b'"') {
            return Err(self.problem("a key"));
        }
        let key = string(self.string(None)?).ok_or_else(|| self.problem("a key"))?;
        self.expect(b':', "\":\"")?;
        let value = if self.peek() != Some(b'"') {
            self.other()?
        } else if key == asked {
            buffer.clear();
            self.string(Some(buffer))?
        } else {
            self.string(None)?
        };
        Ok((key, value))
    }

    /// Any value but a string, raw.
    fn other(&mut self) -> Result<&'a str, String> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value.get())
            }
            Some(Err(e)) => Err(format!("{e}, counted from column {}", self.at + 1)),
            None => Err(self.problem("a value")),
        }
    }

    /// A string as it stands, from its quote on. Its text is appended to `text`, which is left empty if there is an escape by number.
    fn string(&mut self, mut text: Option<&mut String>) -> Result<&'a str, String> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = self.rest();
            let len = memchr2(b'"', b'\\', rest).ok_or_else(|| self.problem("the end of a string"))?;
            let plain = self.line.get(self.at..self.at + len).unwrap_or_default();
            if let Some(text) = &mut text {
                text.push_str(plain);
            }
            self.at += len + 1;
            if rest.get(len) == Some(&b'"') {
                let raw = self.line.get(start..self.at).unwrap_or_default();
                return if has_control(raw.as_bytes()) {
                    Err(self.problem("no control character before"))
                } else {
                    Ok(raw)
                };
            }
            let Some(&escape) = rest.get(len + 1) else { continue };
            match (unescaped(escape), &mut text) {
                (Some(_), None) => {}
                (Some(c), Some(text)) => text.push(c),
                (None, _) if escape == b'u' => {
                    let digits = rest.get(len + 2..len + 6).unwrap_or_default();
                    if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(self.problem("four hex digits"));
                    }
                    if let Some(text) = text.take() {
                        text.clear();
                    }
                }
                _ => return Err(self.problem("an escape")),
            }
            self.at += 1;
        }
    }
}

/// Returns the character of an escape, except for escapes with numbers.
const fn unescaped(escape: u8) -> Option<char> {
    Some(match escape {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        _ => return None,
    })
}

/// Reads all bytes without a branch, so that the compiler can vectorise the loop.
fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |any, &byte| any | (byte < 0x20))
}

/// Begins a member of an object that is written by hand.
pub fn push_key(first: bool, key: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.push(if first { b'{' } else { b',' });
    push_string(key, out)?;
    out.push(b':');
    Ok(())
}

/// Appends a text as `serde_json` writes it, which looks at each byte by itself. This function looks only for
/// quotes, backslashes and line feeds, unless the text has other control characters.
pub fn push_string(text: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let bytes = text.as_bytes();
    if bytes.iter().fold(false, |any, &byte| any | ((byte < 0x20) & (byte != b'\n'))) {
        return serde_json::to_writer(out, text);
    }
    out.reserve(bytes.len() + bytes.len() / 32 + 2);
    out.push(b'"');
    let mut rest = bytes;
    while let Some(at) = memchr3(b'"', b'\\', b'\n', rest) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        out.extend_from_slice(match special.first() {
            Some(b'"') => b"\\\"",
            Some(b'\\') => b"\\\\",
            _ => b"\\n",
        });
        rest = special.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    #[test]
    fn texts_are_written_as_serde_json_writes_them() {
        let all: String = ('\0'..='\u{a0}').chain("é\u{2028}中😀".chars()).collect();
        let texts =
            ["", "a", "\n", "\"", "\\", "say \"so\"\n\\n\n\nend", "tab\there", "\u{7f}é\u{2028}\n", &all];
        for text in texts {
            let mut out = Vec::new();
            push_string(text, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(text).unwrap());
        }
    }

    /// Asserts that both parsers accept the same lines and read the same from them.
    fn agrees_with_serde_json(line: &str) -> bool {
        // what the line before left
        let mut buffer = "left".to_owned();
        let theirs: Option<Map<String, Value>> = serde_json::from_str(line).ok();
        let ours = Members::of(line, "asked", &mut buffer).ok();
        assert_eq!(ours.is_some(), theirs.is_some(), "{line}");
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return false };
        let read = |(key, raw): &(Cow<'_, str>, &str)| {
            let value: Value = serde_json::from_str(raw).unwrap();
            assert_eq!(string(raw).as_deref(), value.as_str(), "{line}");
            (key.to_string(), value)
        };
        assert_eq!(ours.asked.as_deref(), theirs.get("asked").and_then(Value::as_str), "{line}");
        assert_eq!(ours.all.iter().map(read).collect::<Map<_, _>>(), theirs, "{line}");
        true
    }

    #[test]
    fn lines_are_read_as_serde_json_reads_them() {
        let good = [
            r#"{}"#,
            " { }\r\n",
            r#"{"asked":"a\nb \"c\" \\ \/ \t\r\b\f é","x":1.50,"y":[1e3,{"z":null}],"":true}"#,
            r#"{"asked":"","asked ": "\u00e9"}"#,
            r#"{"a\"sked" : -0 , "asked": "\n\u00e9\ud83d\ude00 and more \n", "last":false}"#,
            r#"{"asked":"first","asked":null}"#,
            r#"{"asked":5,"\u0061sked":"second"}"#,
            r#"{"asked":[],"b":"say \\\" so\\"}"#,
        ];
        for line in good {
            assert!(agrees_with_serde_json(line), "{line}");
        }
        let bad = [
            "",
            "[1]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":1}}",
            "{\"a\":1} 2",
            "{\"a\":\"b}",
            "{\"a\":\"\\",
            "{\"asked\":\"\\x\"}",
            "{\"asked\":\"\\u12\"}",
            "{\"b\":\"\\u12g4\"}",
            "{\"asked\":\"tab\there\"}",
            "{\"b\":\"line\nfeed\"}",
            "{\"b\":nul}",
            "{\"b\":01}",
            "{\"b\":[1,]}",
            "null",
            "\"a\"",
        ];
        for line in bad {
            assert!(!agrees_with_serde_json(line), "{line}");
        }
    }

    /// Many keys are read in a time that grows with their number, and not with its square.
    #[test]
    fn many_keys_are_read_as_serde_json_reads_them() {
        let members: Vec<String> = (0..100).map(|n| format!("\"k{}\":{n}", n % 70)).collect();
        assert!(agrees_with_serde_json(&format!("{{{}}}", members.join(","))));
        let members: Vec<String> = (0..200_000).map(|n| format!("\"k{n}\":{n}")).collect();
        let line = format!("{{{}}}", members.join(","));
        let (mut buffer, began) = (String::new(), std::time::Instant::now());
        let read = Members::of(&line, "asked", &mut buffer).unwrap();
        assert_eq!((read.all.len(), read.get("k199999")), (200_000, Some("199999")));
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    /// Every line that is cut off or has one byte changed is read as before, or refused as before.
    #[test]
    fn damaged_lines_are_read_as_serde_json_reads_them() {
        let line = r#"{"id":7,"asked":"One \"two\"\n\u00e9 é","m":{"k":["v\n",1.5e3]},"t":true}"#;
        let cuts = (0..line.len()).filter_map(|at| line.get(..at)).map(str::to_owned);
        let changed = |at: usize| {
            let with = |byte: u8| {
                let mut bytes = line.as_bytes().to_vec();
                bytes[at] = byte;
                String::from_utf8(bytes).ok()
            };
            (0..0x80).filter_map(with).collect::<Vec<_>>()
        };
        let read =
            cuts.chain((0..line.len()).flat_map(changed)).filter(|line| agrees_with_serde_json(line)).count();
        assert!(read > 1_000, "{read}");
    }
}
