//! Ten thousand damaged pages: fixtures that are cut, doubled, spliced, with flipped bytes, deep nesting and
//! wrong charsets. They are the same ten thousand each time. None may panic or exceed its deadline.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::Warning;
use std::{fs, path::Path, time::Duration};

const PAGES: usize = 10_000;
/// Deadline of a page in a crawl. A debug build is about ten times slower than a release build, and tests
/// share their cores.
const DEADLINE: Duration = Duration::from_secs(5);

/// xorshift64 (Marsaglia 2003): the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// A range of a page; most are short.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        let longest = if self.below(4) == 0 { len } else { 200 };
        start..start + self.below(longest.min(len - start) + 1)
    }
}

const TAGS: [&str; 16] = [
    "div",
    "b",
    "table><tr><td",
    "ul><li",
    "blockquote",
    "a href=/x",
    "font",
    "svg",
    "noscript",
    "template",
    "section",
    "select",
    "dl><dd",
    "time",
    "pre",
    "article",
];
const CHARSETS: [&str; 8] =
    ["utf-8", "windows-1252", "utf-16le", "shift_jis", "iso-2022-jp", "gb18030", "koi8-r", "x-user-defined"];
const PARTS: [&[u8]; 14] = [
    b"<",
    b">",
    b"\"",
    b"</div>",
    b"<!--",
    b"-->",
    b"<plaintext>",
    b"<script>",
    b"]]>",
    b"\0",
    b"\xff\xfe",
    b"&#x110000;",
    b"\r",
    b"\xe2\x80",
];

/// One damage to a page.
fn damage(page: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(page.len() + 1);
    match random.below(8) {
        0 => page.truncate(at.max(1)),
        1 => drop(page.drain(random.range(page.len()))),
        2 => {
            let piece = page[random.range(page.len())].to_vec();
            let times = 1 + random.below(20);
            page.splice(at..at, piece.repeat(times.min(1 + 10_000 / piece.len().max(1))));
        }
        3 => drop(page.splice(at..at, other[random.range(other.len())].iter().copied())),
        4 => (0..=random.below(30)).for_each(|_| {
            let at = random.below(page.len());
            if let Some(byte) = page.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }),
        5 => drop(page.splice(at..at, PARTS[random.below(PARTS.len())].iter().copied())),
        6 => {
            // Some are deeper than the parser's limit; all of them would take most of the test's time.
            let most = if random.below(8) == 0 { 900 } else { 60 };
            let deep = format!("<{}>", TAGS[random.below(TAGS.len())]).repeat(1 + random.below(most));
            page.splice(at..at, deep.into_bytes());
        }
        _ => {
            let meta = format!("<meta charset={}>", CHARSETS[random.below(CHARSETS.len())]);
            page.splice(0..0, meta.into_bytes());
        }
    }
}

fn fixtures() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let mut paths: Vec<_> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path().join("source.html")).collect();
    paths.sort();
    let pages: Vec<Vec<u8>> = paths.iter().filter_map(|path| fs::read(path).ok()).collect();
    assert!(pages.len() > 20);
    pages
}

fn content_type(random: &mut Random) -> Option<String> {
    match random.below(4) {
        0 => None,
        1 => Some(format!("text/html; charset={}", CHARSETS[random.below(CHARSETS.len())])),
        _ => Some("text/html".to_owned()),
    }
}

/// Extracts the pages of one share, each built from its number, so that shares can run in parallel.
fn share(pages: &[Vec<u8>], extractor: &PageExtractor, numbers: impl Iterator<Item = usize>) {
    let url = url::Url::parse("https://example.org/a/b").unwrap();
    for number in numbers {
        let seed = u64::try_from(number + 1).unwrap();
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut page = pages[number % pages.len()].clone();
        let other = &pages[random.below(pages.len())];
        for _ in 0..=random.below(5) {
            damage(&mut page, other, &mut random);
        }
        let content_type = content_type(&mut random);
        let input = Input::new(&page).with_url(&url).with_content_type(content_type.as_deref());
        // A panic reports the page's number, with which debugging can begin.
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| extractor.extract(&input)));
        assert!(found.is_ok(), "page {number} of {} bytes panicked", page.len());
        let found = found.unwrap();
        assert!(
            !found.warnings.contains(&Warning::DeadlineExceeded),
            "page {number} of {} bytes",
            page.len()
        );
        assert!(!found.content.contains('\0'), "page {number}");
    }
}

#[test]
fn ten_thousand_damaged_pages_do_not_panic() {
    let pages = fixtures();
    let options = Options::default().with_images(true).with_blocks(true).with_deadline(Some(DEADLINE));
    let extractor = PageExtractor::new(options).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (pages, extractor) = (&pages, &extractor);
            scope.spawn(move || share(pages, extractor, (thread..PAGES).step_by(threads)));
        }
    });
}
