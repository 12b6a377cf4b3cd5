//! Content that other pages repeat stays on its own page: a legal notice, the description of an interface or
//! of a product. Tested in the mode `site` for whole pages and extracted text, plain and Markdown.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod support;

use crawl_dedup::{Cleaned, FingerprintSettings, PageText, batch::clean_site};
use support::name;

/// URL, title, text.
type Page = (String, String, String);

/// A paragraph that is unique to its number.
fn own(n: usize) -> String {
    let n = name(n);
    format!(
        "Keeper{n} wrote down the harbour{n} on the first page and then told at length, over many{n} words, how the{n} old \
         lantern{n} came to stand where{n} nobody had expected it, what was paid for it, and who carried it home{n} again."
    )
}

const NOTICE: &str = "All rights are with the harbour office, which answers letters on working days between nine and noon and asks \
     everyone who copies a table from these pages to name the year, the volume and the keeper who wrote it.";

fn clean(pages: &[Page], extracted: bool) -> Vec<Cleaned> {
    let text = |(url, title, content): &'static Page| -> PageText<'static> {
        PageText { content, url, title: (!title.is_empty()).then_some(title), extracted }
    };
    let kept: &'static [Page] = Box::leak(pages.to_vec().into_boxed_slice());
    let texts: Vec<PageText<'_>> = kept.iter().map(text).collect();
    clean_site("h.example", &texts, &FingerprintSettings::default()).0
}

/// Pages of a manual with a notice at the foot, and one more.
fn manual_with_notice(path: &str, title: &str, content: String) -> Vec<Page> {
    let page = |n: usize| {
        let (own, more) = (own(n), own(n + 100));
        let url = format!("https://h.example/manual/part{}.html", name(n));
        (url, String::new(), format!("# Part {}\n\n{own}\n\n## More\n\n{more}\n\n{NOTICE}", name(n)))
    };
    let mut pages: Vec<Page> = (0..24).map(page).collect();
    pages.push((format!("https://h.example/{path}"), title.to_owned(), content));
    pages
}

#[test]
fn legal_notice_stays_on_its_own_page() {
    let rest = format!("{}\n\n{}", own(500), own(501));
    let pages = [
        ("legal.html", "Legal notice", format!("# Legal notice\n\n{NOTICE}\n\n{rest}\n\n{NOTICE}"), true),
        ("legal.html", "Legal notice", format!("# Legal notice\n\n{NOTICE}\n\n{rest}"), false),
        ("notice/", "", format!("Notice\n\n{NOTICE}\n\n{rest}\n\n{NOTICE}"), true),
        ("p/7", "Legal notice", format!("Legal notice\n\n{NOTICE}\n\n{rest}\n\n{NOTICE}"), true),
        ("p/7", "", format!("# Legal notice\n\n{}\n\n## Whose it is\n\n{NOTICE}", own(502)), false),
        ("p/7", "", format!("# Legal notice\n\n{NOTICE}"), false),
    ];
    for extracted in [false, true] {
        for (path, title, content, has_footer) in &pages {
            let cleaned = clean(&manual_with_notice(path, title, content.clone()), extracted);
            for (n, page) in cleaned[..24].iter().enumerate() {
                let text = format!("# Part {}\n\n{}\n\n## More\n\n{}", name(n), own(n), own(n + 100));
                assert_eq!(page.text, text);
            }
            let wanted = content.strip_suffix(&format!("\n\n{NOTICE}")).filter(|_| *has_footer);
            assert_eq!(cleaned[24].text, wanted.unwrap_or(content), "extracted: {extracted}");
        }
    }
}

/// Two of three pages of a manual have the same paragraphs on inherited methods within their own content.
#[test]
fn paragraphs_shared_by_manual_pages_stay_in_the_body() {
    let inherited = ["Borrows the keeper", "Clones into the lantern", "Tries to turn into"].map(|what| {
        format!("{what} and gives back what was given, unless the harbour is closed, in which case the error says since when it has been, by whom.")
    });
    let page = |n: usize| {
        let common: Vec<String> = inherited.iter().map(|of| format!("### impl Keeper\n\n{of}")).collect();
        let common = if n.is_multiple_of(3) { own(n + 200) } else { common.join("\n\n") };
        let content = format!(
            "# Lantern{0}\n\n{1}\n\n## Methods\n\n{2}\n\n## Inherited\n\n{common}\n\n## Source\n\nLine {0} of {3}",
            name(n),
            own(n),
            own(n + 100),
            name(n * 7)
        );
        (format!("https://h.example/api/lantern{}.html", name(n)), String::new(), content)
    };
    let pages: Vec<Page> = (0..30).map(page).collect();
    for extracted in [false, true] {
        for (cleaned, (_, _, content)) in clean(&pages, extracted).iter().zip(&pages) {
            assert!(cleaned.text.contains("## Methods") && cleaned.text.contains("## Inherited"));
            for of in inherited.iter().filter(|of| content.contains(*of)) {
                assert!(cleaned.text.contains(of), "extracted {extracted}: {}", cleaned.text);
            }
        }
    }
}

/// The description of a product stands under its name on its page, and under other products on their pages.
#[test]
fn the_description_of_a_product_stays_on_its_page() {
    const PRODUCTS: usize = 12;
    let titled = |n: usize| format!("Lamp {}", name(n));
    let told = |n: usize| {
        format!(
            "Lamp {0} is made of brass{0}, burns for {0} hours on a pint of oil{0} and hangs from a hook.",
            name(n)
        )
    };
    for (slugs, titles) in [(true, false), (false, true)] {
        let page = |n: usize| {
            let others = (0..PRODUCTS).filter(|&other| other != n);
            let others: Vec<String> = others.map(|n| format!("{}\n\n{}", titled(n), told(n))).collect();
            let content = format!(
                "{}\n\n{}\n\n{}\n\nAlso from this workshop\n\n{}\n\n{NOTICE}",
                titled(n),
                told(n),
                own(n),
                others.join("\n\n")
            );
            let slug = if slugs { format!("lamp-{}", name(n)) } else { n.to_string() };
            let title = if titles { format!("{} | The workshop", titled(n)) } else { String::new() };
            (format!("https://h.example/shop/{slug}"), title, content)
        };
        let pages: Vec<Page> = (0..PRODUCTS).map(page).collect();
        for extracted in [false, true] {
            for (n, cleaned) in clean(&pages, extracted).iter().enumerate() {
                let head = format!("{}\n\n{}\n\n{}", titled(n), told(n), own(n));
                assert!(cleaned.text.starts_with(&head), "extracted {extracted}: {}", cleaned.text);
                assert!(!cleaned.text.contains(NOTICE), "the notice goes");
            }
        }
    }
}
