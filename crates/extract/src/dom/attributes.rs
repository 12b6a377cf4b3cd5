//! Cuts tags with too many attributes before they reach the tokenizer, whose check for duplicates is quadratic.

use std::borrow::Cow;

/// The page with at most `max` attributes a tag; borrowed where no tag has more. One pass over the bytes, following
/// the tokenizer's states as far as they decide where a tag ends: comments, quoted values and raw text elements.
pub(super) fn cap(html: &str, max: usize) -> Cow<'_, str> {
    let bytes = html.as_bytes();
    let mut out: Option<String> = None;
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        let open = at + found;
        match bytes.get(open + 1) {
            Some(b'!') if bytes[open..].starts_with(b"<!--") => at = after_comment(bytes, open),
            Some(c) if c.is_ascii_alphabetic() => {
                let tag = walk(bytes, open, max);
                if let Some((cut, end)) = tag.excess {
                    let out = out.get_or_insert_with(|| String::with_capacity(html.len()));
                    out.push_str(&html[kept..cut]);
                    kept = end;
                }
                at = after_raw_text(bytes, open, tag.end);
            }
            _ => at = open + 1,
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&html[kept..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(html),
    }
}

fn after_comment(bytes: &[u8], open: usize) -> usize {
    let body = open + 4;
    // `<!-->` and `<!--->` are whole comments.
    if bytes[body..].starts_with(b">") || bytes[body..].starts_with(b"->") {
        return body;
    }
    memchr::memmem::find(&bytes[body..], b"-->").map_or(bytes.len(), |end| body + end + 3)
}

struct Walked {
    /// One past the tag's `>`, or the end of the input.
    end: usize,
    /// Byte range of the attributes that are too many.
    excess: Option<(usize, usize)>,
}

fn walk(bytes: &[u8], open: usize, max: usize) -> Walked {
    let is_space = |c: u8| matches!(c, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/');
    let mut at = open + 1;
    while at < bytes.len() && !is_space(bytes[at]) && bytes[at] != b'>' {
        at += 1;
    }
    let (mut count, mut cut) = (0usize, None);
    loop {
        while at < bytes.len() && is_space(bytes[at]) {
            at += 1;
        }
        if at >= bytes.len() || bytes[at] == b'>' {
            let end = (at + 1).min(bytes.len());
            return Walked { end, excess: cut.map(|cut| (cut, at)) };
        }
        count += 1;
        if count == max + 1 {
            cut = Some(at);
        }
        // The name: an equals sign in front belongs to it.
        at += 1;
        while at < bytes.len() && !is_space(bytes[at]) && !matches!(bytes[at], b'>' | b'=') {
            at += 1;
        }
        at = after_value(bytes, at);
    }
}

/// From the end of an attribute's name past its value, if it has one.
fn after_value(bytes: &[u8], name_end: usize) -> usize {
    let space = |c: u8| matches!(c, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ');
    let skip = |mut at: usize| {
        while at < bytes.len() && space(bytes[at]) {
            at += 1;
        }
        at
    };
    let equals = skip(name_end);
    if bytes.get(equals) != Some(&b'=') {
        return name_end;
    }
    let value = skip(equals + 1);
    match bytes.get(value) {
        Some(&quote @ (b'"' | b'\'')) => {
            memchr::memchr(quote, &bytes[value + 1..]).map_or(bytes.len(), |len| value + len + 2)
        }
        _ => {
            let mut at = value;
            while at < bytes.len() && !space(bytes[at]) && bytes[at] != b'>' {
                at += 1;
            }
            at
        }
    }
}

/// Past the contents of an element whose contents are not markup, if the tag opens one.
fn after_raw_text(bytes: &[u8], open: usize, end: usize) -> usize {
    const RAW: [&[u8]; 8] =
        [b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"];
    let name = &bytes[open + 1..end];
    let Some(raw) = RAW.iter().find(|raw| {
        name.len() > raw.len()
            && name[..raw.len()].eq_ignore_ascii_case(raw)
            && !name[raw.len()].is_ascii_alphanumeric()
            && name[raw.len()] != b'-'
    }) else {
        return end;
    };
    let mut at = end;
    while let Some(found) = memchr::memmem::find(&bytes[at..], b"</") {
        let close = at + found + 2;
        if bytes[close..].len() >= raw.len() && bytes[close..close + raw.len()].eq_ignore_ascii_case(raw) {
            return close - 2;
        }
        at = close;
    }
    // Never closed: the tokenizer sees text up to the end as well.
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::cap;

    #[test]
    fn keeps_a_page_whose_tags_are_small() {
        let page = "<!-- <a b c d> --><p a=1 b='>' c>x</p><script>if (a<b && c>d) '<i j k l m>'</script>";
        assert!(matches!(cap(page, 3), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_behind_the_last_allowed_attribute() {
        assert_eq!(cap("<p a=1 b='>' c d=\"x\" e>text", 2), "<p a=1 b='>' >text");
        assert_eq!(cap("<p a b c", 2), "<p a b ");
    }

    #[test]
    fn a_tag_behind_raw_text_is_seen() {
        assert_eq!(cap("<title><b a b c></title><i a b c>", 2), "<title><b a b c></title><i a b >");
    }
}
