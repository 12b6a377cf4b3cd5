use super::*;
use crate::dom::{Limits, parse};

fn count(selector: &str, html: &str) -> usize {
    let mut set = SelectorSet::default();
    set.add(selector, ()).unwrap();
    let dom = parse(html, &Limits::default()).dom;
    let mut hits = 0;
    (0..dom.len()).for_each(|id| set.for_matches(&dom, id, |()| hits += 1));
    let (mut in_order, mut seen) = (0, Pass::default());
    (0..dom.len()).for_each(|id| set.for_matches_in_order(&dom, id, &mut seen, |()| in_order += 1));
    assert_eq!(in_order, hits, "{selector} on {html}");
    hits
}

#[test]
fn selectors_match_compounds_and_descendants() {
    let html =
        "<div id=a class='x y' data-k='one two'><p class=x>1<app-root>2</app-root></p></div><p class=x>3</p>";
    for (selector, hits) in [
        ("#a", 1),
        (".x", 3),
        ("p.x", 2),
        ("#a .x", 1),
        ("div.x.y p", 1),
        ("[data-k]", 1),
        ("[data-k='one two']", 1),
        ("[data-k*=two]", 1),
        ("[data-k^=two]", 0),
        ("app-root", 1),
        ("body #a p app-root", 1),
        ("p #a", 0),
        ("div > p", 1),
        ("body > div > p.x > app-root", 1),
        ("body>p", 1),
        ("#a > app-root", 0),
        ("body #a > p app-root", 1),
        ("div p > app-root", 1),
        ("[data-k$=two]", 1),
        ("[data-k~=one]", 1),
        ("[data-k~=on]", 0),
        ("[data-k=\"one two\"]", 1),
        ("p:not(#a)", 2),
        (".x:not([data-k])", 2),
        (".x:not(p)", 1),
        ("#\\61 ", 1),
        (".\\78", 3),
    ] {
        assert_eq!(count(selector, html), hits, "{selector}");
    }
}

#[test]
fn unsupported_and_invalid_selectors_are_errors() {
    for selector in
        ["a:first-child", "*", "a + b", "a ~ b", "a, b", ":not(a b)", "[a=b i]", "[a='b' i]", "[a|=b]"]
    {
        let refusal = SelectorSet::default().add(selector, ()).unwrap_err();
        assert!(matches!(refusal, Refusal::Unsupported(_)), "{selector}: {refusal}");
    }
    for selector in ["", "#", ".", "a[b", "a >", "> a", "a[=x]", "a[b=]", "a{b", ".a\\", ":not(a"] {
        let refusal = SelectorSet::default().add(selector, ()).unwrap_err();
        assert!(matches!(refusal, Refusal::Wrong(_)), "{selector}: {refusal}");
    }
}

#[test]
fn failed_child_match_is_retried_at_ancestors() {
    // The nearest p is no child of the section; its ancestor is.
    let html = "<section><ins><b id=x><i><b><u>1</u></b></i></b></ins></section>";
    assert_eq!(count("ins > b u", html), 1);
    assert_eq!(count("section > b u", html), 0);
}
