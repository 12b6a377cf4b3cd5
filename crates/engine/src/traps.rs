//! Traps in the pipeline: the worth of a fetched page for the credit of its URL pattern, and error lines for refused
//! URLs.

use crate::{hints, stats::Stats};
use crawl_fetch::{POOR_WORDS, PageWorth, Trap, Traps};
use crawl_model::{
    CrawlRequest, Extraction, FailedPage, HostBound, HostKey, Prose, Refused, Stage, now_ms, rfc3339,
};
use rustc_hash::{FxHashSet, FxHasher};
use std::{
    hash::{Hash, Hasher},
    sync::{Mutex, PoisonError},
};
use url::Url;

/// Maximum lines in the error log for the links of one page. The last line has the number of further links.
pub const LINES_A_PAGE: usize = 20;

/// Adds the worth of a page to the credit of its URL pattern. The patterns of URLs that redirected to it get it too,
/// since each was charged for a fetch.
pub fn learn(traps: &Traps, request: &CrawlRequest, final_url: &Url, worth: PageWorth) {
    for url in request.redirects.iter().filter_map(|url| Url::parse(url).ok()) {
        traps.learn(&url, worth);
    }
    traps.learn(final_url, worth);
}

/// Classifies a page with a new text. Words of links do not count, since mazes generate them without end.
#[must_use]
pub fn worth(traps: &Traps, url: &Url, extraction: &Extraction, links: NewLinks) -> PageWorth {
    // A fast hash is enough: a page whose text collides with another one only loses its own worth.
    let prose = extraction.prose.unwrap_or_else(|| prose_of(&extraction.content));
    worth_of_prose(traps, url, prose, links)
}

/// New links of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewLinks {
    /// It has none.
    None,
    /// All have the page's own URL pattern.
    OwnPattern,
    /// At least one has another URL pattern.
    OtherPattern,
}

impl NewLinks {
    /// The new links of a page.
    #[must_use]
    pub const fn of(has_new_links: bool, links_new_pattern: bool) -> Self {
        match (has_new_links, links_new_pattern) {
            (_, true) => Self::OtherPattern,
            (true, false) => Self::OwnPattern,
            (false, false) => Self::None,
        }
    }
}

fn worth_of_prose(traps: &Traps, url: &Url, prose: Prose, links: NewLinks) -> PageWorth {
    let again = prose.words > 0 && traps.repeats(url, prose.hash);
    // a page without new links does not continue a trap
    let is_named = || {
        let (words, hash) = (prose.words, prose.hash_without_numbers);
        words > 0 && hash != 0 && !traps.repeats(url, hash ^ WITHOUT_NUMBERS)
    };
    match () {
        () if prose.words >= POOR_WORDS && !again => PageWorth::New,
        () if links == NewLinks::OtherPattern => PageWorth::LinksNewPattern,
        () if again => PageWorth::Duplicate,
        () if links == NewLinks::None && is_named() => PageWorth::Named,
        () => PageWorth::Poor,
    }
}

/// Distinguishes the hashes of texts without numbers from those of whole texts.
const WITHOUT_NUMBERS: u64 = 0x8000_0000_0000_5bd1;

/// Text of Markdown outside of links, for content that has no elements. Counts [`POOR_WORDS`] words and few more.
fn prose_of(content: &str) -> Prose {
    let (mut words, mut hash, mut outside) = (0, FxHasher::default(), String::new());
    let mut without_numbers = FxHasher::default();
    for line in content.lines() {
        let line = if memchr::memchr(b'[', line.as_bytes()).is_some() {
            outside.clear();
            push_outside_of_links(line, &mut outside);
            &outside
        } else {
            line
        };
        if words < POOR_WORDS {
            words += crawl_extract::count_words(line);
            let named = line.split_whitespace().filter(|word| !Prose::has_digit(word));
            named.for_each(|word| word.hash(&mut without_numbers));
        }
        line.hash(&mut hash);
    }
    Prose { words, hash: hash.finish(), hash_without_numbers: without_numbers.finish() }
}

/// A line of Markdown without its links' texts and targets. A bracket that is never closed is a bracket.
fn push_outside_of_links(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some((before, link)) = split_at_mark(rest, b'[') {
        out.push_str(before);
        let Some((text, after)) = split_at_mark(link, b']') else {
            out.push_str(link);
            return;
        };
        match after.strip_prefix('(').and_then(|target| split_at_mark(target, b')')) {
            Some((_, after)) => rest = after,
            None => {
                out.push_str(text);
                rest = after;
            }
        }
    }
    out.push_str(rest);
}

/// Splits like `str::split_once` with a character of ASCII, quicker.
fn split_at_mark(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = memchr::memchr(mark, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Lines for links that were left out, and the number of those that were left out without a line.
#[must_use]
pub fn lines(trapped: Vec<(String, Trap)>, more: u64) -> Vec<FailedPage> {
    let last = trapped.len().saturating_sub(1);
    let to_line = |(index, (url, trap)): (usize, (String, Trap))| {
        let mut message = trap.to_string();
        if index == last && more > 0 {
            message.push_str(&format!("; {more} more links of the same page were refused as traps"));
        }
        line(url, trap.kind(), message)
    };
    trapped.into_iter().enumerate().map(to_line).collect()
}

/// Hosts without room for more URLs, each of which has one line in the error log. At most `MAX_FULL_HOSTS` of them.
#[derive(Default)]
pub struct FullHosts(Mutex<FxHashSet<HostKey>>);

/// Maximum remembered full hosts; beyond it all are dropped.
const MAX_FULL_HOSTS: usize = 50_000;

impl FullHosts {
    /// Adds a host. Returns true if it is new.
    fn note(&self, host: &HostKey) -> bool {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_FULL_HOSTS {
            hosts.clear();
        }
        hosts.insert(host.clone())
    }
}

/// Counts URLs that the frontier refused. Returns a line for each host that is full for the first time.
#[must_use]
pub fn refused(full_hosts: &FullHosts, stats: &Stats, refused: Vec<Refused>) -> Vec<FailedPage> {
    let mut lines = Vec::new();
    for Refused { host, bound, first, keys } in refused {
        let (kind, setting) = match bound {
            HostBound::Urls => ("trap_host_urls", "traps.host_urls"),
            HostBound::Bytes => ("trap_host_bytes", "traps.host_bytes"),
        };
        let is_new = full_hosts.note(&host);
        // the line counts for one
        let rest = (keys.len() as u64).saturating_sub(is_new.into());
        if rest > 0 {
            stats.by_kind(kind, rest);
        }
        if is_new {
            tracing::warn!(%host, "the host has reached {setting} in the frontier: further URLs are refused");
            let message = format!(
                "the frontier holds as many URLs of {host} as {setting} allows: this URL and others are refused until some are \
                 done, those of a sitemap in this round"
            );
            lines.push(line(first, kind, message));
        }
    }
    lines
}

/// The line for a URL that is not put into the frontier.
pub(crate) fn line(url: String, kind: &'static str, message: String) -> FailedPage {
    FailedPage {
        url,
        stage: Stage::Fetch,
        kind,
        status: None,
        attempts: 0,
        message,
        hint: hints::of(kind).to_owned(),
        at: rfc3339(now_ms()),
        found_on: None,
        lease: None,
        seed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_extract::{Input, LinkStyle, Options, PageExtractor};
    use crawl_fetch::TrapSettings;

    #[test]
    fn link_text_does_not_count_as_prose() {
        let of = |line: &str| {
            let mut out = String::new();
            push_outside_of_links(line, &mut out);
            out
        };
        assert_eq!(of("One [two three](http://h/four) five, [six](/x)."), "One  five, .");
        assert_eq!(of("a [note] and an [open bracket"), "a note and an open bracket");
    }

    #[test]
    fn short_text_is_poor_and_repeated_text_a_duplicate() {
        let traps = Traps::new(TrapSettings::default(), 2026);
        let of = |n: usize, text: &str| {
            let url = Url::parse(&format!("http://h/p/{n}")).unwrap();
            worth_of_prose(&traps, &url, prose_of(text), NewLinks::OwnPattern)
        };
        let links = "[a page of many words](http://h/p) ".repeat(50);
        assert_eq!(of(1, &"word ".repeat(30)), PageWorth::New);
        assert_eq!([of(2, &links), of(3, &links)], [PageWorth::Poor, PageWorth::Poor], "no text at all");
        assert_eq!(of(4, "No results. [next](/p/5)"), PageWorth::Poor);
        assert_eq!(of(5, "No results. [next](/p/6)"), PageWorth::Duplicate);
        assert_eq!(of(6, "One result."), PageWorth::Poor);
        let long = format!("{} [session](/q/1)", "words of a page ".repeat(30));
        assert_eq!([of(7, &long), of(8, &long.replace("/1", "/2"))], [PageWorth::New, PageWorth::Duplicate]);
        let listing = Url::parse("http://h/p/9").unwrap();
        assert_eq!(
            worth_of_prose(&traps, &listing, prose_of("No results."), NewLinks::OtherPattern),
            PageWorth::LinksNewPattern
        );
    }

    /// A directory has a short page for each person. The pages of a calendar or a counter differ by their numbers.
    #[test]
    fn short_text_with_new_words_is_named_on_a_page_without_new_links() {
        let traps = Traps::new(TrapSettings::default(), 2026);
        let of = |n: usize, text: &str, links: NewLinks| {
            worth_of_prose(&traps, &Url::parse(&format!("http://h/p/{n}")).unwrap(), prose_of(text), links)
        };
        assert_eq!(of(1, "Ada Crane, room 12", NewLinks::None), PageWorth::Named);
        assert_eq!(of(2, "Bea Crane, room 12", NewLinks::None), PageWorth::Named);
        assert_eq!(of(3, "Bea Crane, room 13", NewLinks::None), PageWorth::Poor);
        assert_eq!(of(4, "Cleo Crane, room 12", NewLinks::OwnPattern), PageWorth::Poor);
        assert_eq!(of(5, "Dora Crane, room 12", NewLinks::OtherPattern), PageWorth::LinksNewPattern);
        assert_eq!([of(6, "12", NewLinks::None), of(7, "", NewLinks::None)], [PageWorth::Poor; 2]);
    }

    #[test]
    fn a_maze_whose_link_texts_are_their_slugs_is_poor() {
        let traps = Traps::new(TrapSettings::default(), 2026);
        let options = Options::default().with_links(LinkStyle::Once);
        let extractor = PageExtractor::new(options).unwrap();
        let of = |n: usize, text: &str| {
            let links: String = (0..40)
                .map(|k| format!("<p><a href='/maze/{n}/iron-{n}-{k}-bridge'>Iron {n} {k} bridge</a>"))
                .collect();
            let html = format!("<main><h1>Maze</h1>{links}<p>{text}</main>");
            let url = Url::parse(&format!("http://h.test/maze/{n}")).unwrap();
            let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
            let extraction = extractor.extract(&input);
            assert!(!extraction.content.contains("]("), "no address is spelled");
            assert!(prose_of(&extraction.content).words >= POOR_WORDS, "the text itself looks rich");
            worth(&traps, &url, &extraction, NewLinks::OwnPattern)
        };
        assert_eq!([of(1, ""), of(2, "")], [PageWorth::Poor, PageWorth::Duplicate], "a heading and links");
        assert_eq!(of(3, &"words of a page ".repeat(10)), PageWorth::New);
    }

    #[test]
    fn last_log_line_counts_the_omitted_links() {
        let lines = lines(vec![("a".into(), Trap::Parameters(13)), ("b".into(), Trap::PathDepth(30))], 7);
        assert!(!lines[0].message.contains("more links"), "{}", lines[0].message);
        assert!(lines[1].message.contains("7 more links"), "{}", lines[1].message);
        assert_eq!((lines[0].kind, lines[1].kind), ("trap_parameters", "trap_path_depth"));
        assert!(lines.iter().all(|line| line.lease.is_none()));
    }
}
