use super::*;

#[test]
fn charset_sources_have_a_fixed_order() {
    assert_eq!(decode(b"\xef\xbb\xbfx", Some("text/html; charset=koi8-r")).source, Source::Bom);
    let page = b"<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2";
    assert_eq!(decode(page, Some("text/html; charset=\"koi8-r\"")).charset, "KOI8-R");
    let decoded = decode(page, None);
    assert_eq!((decoded.charset, decoded.source), ("windows-1251", Source::Meta));
    assert!(decoded.text.ends_with("Привет"));
    assert_eq!(decode("<p>é".as_bytes(), None).charset, "UTF-8");
}

#[test]
fn bytes_win_over_a_wrong_declaration() {
    let decoded = decode("<meta charset=iso-8859-1><p>naïve".as_bytes(), None);
    assert_eq!((decoded.charset, decoded.overridden), ("UTF-8", true));
    assert!(decoded.text.ends_with("naïve"));
}

#[test]
fn template_that_names_windows_1252_does_not_beat_the_guess() {
    let bytes = [b"<meta charset=iso-8859-1><p>".as_slice(), &RUSSIAN.repeat(3)].concat();
    let decoded = decode(&bytes, Some("text/html; charset=utf-8"));
    assert_eq!((decoded.charset, decoded.source), ("windows-1251", Source::Guess));
}

/// "План работы на неделю " in windows-1251.
const RUSSIAN: [u8; 22] = *b"\xcf\xeb\xe0\xed \xf0\xe0\xe1\xee\xf2\xfb \xed\xe0 \xed\xe5\xe4\xe5\xeb\xfe ";

#[test]
fn declaration_of_the_page_is_used_under_a_wrong_header() {
    let decoded = decode(b"<meta charset=windows-1257><p>\xd0urnal\xf8", Some("text/html; charset=utf-8"));
    assert_eq!((decoded.charset, decoded.source, decoded.overridden), ("windows-1257", Source::Meta, true));
    let decoded = decode("<meta charset=utf-8><p>naïve".as_bytes(), Some("text/html; charset=iso-8859-1"));
    assert_eq!((decoded.charset, decoded.source), ("UTF-8", Source::Meta));
}

#[test]
fn utf_16_and_iso_2022_jp_are_known_without_a_declaration() {
    let page = "<!doctype html><meta charset=utf-16><p>Привет";
    let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (bytes, name) in [(little, "UTF-16LE"), (big, "UTF-16BE")] {
        for header in [None, Some("text/html; charset=utf-8")] {
            let decoded = decode(&bytes, header);
            assert_eq!((decoded.charset, &*decoded.text), (name, page));
        }
    }
    let japanese = encoding_rs::ISO_2022_JP.encode("<p>これは日本語の文章です。").0;
    assert_eq!(decode(&japanese, None).text, "<p>これは日本語の文章です。");
    assert_eq!(decode(b"<p>\x1b[1m", None).text, "<p>\u{1b}[1m");
}

#[test]
fn declarations_have_the_label_that_decoding_reads() {
    let of = |page: &str, header: Option<&str>| {
        let found = declarations(page.as_bytes(), header).into_iter();
        found.map(|found| (found.source, found.label, found.charset)).collect::<Vec<_>>()
    };
    let of_page = |label: &str, charset| vec![(Source::Meta, label.to_owned(), charset)];
    assert_eq!(of("<meta charset=ISO-8859-1>", None), of_page("iso-8859-1", Some("windows-1252")));
    assert_eq!(of("<meta charset=utf8x>", None), of_page("utf8x", None));
    assert_eq!(of("<meta charset=utf8x><meta charset=big5>", None), of_page("big5", Some("Big5")));
    assert_eq!(
        of("<!-- <meta charset=koi8-r> --><meta name=x content='a; charset=koi8-r'>", None),
        Vec::new()
    );
    assert_eq!(of("<?xml version='1.0' encoding='x'?><p>", None), Vec::new());
    assert_eq!(of("<?xml version='1.0' encoding='utf-16'?><p>", None), of_page("utf-16", Some("UTF-8")));
    let both = of("<meta charset=utf-8>", Some("text/html; charset=nope; charset=latin1"));
    assert_eq!(both[0], (Source::Header, "latin1".to_owned(), Some("windows-1252")));
    assert_eq!(both[1].1, "utf-8");
}

#[test]
fn prescan_follows_the_standard() {
    let find = |page: &str| prescan(page.as_bytes()).map(Encoding::name);
    assert_eq!(find("<!-- <meta charset=koi8-r> --><meta charset='big5'>"), Some("Big5"));
    assert_eq!(find("<meta content='text/html; charset=euc-kr'>"), None);
    assert_eq!(find("<meta http-equiv=Content-Type content='text/html; charset=euc-kr'>"), Some("EUC-KR"));
    assert_eq!(find("<a title='<meta charset=big5>'><meta charset=utf-16>"), Some("UTF-8"));
    assert_eq!(find("<?xml version='1.0' encoding='shift_jis'?><html>"), Some("Shift_JIS"));
}
