//! Pages that wait for their host: against the batch, bounded, and no longer than needed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod support;

use crawl_dedup::{
    Cleaned, Fingerprint, FingerprintSettings, HoldPolicy, HostStream, Mode, PageText, Release,
    batch::{clean_domain, clean_site},
};
use crawl_model::RemovalReason;
use proptest::prelude::*;
use support::name;

fn own(n: usize) -> String {
    let n = name(n);
    format!(
        "The keeper{n} of this house{n} wrote down what{n} came in that year{n}, what{n} went out again{n}, and who{n} had \
         carried it over the{n} hills in a cart{n} that nobody{n} had seen before{n} or since{n}."
    )
}

#[derive(Clone)]
struct Page {
    url: String,
    content: String,
    extracted: bool,
}

impl Page {
    fn text(&self) -> PageText<'_> {
        PageText { content: &self.content, url: &self.url, title: None, extracted: self.extracted }
    }
}

/// Sections in sequence, as in a crawl, each with its own head, notice in the middle and foot.
fn site(sections: usize, pages: usize) -> Vec<Page> {
    let page = |section: usize, n: usize| {
        let s = name(section);
        let own = [own(1_000 * section + n), own(1_000 * section + n + 500_000)];
        Page {
            url: format!("https://h.example/part{s}/{}.html", name(n)),
            content: format!(
                "Almanac\n\nRoom{s}\n\n{}\n\nRead{s} aloud{s} only when the lamp{s} is lit and nobody{s} sleeps.\n\n{}\n\nBack to room{s}",
                own[0], own[1]
            ),
            extracted: false,
        }
    };
    (0..sections).flat_map(|section| (0..pages).map(move |n| (section, n))).map(|(s, n)| page(s, n)).collect()
}

/// The pages cleaned in the given order, and the maximum of held pages.
fn streamed(pages: &[Page], mode: Mode, settle_pages: u64) -> (Vec<Cleaned>, usize) {
    let (cleaned, most, _) = streamed_by(pages, mode, HoldPolicy { release: Release::Settled, settle_pages });
    (cleaned, most)
}

/// The pages cleaned in the given order, the maximum of held pages, and the number of pages at the first
/// release.
fn streamed_by(pages: &[Page], mode: Mode, policy: HoldPolicy) -> (Vec<Cleaned>, usize, usize) {
    let mut first = pages.len();
    let fingerprint = Fingerprint::new(mode, FingerprintSettings::default());
    let mut host = HostStream::new(fingerprint, policy);
    let mut cleaned: Vec<Option<Cleaned>> = vec![None; pages.len()];
    let judged = |host: &HostStream<usize>, at: usize| {
        let text = pages[at].text();
        host.clean(&text, &host.fingerprint().read(&text))
    };
    let mut most = 0;
    for (at, page) in pages.iter().enumerate() {
        let text = page.text();
        let read = host.fingerprint().read(&text);
        if host.observe(&text, &read) {
            host.hold(&text, &read, at);
        } else {
            cleaned[at] = Some(host.clean(&text, &read));
        }
        for at in host.due() {
            assert!(cleaned[at].replace(judged(&host, at)).is_none(), "let go once");
        }
        for at in host.to_examine() {
            let text = pages[at].text();
            if host.is_stable(&text, &host.fingerprint().read(&text)) {
                host.release(&at);
                assert!(cleaned[at].replace(judged(&host, at)).is_none(), "let go once");
            }
        }
        if cleaned.iter().any(Option::is_some) {
            first = first.min(at + 1);
        }
        most = most.max(host.waiting());
    }
    for at in host.end() {
        assert!(cleaned[at].replace(judged(&host, at)).is_none(), "let go once");
    }
    (cleaned.into_iter().map(Option::unwrap).collect(), most, first)
}

fn batch(pages: &[Page], mode: Mode) -> Vec<Cleaned> {
    let settings = FingerprintSettings::default();
    match mode {
        Mode::Exact => {
            let contents: Vec<&str> = pages.iter().map(|page| page.content.as_str()).collect();
            clean_domain("h.example", &contents, &settings).pages
        }
        Mode::Site => {
            let texts: Vec<_> = pages.iter().map(Page::text).collect();
            clean_site("h.example", &texts, &settings).0
        }
    }
}

/// Fisher and Yates, by xorshift64 (Marsaglia 2003).
fn shuffled(pages: &[Page], seed: u64) -> Vec<Page> {
    let mut pages = pages.to_vec();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for i in (1..pages.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pages.swap(i, usize::try_from(state % (i as u64 + 1)).unwrap());
    }
    pages
}

#[test]
fn stream_settled_at_the_end_equals_the_batch_in_any_order() {
    let site = site(6, 30);
    for mode in [Mode::Exact, Mode::Site] {
        let mut by_url = None;
        for seed in 1..=10 {
            let pages = shuffled(&site, seed);
            let (cleaned, _) = streamed(&pages, mode, u64::MAX);
            assert_eq!(cleaned, batch(&pages, mode));
            let mut found: Vec<_> = pages.into_iter().map(|page| page.url).zip(cleaned).collect();
            found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(*by_url.get_or_insert_with(|| found.clone()), found, "order {seed}");
        }
    }
}

/// A section that begins after the host has settled: its first pages wait until its template is known.
#[test]
fn the_first_pages_of_a_section_wait_for_its_template() {
    let pages = site(12, 80);
    let (cleaned, most) = streamed(&pages, Mode::Site, 200);
    let whole = batch(&pages, Mode::Site);
    let late = 3 * 80;
    for at in late..pages.len() {
        let gone: Vec<_> = cleaned[at].removed.iter().map(|span| (span.start, span.reason)).collect();
        assert!(gone.len() >= 3, "head and foot of {}: {gone:?}", pages[at].url);
    }
    assert!(most < 200, "{most}");
    // a notice inside the text needs more pages of a section than are held
    let frame = |page: &Cleaned| {
        let spans = page.removed.iter().filter(|span| span.reason != RemovalReason::Block);
        spans.map(|span| span.end - span.start).sum::<u64>()
    };
    let bytes = |pages: &[Cleaned]| pages.iter().map(frame).sum::<u64>() as f64;
    let share = bytes(&cleaned[late..]) / bytes(&whole[late..]);
    assert!(share > 0.98, "{share}");
}

#[test]
fn held_pages_are_bounded_and_the_oldest_leaves_first() {
    // every page is a section of its own
    let mut pages = site(300, 1);
    let (cleaned, most) = streamed(&pages, Mode::Site, 50);
    assert_eq!(most, 50);
    assert!(cleaned[299].removed.iter().any(|span| span.pages == 300), "{:?}", cleaned[299]);
    // sections of an extracted text do not count, so its pages do not wait for them
    pages.iter_mut().for_each(|page| page.extracted = true);
    let fingerprint = Fingerprint::new(Mode::Site, FingerprintSettings::default());
    let mut host: HostStream<usize> =
        HostStream::new(fingerprint, HoldPolicy { release: Release::Settled, settle_pages: 50 });
    for (at, page) in pages.iter().enumerate() {
        let read = host.fingerprint().read(&page.text());
        assert_eq!(host.observe(&page.text(), &read), at < 50, "page {at}");
        if at < 50 {
            host.hold(&page.text(), &read, at);
        }
        assert_eq!(host.due(), if at == 49 { (0..50).collect() } else { Vec::new() });
    }
    assert_eq!(host.end(), [0; 0]);
}

/// A page leaves early only if the batch is likely to judge it the same; a page with a partly shared block
/// waits.
#[test]
fn early_release_nearly_always_equals_the_batch() {
    let policy = HoldPolicy { release: Release::Early, settle_pages: 200 };
    for (mode, extracted, least) in
        [(Mode::Exact, true, 1.0), (Mode::Site, true, 1.0), (Mode::Site, false, 0.95)]
    {
        let mut site = site(3, 40);
        site.iter_mut().for_each(|page| page.extracted = extracted);
        for seed in 1..=5 {
            let pages = shuffled(&site, seed);
            let (cleaned, _, first) = streamed_by(&pages, mode, policy);
            let whole = batch(&pages, mode);
            let same = cleaned.iter().zip(&whole).filter(|(early, whole)| early.text == whole.text).count();
            let share = same as f64 / pages.len() as f64;
            assert!(share >= least, "{mode:?}, extracted: {extracted}, order {seed}: {share}");
            assert!(!extracted || first == 5, "{mode:?}, extracted: {extracted}: {first}");
        }
    }
}

#[test]
fn page_with_a_partly_shared_block_is_held() {
    let notice = "Read aloud only when the lamp is lit and nobody sleeps, for the letters are old.";
    let mut host = HostStream::new(
        Fingerprint::new(Mode::Site, FingerprintSettings::default()),
        HoldPolicy { release: Release::Early, settle_pages: 200 },
    );
    let mut come = |n: usize, with: bool| {
        let notice = if with { notice } else { "" };
        let content = format!("{}\n\n{notice}\n\n{}", own(n), own(n + 500_000));
        let page = PageText { content: &content, extracted: true, ..PageText::default() };
        let read = host.fingerprint().read(&page);
        let waits = host.observe(&page, &read);
        if waits {
            host.hold(&page, &read, n);
        }
        host.to_examine();
        if n == 4 {
            host.release(&4);
        }
        waits
    };
    // on 4 of 6 pages: may or may not reach 70 % of the pages
    let waits: Vec<bool> = (0..7).map(|n| come(n, n < 3 || n == 5)).collect();
    assert_eq!(waits, [true, true, true, true, true, true, false]);
}

/// A block of a whole large section is removed inside the text: on few pages it may be their subject.
#[test]
fn block_of_a_large_section_is_removed_inside_text() {
    let notice = "Read aloud only when the lamp is lit and nobody sleeps, for the letters are old.";
    let page = |folder: &str, n: usize, middle: &str| Page {
        url: format!("https://h.example/{folder}/{}", name(n)),
        content: format!("{}\n\n{middle}\n\n{}", own(n), own(n + 500_000)),
        extracted: false,
    };
    for (size, goes) in [(20, false), (120, true)] {
        let mut pages: Vec<Page> = (0..400).map(|n| page("book", n, "A word")).collect();
        pages.extend((0..size).map(|n| page("letters", 10_000 + n, notice)));
        let cleaned = batch(&pages, Mode::Site);
        assert_eq!(cleaned[400].text.contains(notice), !goes, "{size} pages");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any order each page is released once and at most the bound is held. A host that ends before it
    /// settles gives the batch's result.
    #[test]
    fn each_page_is_released_once(
        sections in 1..8_usize,
        pages in 1..12_usize,
        settle_pages in 5..60_u64,
        seed in 1..1000_u64,
        exact in any::<bool>(),
        early in any::<bool>(),
    ) {
        let mode = if exact { Mode::Exact } else { Mode::Site };
        let pages = shuffled(&site(sections, pages), seed);
        let release = if early { Release::Early } else { Release::Settled };
        let (cleaned, most, _) = streamed_by(&pages, mode, HoldPolicy { release, settle_pages });
        prop_assert!(most as u64 <= settle_pages);
        if !early && (pages.len() as u64) < settle_pages {
            prop_assert_eq!(cleaned, batch(&pages, mode));
        }
    }
}
