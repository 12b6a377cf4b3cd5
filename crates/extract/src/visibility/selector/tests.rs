use super::*;
use crate::dom::{Limits, parse as parse_html};

const PAGE: &str = "<html class=no-js lang=de-AT><body><div id=a class='x y'><p>1</p><p class=z data-k='Ab c'>2</p><span>3</span></div>\
    <input type=checkbox checked id=c><div class=more lang=EN dir=rtl><a href=/>l</a><b></b></div><u dir=rtl><i dir=foo>4</i><bdi>5</bdi></u></body></html>";

/// Text or id of the matching elements.
fn matched(selector: &str) -> Vec<String> {
    let dom = parse_html(PAGE, &Limits::default()).dom;
    let tree = Tree::new(&dom);
    let list = parse(selector, None).unwrap_or_default();
    let all = (1..dom.len())
        .filter(|id| !dom.name(*id).is_empty() && list.iter().any(|one| tree.matches(one, *id)));
    all.map(|id| format!("{}{}", dom.name(id), dom.raw_text(id))).collect()
}

#[test]
fn selectors_match_as_in_a_browser() {
    for (selector, expected) in [
        ("p", &["p1", "p2"][..]),
        ("#a > p", &["p1", "p2"]),
        ("body .x.y P.z", &["p2"]),
        ("p + p", &["p2"]),
        ("p ~ span", &["span3"]),
        ("span ~ p", &[]),
        ("p:first-child, span:last-child", &["p1", "span3"]),
        ("p:nth-child(2n)", &["p2"]),
        ("p:nth-last-of-type(1)", &["p2"]),
        ("p:nth-child(-n-2147483647)", &[]),
        ("p:nth-child(-n-2147483646), p:nth-child(n + 2147483647)", &[]),
        ("p:nth-child(n-2147483648)", &["p1", "p2"]),
        ("p:not(.z)", &["p1"]),
        ("div:is(.x,.more):not(:has(a))", &["div123"]),
        ("div:has(> p.z)", &["div123"]),
        ("div:has(> a)", &["divl"]),
        ("#c:checked ~ .more", &["divl"]),
        ("[data-k^=Ab]", &["p2"]),
        ("[data-k=\"ab c\" i]", &["p2"]),
        ("[data-k~=c]", &["p2"]),
        ("b:empty", &["b"]),
        (":link", &["al"]),
        ("a:hover", &[]),
        (".no-js p", &[]),
        (":root p.z", &["p2"]),
        (r"p.\7a", &["p2"]),
        ("p::before", &[]),
        ("p:is(:unknown, .z, > b, ::before)", &["p2"]),
        ("p:where(.y .z, :unknown(.a,.b))", &["p2"]),
        ("p:not(.z, :unknown)", &[]),
        ("p:is(:unknown)", &[]),
        ("p:lang(de)", &["p1", "p2"]),
        ("p:lang(\"fr\", DE)", &["p1", "p2"]),
        ("p:lang(de-CH), p:lang(d), p:lang(fr)", &[]),
        ("a:lang(en), b:lang('*')", &["al", "b"]),
        ("p:not(:lang(fr))", &["p1", "p2"]),
        ("p:dir(ltr)", &["p1", "p2"]),
        ("b:dir(rtl), p:dir(rtl)", &["b"]),
        ("p:dir(auto)", &[]),
        ("i:dir(rtl)", &["i4"]),
        ("bdi:dir(ltr), bdi:dir(rtl)", &[]),
        ("p:not(:is(:unknown, .z))", &[]),
        ("p, p::after", &["p1", "p2"]),
        // no browser takes these
        ("p, :unknown", &[]),
        ("p > > p", &[]),
        ("> p", &[]),
        ("p,", &[]),
        ("", &[]),
    ] {
        assert_eq!(matched(selector), expected, "{selector}");
    }
}

#[test]
fn specificity_counts_ids_classes_and_tags() {
    let of = |selector: &str| parse(selector, None).unwrap().first().unwrap().specificity;
    assert!(of("#a") > of(".a.b.c p") && of(".a") > of("html body p"));
    assert_eq!(of(":where(#a) p"), of("p"));
    assert_eq!(of(":is(#a, p)"), of("#a"));
    assert_eq!(of(":not(.a)"), of(".a"));
}

#[test]
fn specificity_of_many_ids_does_not_overflow() {
    let ids = format!("{} {}", "#a".repeat(24), ":is(#b#b#b#b#b#b#b#b)".repeat(24));
    let mut outer = parse(&ids, None).unwrap();
    for _ in 0..31 {
        outer = parse(&ids, Some(&outer)).unwrap();
    }
    assert_eq!(outer[0].specificity, u32::MAX);
}

#[test]
fn nested_rules_match() {
    let dom = parse_html(PAGE, &Limits::default()).dom;
    let tree = Tree::new(&dom);
    let outer = parse(".x", None).unwrap();
    let p = (1..dom.len()).find(|id| dom.name(*id) == "p").unwrap();
    for (inner, holds) in
        [("& > p", true), ("p", true), ("&.p", false), ("> p", true), (".y", false), ("&.y p", true)]
    {
        let list = parse(inner, Some(&outer)).unwrap();
        assert_eq!(list.iter().any(|one| tree.matches(one, p)), holds, "{inner}");
    }
}

#[test]
fn long_attributes_take_steps() {
    let words = (0..40_000).map(|i| format!("c{i} ")).collect::<String>();
    let dom = parse_html(&format!("<p class='{words}' title='{words}'>x</p>"), &Limits::default()).dom;
    let p = (1..dom.len()).find(|id| dom.name(*id) == "p").unwrap();
    for test in [".c1.z", "[title~=z]", "[title*=z i]"] {
        let tree = Tree::new(&dom);
        let list = parse(test, None).unwrap();
        let tries = (0..20_000).take_while(|_| !tree.is_exhausted());
        assert!(tries.filter(|_| !tree.matches(&list[0], p)).count() < 5_000, "{test}");
    }
}

#[test]
fn selector_matching_steps_are_bounded() {
    let html = format!("<div>{}</div>", "<p class=b>x</p>".repeat(5000));
    let dom = parse_html(&html, &Limits::default()).dom;
    let tree = Tree::new(&dom);
    let list = parse(".a ~ .b ~ .b", None).unwrap();
    let started = cpu_time::ThreadTime::now();
    for id in 1..dom.len() {
        assert!(!tree.matches(&list[0], id));
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}
