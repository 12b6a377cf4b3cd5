//! Every test that the boilerplate spec lists for phase A, by its name, and further edge cases.

use crawl_dedup::{
    FingerprintSettings,
    fingerprint::{
        DomainAnalysisResult, DomainFingerprintResult, ProjectAnalysisResult, compute_domain_fingerprint,
        hash_block, hash_digits, split_into_blocks, strip_boilerplate,
    },
};

const BANNER: &str = "We use cookies to improve your visit. By going on you agree to our **cookie policy**.";

fn hashes(blocks: &[&str]) -> rustc_hash::FxHashSet<u64> {
    blocks.iter().map(|block| hash_block(block)).collect()
}

/// A block that is unique to its number, longer than 50 characters.
fn own(n: usize) -> String {
    format!("Paragraph number {n} says what no other paragraph of this invented site ever says.")
}

fn fingerprint(pages: &[String]) -> DomainFingerprintResult {
    compute_domain_fingerprint(pages, &FingerprintSettings::default())
}

mod split_into_blocks {
    use super::*;

    #[test]
    fn splits_on_double_newlines() {
        let (a, b, c) = (own(1), own(2), own(3));
        assert_eq!(split_into_blocks(&format!("{a}\n\n{b}\n  \t\n\n{c}"), 50), [&a, &b, &c]);
        assert_eq!(split_into_blocks(&format!("{a}\n{b}"), 50).len(), 1);
    }

    #[test]
    fn filters_short_blocks() {
        let exact = "x".repeat(50);
        let content = format!("# Heading\n\n{exact}\n\n{}", "y".repeat(49));
        assert_eq!(split_into_blocks(&content, 50), [&exact]);
        let padded = format!("{}{}", "y".repeat(40), " ".repeat(20));
        assert!(split_into_blocks(&padded, 50).is_empty(), "length is counted after stripping");
    }

    #[test]
    fn handles_empty_content() {
        assert!(split_into_blocks("", 50).is_empty());
        assert!(split_into_blocks(" \n\n \n\n", 1).is_empty());
    }

    #[test]
    fn handles_single_block() {
        assert_eq!(split_into_blocks(BANNER, 50), [BANNER]);
    }

    #[test]
    fn preserves_block_content() {
        let block = "| Tabelle  |  ümläut |\n|---|---|\n|  **Zwei**   Worte | `x  =  1` |";
        assert_eq!(split_into_blocks(&format!("\n\n{block}\n\n"), 50), [block]);
    }
}

mod hash_block {
    use super::*;

    #[test]
    fn deterministic_output() {
        // printf 'hello world' | sha256sum
        assert_eq!(hash_digits(hash_block("hello world")), "b94d27b9934d3e08");
        assert_eq!(hash_block(BANNER), hash_block(BANNER));
        assert_ne!(hash_block(BANNER), hash_block(&own(1)));
        assert_eq!(hash_digits(0xab), "00000000000000ab");
    }

    #[test]
    fn whitespace_normalized() {
        assert_eq!(hash_block("  hello\t\n  world\u{a0}\r\n"), hash_block("hello world"));
        assert_ne!(hash_block("helloworld"), hash_block("hello world"));
    }

    #[test]
    fn case_insensitive() {
        assert_eq!(hash_block("HELLO World"), hash_block("hello world"));
        assert_eq!(hash_block("ÄRGER ΣΟΦΟΣ"), hash_block("ärger σοφος"));
    }
}

mod compute_domain_fingerprint {
    use super::*;

    #[test]
    fn identifies_boilerplate_above_threshold() {
        let pages: Vec<_> = (0..10).map(|n| format!("{}\n\n{BANNER}", own(n))).collect();
        let result = fingerprint(&pages);
        assert_eq!(result.boilerplate_hashes, [hash_digits(hash_block(BANNER))]);
        assert_eq!((result.pages_analyzed, result.blocks_total, result.blocks_boilerplate), (10, 11, 1));
    }

    #[test]
    fn skips_when_below_min_pages() {
        let pages = vec![BANNER.to_owned(); 4];
        let expected = DomainFingerprintResult { pages_analyzed: 4, ..Default::default() };
        assert_eq!(fingerprint(&pages), expected);
        assert_eq!(fingerprint(&[]), DomainFingerprintResult::default());
        assert_eq!(fingerprint(&vec![BANNER.to_owned(); 5]).blocks_boilerplate, 1);
    }

    #[test]
    fn respects_threshold_pct() {
        let with = |n| if n < 7 { BANNER.to_owned() } else { own(n) };
        let pages: Vec<_> = (0..10).map(with).collect();
        assert_eq!(fingerprint(&pages).blocks_boilerplate, 1, "seven of ten are at the threshold");
        let stricter = FingerprintSettings::new(0.8, 5, 50).unwrap();
        assert_eq!(compute_domain_fingerprint(&pages, &stricter).blocks_boilerplate, 0);
        let laxer = FingerprintSettings::new(0.1, 8, 50).unwrap();
        assert_eq!(compute_domain_fingerprint(&pages, &laxer).blocks_boilerplate, 0, "min_pages is a floor");
    }

    #[test]
    fn ignores_unique_blocks() {
        let pages: Vec<_> = (0..20).map(own).collect();
        let result = fingerprint(&pages);
        assert_eq!((result.blocks_total, result.blocks_boilerplate), (20, 0));
    }

    #[test]
    fn handles_empty_pages() {
        let mut pages = vec![BANNER.to_owned(); 7];
        pages.extend(["", " \n\n ", "short"].map(str::to_owned));
        let result = fingerprint(&pages);
        assert_eq!((result.pages_analyzed, result.blocks_boilerplate), (10, 1), "empty pages are pages");
        pages.push(String::new());
        pages.push(String::new());
        assert_eq!(fingerprint(&pages).blocks_boilerplate, 0, "7 of 12 are below 8");
    }

    #[test]
    fn real_world_cookie_banner() {
        let banner = "## Privacy preference centre\n\nWhen you visit any website, it may store or retrieve information on \
                      your browser, mostly in the form of cookies.\n\n### Strictly necessary cookies\n\nThese are needed \
                      for the website to work and cannot be switched off in our systems.";
        let page = |n: usize| format!("# Product {n}\n\n{}\n\n{}\n\n{banner}\n", own(2 * n), own(2 * n + 1));
        let pages: Vec<_> = (0..12).map(page).collect();
        let result = fingerprint(&pages);
        assert_eq!(result.blocks_boilerplate, 2, "both paragraphs; headings are too short to be judged");
        let hashes = result.boilerplate_hashes.iter().map(|h| u64::from_str_radix(h, 16).unwrap()).collect();
        let (text, removed) = strip_boilerplate(&pages[3], &hashes, 50);
        assert!(text.contains(&own(6)) && text.contains(&own(7)));
        assert!(!text.contains("store or retrieve") && !text.contains("switched off"));
        assert!(removed > 150);
    }

    #[test]
    fn a_block_twice_on_a_page_counts_once() {
        let mut pages: Vec<_> = (0..10).map(own).collect();
        for page in &mut pages[..4] {
            *page = format!("{BANNER}\n\n{BANNER}");
        }
        assert_eq!(fingerprint(&pages).blocks_boilerplate, 0);
    }
}

mod strip_boilerplate {
    use super::*;

    #[test]
    fn removes_boilerplate_blocks() {
        let content = format!("{BANNER}\n\n{}\n\n{BANNER}", own(1));
        let (text, _) = strip_boilerplate(&content, &hashes(&[BANNER]), 50);
        assert_eq!(text, format!("\n\n{}\n\n", own(1)));
    }

    #[test]
    fn preserves_unique_content() {
        let content = format!("# Title\n\n{}\n \n{BANNER}\n\n- a\n- b\n", own(1));
        let (text, _) = strip_boilerplate(&content, &hashes(&[BANNER]), 50);
        assert_eq!(text, format!("# Title\n\n{}\n \n\n- a\n- b\n", own(1)));
    }

    #[test]
    fn handles_empty_boilerplate_set() {
        let content = format!("{BANNER}\n\n{}", own(1));
        assert_eq!(strip_boilerplate(&content, &hashes(&[]), 50), (content, 0));
    }

    #[test]
    fn collapses_blank_lines_after_removal() {
        let content = format!("{}\n\n{BANNER}\n\n{}", own(1), own(2));
        let (text, _) = strip_boilerplate(&content, &hashes(&[BANNER]), 50);
        assert_eq!(text, format!("{}\n\n{}", own(1), own(2)));
        assert_eq!(strip_boilerplate("a\n\n\n\n\nb", &hashes(&[]), 50).0, "a\n\nb");
    }

    #[test]
    fn returns_correct_bytes_removed() {
        let block = "Überschüssige Wörter, die auf jeder Seite dieses Ortes genau so stehen.";
        let content = format!("{block}\n\n{}\n\n{block}", own(1));
        let (_, removed) = strip_boilerplate(&content, &hashes(&[block]), 50);
        assert_eq!(removed, 2 * block.len() as u64);
        assert!(block.len() > block.chars().count(), "bytes, not characters");
    }

    #[test]
    fn tolerates_other_whitespace_and_case() {
        let content = format!("{}\n\n{}", own(1), BANNER.to_uppercase().replace(' ', "\n  "));
        assert_eq!(strip_boilerplate(&content, &hashes(&[BANNER]), 50).0, format!("{}\n\n", own(1)));
    }

    #[test]
    fn stripping_may_empty_the_text() {
        assert_eq!(strip_boilerplate(BANNER, &hashes(&[BANNER]), 50), (String::new(), BANNER.len() as u64));
    }

    #[test]
    fn leaves_short_blocks_whatever_their_hash() {
        assert_eq!(strip_boilerplate("short", &hashes(&["short"]), 50), ("short".to_owned(), 0));
    }
}

#[test]
fn results_have_the_field_names_of_the_spec() {
    let result = ProjectAnalysisResult {
        domains_analyzed: 1,
        domain_results: vec![DomainAnalysisResult { domain: "a".into(), ..Default::default() }],
        ..Default::default()
    };
    let expected = r#"{"domains_analyzed":1,"domains_with_boilerplate":0,"total_pages_cleaned":0,"total_bytes_removed":0,"domain_results":[{"domain":"a","pages_analyzed":0,"pages_cleaned":0,"blocks_boilerplate":0,"bytes_removed_total":0}]}"#;
    assert_eq!(serde_json::to_string(&result).unwrap(), expected);
    let fingerprint =
        r#"{"boilerplate_hashes":[],"pages_analyzed":0,"blocks_total":0,"blocks_boilerplate":0}"#;
    assert_eq!(serde_json::to_string(&DomainFingerprintResult::default()).unwrap(), fingerprint);
}

#[test]
fn hostile_pages_are_read_in_linear_time() {
    // a quadratic reader takes hours for these
    let mut pages = vec!["\n".repeat(4_000_000), " \n".repeat(2_000_000), "\n\n\t".repeat(1_000_000)];
    pages.push("a\n".repeat(2_000_000));
    pages.push("a\n\n".repeat(1_000_000));
    pages.push(format!("\n{}x", " ".repeat(4_000_000)).repeat(2));
    for page in pages {
        let started = std::time::Instant::now();
        let (text, _) = strip_boilerplate(&page, &hashes(&[BANNER]), 10);
        assert!(text.len() <= page.len());
        assert!(started.elapsed().as_secs() < 20);
    }
}
