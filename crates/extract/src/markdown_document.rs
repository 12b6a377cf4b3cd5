//! Pages that are Markdown documents: their title and their links.

use crate::{
    plain::{essence, is_markdown_type},
    text,
};
use crawl_model::{Link, LinkKind};
use std::collections::HashSet;
use url::Url;

/// Returns true for a page that is declared as Markdown (RFC 7763). Plain text counts under the name of a Markdown file or of
/// `llms.txt`.
pub(crate) fn is_markdown(content_type: Option<&str>, url: Option<&Url>) -> bool {
    match content_type.map(essence).as_deref() {
        Some(media) if is_markdown_type(media) => true,
        Some("text/plain") => url.is_some_and(|url| {
            let path = url.path().to_ascii_lowercase();
            NAMES.iter().any(|name| path.ends_with(name))
        }),
        _ => false,
    }
}

/// Ends of the paths of Markdown documents that servers send as plain text.
const NAMES: [&str; 4] = [".md", ".markdown", "/llms.txt", "/llms-full.txt"];

/// Text of the first heading, `# Heading`, if it is among the first lines.
pub(crate) fn title(text: &str) -> Option<String> {
    let heading = text.lines().take(MAX_TITLE_LINES).find_map(|line| line.strip_prefix("# "))?;
    let title = heading.trim_end_matches('#').trim();
    (!title.is_empty()).then(|| title.to_owned())
}

/// Maximum lines before the heading: front matter, comments, badges.
const MAX_TITLE_LINES: usize = 40;

/// Links of the document outside of fenced code, each URL once, without fragments: `[text](url)`, `<url>`, `[label]: url`.
/// Images are none.
pub(crate) fn links(text: &str, base: Option<&Url>) -> Vec<Link> {
    let mut seen = HashSet::new();
    let (mut links, mut bytes) = (Vec::new(), 0);
    let mut fence = None;
    for line in text.lines() {
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            (None, None) => {
                for url in targets(line).filter_map(|target| resolve(target, base)) {
                    if bytes <= MAX_BYTES && seen.insert(url.clone()) {
                        bytes += url.len();
                        links.push(Link { url, kind: LinkKind::Anchor, nofollow: false });
                    }
                }
            }
            _ => {}
        }
        if bytes > MAX_BYTES {
            break;
        }
    }
    links
}

/// Maximum bytes of the links of a document: each may repeat the base URL.
const MAX_BYTES: usize = 4 << 20;

/// Targets of the links in a line, as written. A target is searched within [`MAX_TARGET`] bytes, so a line costs linear time.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let within =
        |at: usize, end: char| text::head(&line[at..], MAX_TARGET).split_once(end).map(|(target, _)| target);
    let label = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    let defined = label.map(|(_, target)| target.trim());
    let inline = line.match_indices("](").filter(|(at, _)| !is_image(&line.as_bytes()[..*at]));
    let inline = inline.filter_map(move |(at, mark)| within(at + mark.len(), ')'));
    let bare = line.match_indices("<http").filter_map(move |(at, _)| within(at, '>'));
    defined.into_iter().chain(inline).chain(bare).map(without_title)
}

/// Returns true if the brackets whose text ends here are those of an image, as `![a [b]`.
fn is_image(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(MAX_LABEL)..];
    let mut closed = 0;
    for (at, byte) in near.iter().enumerate().rev() {
        match byte {
            b']' => closed += 1,
            b'[' if closed == 0 => return near[..at].ends_with(b"!"),
            b'[' => closed -= 1,
            _ => {}
        }
    }
    false
}

/// Bytes before the end of a label in which its begin is searched.
const MAX_LABEL: usize = 256;

/// A target without angle brackets and without its title.
fn without_title(target: &str) -> &str {
    let target = target.trim();
    match target.strip_prefix('<') {
        Some(inner) => inner.split('>').next().unwrap_or_default(),
        None => target.split([' ', '\t']).next().unwrap_or_default(),
    }
}

/// Absolute URL of a target; only http and https.
fn resolve(target: &str, base: Option<&Url>) -> Option<String> {
    if target.is_empty() || target.starts_with('#') || target.len() > MAX_TARGET {
        return None;
    }
    let mut url = Url::options().base_url(base).parse(target).ok()?;
    url.set_fragment(None);
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

/// Maximum bytes of a target.
const MAX_TARGET: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<String> {
        let base = Url::parse("https://a.test/docs/llms.txt").unwrap();
        links(text, Some(&base)).into_iter().map(|link| link.url).collect()
    }

    #[test]
    fn markdown_is_known_by_type_or_name() {
        let url = |path: &str| Url::parse(&format!("https://a.test{path}")).unwrap();
        assert!(is_markdown(Some("text/markdown; charset=utf-8"), None));
        for path in ["/a/README.md", "/llms.txt", "/x/LLMS-full.txt"] {
            assert!(is_markdown(Some("text/plain"), Some(&url(path))), "{path}");
        }
        assert!(!is_markdown(Some("text/plain"), Some(&url("/notes.txt"))));
        assert!(!is_markdown(Some("text/html"), Some(&url("/a.md"))) && !is_markdown(None, None));
    }

    #[test]
    fn links_of_a_document_are_found() {
        let text = "# T\n\n- [A](a.md): about a, [B](/b.md \"b\")\n<https://b.test/c#d>\n[x]: <../y>\n";
        assert_eq!(
            urls(text),
            ["https://a.test/docs/a.md", "https://a.test/b.md", "https://b.test/c", "https://a.test/y"]
        );
        for none in
            ["![i](i.png)", "[a](#b)", "[m](mailto:a@b.test)", "[a](", "a](", "```\n[a](b)\n```", "[ ]: "]
        {
            assert!(urls(none).is_empty(), "{none}");
        }
        assert_eq!(urls("~~~\n```\n[a](b)\n~~~\n[c](d)"), ["https://a.test/docs/d"]);
        assert_eq!(urls("[![i](i.png)](page)"), ["https://a.test/docs/page"]);
        assert_eq!(urls(&"[a](b) [a](b) ".repeat(3)).len(), 1);
        assert!(urls(&"](".repeat(5_000)).is_empty());
    }

    #[test]
    fn title_is_the_first_heading() {
        assert_eq!(title("---\nx: y\n---\n\n# A *b* #\n").as_deref(), Some("A *b*"));
        assert_eq!(title("## a\n#b\n"), None);
    }
}
