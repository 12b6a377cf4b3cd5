//! Text of the content outside of links, for any link style.

use crate::page::Page;
use crawl_model::Prose;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Words of a text that is not compared without its numbers.
const LONG: u32 = 64;

/// Counts and hashes the words outside of links. `in_content` marks the nodes whose text was written.
pub(crate) fn of(page: &Page<'_>, in_content: &[bool]) -> Prose {
    let (mut words, mut hash, mut without_numbers) = (0, FxHasher::default(), FxHasher::default());
    for (id, _) in (0..).zip(in_content).filter(|(_, is_written)| **is_written) {
        let amount = page.amount(id);
        if amount.link_chars == 0 {
            words += amount.words;
            let text = page.dom.text(id);
            let add = |word: &str| {
                word.hash(&mut hash);
                if words < LONG && !Prose::has_digit(word) {
                    word.hash(&mut without_numbers);
                }
            };
            // Most text is ASCII, in which words are found byte by byte. A vertical tab is whitespace of
            // Unicode alone.
            if text.bytes().fold(true, |plain, byte| plain & byte.is_ascii() & (byte != b'\x0b')) {
                ascii_words(text).for_each(add);
            } else {
                text.split_whitespace().for_each(add);
            }
        }
    }
    Prose { words, hash: hash.finish(), hash_without_numbers: without_numbers.finish() }
}

/// [`str::split_ascii_whitespace`], faster for words without control characters.
fn ascii_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let is_end = |byte: u8| byte <= b' ' && byte.is_ascii_whitespace();
        let end = rest.bytes().position(is_end).unwrap_or(rest.len());
        let word;
        (word, rest) = rest.split_at(end);
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use crate::{Format, Input, LinkStyle, Options, PageExtractor};
    use crawl_model::Prose;
    use url::Url;

    fn prose(html: &str, options: Options) -> Prose {
        let url = Url::parse("https://quay.test/page").unwrap();
        let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
        PageExtractor::new(options).unwrap().extract(&input).prose.unwrap()
    }

    #[test]
    fn link_text_does_not_count_as_prose_in_any_style() {
        let page = |link: &str| {
            let text = "The quay is long, and the crane at its end is old. ".repeat(8);
            format!("<main><h1>Quay</h1><p>{text}<p>{text} <a href='/{link}'>{link}</a> ends here.</main>")
        };
        let styles = [LinkStyle::Once, LinkStyle::Keep, LinkStyle::Strip, LinkStyle::Reference];
        let markdown = styles.map(|links| Options::default().with_links(links));
        for options in markdown.into_iter().chain([Options::default().with_format(Format::Text)]) {
            let of = |link: &str| prose(&page(link), options.clone());
            assert_eq!(of("iron-bridge"), of("a-boat-of-wood"), "{options:?}");
            assert_eq!(of("iron-bridge").words, 1 + 2 * 8 * 12 + 2, "{options:?}");
            assert_ne!(of("x").hash, prose(&page("x").replace("old", "new"), options).hash);
        }
    }

    #[test]
    fn words_with_digits_do_not_count_in_the_second_hash() {
        let of = |name: &str, number: u32| {
            let html = format!(
                "<main><h1>{name}</h1><p>Room {number}, phone 0{number}-17, <a href='/x'>{number}</a></main>"
            );
            prose(&html, Options::default())
        };
        let (one, other) = (of("Ada Crane", 12), of("Ada Crane", 13));
        assert_ne!(one.hash, other.hash);
        assert_eq!(one.hash_without_numbers, other.hash_without_numbers);
        assert_ne!(one.hash_without_numbers, of("Bea Crane", 12).hash_without_numbers);
        assert_eq!(prose("<main><h1>12</h1><p>٣٤ x5</main>", Options::default()).hash_without_numbers, 0);
    }
}
