//! Lists of the page's own sections in the mode `site`: beside the text they are frame, inside it content.

mod support;

use crawl_dedup::{FingerprintSettings, PageText, batch::clean_site};
use support::{name, own};

/// Names of the sections of a page.
fn names(n: usize) -> Vec<String> {
    (0..4).map(|at| name(n * 9 + at)).map(|n| format!("Lamp{n} glass{n}")).collect()
}

/// Sections of a page under their names.
fn sections(n: usize) -> String {
    let named = names(n).into_iter().enumerate();
    named.map(|(at, name)| format!("{name}\n\n{}", own(n * 9 + at))).collect::<Vec<_>>().join("\n\n")
}

/// Cleans pages of one folder with uninformative URLs.
fn clean(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let texts: Vec<(String, String)> =
        texts.into_iter().enumerate().map(|(n, text)| (format!("https://h.example/x/{n}"), text)).collect();
    let pages: Vec<PageText<'_>> =
        texts.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
    let cleaned = clean_site("h.example", &pages, &FingerprintSettings::default()).0;
    cleaned.into_iter().map(|page| page.text).collect()
}

#[test]
fn section_list_between_frame_and_title_is_removed() {
    let title = |n: usize| format!("Keeper{}", name(n));
    for lead in ["", "Overview\n", "- "] {
        let page = |n: usize| {
            let list = names(n).join(if lead == "- " { "\n- " } else { "\n" });
            format!("Harbour\n\nAlmanac\n\nOn this page\n\n{lead}{list}\n\n{}\n\n{}", title(n), sections(n))
        };
        for (n, text) in clean((0..20).map(page)).iter().enumerate() {
            assert_eq!(text, &format!("{}\n\n{}", title(n), sections(n)), "{lead:?}");
        }
    }
}

#[test]
fn section_list_between_text_and_frame_is_removed() {
    let page = |n: usize| {
        // one part of the list is indented, and thus a block of its own
        let names = names(n);
        let list = format!("{}\n\n{}", names[0], names[1..].join("\n"));
        format!(
            "Harbour\n\n{}\n\nOn this page\n\n{list}\n\nReport a fault\n\nThe harbour office",
            sections(n)
        )
    };
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert_eq!(text, &sections(n));
    }
}

#[test]
fn a_list_right_above_its_sections_stays() {
    let page = |n: usize| format!("Harbour\n\nAlmanac\n\n{}\n\n{}", names(n).join("\n"), sections(n));
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert_eq!(text, &format!("{}\n\n{}", names(n).join("\n"), sections(n)));
    }
}

#[test]
fn lines_that_name_no_section_stay() {
    // they stand again without text between them
    let page = |n: usize| {
        let (lines, blocks) = (names(n).join("\n"), names(n).join("\n\n"));
        format!("Harbour\n\nAlmanac\n\n{lines}\n\nKeeper{}\n\n{}\n\n{blocks}", name(n), own(n))
    };
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert!(text.starts_with(&names(n).join("\n")), "{text}");
    }
    // tags under the entries of a list stand there more than once
    let page = |n: usize| {
        let entries = (0..20).map(|at| format!("{}\n\n{}", names(n)[at / 5], own(n * 20 + at)));
        let entries = entries.collect::<Vec<_>>().join("\n\n");
        format!("Harbour\n\nAlmanac\n\n{}\n\nKeeper{}\n\n{entries}", names(n).join("\n"), name(n))
    };
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert!(text.starts_with(&names(n).join("\n")), "{text}");
    }
}

#[test]
fn a_list_of_two_lines_stays() {
    let page = |n: usize| {
        let named = &names(n)[..2];
        let sections = named.iter().enumerate().map(|(at, name)| format!("{name}\n\n{}", own(n * 9 + at)));
        let sections = sections.collect::<Vec<_>>().join("\n\n");
        format!("Harbour\n\nAlmanac\n\n{}\n\nKeeper{}\n\n{sections}", named.join("\n"), name(n))
    };
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert!(text.starts_with(&names(n)[..2].join("\n")), "{text}");
    }
}

#[test]
fn section_list_of_markdown_headings_is_removed() {
    let page = |n: usize| {
        let sections = names(n).into_iter().enumerate();
        let sections = sections.map(|(at, name)| format!("## {name}\n\n{}", own(n * 9 + at)));
        format!("# Keeper{}\n\n{}", name(n), sections.collect::<Vec<_>>().join("\n\n"))
    };
    let links = |n: usize| {
        let links = names(n).into_iter().enumerate().map(|(at, name)| format!("- [{name}](#s{at})"));
        links.collect::<Vec<_>>().join("\n")
    };
    let whole = |n: usize| format!("Harbour\n\nAlmanac\n\n{}\n\n{}", links(n), page(n));
    for (n, text) in clean((0..20).map(whole)).iter().enumerate() {
        assert_eq!(text, &page(n));
    }
}

#[test]
fn section_list_in_chinese_is_removed() {
    let digits: Vec<char> = "零一二三四五六七八九".chars().collect();
    let han = |n: usize| -> String {
        n.to_string().bytes().map(|digit| digits[usize::from(digit - b'0')]).collect()
    };
    let named = |n: usize| (0..4).map(|at| format!("{}号灯塔", han(n * 9 + at))).collect::<Vec<_>>();
    let page = |n: usize| {
        let told = |name: &str| {
            format!(
                "守塔人在{name}的第一页上写道，这座老房子是怎样建在谁也没有想到的地方的，为它付了多少钱，又是谁把它带回家的，{name}的事情后来再也没有人提起过。"
            )
        };
        let sections = named(n).into_iter().map(|name| format!("{name}\n\n{}", told(&name)));
        format!("守塔人{}\n\n{}", han(n), sections.collect::<Vec<_>>().join("\n\n"))
    };
    let whole = |n: usize| format!("港口\n\n年鉴\n\n{}\n\n{}", named(n).join("\n"), page(n));
    for (n, text) in clean((0..20).map(whole)).iter().enumerate() {
        assert_eq!(text, &page(n));
    }
}

#[test]
fn section_list_may_have_one_line_out_of_order() {
    // "Overview" is the first line of the list, and a label at the end of the text
    let page = |n: usize| {
        let title = format!("Keeper{}", name(n));
        let text = format!("{title}\n\n{}\n\nOverview\n\n{}", sections(n), own(n * 9 + 5));
        (format!("Harbour\n\nAlmanac\n\nOverview\n{}\n\n{text}", names(n).join("\n")), text)
    };
    for (n, text) in clean((0..20).map(|n| page(n).0)).iter().enumerate() {
        assert_eq!(text, &page(n).1);
    }
}

/// A page whose list names a last section of several pages.
fn with_thanks(n: usize, list: &str, thanks: &str, foot: &str) -> String {
    format!("Harbour\n\nAlmanac\n\nKeeper{}\n\n{list}{}{thanks}{foot}", name(n), sections(n))
}

#[test]
fn last_section_named_in_the_list_stays() {
    let notice = "Printed by leave of the harbour\n(a) for no pay\n(b) with this notice";
    let thanks = |n: usize| {
        let thanks = format!("\n\nThanks\n\nTold by jo{}\n\n{notice}", name(n));
        if n < 12 { thanks } else { String::new() }
    };
    let list = |n: usize| {
        let more = if n < 12 { "\nThanks" } else { "" };
        format!("Contents\n\n{}{more}\n\n", names(n).join("\n"))
    };
    for foot in ["\n\nThe harbour office", ""] {
        let page = |n: usize, list: &str| with_thanks(n, list, &thanks(n), foot);
        for (n, text) in clean((0..20).map(|n| page(n, &list(n)))).iter().enumerate() {
            assert!(text.ends_with(&format!("{}{}", sections(n), thanks(n))), "{foot:?}: {text}");
            assert!(!text.contains("harbour office"), "{text}");
        }
        // without the list it looks like the frame
        for text in clean((0..20).map(|n| page(n, ""))) {
            assert!(!text.contains(notice), "{foot:?}: {text}");
        }
    }
}

#[test]
fn footer_with_gaps_ends_below_the_last_section() {
    let list = |n: usize, more: &str| format!("Contents\n\n{}{more}\n\n", names(n).join("\n"));
    let thanks = "\n\nThanks\n\nBy leave given\n(a) no pay asked";
    let page = |n: usize| {
        let foot = format!("\n\nReport a fault here\n\nMoon{0}\n\nTide{0}\n\nThe harbour office", name(n));
        if n < 16 {
            with_thanks(n, &list(n, "\nThanks"), thanks, &foot)
        } else {
            with_thanks(n, &list(n, ""), "", &foot)
        }
    };
    for (n, text) in clean((0..20).map(page)).iter().enumerate() {
        assert_eq!(text.contains(thanks), n < 16, "{text}");
        assert!(!text.contains("harbour office"), "{text}");
    }
}

#[test]
fn section_shared_by_all_pages_is_removed() {
    let notice = "Printed by leave of the harbour\n(a) for no pay\n(b) with this notice";
    let thanks = format!("\n\nThanks\n\n{notice}");
    let list = |n: usize| format!("Contents\n\n{}\nThanks\n\n", names(n).join("\n"));
    for (n, text) in clean((0..20).map(|n| with_thanks(n, &list(n), &thanks, ""))).iter().enumerate() {
        assert!(text.ends_with(&sections(n)), "{text}");
    }
}

#[test]
fn unique_sentence_above_the_title_stays() {
    let text = |n: usize, above: &str| format!("{above}\n\nferry{n} notes\n\n{}", own(n));
    let pages = |above: &dyn Fn(usize) -> String| {
        let texts = (0..20).map(|n| {
            let url = format!("https://h.example/x/ferry{n}-notes");
            (url, format!("Harbour\n\nAlmanac\n\nTide tables\n\n{}", text(n, &above(n))))
        });
        let texts: Vec<(String, String)> = texts.collect();
        let pages: Vec<PageText<'_>> =
            texts.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
        let cleaned = clean_site("h.example", &pages, &FingerprintSettings::default()).0;
        cleaned.into_iter().map(|page| page.text).collect::<Vec<_>>()
    };
    let sentence = |n: usize| format!("Crew{0}\n\nThe boat {0} sails around lamp{0} at night.", name(n));
    for (n, cleaned) in pages(&sentence).iter().enumerate() {
        assert_eq!(cleaned, &text(n, &sentence(n)));
    }
    let menu = |n: usize| format!("Crew{0}\n\nboats around lamp{0} at night", name(n));
    for (n, cleaned) in pages(&menu).iter().enumerate() {
        assert_eq!(cleaned, &format!("ferry{n} notes\n\n{}", own(n)));
    }
}

#[test]
fn menu_above_a_question_title_is_removed() {
    for mark in ["", "# "] {
        let title = |n: usize| format!("{mark}How does ferry{n} cross the bay by night?");
        let texts = (0..20).map(|n| {
            let url = format!("https://h.example/x/how-does-ferry{n}-cross-the-bay-by-night");
            let menu = format!("Crew{0}\n\nboats around lamp{0} at night", name(n));
            (url, format!("Harbour\n\nAlmanac\n\nTide tables\n\n{menu}\n\n{}\n\n{}", title(n), own(n)))
        });
        let texts: Vec<(String, String)> = texts.collect();
        let pages: Vec<PageText<'_>> =
            texts.iter().map(|(url, content)| PageText { content, url, ..PageText::default() }).collect();
        let cleaned = clean_site("h.example", &pages, &FingerprintSettings::default()).0;
        for (n, page) in cleaned.iter().enumerate() {
            assert_eq!(page.text, format!("{}\n\n{}", title(n), own(n)));
        }
    }
}
