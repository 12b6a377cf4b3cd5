use super::*;

fn canonical(text: &str) -> String {
    Canonicalizer::default().parse(text).unwrap().to_string()
}

#[test]
fn url_variants_have_one_canonical_url() {
    for (given, expected) in [
        ("HTTP://User:pw@Example.ORG:80", "http://example.org/"),
        // the user name begins like the host
        ("http://exn--les@EX", "http://ex/"),
        ("http://ex:pw@ex/", "http://ex/"),
        ("https://example.org./a#b", "https://example.org/a"),
        ("http://bücher.test/", "http://xn--bcher-kva.test/"),
        ("http://h/a/./b/../c//d///", "http://h/a/c/d/"),
        ("http://h/web/2020/https://x.org//a", "http://h/web/2020/https://x.org/a"),
        ("http://h/%7euser/%C3%a9%2f%zz", "http://h/~user/%C3%A9%2F%25zz"),
        ("http://h/a?", "http://h/a"),
        ("http://h/a?b=2&a=1&&c", "http://h/a?a=1&b=2&c"),
        ("http://h/a?x=2&x=1&a[]=3", "http://h/a?a[]=3&x=2&x=1"),
        ("http://h/a?utm_source=x&UTM_Medium=y&fbclid=z", "http://h/a"),
        ("http://h/a?sid=12&sid=0123456789abcdef0123", "http://h/a?sid=12"),
        ("http://h/?s=vaccination2021study", "http://h/?s=vaccination2021study"),
        ("http://h/?s=k2f7p0q4m9c1x8v3b6n5z1a2", "http://h/"),
        ("http://h/?sc_lang=de-DE&sc_cid=4", "http://h/?sc_lang=de-DE"),
        ("http://h/a;jsessionid=1A?p", "http://h/a?p"),
        ("http://h/a;v=1;JSESSIONID=2/b;c", "http://h/a;v=1/b;c"),
        ("http://h/a?q=a%26b|c^{d}", "http://h/a?q=a%26b%7Cc%5E%7Bd%7D"),
        ("http://h/a?q=%66oo+bar%20", "http://h/a?q=foo+bar%20"),
        ("https://ü../", "https://xn--tda/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://h/index.html", "http://h/index.html"),
    ] {
        assert_eq!(canonical(given), expected, "{given}");
        assert_eq!(canonical(expected), expected, "again: {expected}");
    }
}

#[test]
fn uncrawlable_urls_are_refused_by_kind() {
    let canonicalizer = Canonicalizer::default();
    let base = Url::parse("http://h/a/b").unwrap();
    for (reference, expected) in [
        ("mailto:a@b.c", UrlRefusal::Scheme),
        (" JaVa\tScript:alert(1)", UrlRefusal::Scheme),
        ("data:text/html,x", UrlRefusal::Scheme),
        ("ftp://h/", UrlRefusal::Scheme),
        ("view-source:http://h/", UrlRefusal::Scheme),
        ("http://[bad/", UrlRefusal::Invalid),
        ("https://..#", UrlRefusal::Invalid),
        ("http://ho%20st/", UrlRefusal::Invalid),
        // a name with its dots, an invalid address without them
        ("http://me:pw@ex.7../", UrlRefusal::Invalid),
        (&"a".repeat(5_000), UrlRefusal::TooLong),
        (&"é".repeat(2_000), UrlRefusal::TooLong),
    ] {
        assert_eq!(canonicalizer.join(&base, reference), Err(expected), "{reference:.40}");
    }
    assert_eq!(canonicalizer.join(&base, "../c?b&a#d").unwrap().as_str(), "http://h/c?a&b");
}

#[test]
fn canonical_url_is_not_rewritten() {
    let canonicalizer = Canonicalizer::default();
    let url = Url::parse("https://www.example.org/docs/guide/chapter-4/section.html?lang=en&page=2").unwrap();
    assert!(canonicalizer.rewritten(&url).unwrap().is_none());
}
