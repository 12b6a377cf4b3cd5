use super::*;
use std::io::Write;

#[test]
fn seed_file_allows_bom_crlf_comments_and_blank_lines() {
    let text =
        "\u{feff}https://a.test/x\r\n\r\n# note\r\n  b.test  \r\nht tp://bad\nmailto:x@y.z\nc.test:8080/p";
    let seeds = parse(text.as_bytes(), false).unwrap();
    let urls: Vec<_> = seeds.seeds.iter().map(|s| (s.url.as_str(), s.bare)).collect();
    assert_eq!(
        urls,
        [("https://a.test/x", false), ("https://b.test/", true), ("https://c.test:8080/p", true)]
    );
    assert_eq!(seeds.bad.iter().map(|b| b.number).collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn invisible_characters_around_a_seed_are_no_part_of_it() {
    // files that were joined have a byte order mark in the middle
    let text = "a.test/x\u{200b}\n\u{feff}b.test/y\u{a0}\n\u{2060}c.test/z\n";
    let seeds = parse(text.as_bytes(), false).unwrap();
    let urls: Vec<_> = seeds.seeds.iter().map(|seed| seed.url.as_str()).collect();
    assert_eq!(urls, ["https://a.test/x", "https://b.test/y", "https://c.test/z"]);
}

#[test]
fn a_seed_file_in_another_encoding_is_refused() {
    let seeds = parse(&b"a.test/\xfc\n# \xfc\nb.test\n"[..], false).unwrap();
    assert_eq!((seeds.seeds.len(), seeds.bad.len()), (1, 1));
    assert!(seeds.bad[0].problem.contains("save the file as UTF-8"), "{}", seeds.bad[0]);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), b"\xff\xfea\0.\0t\0\n\0").unwrap();
    let failure = of_names(&[file.path().to_owned()], |_| {}).unwrap_err();
    assert!(failure.error.to_string().ends_with("the file is UTF-16; save it as UTF-8"), "{}", failure.error);
}

#[test]
fn a_cookie_file_is_no_seed_file_and_its_secrets_are_not_told() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "# Netscape HTTP Cookie File\na.test\tFALSE\t/\tFALSE\t0\tsid\ts3cret\n").unwrap();
    let mut told = Vec::new();
    let failure =
        of_names(&[file.path().to_owned()], |line| told.push(line.to_owned())).unwrap_err().error.to_string();
    assert!(failure.contains("name it as cookies_file in fetch.auth"), "{failure}");
    let mixed = parse(&b"a.test\nb.test\tFALSE\t/\tFALSE\t0\tsid\ts3cret\n"[..], false).unwrap();
    let table = parse(&b"https://a.test/\tb\tc\td\te\tf\tg\n"[..], false).unwrap();
    assert!(table.bad[0].problem.contains("more words after the URL"), "{}", table.bad[0]);
    told.push(mixed.bad[0].to_string());
    assert!(!told.concat().contains("s3cret"), "{told:?}");
}

#[test]
fn urls_and_hosts_are_distinguished_from_files() {
    let urls = [
        "https://a.test/x",
        "HTTP://a.test",
        "example.org",
        "example.org/docs/a.txt",
        "example.org:8080",
        "127.0.0.1:80/x",
        "[::1]:80",
        "localhost:3000/x",
        "bücher.example",
        "a.xn--p1ai/",
    ];
    for url in urls {
        assert_eq!(as_url(Path::new(url)), Some(url), "{url}");
    }
    let files = [
        "-",
        "urls",
        "urls.txt",
        "seeds.jsonl",
        "urls.txt.gz",
        "urls.xlsx",
        "sitemap.xml",
        "docs/example.org",
        "./example.org",
        "/srv/example.org",
        "../a.test",
        "1.2",
        "v1.0",
        "u:s3cret@a.test",
        "extract",
        "a b.test",
        "ftp://a.test/",
    ];
    for file in files {
        assert_eq!(as_url(Path::new(file)), None, "{file}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("example.org");
    fs::write(&file, "a.test\n").unwrap();
    assert_eq!(as_url(&file), None, "a file has the name");
}

#[test]
fn seed_with_password_is_refused_without_repeating_it() {
    let text =
        format!("http://u:s3cret@a.test/\nu:s3cret@a.test\nhttp://u:{}s3cret@a.test/\n", "x".repeat(90));
    let seeds = parse(text.as_bytes(), false).unwrap();
    assert!(seeds.seeds.is_empty());
    let told: Vec<String> = seeds.bad.iter().map(ToString::to_string).collect();
    assert!(
        told[0].starts_with("line 1: \"http://…@a.test/\": credentials in URLs are not allowed"),
        "{told:?}"
    );
    assert!(told.len() == 3 && !told.concat().contains("s3cret") && !told.concat().contains('x'), "{told:?}");
}

#[test]
fn rows_of_a_table_are_no_urls() {
    let text = &b"url,title\nhttps://a.test/,Pears\nhttps://b.test/\n"[..];
    let seeds = parse(text, true).unwrap();
    assert_eq!((seeds.seeds.len(), seeds.bad.len()), (1, 2));
    assert!(seeds.bad[1].problem.contains("write only the URL"), "{}", seeds.bad[1]);
    let text = &b"https://a.test/report-1518,29.html\nhttps://b.test/?at=1,2\n"[..];
    let seeds = parse(text, true).unwrap();
    assert_eq!((seeds.seeds.len(), seeds.bad.len()), (2, 0), "a URL may contain commas");
}

#[test]
fn gzip_is_recognised_and_may_have_several_members() {
    let mut bytes = Vec::new();
    for part in ["a.test\n", "b.test\n"] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(part.as_bytes()).unwrap();
        bytes.extend(gz.finish().unwrap());
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    assert_eq!(read(file.path()).unwrap().seeds.len(), 2);
}

#[test]
fn overlong_seed_line_is_one_bad_line() {
    let text = format!("{}\nok.test\n", "x".repeat(200_000));
    let seeds = parse(text.as_bytes(), false).unwrap();
    assert_eq!((seeds.seeds.len(), seeds.bad.len(), seeds.bad[0].number), (1, 1, 1));
}
