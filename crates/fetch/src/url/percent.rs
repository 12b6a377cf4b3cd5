//! Percent-encoding in one form (RFC 3986 §6.2.2.1 and §6.2.2.2).

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Octets that the `url` crate leaves in a path or query although RFC 3986 does not allow them there.
pub(super) const fn must_encode(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=0x20 | 0x7f..)
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn hex(digit: Option<&u8>) -> Option<u8> {
    digit.and_then(|&d| char::from(d).to_digit(16)).and_then(|d| u8::try_from(d).ok())
}

/// Appends `text`: decodes encoded unreserved characters, makes hex digits upper case, writes `%25` for a
/// stray `%`, and encodes invalid octets.
pub(super) fn normalize_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        index += 1;
        match byte {
            b'%' => match (hex(bytes.get(index)), hex(bytes.get(index + 1))) {
                (Some(high), Some(low)) => {
                    index += 2;
                    let decoded = high << 4 | low;
                    if is_unreserved(decoded) { out.push(char::from(decoded)) } else { encode(decoded, out) }
                }
                _ => out.push_str("%25"),
            },
            _ if must_encode(byte) => encode(byte, out),
            _ => out.push(char::from(byte)),
        }
    }
}

fn encode(byte: u8, out: &mut String) {
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}
