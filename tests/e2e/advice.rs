//! Messages that name the remedy: wrong values, seeds, credentials, and what a run wrote beside its output.

use crate::{
    run::{Sandbox, run},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use std::{fmt::Write as _, fs};

#[test]
fn wrong_words_of_a_command_are_refused_with_the_right_ones() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("rules")).unwrap();
    sandbox.write(
        "rules/sites.toml",
        "[[site]]\nmatch = \"a.test:8080\"\n[[site.template]]\ncontent = [\"p\"]\n",
    );
    sandbox.write("cookies.txt", "a.test\tFALSE\t/\tFALSE\t0\tsid\ts3cret\n");
    let url = "http://127.0.0.1:9/";
    for (words, told) in [
        (&[url, "--delay", "0.2"][..], "write \"0.2s\" for seconds"),
        (&[url, "--min-age", "1d"], "write \"24h\""),
        (&[url, "--include", "*.html"], "a regular expression, not a glob"),
        (&[url, "--strategy", "browser"], "did you mean \"chrome\"?"),
        (&[url, "--proxy", "10.0.0.1:3128"], "such as http://proxy.example:3128"),
        (&[url, "--log-level", "verbose"], "\"verbose\" is not a level; known are off, error"),
        (&[url, "--warc", "a.warc.gz", "-o", "out.jsonl"], "name a folder, such as archive/"),
        (&[url, "--rules", "rules/sites.toml"], "name the directory of the file"),
        (&[url, "--rules", "nowhere"], "there is no directory of rules"),
        (&["check", "rules", "rules"], "write it without scheme, port and path"),
        (&["extract", url, url], "crawl URL URL --depth 0"),
        (&["http://a.test/x\\_(y)"], "write _ instead of \\_ (Markdown)"),
        (&["--seed", "http://a.test/?a=1&amp;b=2"], "write &"),
        (&["cookies.txt"], "name it as cookies_file in fetch.auth"),
        (&["retry-errors", url, "--kind", "timeot"], "did you mean \"timeout\"?"),
        (&["-"], "standard input: no usable line"),
        (&["status", url], "or its directory with --state-dir"),
    ] {
        let said = run(sandbox.bare().args(words)).expect(2).stderr;
        assert!(said.contains(told) && !said.contains("s3cret"), "{words:?}: {said}");
    }
    assert!(!sandbox.path("a.warc.gz").exists());
}

#[test]
fn status_of_a_directory_names_the_flag() {
    let server = Server::start(0, |_: &Request| Response::html(page("the start page", &[]))).unwrap();
    let sandbox = Sandbox::new();
    run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0);
    let said = run(sandbox.bare().args(["status", "--seed", "state"])).expect(2).stderr;
    assert!(said.contains("did you mean --state-dir state?"), "{said}");
}

#[test]
fn credentials_that_no_seed_gets_are_named() {
    let server = Server::start(0, |_: &Request| Response::html(page("the start page", &[]))).unwrap();
    let sandbox = Sandbox::new();
    let said = |site: &str, cookie: &str| {
        sandbox.write("cookies.txt", cookie.replace(' ', "\t") + "\n");
        let auth = format!("[fetch]\nauth = [{{ site = \"{site}\", cookies_file = \"cookies.txt\" }}]\n");
        sandbox.write("crawl.toml", auth);
        let flags = ["-o", "out.jsonl", "--config", "crawl.toml", "--fresh"];
        run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0).stderr
    };
    let right = "127.0.0.1 FALSE / FALSE 0 sid 1";
    assert!(!said(&server.url("/"), right).contains("WARN"));
    let other = said("http://127.0.0.1/", right);
    assert!(other.contains("is not sent to the seed") && other.contains("have to be equal"), "{other}");
    let expired = said(&server.url("/"), "127.0.0.1 FALSE / FALSE 1000 sid 1");
    assert!(expired.contains("are expired: export them again"), "{expired}");
    assert!(said(&server.url("/"), ".a.test TRUE / FALSE 0 sid 1").contains("has no cookie of this host"));
}

#[test]
fn summary_names_the_archive_and_the_project() {
    let server = Server::start(0, |_: &Request| Response::html(page("the start page", &[]))).unwrap();
    let sandbox = Sandbox::new();
    let row = |said: &str, name: &str| said.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    let plain = run(&mut sandbox.crawl(&[server.url("/")], &["-o", "out.jsonl"])).expect(0).stderr;
    assert_eq!((row(&plain, "  archive"), row(&plain, "  project")), (None, None), "{plain}");
    let flags =
        ["-o", "out.jsonl", "--fresh", "--warc", "kept", "--project", "harbour", "--database", "p.sqlite"];
    let said = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0).stderr;
    assert!(row(&said, "  archive").is_some_and(|row| row.ends_with("/kept")), "{said}");
    assert_eq!(row(&said, "  project").as_deref(), Some("  project    harbour"), "{said}");
}

#[test]
fn check_charset_prints_what_is_declared() {
    let sandbox = Sandbox::new();
    let check = |page: &[u8], header: Option<&str>| {
        sandbox.write("page.html", page);
        let flags = header.map(|header| ["--content-type", header]);
        run(sandbox.bare().args(["check", "charset", "page.html"]).args(flags.iter().flatten()))
            .expect(0)
            .stdout
    };
    let latin = check(b"<meta charset=ISO-8859-1><p>caf\xe9", None);
    assert_eq!(
        latin,
        "windows-1252 (declared in the page)\n  the page declares \"iso-8859-1\", which means windows-1252\n"
    );
    assert_eq!(check(b"<meta charset=utf-8><p>x", None), "UTF-8 (declared in the page)\n");
    let unknown = check(b"<meta charset='utf8\nx'><p>caf\xe9", Some("text/html; charset=nope"));
    assert!(unknown.contains("  the header declares \"nope\", which is no known charset\n"), "{unknown}");
    assert!(unknown.contains("  the page declares \"utf8\\nx\", which is no known charset\n"), "{unknown}");
    let wrong = check("<meta charset=windows-1251><p>naïve".as_bytes(), None);
    assert!(wrong.contains("  the page declares \"windows-1251\"\n"), "{wrong}");
}

#[test]
fn page_of_a_site_says_how_many_templates_it_leaves_out() {
    let sandbox = Sandbox::new();
    const WORDS: [&str; 11] =
        ["boat", "quay", "lamp", "rope", "tide", "mast", "keel", "gull", "pier", "crane", "buoy"];
    let mut lines = String::new();
    for n in 0..33 * 6 {
        let template = n / 6;
        // no two pages have the same words
        let words: Vec<&str> = (0..60).map(|word| WORDS[(n * (word + 1) + word * word) % 11]).collect();
        let words = format!("{} {}", words.join(" "), WORDS[n / 11 % 11]);
        let html = format!(
            "<div class=wrap><div class=t{template}><p>The {words}.</p></div></div><p>The foot of the site is the same.</p>"
        );
        let line = serde_json::json!({"url": format!("http://a.test/{n}"), "html": html});
        writeln!(lines, "{line}").unwrap();
    }
    sandbox.write("pages.jsonl", lines);
    let page = run(sandbox.bare().args(["site", "pages.jsonl", "--html"])).expect(0).stdout;
    let shown = page.matches("<article").count();
    assert_eq!(shown, 30, "{page}");
    assert!(page.contains("3 smaller templates not shown; --json has all"), "{page}");
}

/// Twin pages, which differ in numbers, leave no place at which most text is own. The row does not say that nothing differs.
#[test]
fn site_without_a_known_place_of_content_says_so() {
    let sandbox = Sandbox::new();
    let words = ["boat", "quay", "lamp", "rope", "tide", "boat", "quay", "lamp"];
    let mut lines = String::new();
    for (n, word) in words.iter().enumerate() {
        let html = format!(
            "<main><p>The {word} number {n} was seen at the pier in the week {n} of the year.</p></main>"
        );
        writeln!(lines, "{}", serde_json::json!({"url": format!("http://a.test/{n}"), "html": html}))
            .unwrap();
    }
    sandbox.write("pages.jsonl", lines);
    let told = run(sandbox.bare().args(["site", "pages.jsonl"])).expect(0).stdout;
    assert!(told.contains("8       0    0 %      0  pages whose content has no known place"), "{told}");
}

#[test]
fn emptied_index_of_a_folder_is_restored() {
    let links = ["/a".to_owned(), "/b".to_owned()];
    let server = Server::start(0, move |request: &Request| match request.path() {
        "/" => Response::html(page("the start page", &links)),
        path @ ("/a" | "/b") => Response::html(page(&format!("the sheet {path}"), &[])),
        _ => Response::status(404),
    })
    .unwrap();
    let sandbox = Sandbox::new();
    let round =
        || run(&mut sandbox.crawl(&[server.url("/")], &["-o", "pages/", "--recrawl", "all"])).expect(0);
    let index = || {
        let mut lines: Vec<String> = sandbox.read("pages/index.jsonl").lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    round();
    let before = index();
    assert_eq!(before.len(), 3, "{before:?}");
    sandbox.write("pages/index.jsonl", "");
    let said = round().stderr;
    assert!(said.contains("the index was empty; its lines were made again"), "{said}");
    assert_eq!(index(), before);
    assert!(!round().stderr.contains("index"));
}

/// A file that cannot be used is found before the state is deleted.
#[test]
fn fresh_keeps_the_state_if_a_file_is_wrong() {
    let server = Server::start(0, |_: &Request| Response::html(page("the start page", &[]))).unwrap();
    let sandbox = Sandbox::new();
    let crawl = |flags: &[&str]| {
        run(&mut sandbox.crawl(&[server.url("/")], &[&["-o", "out.jsonl", "--no-dedup"], flags].concat()))
    };
    crawl(&[]).expect(0);
    sandbox.write("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    for (name, settings) in [
        ("ca.toml", "[fetch]\nca_file = \"nowhere.pem\"\n"),
        ("pem.toml", "[fetch]\nca_file = \"broken.pem\"\n"),
        ("text.toml", "[fetch]\nca_file = \"ca.toml\"\n"),
        ("auth.toml", "[fetch]\nauth = [{ site = \"http://a.test\", token_file = \"nowhere\" }]\n"),
        ("quality.toml", "[quality]\nenabled = true\nlanguage = \"xx-nothing\"\n"),
        ("site.toml", "[[site]]\nmatch = \"a.test\"\nrules = \"nowhere\"\n"),
    ] {
        sandbox.write(name, settings);
    }
    for flags in [
        ["--rules", "nowhere"],
        ["--consent-list", "nowhere.txt"],
        ["--config", "ca.toml"],
        ["--config", "pem.toml"],
        ["--config", "text.toml"],
        ["--config", "auth.toml"],
        ["--config", "quality.toml"],
        ["--config", "site.toml"],
    ] {
        for fresh in [&[][..], &["--fresh"]] {
            let done = crawl(&[&flags[..], fresh].concat()).expect(2);
            let status = run(sandbox.bare().args(["status", "--state-dir", "state"])).expect(0).stdout;
            assert!(status.contains("round 1 is complete"), "{flags:?}: {}{status}", done.stderr);
        }
    }
}
