//! Tokenizer for html5ever's tree builder.
//!
//! html5ever's own tokenizer runs its states character by character and needs a copy of the page. Nearly all
//! of a page consists of text, tags, comments and raw text, which byte searches find here. The tokens are
//! those of the HTML standard (§13.2.5), and a test compares both tokenizers. Comments come without their
//! unused text.

mod names;
mod parts;
mod raw;

use super::{references, sink::Spare};
use crate::{budget::Budget, text::head};
use html5ever::{
    Attribute, QualName,
    buffer_queue::BufferQueue,
    ns,
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};
use memchr::{memchr, memchr_iter, memmem};
use names::Names;
use parts::{MAX_WINDOW, Window, after_comment, attribute, markup};
use std::{borrow::Cow, cell::Cell, ops::Range};

/// Sends the tokens of a page to a sink, with the end of the file at last. Drops attributes of a tag after
/// the first `max_attributes`, since the search for duplicates is quadratic; returns true if there were any.
/// Ends early when the budget is over.
pub(super) fn run<S: TokenSink>(
    html: &str,
    sink: &S,
    max_attributes: usize,
    budget: &Budget,
    spare: &Spare,
) -> bool {
    let html = html.strip_prefix('\u{feff}').unwrap_or(html);
    let html = one_line_end(head(html, MAX_PAGE));
    let mut scan = Scan {
        html: &html,
        window: Window::default(),
        has_nulls: memchr(0, html.as_bytes()).is_some(),
        at: 0,
        sink,
        max_attributes,
        capped: false,
        noscript: false,
        names: Names::default(),
        reference: Cell::new(0),
        spare,
    };
    while scan.at < html.len() && !budget.is_over() {
        scan.step();
    }
    scan.send(Token::EOFToken);
    sink.end();
    scan.capped
}

/// Converts carriage returns, alone or with a line feed, to line feeds (§13.2.3.5).
fn one_line_end(html: &str) -> Cow<'_, str> {
    let mut returns = memchr_iter(b'\r', html.as_bytes());
    let Some(first) = returns.next() else { return Cow::Borrowed(html) };
    let mut out = String::with_capacity(html.len());
    out.push_str(&html[..first]);
    let mut from = first + 1;
    for at in returns.chain([html.len()]) {
        // The line feed behind a carriage return is that of both.
        if html.as_bytes().get(from) != Some(&b'\n') {
            out.push('\n');
        }
        out.push_str(&html[from..at]);
        from = at + 1;
    }
    Cow::Owned(out)
}

/// Maximum bytes of a page: positions in its tree have 32 bits. The rest is left out.
const MAX_PAGE: usize = 1 << 31;

/// Bytes of text in one token.
const MAX_RUN: usize = 64 * 1024;

struct Scan<'a, S> {
    html: &'a str,
    /// Tokens share the memory of this part of the page.
    window: Window,
    /// Hardly a page has any.
    has_nulls: bool,
    at: usize,
    sink: &'a S,
    max_attributes: usize,
    capped: bool,
    /// A `noscript` is open.
    noscript: bool,
    names: Names<'a>,
    /// The first ampersand that is not before the last text that was read, or the end.
    reference: Cell<usize>,
    spare: &'a Spare,
}

impl<'a, S: TokenSink> Scan<'a, S> {
    /// Reads one run of text or one piece of markup.
    fn step(&mut self) {
        let bytes = self.html.as_bytes();
        let open = markup(bytes, self.at);
        if open > self.at {
            let at = std::mem::replace(&mut self.at, open);
            match self.replaced(&(at..open), references::in_text) {
                Cow::Borrowed(_) if !self.has_nulls => self.text(&(at..open)),
                text => self.nulls(&text),
            }
            return;
        }
        let rest = &bytes[open..];
        let second = rest.get(1).copied().unwrap_or_default();
        let third = rest.get(2).copied().unwrap_or_default();
        if second.is_ascii_alphabetic() || second == b'/' && third.is_ascii_alphabetic() {
            return self.tag(open);
        }
        if rest.starts_with(b"</>") {
            self.at = open + 3;
        } else if rest.starts_with(b"<!--") {
            self.comment(after_comment(bytes, open));
        } else if rest.len() >= 9 && rest[2..9].eq_ignore_ascii_case(b"doctype") {
            self.doctype(open);
        } else if rest.starts_with(b"<![CDATA[")
            && self.sink.adjusted_current_node_present_but_not_in_html_namespace()
        {
            let end = memmem::find(rest, b"]]>").map_or(bytes.len(), |at| open + at);
            self.nulls(&self.html[open + 9..end]);
            self.at = (end + 3).min(bytes.len());
        } else {
            self.comment(memchr(b'>', rest).map_or(bytes.len(), |at| open + at + 1));
        }
    }

    /// Sends a token that does not change the tokenizer's state.
    fn send(&self, token: Token) {
        let _ = self.sink.process_token(token, 1);
    }

    /// Sends a part of the page as text.
    fn text(&mut self, part: &Range<usize>) {
        if part.len() > MAX_WINDOW {
            return self.chars(&self.html[part.clone()]);
        }
        let text = self.shared(part);
        self.send(Token::CharacterTokens(text));
    }

    /// Sends text as tokens, which are copies: a run of megabytes is sent in parts.
    fn chars(&self, mut text: &str) {
        while !text.is_empty() {
            let part = head(text, MAX_RUN);
            self.send(Token::CharacterTokens(StrTendril::from_slice(part)));
            text = &text[part.len()..];
        }
    }

    /// Sends text with NULs as separate tokens.
    fn nulls(&self, text: &str) {
        if !self.has_nulls {
            return self.chars(text);
        }
        let mut parts = text.split('\0');
        self.chars(parts.next().unwrap_or_default());
        for part in parts {
            self.send(Token::NullCharacterToken);
            self.chars(part);
        }
    }

    fn comment(&mut self, end: usize) {
        self.send(Token::CommentToken(StrTendril::new()));
        self.at = end;
    }

    /// Passes a document type to html5ever, since it has many states and occurs once per page.
    fn doctype(&mut self, open: usize) {
        let rest = &self.html[open..];
        let end = memchr(b'>', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
        let tokenizer = Tokenizer::new(Forward(self.sink), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(&rest[..end]));
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        self.at = open + end;
    }

    fn tag(&mut self, open: usize) {
        let Some((tag, end)) = self.read(open) else {
            // The standard drops a tag that the page ends in.
            self.at = self.html.len();
            return;
        };
        self.at = end;
        let name = tag.name.clone();
        if &*name == "noscript" {
            self.noscript = tag.kind == TagKind::StartTag;
        }
        match self.sink.process_token(Token::TagToken(tag), 1) {
            TokenSinkResult::RawData(kind) => self.raw(&name, kind),
            TokenSinkResult::Plaintext => {
                self.chars(&no_nulls(&self.html[end..]));
                self.at = self.html.len();
            }
            _ => {}
        }
    }

    /// Reads a tag; returns it with its end.
    fn read(&mut self, open: usize) -> Option<(Tag, usize)> {
        let bytes = self.html.as_bytes();
        let end_tag = bytes[open + 1] == b'/';
        let start = open + 1 + usize::from(end_tag);
        let mut at = position(bytes, start, |b| is_space(b) || matches!(b, b'/' | b'>'));
        let name = self.names.get(&self.html[start..at]);
        let mut attrs: Vec<Attribute> = Vec::new();
        let (mut count, mut duplicate) = (0, false);
        loop {
            let from = at;
            at = position(bytes, at, |b| !is_space(b) && b != b'/');
            if *bytes.get(at)? == b'>' {
                let self_closing = at > from && bytes[at - 1] == b'/';
                let kind = if end_tag { TagKind::EndTag } else { TagKind::StartTag };
                let tag = Tag { kind, name, self_closing, attrs, had_duplicate_attributes: duplicate };
                return Some((tag, at + 1));
            }
            let (name, value, next) = attribute(self.html, at)?;
            at = next;
            count += 1;
            if count > self.max_attributes {
                self.capped = true;
                continue;
            }
            // An end tag's attributes are not needed.
            if end_tag {
                continue;
            }
            let name = self.names.get(name);
            if attrs.iter().any(|attr| attr.name.local == name) {
                duplicate = true;
                continue;
            }
            let value = match self.replaced(&value, references::in_attribute) {
                Cow::Borrowed(_) if !self.has_nulls => self.shared(&value),
                text => StrTendril::from_slice(&no_nulls(&text)),
            };
            if attrs.capacity() == 0 {
                attrs = self.spare.take();
            }
            attrs.push(Attribute { name: QualName::new(None, ns!(), name), value });
        }
    }
}

/// Forwards tokens, except the end of a slice as the end of the page.
struct Forward<'a, S>(&'a S);

impl<S: TokenSink> TokenSink for Forward<'_, S> {
    type Handle = S::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<S::Handle> {
        if token == Token::EOFToken {
            return TokenSinkResult::Continue;
        }
        self.0.process_token(token, line)
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b' ')
}

/// Position of the first byte from `at` on that passes the test, or the end.
fn position(bytes: &[u8], at: usize, test: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|b| test(*b)).map_or(bytes.len(), |found| at + found)
}

fn no_nulls(text: &str) -> Cow<'_, str> {
    match memchr(0, text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('\0', "\u{fffd}")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5ever::tokenizer::states::RawKind;
    use std::cell::RefCell;

    /// Logs tokens; runs of text as one, comments without their text.
    #[derive(Default)]
    struct Log(RefCell<Vec<String>>);

    impl TokenSink for Log {
        type Handle = ();

        fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
            let mut log = self.0.borrow_mut();
            match token {
                Token::CharacterTokens(text) if text.is_empty() => {}
                Token::CharacterTokens(text) => match log.last_mut() {
                    Some(last) if last.starts_with("text ") => last.push_str(&text),
                    _ => log.push(format!("text {text}")),
                },
                Token::TagToken(mut tag) => {
                    // A part of a text is printed as such.
                    tag.attrs.iter_mut().for_each(|attr| attr.value = StrTendril::from_slice(&attr.value));
                    if tag.kind == TagKind::EndTag {
                        tag.attrs.clear();
                        tag.had_duplicate_attributes = false;
                    }
                    let result = match (tag.kind, &*tag.name) {
                        (TagKind::StartTag, "script") => TokenSinkResult::RawData(RawKind::ScriptData),
                        (TagKind::StartTag, "title" | "textarea") => {
                            TokenSinkResult::RawData(RawKind::Rcdata)
                        }
                        (TagKind::StartTag, "style" | "xmp") => TokenSinkResult::RawData(RawKind::Rawtext),
                        (TagKind::StartTag, "plaintext") => TokenSinkResult::Plaintext,
                        _ => TokenSinkResult::Continue,
                    };
                    log.push(format!("{tag:?}"));
                    return result;
                }
                Token::CommentToken(_) => log.push("comment".to_owned()),
                Token::ParseError(_) => {}
                other => log.push(format!("{other:?}")),
            }
            TokenSinkResult::Continue
        }

        fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
            self.0.borrow().iter().filter(|line| line.contains("svg")).count() % 2 == 1
        }
    }

    fn agree(html: &str) {
        let ours = Log::default();
        run(html, &ours, usize::MAX, &Budget::unlimited(), &Spare::default());
        let theirs = Tokenizer::new(Log::default(), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(html));
        let _ = theirs.feed(&input);
        theirs.end();
        assert_eq!(ours.0.into_inner(), theirs.sink.0.into_inner(), "{html:?}");
    }

    #[test]
    fn tokens_equal_those_of_html5ever() {
        for html in [
            "<!DOCTYPE html PUBLIC \"a>b\"><p CLASS=x id='a b' x = \"y\" z/>t</P ><br/><a href=b/>",
            "\u{feff}a < b </> </3> <?pi a> <!x> <!-- a --> <!--> <!---> <!-- --!> <!-- a -- b --- --> c <!-- d",
            "<title>a &amp; <b> &lt</title ><script>x <!-- <script> </script> --> y </script>z<style></styl></style>",
            "<script><!-- <script></script> </script>z",
            "<svg><![CDATA[ a ]] > ]]]>b</svg><![CDATA[ c > d ]]>",
            "&amp &ampx &notit; &notin; &#65 &#x41;B &#128; &#0; &#xD800; &#; &#x; &#99999999999; &AMP; &x",
            "<a b='&amp &ampx &amp=1 &notit; &notin; &copy' c=&lt;&lt d=&copy= e='&#65' a a=1 =x \"='y' <=z>",
            "a\r\nb\rc<p a='\r\n'\r>\0<p\0q r\0='\0'>",
            "\r\n\r\ra\n\rb\r",
            "<p title='a value as long as a window'>text that shares its memory<script>and a longer text than it has</script>é",
            "<p a='x",
            "<p a",
            "<p a=",
            "<p",
            "</",
            "<title>x</title",
            "<plaintext>a<b>\0&amp;",
            "<p a=b'c\"d`e f='g'h/i=j/>",
            "<i É=ü Ä/>",
        ] {
            agree(html);
        }
    }

    #[test]
    fn tokens_of_random_input_equal_those_of_html5ever() {
        const PARTS: [&str; 44] = [
            "<",
            ">",
            "</",
            "/",
            "!",
            "--",
            "-",
            "<!--",
            "-->",
            "--!>",
            "&",
            ";",
            "#",
            "x",
            "41",
            "amp",
            "lt",
            "copy",
            "=",
            "\"",
            "'",
            " ",
            "\n",
            "\r",
            "\0",
            "a",
            "B",
            "p",
            "script",
            "<script",
            "</script",
            "title",
            "<title>",
            "</title",
            "<svg>",
            "]]>",
            "<![CDATA[",
            "?",
            "é",
            "<!DOCTYPE",
            "style",
            "<p ",
            "not",
            "\t",
        ];
        let mut state = 1u64;
        for _ in 0..40_000 {
            let mut html = String::new();
            for _ in 0..3 + state % 17 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                html.push_str(PARTS[(state >> 33) as usize % PARTS.len()]);
            }
            agree(&html);
        }
    }

    #[test]
    fn excess_attributes_are_dropped() {
        let log = Log::default();
        assert!(run("<p a b c d>x", &log, 2, &Budget::unlimited(), &Spare::default()));
        assert_eq!(log.0.borrow()[0].matches("QualName").count(), 2);
        assert!(!run("<p a b>x", &Log::default(), 2, &Budget::unlimited(), &Spare::default()));
    }
}
