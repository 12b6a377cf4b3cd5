//! A host in a stream of pages: against the batch, in bounded memory, saved and restored.

use crawl_dedup::{
    Cleaned, FingerprintSettings, HostFingerprint, Mode, PageText, StateError,
    batch::{clean_domain, clean_project},
    fingerprint::{hash_block, strip_boilerplate},
};
use crawl_model::BoilerplateStatus;
use proptest::prelude::*;
use rustc_hash::FxHashSet;

fn block(n: u64) -> String {
    format!("Block {n} of an invented site, long enough that the default settings look at it.")
}

fn page(blocks: &[u64]) -> String {
    blocks.iter().map(|&n| block(n)).collect::<Vec<_>>().join("\n\n")
}

/// Observes all, settles, cleans all.
fn stream(pages: &[String], settings: FingerprintSettings) -> Vec<Cleaned> {
    let mut host = HostFingerprint::new(settings);
    let blocks: Vec<_> = pages.iter().map(|page| host.observe(page)).collect();
    host.settle();
    pages.iter().zip(&blocks).map(|(page, blocks)| host.clean(page, blocks)).collect()
}

/// Ten pages with a menu and a text of their own.
fn site() -> Vec<String> {
    (0..10).map(|n| page(&[1, 100 + n, 2])).collect()
}

#[test]
fn menu_is_removed_and_text_stays() {
    let pages = site();
    let cleaned = stream(&pages, FingerprintSettings::default());
    assert_eq!(cleaned[3].text.trim(), block(103));
    assert_eq!((cleaned[3].blocks_removed, cleaned[3].pages), (2, 10));
    assert_eq!(cleaned[3].bytes_removed, 2 * block(1).len() as u64);
    assert_eq!(cleaned[3].status, BoilerplateStatus::Applied);
    assert!(cleaned.iter().all(|page| page.fingerprint == cleaned[0].fingerprint));
    assert_eq!(cleaned[0].fingerprint.as_ref().map(String::len), Some(16));
}

#[test]
fn pages_below_min_pages_stay_unchanged() {
    let pages = &site()[..4];
    for (page, cleaned) in pages.iter().zip(stream(pages, FingerprintSettings::default())) {
        let untouched = Cleaned::untouched(page.clone(), BoilerplateStatus::TooFewPages);
        assert_eq!(cleaned, Cleaned { pages: 4, ..untouched });
    }
}

#[test]
fn a_page_is_never_emptied() {
    let mut pages = site();
    pages.push(page(&[2, 1]));
    pages.push(format!("  {}\n\n\n\n{}\n", block(1), block(2)));
    pages.push(format!("# Short\n\n{}", block(1)));
    for cleaned in [stream(&pages, FingerprintSettings::default()), batch(&pages)] {
        for at in [10, 11] {
            assert_eq!(cleaned[at].text, pages[at].replace("\n\n\n\n", "\n\n"));
            assert_eq!((cleaned[at].blocks_removed, cleaned[at].bytes_removed), (0, 0));
            assert_eq!(cleaned[at].status, BoilerplateStatus::Applied);
        }
        assert_eq!(cleaned[12].text, "# Short\n\n", "a short block is something");
    }
}

#[test]
fn blank_lines_collapse_on_unchanged_pages_too() {
    let mut pages = site();
    pages.push(format!("{}\n\n\n\n```\n\n\n\n```\n", block(7)));
    let folded = format!("{}\n\n```\n\n```\n", block(7));
    for cleaned in [stream(&pages, FingerprintSettings::default()), batch(&pages)] {
        assert_eq!((cleaned[10].text.as_str(), cleaned[10].blocks_removed), (folded.as_str(), 0));
    }
    assert_eq!(
        strip_boilerplate(&pages[10], &FxHashSet::default(), 50),
        (folded, 0),
        "as the specification's function"
    );
}

#[test]
fn pages_after_settling_are_cleaned_by_running_counts() {
    let mut host = HostFingerprint::new(FingerprintSettings::default());
    for n in 0..10 {
        assert!(!host.state().ready(10));
        host.observe(&page(&[1, 100 + n]));
    }
    assert!(host.state().ready(10) && !host.state().is_settled());
    host.settle();
    let first = host.blocks("").spans().len();
    assert_eq!((first, host.state().pages()), (0, 10), "reading blocks does not count the page");
    let named = |host: &HostFingerprint| host.clean("", &host.blocks("")).fingerprint;
    let before = named(&host);
    // the old menu fades: at 15 pages the threshold is int(15 * 0.7) = 10, which 10 pages reach; at 16 it is
    // 11
    for n in 0..6 {
        let content = page(&[2, 200 + n]);
        let blocks = host.observe(&content);
        let cleaned = host.clean(&content, &blocks);
        assert_eq!((cleaned.blocks_removed, cleaned.pages), (0, 11 + n));
        assert_eq!(host.boilerplate() == [hash_block(&block(1))], n < 5, "{n}");
    }
    assert_ne!(named(&host), before);
    // the new menu rises: 6 + k of 16 + k pages reach 70 % from k = 18 on (24 of 34, threshold 23)
    let removed = (0..30).map(|n| {
        let content = page(&[2, 300 + n]);
        let blocks = host.observe(&content);
        host.clean(&content, &blocks).blocks_removed
    });
    let first_removed = removed.collect::<Vec<_>>().iter().position(|&n| n == 1);
    let expected = (0..30).position(|k| f64::from(7 + k) >= (f64::from(17 + k) * 0.7).floor());
    assert_eq!(first_removed, expected);
}

#[test]
fn host_settled_below_min_pages_is_cleaned_from_min_pages() {
    let mut host = HostFingerprint::new(FingerprintSettings::default());
    let pages = site();
    for (n, page) in pages.iter().enumerate() {
        let blocks = host.observe(page);
        host.settle();
        let expected = if n < 4 { BoilerplateStatus::TooFewPages } else { BoilerplateStatus::Applied };
        assert_eq!(host.clean(page, &blocks).status, expected);
    }
}

fn batch(pages: &[String]) -> Vec<Cleaned> {
    clean_domain("a", pages, &FingerprintSettings::default()).pages
}

#[test]
fn a_project_is_cleaned_domain_by_domain() {
    let settings = FingerprintSettings::default();
    let mut pages = Vec::new();
    for (n, content) in site().into_iter().enumerate() {
        pages.push(("b.example", content));
        // the same menu on a domain of three pages is content
        if n < 3 {
            pages.push(("a.example", page(&[1, 500, 2])));
        }
    }
    let texts: Vec<_> =
        pages.iter().map(|(d, content)| (*d, PageText { content, ..PageText::default() })).collect();
    let (cleaned, result) = clean_project(&texts, Mode::Exact, &settings);
    for (domain, status) in
        [("a.example", BoilerplateStatus::TooFewPages), ("b.example", BoilerplateStatus::Applied)]
    {
        let of_domain = pages.iter().zip(&cleaned).filter(|((d, _), _)| *d == domain);
        let (contents, results): (Vec<_>, Vec<_>) =
            of_domain.map(|((_, c), r)| (c.clone(), r.clone())).unzip();
        assert_eq!(results, clean_domain(domain, &contents, &settings).pages);
        assert!(results.iter().all(|page| page.status == status));
    }
    assert_eq!((result.domains_analyzed, result.domains_with_boilerplate), (2, 1));
    assert_eq!(result.total_pages_cleaned, 10);
    assert_eq!(result.total_bytes_removed, cleaned.iter().map(|page| page.bytes_removed).sum::<u64>());
    assert_eq!(
        result.domain_results.iter().map(|d| d.domain.as_str()).collect::<Vec<_>>(),
        ["a.example", "b.example"]
    );
    assert_eq!(result.domain_results[1].pages_cleaned, 10);
}

#[test]
fn memory_is_bounded_and_counts_never_overstate() {
    const BOUND: usize = 1_000;
    let settings = FingerprintSettings::default();
    let (mut bounded, mut exact) =
        (HostFingerprint::with_capacity(settings, BOUND), HostFingerprint::new(settings));
    let mut seen = 0;
    for n in 0..4_000_u64 {
        // block 0 on all pages, block 1 on 72 %, the rest on one page each
        let mut blocks = vec![0];
        blocks.extend((n % 100 < 72).then_some(1));
        blocks.extend((0..20).map(|k| 10 + n * 20 + k));
        seen += blocks.len() as u64;
        let content = page(&blocks);
        bounded.observe(&content);
        exact.observe(&content);
        assert!(
            bounded.boilerplate().iter().all(|hash| exact.boilerplate().contains(hash)),
            "nothing is made up"
        );
    }
    assert!(bounded.to_bytes().len() < 12 * BOUND + 64, "no more than the bound is kept");
    assert!(bounded.state().undercount() > 0 && bounded.state().undercount() <= 2 * seen / BOUND as u64);
    assert_eq!(exact.state().undercount(), 0);
    // 2 * 22 blocks a page / 1,000 is 4.4 % of the pages at worst: a block on all of them is found
    assert!(bounded.boilerplate().contains(&hash_block(&block(0))));
    assert_eq!(exact.boilerplate().len(), 2);
}

#[test]
fn damaged_states_are_typed_errors() {
    let settings = FingerprintSettings::default();
    let mut host = HostFingerprint::new(settings);
    for page in site() {
        host.observe(&page);
    }
    host.settle();
    let bytes = host.to_bytes();
    for len in 0..bytes.len() {
        assert_eq!(HostFingerprint::from_bytes(&bytes[..len], settings).unwrap_err(), StateError::Damaged);
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert_eq!(
            HostFingerprint::from_bytes(&flipped, settings).unwrap_err(),
            StateError::Damaged,
            "byte {at}"
        );
    }
    let other = FingerprintSettings::new(0.7, 5, 60).unwrap();
    let error = HostFingerprint::from_bytes(&bytes, other).unwrap_err();
    assert_eq!(error, StateError::BlockChars { saved: 50, wanted: 60 });
    let laxer = FingerprintSettings::new(0.1, 2, 50).unwrap();
    let judged_anew = HostFingerprint::from_bytes(&bytes, laxer).unwrap();
    assert_eq!(judged_anew.boilerplate(), host.boilerplate());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Pages drawn from few blocks, so that some blocks are at the threshold, some pages are emptied, and
    /// some repeat a block.
    #[test]
    fn stream_settled_at_the_end_equals_the_batch(
        pages in prop::collection::vec(prop::collection::vec(0..8_u64, 0..6), 0..14),
        pct in 0.1..=1.0_f64,
        min_pages in 2..=6_usize,
        turn in any::<prop::sample::Index>(),
    ) {
        let settings = FingerprintSettings::new(pct, min_pages, 50).unwrap();
        let mut pages: Vec<String> = pages.iter().map(|blocks| page(blocks)).collect();
        let whole = clean_domain("a", &pages, &settings);
        let mut streamed = stream(&pages, settings);
        prop_assert_eq!(&streamed, &whole.pages);
        prop_assert_eq!(whole.analysis.pages_cleaned, streamed.iter().filter(|page| page.bytes_removed > 0).count());
        // in another order every page has the same result
        if !pages.is_empty() {
            let turn = turn.index(pages.len());
            pages.rotate_left(turn);
            streamed.rotate_left(turn);
            prop_assert_eq!(stream(&pages, settings), streamed);
        }
    }

    /// A state that is saved and restored at any point gives the same results.
    #[test]
    fn restored_state_gives_the_same_results(
        pages in prop::collection::vec(prop::collection::vec(0..8_u64, 0..6), 1..20),
        at in any::<prop::sample::Index>(),
    ) {
        let settings = FingerprintSettings::default();
        let at = at.index(pages.len());
        let mut host = HostFingerprint::new(settings);
        for (n, blocks) in pages.iter().enumerate() {
            if n == at {
                host.settle();
                let bytes = host.to_bytes();
                let read = HostFingerprint::from_bytes(&bytes, settings).unwrap();
                prop_assert_eq!(read.to_bytes(), bytes);
                prop_assert!(read.state().is_settled());
                let content = page(blocks);
                let (mut a, mut b) = (host.clone(), read);
                let (of_a, of_b) = (a.observe(&content), b.observe(&content));
                prop_assert_eq!(a.clean(&content, &of_a), b.clean(&content, &of_b));
                prop_assert_eq!(a.boilerplate(), b.boilerplate());
                prop_assert_eq!(a.state().pages(), b.state().pages());
            }
            host.observe(&page(blocks));
        }
    }
}
