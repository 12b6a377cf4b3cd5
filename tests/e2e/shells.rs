//! Pages that scripts fill, and similar ones: their classification, and their text in a browser.

use crate::{
    run::{self, Sandbox, lines, record, run},
    support::{
        server::{Handler, Request, Server},
        shells::{self, Expected},
        site::Site,
    },
};
use serde_json::{Value, json};

/// Output of `crawl classify --jsonl` for pages.
fn classified(pages: &[(String, String)]) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let line =
        |(url, html): &(String, String)| json!({"id": url, "url": url, "html": html}).to_string() + "\n";
    let input = sandbox.write("in.jsonl", pages.iter().map(line).collect::<String>());
    lines(&run(sandbox.bare().args(["classify", "--jsonl"]).arg(input)).expect(0).stdout)
}

/// A page of the site as its server sends it.
fn page(site: &Site, path: &str) -> String {
    let request = Request {
        method: "GET".into(),
        target: path.into(),
        headers: Vec::new(),
        at: std::time::Instant::now(),
    };
    let response = site.answer(&request);
    assert_eq!(response.status, 200, "{path}");
    String::from_utf8(response.body).unwrap()
}

#[test]
fn every_shell_is_recognised_and_static_pages_stay_static() {
    let site = Site::open(&shells::root()).unwrap();
    let expected = shells::expected();
    let pages: Vec<_> =
        expected.iter().map(|e| (format!("http://mill.example{}", e.path), page(&site, &e.path))).collect();
    let said = classified(&pages);
    let wrong: Vec<String> = expected
        .iter()
        .zip(&said)
        .filter(|(e, said)| {
            said["pageType"] != *e.page_type
                || said["strategy"] != *e.strategy
                || e.rule.as_ref().is_some_and(|rule| said["rule"] != **rule)
        })
        .map(|(e, said)| format!("{} is {} by {}: {said}", e.path, e.page_type, e.strategy))
        .collect();
    assert!(wrong.is_empty(), "{} of {} pages:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    assert_eq!(said.len(), expected.len());
}

/// Empty pages in the form of frameworks' templates and generators. The frameworks' names are facts; the text
/// around them is ours.
const SHELLS: [(&str, &str, &str); 17] = [
    (
        "create-react-app",
        "",
        r#"<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div><script defer src="/static/js/main.js"></script>"#,
    ),
    (
        "Vite",
        r#"<script type="module" crossorigin src="/assets/index.js"></script>"#,
        r#"<div id="app"></div>"#,
    ),
    ("Vite with all scripts inline", "", r#"<div id="app"></div><script type="module">start()</script>"#),
    (
        "Nuxt",
        "",
        r#"<div id="__nuxt"></div><script type="application/json" id="__NUXT_DATA__" data-ssr="false">[{"serverRendered":1},false]</script><script type="module" src="/_nuxt/entry.js"></script>"#,
    ),
    (
        "Next.js",
        r#"<script src="/_next/static/chunks/main.js" defer></script>"#,
        r#"<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},"page":"/","query":{},"buildId":"x"}</script>"#,
    ),
    ("Angular", "", r#"<app-root></app-root><script src="main.js" type="module"></script>"#),
    (
        "AngularJS",
        "",
        r#"<div ng-app="shop"><div ng-view></div></div><script src="/angular.min.js"></script>"#,
    ),
    (
        "SvelteKit",
        r#"<link rel="modulepreload" href="/_app/immutable/entry/start.js">"#,
        r#"<div style="display: contents"><script>Promise.all([import("/_app/immutable/entry/start.js")])</script></div>"#,
    ),
    (
        "Gatsby",
        "",
        r#"<div id="___gatsby"><div id="gatsby-focus-wrapper"></div></div><script src="/app.js"></script>"#,
    ),
    (
        "Ember",
        r#"<meta name="shop/config/environment" content="%7B%7D">"#,
        r#"<div id="ember-basic-dropdown-wormhole"></div><script src="/assets/vendor.js"></script>"#,
    ),
    ("Ionic", "", r#"<ion-app></ion-app><script type="module" src="/main.js"></script>"#),
    ("Quasar", "", r#"<div id=q-app></div><script type="module" src="/main.js"></script>"#),
    (
        "Blazor",
        "",
        r#"<div id="app">Loading...</div><script src="_framework/blazor.webassembly.js"></script>"#,
    ),
    (
        "web components",
        r#"<script type="module" src="/main.js"></script>"#,
        "<shop-app><template><p>Never shown as it is.</p></template></shop-app>",
    ),
    (
        "a frame with an empty place",
        r#"<script src="/main.js"></script>"#,
        r#"<header><nav><a href="/">Home</a><a href="/news">News</a></nav></header><div class="hero"><p>The valley paper, every morning since nineteen hundred and four, now also on screens.</p></div><main></main><footer>Imprint</footer>"#,
    ),
    (
        "a place that says that it is loading",
        r#"<script src="/main.js"></script>"#,
        r#"<h1>Minutes of the council</h1><p>All meetings since the spring of the flood, newest first, with papers.</p><div id="results">Loading…</div>"#,
    ),
    (
        "a page that asks for scripts",
        "",
        r#"<div class="note"><p>This shop is made of scripts. Please enable JavaScript in the settings of your browser, then load the page again.</p></div>"#,
    ),
];

#[test]
fn shells_of_other_frameworks_are_recognised() {
    let document = |(_, head, body): &(&str, &str, &str)| {
        format!("<!doctype html><html><head><title>A page</title>{head}</head><body>{body}</body></html>")
    };
    let pages: Vec<_> =
        SHELLS.iter().map(|shell| ("http://mill.example/".to_owned(), document(shell))).collect();
    let said = classified(&pages);
    let wrong: Vec<String> = SHELLS
        .iter()
        .zip(&said)
        .filter(|(_, said)| said["strategy"] != "chrome" || said["pageType"] != "js_spa")
        .map(|((name, ..), said)| format!("{name}: {said}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), SHELLS.len(), wrong.join("\n"));
    assert_eq!(said.len(), SHELLS.len());
}

/// Fault of a page's record; `None` if it is correct.
fn fault(e: &Expected, records: &[Value], server: &Server) -> Option<String> {
    let record = record(records, &server.url(&e.path));
    let metadata = &record["metadata"];
    let attempts = &metadata["attempts"];
    let failed = attempts.as_array().unwrap().iter().filter_map(|a| a["error"].as_str()).collect::<Vec<_>>();
    let (by, errors) = match e {
        // the words of the static page are kept
        Expected { kept: true, .. } => ("static_best_effort", vec!["page_crashed"]),
        // the other page has the words, as a page of its own
        Expected { lands: Some(_), .. } => ("static_best_effort", vec!["navigation"]),
        e => (e.strategy.as_str(), vec![]),
    };
    if metadata["strategy"] != by || failed != errors {
        return Some(format!("{} was had by {}, not by {by}: {attempts}", e.path, metadata["strategy"]));
    }
    let title = metadata["title"].as_str().unwrap_or_default();
    let shown = match &e.lands {
        Some(path) => run::content(run::record(records, &server.url(path))),
        None => run::content(record),
    };
    e.wrong_with(&format!("{title}\n{shown}")).map(|wrong| format!("{wrong}: {shown}"))
}

/// The whole site, end to end: each page has the text that a reader sees, by the right strategy.
#[test]
#[ignore = "needs Chromium"]
fn crawl_gets_every_shells_text_by_the_expected_strategy() {
    if let Err(error) = crawl_chrome::find_browser(None) {
        panic!("{error}");
    }
    let server = Server::start(0, Site::open(&shells::root()).unwrap()).unwrap();
    let sandbox = Sandbox::new();
    let mut crawl = sandbox.crawl(&[server.url("/")], &["-O", "out.jsonl", "--chrome-no-sandbox"]);
    // one page never settles; the others get enough time for a busy machine
    run(crawl.env("CRAWL_CHROME_SETTLE", "30s").env("CRAWL_CHROME_NAVIGATE", "30s")).expect(0);
    let records = sandbox.records("out.jsonl");
    let expected = shells::expected();
    let wrong: Vec<String> = expected.iter().filter_map(|e| fault(e, &records, &server)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    assert_eq!(records.len(), expected.len(), "nothing but the pages: no data, no page twice");
}
