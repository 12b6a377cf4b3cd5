use super::*;

fn page(n: u64) -> Vec<CountedBlock> {
    let block = |path, text, taken| CountedBlock { path, text, words: 10, chars: 50, link_chars: 0, taken };
    let mut page = vec![block(1, 7, false), block(2, 1_000 + n, n.is_multiple_of(2))];
    page.extend((0..n % 3).map(|k| block(3, 10_000 + 10 * n + k, true)));
    page
}

fn place(evidence: &SiteEvidence, path: u64, text: u64) -> Option<PositionCounts> {
    evidence.place(&SiteBlock {
        id: 0,
        end: 1,
        is_element: true,
        path,
        text,
        amount: crate::page::Amount::default(),
        may_be_title: false,
    })
}

#[test]
fn frame_and_content_are_separated_by_varying_text() {
    let mut evidence = SiteEvidence::default();
    (0..4).for_each(|n| evidence.observe(&page(n)));
    evidence.settle();
    assert!(place(&evidence, 1, 7).is_none(), "four pages say nothing");
    (4..40).for_each(|n| evidence.observe(&page(n)));
    evidence.settle();
    let frame = place(&evidence, 1, 7).unwrap();
    assert!(frame.own == 0.0 && frame.taken == 0.0 && frame.repeated() == 1.0 && !frame.is_own());
    let content = place(&evidence, 2, 1_003).unwrap();
    assert!(content.own == 1.0 && content.taken == 0.5 && content.once == 1.0 && content.is_own());
    assert!(place(&evidence, 3, 1).unwrap().once < 1.0);
}

#[test]
fn evidence_does_not_depend_on_order_or_merging() {
    let (mut forth, mut back, mut half) =
        (SiteEvidence::default(), SiteEvidence::default(), SiteEvidence::default());
    (0..50).for_each(|n| forth.observe(&page(n)));
    (10..50).rev().for_each(|n| back.observe(&page(n)));
    (0..10).for_each(|n| half.observe(&page(n)));
    back.merge(&half);
    forth.settle();
    back.settle();
    for (path, text) in [(1, 7), (2, 1_003), (3, 10_020)] {
        let [a, b] = [&forth, &back].map(|evidence| format!("{:?}", place(evidence, path, text)));
        assert_eq!(a, b);
    }
}

#[test]
fn snapshot_and_saved_evidence_agree() {
    let mut evidence = SiteEvidence::default();
    (0..50).for_each(|n| evidence.observe(&page(n)));
    let snapshot = evidence.snapshot();
    evidence.settle();
    assert!(snapshot.texts.len() < evidence.texts.len());
    let saved = serde_json::to_string(&evidence).unwrap();
    let read: SiteEvidence = serde_json::from_str(&saved).unwrap();
    assert_eq!(read, evidence);
    assert!(serde_json::from_str::<SiteEvidence>(&saved.replace("\"version\":1", "\"version\":9")).is_err());
    for n in 0..50 {
        assert_eq!(snapshot.classify(&page(n)), evidence.classify(&page(n)), "page {n}");
    }
    let at = |evidence, path| format!("{:?}", place(evidence, path, 7));
    for path in [1, 2, 3] {
        assert_eq!(at(&snapshot, path), at(&evidence, path));
    }
}

#[test]
fn page_without_its_unique_text_counts_as_missed() {
    let block = |path, text, taken| CountedBlock { path, text, words: 30, chars: 150, link_chars: 0, taken };
    let page = |n: u64, taken| [block(1, 7, true), block(2, 1_000 + n, taken)];
    let mut evidence = SiteEvidence::default();
    (0..4).for_each(|n| evidence.observe(&page(n, false)));
    evidence.settle();
    assert_eq!(evidence.classify(&page(0, false)), ContentCheck::Unknown);
    evidence.observe(&page(4, false));
    evidence.settle();
    assert_eq!(evidence.classify(&page(0, false)), ContentCheck::Missed);
    assert_eq!(evidence.classify(&page(9, true)), ContentCheck::Taken);
}

#[test]
fn early_verdict_equals_that_of_all_blocks() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut page = |n: u64| -> Vec<CountedBlock> {
        let mut block = || {
            let text = if random(3) == 0 { random(4) } else { 1_000 * n + random(500) };
            let words = random(30) as u32;
            CountedBlock {
                path: random(18),
                text,
                words,
                chars: 5 * words,
                link_chars: 0,
                taken: random(4) == 0,
            }
        };
        (0..12).map(|_| block()).collect()
    };
    let mut evidence = SiteEvidence::default();
    (0..12).for_each(|n| evidence.observe(&page(n)));
    evidence.settle();
    let mut found = [0; 3];
    for n in 100..2_000 {
        let blocks = page(n);
        let (mut all, mut known, mut own, mut taken) = (0, 0, 0, 0);
        for block in &blocks {
            let place = evidence.place_of(block.path, block.text);
            all += block.words;
            known += place.map_or(0, |_| block.words);
            own += place.filter(PositionCounts::is_content).map_or(0, |_| block.words);
            let is_repeated = place.is_some_and(|place| place.repeated() >= 0.5);
            taken += if block.taken && !is_repeated { block.words } else { 0 };
        }
        let want = match () {
            () if own >= 20 && f64::from(taken) < 0.2 * f64::from(own) => ContentCheck::Missed,
            () if f64::from(known) < 0.5 * f64::from(all) => ContentCheck::Unknown,
            () => ContentCheck::Taken,
        };
        assert_eq!(evidence.classify(&blocks), want, "page {n}");
        found[want as usize] += 1;
    }
    assert!(found.iter().all(|pages| *pages > 50), "{found:?}");
}

#[test]
fn memory_is_bounded_and_repeated_text_is_kept() {
    let mut evidence = SiteEvidence::default();
    let block = |path, text| CountedBlock { path, text, words: 3, chars: 20, link_chars: 0, taken: true };
    for n in 0..2_000_u64 {
        let own = (0..100).map(|k| block(5 + k % 2 * n, 1_000 * n + k));
        evidence.observe(&own.chain([block(1, 7)]).collect::<Vec<_>>());
    }
    evidence.settle();
    assert!(evidence.bytes() < 800_000, "{}", evidence.bytes());
    assert_eq!(place(&evidence, 1, 7).unwrap().pages_with_text, 2_000);
    assert!(place(&evidence, 5, 1).unwrap().own > 0.99, "forgotten texts were a page's own");
}

#[test]
fn positions_alone_decide_only_pages_that_took_their_text() {
    let mut evidence = SiteEvidence::default();
    (0..60).for_each(|n| evidence.observe(&page(n)));
    evidence.settle();
    let decides = |blocks: &[CountedBlock]| {
        let mut check = evidence.position_check(blocks.iter().map(|block| block.words).sum());
        blocks.iter().for_each(|block| check.add(block.path, block.words, block.taken));
        check.is_surely_taken()
    };
    let block =
        |path, text, words, taken| CountedBlock { path, text, words, chars: 50, link_chars: 0, taken };
    let mut decided = 0;
    // two blocks of the frame, of own text and of an unknown position, each taken or not
    for choice in 0..64_u64 {
        for words in [1, 5, 20, 90] {
            let blocks: Vec<CountedBlock> = (0..6)
                .map(|k| {
                    let path = [1, 2, 99][k as usize / 2];
                    block(
                        path,
                        if path == 1 { 7 } else { 50_000 + k },
                        words * (1 + k as u32 % 2),
                        choice >> k & 1 == 1,
                    )
                })
                .collect();
            if decides(&blocks) {
                decided += 1;
                assert_eq!(evidence.classify(&blocks), ContentCheck::Taken, "{blocks:?}");
            }
        }
    }
    assert!((20..200).contains(&decided), "{decided}");
    assert!(decides(&[block(2, 9, 100, true)]) && !decides(&[block(2, 9, 100, false)]));
    assert!(!decides(&[block(1, 7, 100, true), block(2, 9, 100, false)]), "the frame is no content");
    assert!(!decides(&[block(99, 7, 100, true)]), "nothing is known of the position");
}
