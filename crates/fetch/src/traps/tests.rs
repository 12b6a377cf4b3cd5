use super::*;

fn traps() -> Traps {
    Traps::new(TrapSettings::default(), 2026)
}

fn url(path: &str) -> Url {
    Url::parse(&format!("http://h.test{path}")).unwrap()
}

#[test]
fn trap_urls_are_distinguished_from_similar_pages() {
    for (path, kind) in [
        (format!("/{}", "a1/b2/c3/d4/e5/f6/".repeat(5)), Some("trap_path_depth")),
        ("/a/b/a/b/a/b/a/b/".to_owned(), Some("trap_repeated_segment")),
        ("/a/b/a/b/a/b/".to_owned(), None),
        ("/en/docs/en/x/en".to_owned(), None),
        (
            format!("/?{}", (0..13).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&")),
            Some("trap_parameters"),
        ),
        ("/calendar/1990/1".to_owned(), Some("trap_calendar")),
        ("/events?month=2031-05".to_owned(), Some("trap_calendar")),
        ("/Kalender/20350101".to_owned(), Some("trap_calendar")),
        ("/calendar/2011-11-1.html".to_owned(), Some("trap_calendar")),
        ("/calendar/2013/04/10/medicine".to_owned(), Some("trap_calendar")),
        ("/event/story-time/2031-03-16/".to_owned(), Some("trap_calendar")),
        ("/events/2012/business_growth_expo/".to_owned(), None),
        ("/events/2011/11/16/162537.shtml".to_owned(), None),
        ("/events/2015-05-03-annual-meeting".to_owned(), None),
        ("/press/pr/date/2017/html/ecb.pr171026.en.html".to_owned(), None),
        ("/calendar/2026/12".to_owned(), None),
        ("/blog/1990/1".to_owned(), None),
        ("/events/1990s-party".to_owned(), None),
        ("/events/12345".to_owned(), None),
    ] {
        assert_eq!(traps().classify(&url(&path)).map(|trap| trap.kind()), kind, "{path}");
    }
}

#[test]
fn empty_generated_pages_end_and_a_catalogue_continues() {
    let fetched = |worth: &dyn Fn(u32) -> PageWorth| {
        let traps = traps();
        (0..5_000)
            .take_while(|n| {
                let page = url(&format!("/list/{n}"));
                let go = traps.charge_fetch(&page).is_ok();
                traps.learn(&page, worth(*n));
                go
            })
            .count()
    };
    assert_eq!(fetched(&|_| PageWorth::New), 5_000);
    assert_eq!(fetched(&|n| if n % 10 == 0 { PageWorth::New } else { PageWorth::Poor }), 5_000);
    assert_eq!(fetched(&|_| PageWorth::Poor), 200);
    assert_eq!(fetched(&|_| PageWorth::Named), 5_000, "a directory of short pages");
    assert_eq!(fetched(&|_| PageWorth::Duplicate), 19);
    // good for long, then always empty
    let turned = fetched(&|n| if n < 1_000 { PageWorth::New } else { PageWorth::Poor });
    assert!((2_900..=3_001).contains(&turned), "{turned}");
}

#[test]
fn credit_is_separate_per_pattern_and_host() {
    let traps = traps();
    for n in 0..300 {
        let _ = traps.charge_fetch(&url(&format!("/trap/{n}")));
    }
    assert_eq!(traps.charge_fetch(&url("/trap/9")), Err(Trap::Pattern("/trap/{n}".into())));
    assert!(traps.charge_fetch(&url("/other/9")).is_ok());
    assert!(traps.charge_fetch(&url("/about")).is_ok());
    assert!(traps.charge_fetch(&Url::parse("http://o.test/trap/9").unwrap()).is_ok());
}

#[test]
fn hosts_per_domain_are_limited() {
    let traps = Traps::new(TrapSettings { hosts_per_domain: Some(2), ..TrapSettings::default() }, 2026);
    let judge = |host: &str| traps.classify_host(&Url::parse(&format!("http://{host}/")).unwrap());
    assert_eq!((judge("a.wild.com"), judge("b.wild.com"), judge("a.wild.com")), (None, None, None));
    assert_eq!(judge("c.wild.com"), Some(Trap::Hosts("wild.com".into())));
    assert_eq!((judge("wild.com"), judge("a.other.com")), (None, None));
}

#[test]
fn trap_accounts_are_bounded() {
    let traps = traps();
    let host = |n: usize, path: &str| Url::parse(&format!("http://h{n}.d{}.com/{path}", n / 900)).unwrap();
    for n in 0..MAX_COUNTED_HOSTS + 10 {
        assert_eq!(traps.classify_host(&host(n, "")), None);
    }
    assert_eq!(traps.lock().hosts, 10, "counted anew");
    let hosts = MAX_PATTERNS / 1_000;
    for n in 0..hosts {
        for pattern in 0..1_000 {
            // letters alone make a pattern of their own
            let name: String = pattern.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect();
            assert!(traps.charge_fetch(&host(n, &format!("{name}/1"))).is_ok());
        }
    }
    let size = || {
        let ledger = traps.lock();
        (ledger.patterns, ledger.credits.len())
    };
    assert_eq!(size(), (MAX_PATTERNS, hosts));
    assert!(traps.charge_fetch(&host(hosts, "a/1")).is_ok());
    assert_eq!(size(), (1, 1), "opened anew");
    for n in (0..=MAX_PATTERNS).rev() {
        let name: String = n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect();
        assert!(traps.charge_fetch(&host(n % hosts, &format!("{name}/1"))).is_ok());
        assert!(size().0 <= MAX_PATTERNS, "known hosts too");
    }
}

#[test]
fn every_limit_can_be_switched_off() {
    let off = TrapSettings {
        path_segments: None,
        segment_repeats: None,
        parameters: None,
        calendar_years: None,
        template_credit: None,
        hosts_per_domain: None,
        ..TrapSettings::default()
    };
    let traps = Traps::new(off, 2026);
    let long = format!("/calendar/1066/{}?{}", "a/".repeat(50), "p=1&".repeat(50));
    assert_eq!(traps.classify(&url(&long)), None);
    assert!((0..1_000).all(|n| traps.charge_fetch(&url(&format!("/{n}"))).is_ok()));
}

#[test]
fn listing_with_new_links_keeps_its_credit() {
    let traps = Traps::new(TrapSettings { template_credit: Some(10), ..TrapSettings::default() }, 2026);
    let page = |n: usize| Url::parse(&format!("http://a.test/list/{n}")).unwrap();
    assert!(!traps.differ(&page(1), &page(2)));
    assert!(traps.differ(&page(1), &Url::parse("http://a.test/item/1").unwrap()));
    for n in 0..50 {
        traps.charge_fetch(&page(n)).unwrap();
        traps.learn(&page(n), PageWorth::LinksNewPattern);
        traps.learn(&Url::parse("http://a.test/item/1").unwrap(), PageWorth::New);
    }
    // it no longer links to new pages
    let fetched = (50..500).take_while(|n| {
        let may = traps.charge_fetch(&page(*n)).is_ok();
        traps.learn(&page(*n), PageWorth::LinksNewPattern);
        may
    });
    let fetched = fetched.count();
    assert!((10..40).contains(&fetched), "{fetched}");
}

/// A shop shows the same introduction above the products on each page of a category.
#[test]
fn listing_with_a_known_text_keeps_its_credit() {
    let traps = Traps::new(TrapSettings { template_credit: Some(20), ..TrapSettings::default() }, 2026);
    let fetched = |pages: std::ops::Range<usize>, brings_items: bool| {
        let fetch = |n: &usize| {
            let page = url(&format!("/list/{n}"));
            let may = traps.charge_fetch(&page).is_ok();
            traps.learn(&page, PageWorth::KnownListing);
            if brings_items {
                traps.learn(&url(&format!("/item/{n}")), PageWorth::New);
            }
            may
        };
        pages.take_while(fetch).count()
    };
    assert_eq!(fetched(0..500, true), 500);
    assert_eq!(fetched(500..1_000, false), 22, "20 listings, then the cost of known texts");
}

/// The oldest entries of a sitemap come first, and their pages may be gone with status 200.
#[test]
fn samples_find_the_pages_after_a_run_of_dead_ones() {
    let fetched = |folder: &str, dead: usize, all: usize| {
        let traps = traps();
        let fetch = |n: &usize| {
            let page = url(&format!("/{folder}{n}"));
            let may = traps.charge_fetch(&page).is_ok();
            let worth = if *n < dead { PageWorth::NotFound } else { PageWorth::New };
            may.then(|| traps.learn(&page, worth));
            may
        };
        ((0..dead).filter(fetch).count(), (dead..all).filter(fetch).count())
    };
    assert_eq!(fetched("item/", 60, 360), (21, 278), "two samples among the dead pages");
    assert_eq!(fetched("item/", 100_000, 100_000), (32, 0), "an endless list");
    assert_eq!(fetched("item/?id=", 60, 360), (21, 278));
}

/// All pages of a forum may have one path. Its profiles and forms show each guest the same text.
#[test]
fn parameter_names_with_new_texts_keep_their_credit() {
    let traps = traps();
    let fetch = |query: String, worth: PageWorth| {
        let page = url(&format!("/index.php?{query}"));
        let may = traps.charge_fetch(&page).is_ok();
        if may {
            traps.learn(&page, worth);
        }
        may
    };
    let (mut topics, mut profiles) = (0, 0);
    for n in 0..2_000 {
        topics += u32::from(fetch(format!("topic={n}"), PageWorth::New));
        for u in 0..10 {
            profiles += u32::from(fetch(format!("action=profile;u={}", n * 10 + u), PageWorth::Duplicate));
        }
    }
    assert_eq!(topics, 2_000);
    assert!(profiles < 5_000, "{profiles} of 20,000");
    assert!(traps.exhausted_pattern(&url("/index.php?action=profile;u=1")).is_some());
    assert_eq!(traps.exhausted_pattern(&url("/index.php?topic=1")), None);
    // topics end like any other pages
    assert!((0..5_000).take_while(|n| fetch(format!("topic=a{n}"), PageWorth::Duplicate)).count() < 400);
}

/// Filters of a shop in every combination show the same products.
#[test]
fn parameter_names_without_new_texts_share_one_credit() {
    let traps = traps();
    let facets = (0..4_096_u32).filter(|set| {
        let names = (0..12).filter(|bit| set & (1 << bit) != 0).map(|bit| format!("f{bit}=1"));
        let page = url(&format!("/shop?{}", names.collect::<Vec<_>>().join("&")));
        let may = *set > 0 && traps.charge_fetch(&page).is_ok();
        if may {
            traps.learn(&page, PageWorth::Duplicate);
        }
        may
    });
    assert_eq!(facets.count(), 19 + 8, "and eight samples");
}

#[test]
fn endless_error_pages_exhaust_their_pattern_only() {
    let traps = Traps::new(TrapSettings { template_credit: Some(100), ..TrapSettings::default() }, 2026);
    let page = |folder: &str, n: usize| url(&format!("/{folder}/{}", "x".repeat(n + 1)));
    let copies = (0..300).take_while(|n| {
        let may = traps.charge_fetch(&page("tags", *n)).is_ok();
        traps.learn(&page("tags", *n), PageWorth::Duplicate);
        may
    });
    assert_eq!(copies.count(), 100, "a folder of copies costs as much as its fetches");
    let fetched = (0..300).take_while(|n| {
        let may = traps.charge_fetch(&page("lost", *n)).is_ok();
        traps.learn(&page("lost", *n), PageWorth::NotFound);
        may
    });
    assert_eq!(fetched.count(), 10);
    assert!(traps.charge_fetch(&url("/about")).is_ok(), "nothing varies at the top");
}

#[test]
fn redirect_to_the_same_page_is_refunded() {
    let traps = traps();
    for n in 0..1_000 {
        let slashless = url(&format!("/item/{n}"));
        assert_eq!(traps.charge_fetch(&slashless), Ok(()), "{n}");
        traps.refund_fetch(&slashless);
    }
    let charged = (0..1_000).take_while(|n| traps.charge_fetch(&url(&format!("/item/{n}"))).is_ok()).count();
    assert_eq!(charged, 200, "no more than was taken");
}

#[test]
fn exhausted_pattern_lookup_opens_no_account() {
    let traps = traps();
    for n in 0..50 {
        assert_eq!(traps.exhausted_pattern(&url(&format!("/list/{n}"))), None, "nothing was fetched");
    }
    while traps.charge_fetch(&url("/list/1")).is_ok() {}
    assert_eq!(traps.exhausted_pattern(&url("/list/2")).map(|trap| trap.kind()), Some("trap_template"));
    assert_eq!(traps.exhausted_pattern(&url("/other/2")), None);
    traps.learn(&url("/list/1"), PageWorth::New);
    assert_eq!(traps.exhausted_pattern(&url("/list/2")), None, "it has earned some");
    let without = Traps::new(TrapSettings { template_credit: None, ..TrapSettings::default() }, 2026);
    assert_eq!(without.exhausted_pattern(&url("/list/2")), None);
}
