//! Frames in the mode `site` that repeat, have gaps, belong to one template, or use a script without spaces.

mod support;

use crawl_dedup::{Cleaned, FingerprintSettings, PageText, batch::clean_site};
use crawl_model::RemovalReason;
use support::{name, own};

fn clean(pages: &[(String, String)]) -> Vec<Cleaned> {
    let texts: Vec<PageText<'_>> =
        pages.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
    clean_site("h.example", &texts, &FingerprintSettings::default()).0
}

/// Cleans pages of one folder with uninformative URLs.
fn clean_texts(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let numbered = texts.into_iter().enumerate();
    let pages: Vec<_> = numbered.map(|(n, text)| (format!("https://h.example/x/{n}"), text)).collect();
    clean(&pages).into_iter().map(|page| page.text).collect()
}

#[test]
fn line_without_spaces_is_weighed_by_letters() {
    let page = |n: usize| {
        let (own, name) = (own(n), name(n));
        format!(
            "{own}\n\n{own}z\n\n当社の許可なく記事や写真を転載することを固く禁じます。お問い合わせは本社広報部まで。\n{name}"
        )
    };
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert_eq!(text, &format!("{0}\n\n{0}z", own(n)));
    }
}

#[test]
fn label_repeated_within_the_frame_is_removed() {
    let slides = "Enrol for autumn\n\nApply now\n\n".repeat(6);
    let text = |n: usize| (0..30).map(|at| own(n * 50 + at)).collect::<Vec<_>>().join("\n\n");
    let page = |n: usize| format!("{slides}{}", text(n));
    for text in clean_texts((0..20).map(page)) {
        assert!(!text.contains("Apply now") && text.starts_with("The keeper"), "{text}");
    }
    // words all over a page belong to its body
    let body = |n: usize| {
        (0..8).map(|at| format!("Returns\n\n{}", own(n * 20 + at))).collect::<Vec<_>>().join("\n\n")
    };
    for text in clean_texts((0..20).map(body)) {
        assert_eq!(text.matches("Returns").count(), 8, "{text}");
    }
}

#[test]
fn footer_extends_beyond_page_specific_labels() {
    let page = |n: usize| {
        let name = name(n);
        format!(
            "{}\n\nShare this page with the harbour office\n\nWrite to the harbour office on working days\n\nCopyright of the harbour office\n\n\
             Lamp{name}\n\nStory{name}\n\nBack to the top",
            own(n)
        )
    };
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert_eq!(text, &own(n));
    }
    // text that outweighs the frame beyond it stays
    let page = |n: usize| {
        let name = name(n);
        let list: Vec<String> = (0..9).map(|at| format!("Lamp{name}{at} of{name} glass{at}")).collect();
        format!("{}\n\nShare this\n\n{}\n\nBack to the top", own(n), list.join("\n\n"))
    };
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert!(text.contains(&format!("Lamp{}8", name(n))) && text.contains("Share this"), "{text}");
    }
}

#[test]
fn own_sentences_of_a_short_page_are_no_gap_of_its_footer() {
    let title = |n: usize| format!("Lamp{}", name(n));
    let menu: Vec<String> = (0..18).map(title).collect();
    let menu = menu.join("\n\n");
    let page = |n: usize| {
        let (name, own_title) = (name(n), title(n));
        let text = format!(
            "{own_title}#\n\nThis lamp {name} burns with oil every night.\n\nThe glass {name} of it is clean on Sundays.\n\n\
             Nobody has seen the wick {name} since May."
        );
        let others = menu.replace(&format!("{own_title}\n\n"), "");
        let html = format!(
            "Skip to main content\n\nAlmanac of the harbour\n\n{others}\n\nSearch\n\nSystem Settings\n\nLight\n\nDark\n\n{menu}\n\n\
             System Settings\n\nLight\n\nDark\n\nCollapse Sidebar\n\nSection Navigation\n\n{own_title}\n\n{text}\n\nprevious\n\n\
             {}\n\nShow Source\n\nCopyright of the harbour office.\n\nCreated by the almanac.",
            title((n + 17) % 18)
        );
        (text, html)
    };
    for (n, text) in clean_texts((0..18).map(|n| page(n).1)).iter().enumerate() {
        assert!(text.contains(&page(n).0), "{text}");
    }
}

#[test]
fn menu_between_frame_and_title_is_removed() {
    let page = |n: usize| {
        let name = name(n);
        let menu: Vec<String> = (0..5).map(|at| format!("Entry{name}{at}")).collect();
        let text = format!(
            "Harbour\n\nAlmanac\n\nTables\n\n{}\n\nLamp{name} glass{name}\n\n{}",
            menu.join("\n"),
            own(n)
        );
        (format!("https://h.example/x/lamp{name}-glass{name}.html"), text)
    };
    let pages: Vec<_> = (0..20).map(page).collect();
    for (n, page) in clean(&pages).iter().enumerate() {
        let name = name(n);
        assert_eq!(page.text, format!("Lamp{name} glass{name}\n\n{}", own(n)));
        assert!(page.removed.iter().any(|span| span.reason == RemovalReason::Enclosed), "{:?}", page.removed);
    }
}

#[test]
fn title_between_frame_lines_stays() {
    let page =
        |n: usize| format!("Harbour\n\nAlmanac\n\nWhy the {}lamp burns\n\nShare this\n\n{}", name(n), own(n));
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert!(text.contains(&format!("Why the {}lamp burns", name(n))), "{text}");
    }
}

#[test]
fn blocks_repeated_on_most_pages_are_removed_inside_text() {
    let signature = "Jo of the harbour\nVisit my page about lamps and glass, it is worth it";
    let page = |n: usize| {
        let posts: Vec<String> = (0..4)
            .map(|at| match (n, at) {
                // no other author signs on most pages, and on page 19 only one post is hers
                (0..8, 1 | 3) | (19, 1) => format!("{}\n\n{signature}", own(n * 10 + at)),
                _ => own(n * 10 + at),
            })
            .collect();
        posts.join("\n\n")
    };
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert!(!text.contains("Visit my page") && text.contains("The keeper"), "page {n}: {text}");
        if (8..19).contains(&n) {
            assert_eq!(text, &(0..4).map(|at| own(n * 10 + at)).collect::<Vec<_>>().join("\n\n"));
        }
    }
}

#[test]
fn blocks_repeated_on_few_pages_stay() {
    let note = "This call is out of use since the second edition of the almanac of tables.";
    let page = |n: usize| match n {
        0..6 => format!("{}\n\n{note}\n\n{}\n\n{note}\n\n{}", own(n), own(n + 500), own(n + 900)),
        _ => own(n),
    };
    for text in &clean_texts((0..100).map(page))[..6] {
        assert_eq!(text.matches(note).count(), 2, "{text}");
    }
}

#[test]
fn page_of_frame_only_loses_certain_boilerplate() {
    // each list is on two fifths of the pages, the menu on all
    let list = |n: usize| format!("Lamp offer{0}\nGlass offer{0}\nWick offer{0}\nOil offer{0}", name(n % 2));
    let page = |n: usize| match n {
        0..16 => format!("Harbour Almanac Menu\n\n{}\n\nBack to the top", list(n)),
        _ => format!("Harbour Almanac Menu\n\n{}\n\nBack to the top", own(n)),
    };
    for (n, text) in clean_texts((0..20).map(page)).iter().enumerate() {
        assert_eq!(text, &if n < 16 { list(n) } else { own(n) });
    }
}

#[test]
fn pages_with_the_same_beginning_share_a_frame() {
    let page = |n: usize| {
        let text = if n.is_multiple_of(8) {
            format!(
                "Springen\n\nHandbuch\n\nInhalt\n\nErste Schritte\n\nFehler melden\n\n{}\n\nZuletzt bearbeitet",
                own(n)
            )
        } else {
            format!("Skip\n\nManual\n\nContents\n\nReport a fault\n\n{}\n\nLast edited", own(n))
        };
        // no two pages are in one folder
        (format!("https://h.example/{}/p", name(n)), text)
    };
    let pages: Vec<_> = (0..80).map(page).collect();
    for (n, page) in clean(&pages).iter().enumerate() {
        assert_eq!(page.text, own(n));
    }
}
