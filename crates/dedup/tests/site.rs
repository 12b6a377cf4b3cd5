//! The mode `site` on small invented sites.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod support;

use crawl_dedup::{
    Cleaned, FingerprintSettings, PageText, SiteFingerprint, StateError, batch::clean_site,
    fingerprint::hash_block, site::SitePage,
};
use crawl_model::{BoilerplateStatus, RemovalReason};
use proptest::prelude::*;
use std::collections::BTreeSet;
use support::name;

/// Own content of a page; no two numbers share a line.
fn own(n: usize) -> String {
    let word = ["harbour", "lantern", "orchard", "quarry", "meadow", "saddle", "thimble"][n % 7];
    let n = name(n);
    format!(
        "Keeper{n} wrote down {word}{n} on the first page and then told at length, over many{n} words, how the{n} old \
         {word}{n} came to stand where{n} nobody had expected it, what was paid for it, and who carried it home again."
    )
}

const NOTICE: &str = "All rights are with the harbour office, which answers letters on working days between nine and noon and asks \
     everyone who copies a table from these pages to name the year, the volume and the keeper who wrote it.";

fn urls(n: usize) -> String {
    format!("https://h.example/book/part{}.html", char::from(b'a' + (n % 26) as u8))
}

fn clean(pages: &[String]) -> Vec<Cleaned> {
    clean_with(pages, false)
}

fn clean_with(pages: &[String], extracted: bool) -> Vec<Cleaned> {
    let urls: Vec<String> = (0..pages.len()).map(urls).collect();
    let texts: Vec<PageText<'_>> = pages
        .iter()
        .zip(&urls)
        .map(|(content, url)| PageText { content, url, title: None, extracted })
        .collect();
    clean_site("h.example", &texts, &FingerprintSettings::default()).0
}

fn texts(pages: &[Cleaned]) -> Vec<&str> {
    pages.iter().map(|page| page.text.as_str()).collect()
}

fn reasons(page: &Cleaned) -> Vec<RemovalReason> {
    page.removed.iter().map(|span| span.reason).collect()
}

/// Short lines, a breadcrumb with a slot, previous and next with titles, a date, a notice.
fn manual() -> Vec<String> {
    (0..20)
        .map(|n| {
            format!(
                "Harbour Almanac\n\nHome\nTables\nLetters\n\nHome > Almanac > Tables of the coast > Chapter{}\n\nPrevious topic\n\nStory{}\n\n\
                 Next topic\n\nStory{}\n\nReport a fault\n\n{}\n\n{}\n\nPrinted on 2024-05-{:02} at {n}:30\n\n{NOTICE}",
                name(n),
                name(n),
                name((n + 1) % 20),
                own(n),
                own(n + 100),
                n + 1
            )
        })
        .collect()
}

#[test]
fn page_frame_is_removed_and_text_stays() {
    for (n, (page, cleaned)) in manual().iter().zip(clean(&manual())).enumerate() {
        assert_eq!(cleaned.text, format!("{}\n\n{}", own(n), own(n + 100)));
        use RemovalReason::{Margin, Pattern, Slot};
        assert_eq!(
            reasons(&cleaned),
            [Margin, Margin, Pattern, Margin, Slot, Margin, Slot, Margin, Margin, Margin],
            "{page}"
        );
        assert_eq!(cleaned.status, BoilerplateStatus::Applied);
        assert_eq!(cleaned.blocks_removed, 10);
    }
}

/// The spans restore the page; its other text is unchanged.
#[test]
fn removed_spans_restore_the_page() {
    for (page, cleaned) in manual().iter().zip(clean(&manual())) {
        let (mut left, mut from) = (String::new(), 0);
        for span in &cleaned.removed {
            let (start, end) = (usize::try_from(span.start).unwrap(), usize::try_from(span.end).unwrap());
            left.push_str(&page[from..start]);
            from = end + page[end..].len() - page[end..].trim_start().len();
            assert!(span.pages >= 5 && span.pages <= 20);
            assert_eq!(span.hash, hash_block(&page[start..end]), "the specification's hash");
            assert!(span.key.is_some(), "and what it was counted by");
        }
        left.push_str(&page[from..]);
        assert_eq!(left.trim_end(), cleaned.text);
        assert_eq!(
            cleaned.bytes_removed,
            cleaned.removed.iter().map(|span| span.end - span.start).sum::<u64>()
        );
    }
}

/// The line with date and time is one template on all pages, but another block on each.
#[test]
fn lines_with_counters_share_a_key_but_no_hash() {
    let pages = manual();
    let (mut keys, mut hashes) = (BTreeSet::new(), BTreeSet::new());
    for (page, cleaned) in pages.iter().zip(clean(&pages)) {
        let start = page.find("Printed on").unwrap() as u64;
        let line = cleaned.removed.iter().find(|span| span.start == start).unwrap();
        keys.extend(line.key);
        hashes.insert(line.hash);
        assert_eq!(line.pages, 20, "counted on every page");
    }
    assert_eq!((keys.len(), hashes.len()), (1, 20));
}

/// Blank lines within code belong to the code.
#[test]
fn blank_lines_collapse_outside_code_on_every_page() {
    let mut pages = manual();
    let code = "```py\ndef a():\n\n\ndef b():\n```";
    pages.push(format!("{}\n\n\n\n{code}\n\n\n{}", own(400), own(401)));
    let cleaned = clean(&pages);
    let last = cleaned.last().unwrap();
    assert_eq!(
        (last.text.as_str(), last.blocks_removed),
        (format!("{}\n\n{code}\n\n{}", own(400), own(401)).as_str(), 0)
    );
}

/// A trait's documentation on half of the pages, between unique texts, is content.
#[test]
fn repeated_blocks_inside_the_text_stay() {
    let pages: Vec<String> = (0..20)
        .map(|n| {
            let shared = if n % 2 == 0 { NOTICE } else { "Inherited from Keeper" };
            format!(
                "Harbour Almanac\n\n{}\n\n{shared}\n\nReturns\n\n{}\n\nWritten by hand.",
                own(n),
                own(n + 100)
            )
        })
        .collect();
    for (n, cleaned) in clean(&pages).iter().enumerate() {
        let shared = if n % 2 == 0 { NOTICE } else { "Inherited from Keeper" };
        assert_eq!(cleaned.text, format!("{}\n\n{shared}\n\nReturns\n\n{}", own(n), own(n + 100)));
    }
}

/// A block on nine of ten pages is a banner, at any position.
#[test]
fn long_block_on_most_pages_is_removed_anywhere() {
    let pages: Vec<String> = (0..20)
        .map(|n| {
            let banner = if n < 18 { NOTICE } else { "No notice." };
            format!("{}\n\n{banner}\n\n{}", own(n), own(n + 100))
        })
        .collect();
    let cleaned = clean(&pages);
    assert_eq!(reasons(&cleaned[0]), [RemovalReason::Block]);
    assert_eq!(cleaned[0].removed[0].pages, 18);
    assert_eq!(cleaned[19].text, pages[19]);
}

/// The block is on all pages of one section, and below the threshold of the host.
#[test]
fn section_template_is_removed_below_the_host_threshold() {
    let pages: Vec<(String, String)> = (0..60)
        .map(|n| match n % 6 {
            0 => (
                format!("https://h.example/shop/{n}"),
                format!("Cart and checkout\n\n{}\n\n{}", own(n), own(n + 100)),
            ),
            _ => (format!("https://h.example/book/{n}"), format!("{}\n\n{}", own(n), own(n + 100))),
        })
        .collect();
    let texts: Vec<PageText<'_>> =
        pages.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
    let (cleaned, _) = clean_site("h.example", &texts, &FingerprintSettings::default());
    for (n, page) in cleaned.iter().enumerate() {
        assert_eq!(page.text, format!("{}\n\n{}", own(n), own(n + 100)));
        assert_eq!(page.blocks_removed, u32::from(n % 6 == 0));
    }
    // without URLs it is ten of sixty pages
    let unknown: Vec<PageText<'_>> = texts.iter().map(|page| PageText { url: "", ..*page }).collect();
    let (cleaned, _) = clean_site("h.example", &unknown, &FingerprintSettings::default());
    assert_eq!(cleaned[0].text, pages[0].1);
}

/// Versions of a manual in three languages beside a large site: each has a frame in its own words.
#[test]
fn template_of_each_language_is_removed() {
    let frames = [("en", "Next chapter"), ("de", "Nächstes Kapitel"), ("pt-br", "Próximo capítulo")];
    let mut pages: Vec<(String, String)> = (0..200)
        .map(|n| (format!("https://h.example/book/{n}"), format!("{}\n\n{}", own(n), own(n + 1000))))
        .collect();
    for (language, foot) in frames {
        pages.extend((300..312).map(|n| {
            let url = format!("https://h.example/manual/part{}.{language}.html", name(n));
            (url, format!("{}\n\n{}\n\n{foot}", own(n), own(n + 1000)))
        }));
    }
    let texts: Vec<PageText<'_>> =
        pages.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
    let (cleaned, _) = clean_site("h.example", &texts, &FingerprintSettings::default());
    assert!(cleaned[..200].iter().all(|page| page.removed.is_empty()));
    for (page, (url, content)) in cleaned.iter().zip(&pages).skip(200) {
        assert_eq!(page.blocks_removed, 1, "{url}");
        assert!(content.starts_with(&page.text));
    }
}

/// Each page names its neighbours by their titles alone: no line occurs twice at a foot.
#[test]
fn footer_of_other_pages_titles_is_removed() {
    let title = |n: usize| format!("Nets{0} oars{0}", name(n));
    let pages: Vec<String> = (1..13)
        .map(|n| {
            format!("{}\n\n{}\n\n{}\n\n{} {}", title(n), own(n), own(n + 100), title(n - 1), title(n + 1))
        })
        .collect();
    let cleaned = clean(&pages);
    assert_eq!(reasons(&cleaned[5]), [RemovalReason::Titles]);
    assert_eq!(cleaned[5].text, format!("{}\n\n{}\n\n{}", title(6), own(6), own(106)));
    assert_eq!(reasons(&cleaned[0]), [], "page 0 is not there, so its title is words like others");
}

#[test]
fn repeated_title_and_lines_at_both_ends_are_removed() {
    let pages: Vec<String> = (0..12)
        .map(|n| {
            let tongues = ["en | fr | de | es", "en | fr | de | it", "en | fr | de | ja"][n % 3];
            let tongues = format!("Available languages: {tongues}");
            format!(
                "Of salt{0}\n\nOf salt{0}\n\n{tongues}\n\n{1}\n\n{2}\n\n{tongues}",
                name(n),
                own(n),
                own(n + 100)
            )
        })
        .collect();
    for (n, cleaned) in clean(&pages).iter().enumerate() {
        assert_eq!(cleaned.text, format!("Of salt{}\n\n{}\n\n{}", name(n), own(n), own(n + 100)));
        assert_eq!(cleaned.removed[0].reason, RemovalReason::SaidTwice);
        assert_eq!(cleaned.removed[1].reason, RemovalReason::Twin);
    }
}

/// A list of the page's headings above its title, under the frame of the site.
#[test]
fn heading_list_above_the_title_is_removed() {
    let head = |n: usize| [format!("Rope{0} kept{0}", name(n)), format!("Sail{0} cut{0}", name(n))];
    let page = |n: usize, list: &str| {
        let [first, second] = head(n);
        let list = list.replace("{0}", &first).replace("{1}", &second);
        format!("Harbour books\n\n{list}\n\n{first}\n\n{}\n\n{second}\n\n{}", own(n), own(n + 100))
    };
    let urls: Vec<String> =
        (0..12).map(|n| format!("https://h.example/rope{0}-kept{0}.html", name(n))).collect();
    let clean = |pages: &[String]| {
        let texts = pages.iter().zip(&urls);
        let texts: Vec<PageText<'_>> =
            texts.map(|(content, url)| PageText { content, url, title: None, extracted: false }).collect();
        clean_site("h.example", &texts, &FingerprintSettings::default()).0
    };
    for list in ["{0}", "{0}\n{1}"] {
        let pages: Vec<String> = (0..12).map(|n| page(n, list)).collect();
        for (n, cleaned) in clean(&pages).iter().enumerate() {
            assert_eq!(reasons(cleaned), [RemovalReason::Margin, RemovalReason::SaidTwice], "{list}");
            assert_eq!(cleaned.text, page(n, "").trim_start_matches("Harbour books").trim_start());
        }
    }
    // in another order, and with a line that occurs nowhere else
    for list in ["{1}\n{0}", "{0}\n{1}\nElsewhere and otherwise"] {
        let pages: Vec<String> = (0..12).map(|n| page(n, list)).collect();
        for cleaned in clean(&pages) {
            assert_eq!(reasons(&cleaned), [RemovalReason::Margin], "{list}");
        }
    }
}

/// A breadcrumb whose words are mostly those of the title.
#[test]
fn breadcrumb_that_ends_with_the_title_is_removed() {
    let title = |n: usize| {
        let word = |k: usize| format!("part{}x{}", name(n), name(k));
        (0..18).map(word).collect::<Vec<_>>().join(" ")
    };
    let shelves = ["Rope", "Lamps", "Nets"];
    let trail = |n: usize| match n {
        // short enough for its words to be counted
        0..12 => format!("Home / Shop / {}", shelves[n % 3]),
        n => format!("Home / Shop / {} / {}", shelves[n % 3], title(n)),
    };
    let page = |n: usize, trail: &str| format!("{trail}\n\n{}\n\n{}\n\n{}", title(n), own(n), own(n + 100));
    let pages: Vec<String> = (0..15).map(|n| page(n, &trail(n))).collect();
    for (n, cleaned) in clean(&pages).iter().enumerate().skip(12) {
        assert_eq!(reasons(cleaned), [RemovalReason::Pattern]);
        assert_eq!(cleaned.text, page(n, "").trim_start());
    }
    // the title does not follow below
    let alone: Vec<String> = (0..15)
        .map(|n| if n < 12 { pages[n].clone() } else { format!("{}\n\n{}", trail(n), own(n)) })
        .collect();
    assert_eq!(texts(&clean(&alone))[12..], alone[12..]);
}

/// Headings of a template introduce the page's own content.
#[test]
fn headings_stay_with_their_content() {
    let pages: Vec<String> = (0..12)
        .map(|n| {
            format!(
                "# Tool{0}\n\n## Name\n\ntool{0} - {1}\n\n## Synopsis\n\n{1}\n\n{2}",
                name(n),
                own(n),
                own(n + 100)
            )
        })
        .collect();
    assert_eq!(texts(&clean(&pages)), pages);
}

#[test]
fn code_is_never_cut() {
    let pages: Vec<String> = (0..12)
        .map(|n| format!("```\nuse harbour;\n\nfn main() {{}}\n```\n\n{}\n\n```\nend\n```", own(n)))
        .collect();
    assert_eq!(texts(&clean(&pages)), pages);
}

/// Extraction has removed the frame: text at the margins needs the threshold, and a minimum length.
#[test]
fn extracted_text_needs_more_evidence() {
    let third: Vec<String> = (0..18)
        .map(|n| {
            let lead = if n % 3 == 0 { NOTICE } else { "A word" };
            format!("{lead}\n\n{}\n\n{}", own(n), own(n + 100))
        })
        .collect();
    assert_eq!(clean_with(&third, true)[0].text, third[0]);
    let short: Vec<String> =
        (0..18).map(|n| format!("{}\n\n{}\n\nPart of the almanac", own(n), own(n + 100))).collect();
    assert_eq!(clean_with(&short, true)[0].text, short[0]);
    assert_eq!(clean(&short)[0].blocks_removed, 1);
    let long: Vec<String> = short
        .iter()
        .map(|page| format!("{page}\n\nSubscribe\n\nLetters come out every second Friday."))
        .collect();
    assert_eq!(clean_with(&long, true)[0].text, format!("{}\n\n{}", own(0), own(100)));
}

#[test]
fn pages_are_never_emptied_nor_cleaned_below_min_pages() {
    let mut pages = manual();
    pages.push(format!("Harbour Almanac\n\n{NOTICE}"));
    pages.push(format!("Harbour Almanac\n\n# Keepers\n\nReport a fault\n\n{NOTICE}"));
    let cleaned = clean(&pages);
    for at in [20, 21] {
        assert_eq!((&cleaned[at].text, cleaned[at].blocks_removed), (&pages[at], 0));
    }
    let few = clean(&pages[..4]);
    assert!(few.iter().all(|page| page.status == BoilerplateStatus::TooFewPages && page.pages == 4));
}

#[test]
fn saved_state_continues_and_a_damaged_one_is_an_error() {
    let settings = FingerprintSettings::default();
    let pages = manual();
    let text = |n: usize| PageText { content: &pages[n], ..PageText::default() };
    let mut host = SiteFingerprint::new(settings);
    for n in 0..12 {
        host.observe(&text(n), &SitePage::of(&text(n)));
    }
    host.settle();
    let bytes = host.to_bytes();
    let mut read = SiteFingerprint::from_bytes(&bytes, settings).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    for n in 12..20 {
        let page = SitePage::of(&text(n));
        host.observe(&text(n), &page);
        read.observe(&text(n), &page);
        assert_eq!(read.clean(&text(n), &page), host.clean(&text(n), &page));
    }
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert_eq!(SiteFingerprint::from_bytes(&flipped, settings).unwrap_err(), StateError::Damaged);
    }
    let exact = crawl_dedup::HostFingerprint::new(settings).to_bytes();
    assert_eq!(SiteFingerprint::from_bytes(&exact, settings).unwrap_err(), StateError::Mode);
}

/// A page group takes four bytes. Pages without text have groups, and nothing else.
#[test]
fn saved_state_with_more_groups_than_features_is_read() {
    let settings = FingerprintSettings::default();
    for content in ["Please enable JavaScript.", ""] {
        let mut host = SiteFingerprint::new(settings);
        for n in 0..1_000 {
            let url = format!("https://h.example/{}/page", name(n));
            let page = PageText { content, url: &url, ..PageText::default() };
            host.observe(&page, &SitePage::of(&page));
        }
        let bytes = host.to_bytes();
        let read = SiteFingerprint::from_bytes(&bytes, settings).unwrap();
        assert_eq!(read.to_bytes(), bytes);
    }
}

/// Six pages of one folder, counted and saved by versions 3 and 4.
#[test]
fn states_of_earlier_versions_are_read() {
    for hex in [include_str!("data/site-3.hex"), include_str!("data/site-4.hex")] {
        let hex: String = hex.split_whitespace().collect();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let mut host = SiteFingerprint::from_bytes(&bytes, FingerprintSettings::default()).unwrap();
        assert_eq!(host.state().pages(), 6);
        let notice = "The office answers letters about lamps on working days between nine and noon.";
        let content = format!("Harbour\n\n{notice}\n\n{}", own(1));
        let page = PageText { content: &content, url: "https://h.example/x/7", ..PageText::default() };
        let read = SitePage::of(&page);
        host.observe(&page, &read);
        assert_eq!(host.clean(&page, &read).text, own(1));
        let again = SiteFingerprint::from_bytes(&host.to_bytes(), FingerprintSettings::default()).unwrap();
        assert_eq!(again.to_bytes(), host.to_bytes());
    }
}

#[test]
fn memory_is_bounded() {
    const BOUND: usize = 2_000;
    let mut host = SiteFingerprint::with_capacity(FingerprintSettings::default(), BOUND);
    for n in 0..1_000 {
        let content = format!("Harbour Almanac\n\n{}\n\n{}\n\n{NOTICE}", own(n), own(n + 5_000));
        let text = PageText { content: &content, ..PageText::default() };
        let page = SitePage::of(&text);
        host.observe(&text, &page);
        if n > 100 {
            let cleaned = host.clean(&text, &page);
            assert_eq!(cleaned.text, format!("{}\n\n{}", own(n), own(n + 5_000)), "page {n}");
        }
    }
    assert!(host.state().undercount() > 0);
    assert!(host.to_bytes().len() < 12 * BOUND + 64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any number of pages of few lines: the order has no effect, the kept text is part of the page, and a
    /// second run agrees.
    #[test]
    fn order_does_not_matter(
        pages in prop::collection::vec(prop::collection::vec(0..9_usize, 0..8), 5..24),
        turn in any::<prop::sample::Index>(),
        extracted in any::<bool>(),
    ) {
        let lines = ["Home", "Next", "# Notes", NOTICE, "```\nx\n\ny\n```", "Updated 2024", "[Up](/a)\n[Down](/b)", "Part 1", "«"];
        let mut pages: Vec<String> = pages
            .iter()
            .enumerate()
            .map(|(n, at)| {
                let parts: Vec<&str> = at.iter().map(|&i| lines[i]).collect();
                format!("{}\n\n{}\n\n{}", parts.join("\n\n"), own(n), parts.join("\n\n"))
            })
            .collect();
        // all of one section, since the order moves the pages to other URLs
        let judge = |pages: &[String]| {
            let texts: Vec<PageText<'_>> = pages
                .iter()
                .map(|content| PageText { content, url: "https://h.example/a/b", title: None, extracted })
                .collect();
            clean_site("h.example", &texts, &FingerprintSettings::default()).0
        };
        let mut cleaned = judge(&pages);
        for (n, page) in cleaned.iter().enumerate() {
            prop_assert!(page.text.contains(&own(n)));
        }
        prop_assert_eq!(&judge(&pages), &cleaned);
        let turn = turn.index(pages.len());
        pages.rotate_left(turn);
        cleaned.rotate_left(turn);
        prop_assert_eq!(judge(&pages), cleaned);
    }
}
