//! Fenced code of a text. It cannot lose a part: without a fence its lines would be read as Markdown.

use crawl_model::RemovedSpan;
use memchr::{memchr2, memmem};
use std::ops::Range;

/// Drops the spans that cover fenced code only partly, since the rest would be read as Markdown.
pub(crate) fn without_parts_of_code(content: &str, spans: Vec<RemovedSpan>) -> Vec<RemovedSpan> {
    let has_fence = |marks: &[u8]| memmem::find(content.as_bytes(), marks).is_some();
    if spans.is_empty() || !has_fence(b"```") && !has_fence(b"~~~") {
        return spans;
    }
    let mut code: Vec<Range<u64>> = Vec::new();
    let (mut fence, mut at) = (Fence::default(), 0);
    for line in content.split_inclusive('\n') {
        let end = at + line.len() as u64;
        let was_open = fence.is_open();
        fence.read(line);
        match code.last_mut().filter(|_| was_open) {
            Some(last) => last.end = end,
            None if fence.is_open() => code.push(at..end),
            None => {}
        }
        at = end;
    }
    let is_whole = |span: &RemovedSpan| {
        let first = code.partition_point(|code| code.end <= span.start);
        let touching = code[first..].iter().take_while(|code| code.start < span.end);
        // the line feed after the last fence belongs to no block
        touching.into_iter().all(|code| code.start >= span.start && code.end <= span.end + 1)
    };
    spans.into_iter().filter(is_whole).collect()
}

/// State of fenced code, line by line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fence<'a> {
    marks: Option<&'a str>,
    /// True if the code is within a quotation.
    is_quoted: bool,
}

impl<'a> Fence<'a> {
    pub(crate) const fn is_open(&self) -> bool {
        self.marks.is_some()
    }

    /// Reads a line; returns true if it begins or ends fenced code, possibly in a list item or a quotation.
    pub(crate) fn read(&mut self, line: &'a str) -> bool {
        // most lines have no mark of a fence
        if memchr2(b'`', b'~', line.as_bytes()).is_none() {
            return false;
        }
        let before = self.is_open();
        // the marks of lists and quotations within code are code
        let own = match (before, self.is_quoted) {
            (false, _) => bare(line),
            (true, false) => line.trim_start(),
            (true, true) => line.trim_start_matches(['>', ' ', '\t']),
        };
        if !before {
            self.is_quoted = line[..line.len() - own.len()].contains('>');
        }
        self.marks = match (self.marks, fence_marks(own.trim())) {
            (None, Some((marks, behind))) if !(marks.starts_with('`') && behind.contains('`')) => Some(marks),
            (Some(open), Some((marks, ""))) if marks.starts_with(open) => None,
            (marks, _) => marks,
        };
        before != self.is_open()
    }
}

/// A line without leading marks of lists and quotations.
fn bare(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[digits..].strip_prefix(". ").or_else(|| rest[digits..].strip_prefix(") "));
        let behind = match rest.strip_prefix('>') {
            None if digits > 0 => number,
            None => ["- ", "* ", "+ "].iter().find_map(|mark| rest.strip_prefix(mark)),
            behind => behind,
        };
        let Some(behind) = behind else { return rest };
        rest = behind.trim_start();
    }
}

/// Marks of a line that begins or ends fenced code, and the rest of the line.
fn fence_marks(line: &str) -> Option<(&str, &str)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let behind = line.trim_start_matches(mark);
    let marks = &line[..line.len() - behind.len()];
    (marks.len() >= 3).then(|| (marks, behind.trim()))
}

#[cfg(test)]
mod tests {
    use crate::blocks::{PageBlocks, Repeated, hash_folded};

    #[test]
    fn fenced_code_is_removed_only_as_a_whole() {
        let left = |content: &str, repeated: &[&str]| {
            let blocks = PageBlocks::of(content, 1);
            let hashes: Vec<u64> = repeated.iter().map(|block| hash_folded(block, &mut Vec::new())).collect();
            let of = |hash| hashes.contains(&hash).then_some(Repeated { hash, pages: 9 });
            blocks.strip(content, of).map(|(text, _)| text)
        };
        for (content, repeated) in [
            ("x\n\n```\na\n\n<img onerror=y>\n```", "```\na"),
            ("x\n\n```\na\n\n<img onerror=y>\n```", "<img onerror=y>\n```"),
            ("x\n\n````\na\n\n```\n\nb\n\n<i>\n````", "```"),
            ("x\n\n- ```\n  a\n\n  <i>\n  ```", "- ```\n  a"),
            ("x\n\n> 1. ~~~\n>    a\n\ny", "y"),
            ("x\n\n```\n- ```\n\n<i>\n```", "<i>\n```"),
            ("x\n\n```\n> ```\n\n<i>\n```", "```\n> ```"),
        ] {
            assert_eq!(left(content, &[repeated]), None, "{content}");
        }
        assert_eq!(left("x\n\n```\na\n```\n\ny", &["```\na\n```"]).as_deref(), Some("x\n\ny"));
        assert_eq!(left("x\n\n```\na\n\nb\n```\n\ny", &["x"]).as_deref(), Some("\n\n```\na\n\nb\n```\n\ny"));
    }
}
