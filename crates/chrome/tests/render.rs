//! What a real browser makes of pages, good and bad. Skipped, with a line that says so, where there is none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_chrome::{ChromeSettings, ConsentRules, RenderError, RenderPhase, Renderer};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use support::{Server, block_on, processes_of, render, settings};

const TEXT: &str = "Words that only a script brings to the page.";

fn pages(pages: &[(&'static str, String)]) -> support::Pages {
    pages.iter().map(|(path, body)| (*path, ("", format!("<!doctype html><title>t</title>{body}")))).collect()
}

fn script(code: &str) -> String {
    format!("<body><div id=app></div><script>{code}</script>")
}

/// A renderer for pages on 127.0.0.1 and where its profiles are.
fn renderer(change: impl FnOnce(&mut ChromeSettings)) -> Option<(Renderer, tempfile::TempDir)> {
    let profiles = tempfile::tempdir().unwrap();
    let mut settings = settings(&profiles)?;
    change(&mut settings);
    Some((Renderer::new(settings), profiles))
}

#[test]
fn text_that_scripts_bring_is_there_whichever_way_it_comes() {
    let Some((renderer, _profiles)) = renderer(|_| {}) else { return };
    let show = |text: &str| format!("app.textContent = {text}");
    let mut server = pages(&[
        ("/plain", script(&show(&format!("'{TEXT}'")))),
        ("/fetch", script("fetch('/text').then(r => r.text()).then(t => { app.textContent = t })")),
        ("/timer", script(&format!("setTimeout(() => {{ {} }}, 400)", show(&format!("'{TEXT}'"))))),
        (
            "/xhr",
            script(
                "const x = new XMLHttpRequest; x.open('GET', '/text'); x.onload = () => { setTimeout(() => { app.textContent = x.responseText }, 200) }; x.send()",
            ),
        ),
        (
            "/loader",
            script(
                "setTimeout(() => { const s = document.createElement('script'); s.src = '/late.js'; document.head.append(s) }, 50)",
            ),
        ),
        (
            "/cookie",
            script(&format!("app.textContent = document.cookie || '{TEXT}'; document.cookie = 'seen=1'")),
        ),
        ("/hop", script("location.href = '/fetch'")),
        ("/late-hop", script("setTimeout(() => location.replace('/plain'), 300)")),
    ]);
    server.insert("/text", ("Content-Type: text/plain\r\n", TEXT.into()));
    server.insert("/late.js", ("Content-Type: text/javascript\r\n", format!("app.textContent = '{TEXT}'")));
    let server = Server::start("127.0.0.1", server);
    for (path, end) in [
        ("/plain", "/plain"),
        ("/fetch", "/fetch"),
        ("/timer", "/timer"),
        ("/xhr", "/xhr"),
        ("/loader", "/loader"),
        ("/cookie", "/cookie"),
        ("/cookie", "/cookie"),
        ("/hop", "/fetch"),
        ("/late-hop", "/plain"),
    ] {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")), "{path}: {}", page.html);
        assert_eq!((page.url.path(), page.status, page.settled), (end, 200, true), "{path}");
        assert!(page.bytes > 0 && page.timings.total < Duration::from_secs(3), "{path}: {page:?}");
    }
    let stats = renderer.stats();
    assert_eq!((stats.pages, stats.errors, stats.browsers, stats.tabs_opened, stats.tabs), (9, 0, 1, 1, 1));
}

#[test]
fn headers_and_status_are_those_of_the_document() {
    let Some((renderer, _profiles)) = renderer(|_| {}) else { return };
    let mut served = pages(&[("/page", script("fetch('/other')"))]);
    served.get_mut("/page").unwrap().0 = "X-Robots-Tag: noarchive\r\nX-Private: 1\r\n";
    let server = Server::start("127.0.0.1", served);
    let page = render(&renderer, &server.url("/page")).unwrap();
    let expected = [("content-type", "text/html"), ("x-robots-tag", "noarchive")];
    assert_eq!(page.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(render(&renderer, &server.url("/nowhere")).unwrap().status, 404);
}

#[test]
fn lazy_lists_are_scrolled_in_and_endless_ones_are_bounded() {
    let Some((renderer, _profiles)) = renderer(|settings| settings.scrolls = 8) else { return };
    let list = |end: u32| {
        script(&format!(
            "let n = 0; const more = () => {{ for (let i = 0; i < 10 && n < {end}; i++) {{ const p = document.createElement('p'); \
             p.style.height = '200px'; p.textContent = 'item ' + n++; app.append(p) }} }}; more(); \
             const foot = document.createElement('div'); foot.textContent = 'foot'; document.body.append(foot); \
             new IntersectionObserver(e => e[0].isIntersecting && setTimeout(more, 50)).observe(foot)"
        ))
    };
    let server = Server::start("127.0.0.1", pages(&[("/lazy", list(30)), ("/endless", list(u32::MAX))]));
    let lazy = render(&renderer, &server.url("/lazy")).unwrap();
    assert!(lazy.html.contains("item 29") && lazy.scrolls > 1, "{} steps: {}", lazy.scrolls, lazy.html);
    let endless = render(&renderer, &server.url("/endless")).unwrap();
    assert!(endless.html.contains("item 20") && endless.scrolls == 8, "{} steps", endless.scrolls);
}

#[test]
fn consent_is_dismissed_by_the_rules_of_the_static_path() {
    let wall = format!(
        "<style>body {{ overflow: hidden }}</style><body><main id=app>Closed.</main><div id=onetrust-consent-sdk>We use cookies \
         <a href=/elsewhere>Accept</a><button onclick=\"fetch('/text').then(r => r.text()).then(t => app.textContent = t)\">Accept all</button></div>\
         <div class=x9-cookie-layer>This site uses cookies. <button>OK</button></div><article class=cookie-recipes>{}</article>",
        "We use cookies of butter in this recipe, and more sugar. ".repeat(20)
    );
    let rules = crawl_extract::Rules::embedded().unwrap();
    let banners = rules.consent_banners();
    let Some((renderer, _profiles)) = renderer(|settings| {
        settings.consent = ConsentRules {
            selectors: banners.selectors.iter().map(ToString::to_string).collect(),
            tokens: banners.tokens.to_vec(),
            phrases: banners.phrases.to_vec(),
            max_words: banners.max_words,
            max_share: banners.max_share,
        };
    }) else {
        return;
    };
    let mut served = pages(&[("/wall", wall)]);
    served.insert("/text", ("Content-Type: text/plain\r\n", TEXT.into()));
    let page = render(&renderer, &Server::start("127.0.0.1", served).url("/wall")).unwrap();
    assert!(page.html.contains(TEXT), "{}", page.html);
    assert!(!page.html.contains("Accept all") && !page.html.contains("x9-cookie-layer"), "{}", page.html);
    assert!(page.html.contains("cookies of butter"), "an article was taken for a banner");
    assert_eq!((page.banners, page.url.path()), (2, "/wall"));
}

#[test]
fn a_page_that_never_rests_ends_by_its_budget_with_what_is_there() {
    let Some((renderer, _profiles)) = renderer(|settings| settings.max_html = 20_000) else { return };
    let restless = script(&format!("app.textContent = '{TEXT}'; setInterval(() => app.append('x'), 10)"));
    let grows = script("setInterval(() => app.append('grows '.repeat(5000)), 10)");
    let server = Server::start("127.0.0.1", pages(&[("/restless", restless), ("/grows", grows)]));
    let page = render(&renderer, &server.url("/restless")).unwrap();
    assert!(page.html.contains(TEXT) && !page.settled);
    let took = page.timings.settle;
    // the budget runs from the navigation's end
    assert!(took > Duration::from_millis(2500) && took < Duration::from_secs(4), "{took:?}");
    let page = render(&renderer, &server.url("/grows")).unwrap();
    assert!(page.truncated && page.html.len() == 20_000 && !page.settled);
}

/// Pages whose scripts do what they should not.
fn hostile_pages() -> support::Pages {
    let asks =
        "onbeforeunload = () => 'x'; for (let i = 0; i < 1000; i++) { alert(1); confirm(2); prompt(3) }";
    let opens = "for (let i = 0; i < 1000; i++) open('/popup?' + i); for (let i = 0; i < 50; i++) { const a = \
                 document.createElement('a'); a.href = '/popup'; a.target = '_blank'; a.click() }";
    let again = format!("app.textContent = '{TEXT}'; setInterval(() => {{ while (true) {{}} }}, 1)");
    // no script, so nothing that could be ended but the tab
    let stuck = "app.innerHTML = '<b></b>'.repeat(1500); \
                 document.evaluate('count(//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0])', document)";
    pages(&[
        ("/good", script(&format!("app.textContent = '{TEXT}'"))),
        ("/loop", format!("<p>{TEXT}</p>{}", script("while (true) {}"))),
        ("/again", script(&again)),
        ("/stuck", script(stuck)),
        ("/alert", script(asks)),
        ("/alerts", script("for (;;) alert(1)")),
        ("/open", script(opens)),
        ("/hops", script("location = '/hops?' + Math.random()")),
        ("/worker", script("app.textContent = 'worker: ' + ('serviceWorker' in navigator)")),
    ])
}

#[test]
fn hostile_scripts_cost_their_own_page_only() {
    let Some((renderer, _profiles)) = renderer(|_| {}) else { return };
    let server = Server::start("127.0.0.1", hostile_pages());
    let mut opened = 1;
    for (path, stopped, text) in [
        ("/loop", true, TEXT),
        ("/again", true, TEXT),
        ("/stuck", true, ""),
        ("/alert", false, ""),
        ("/alerts", true, ""),
        ("/open", false, ""),
        ("/worker", false, "worker: false"),
    ] {
        let start = Instant::now();
        let page = render(&renderer, &server.url(path));
        assert!(start.elapsed() < Duration::from_secs(18), "{path}: {:?}", start.elapsed());
        opened += u64::from(stopped);
        match page {
            Ok(page) => {
                assert!(path != "/stuck" && page.html.contains(text), "{path}: {}", page.html);
                assert_eq!((page.stopped, page.settled), (stopped, !stopped), "{path}");
            }
            Err(error) => assert_eq!((path, error), ("/stuck", RenderError::Hung)),
        }
        assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT), "after {path}");
        let stats = renderer.stats();
        assert_eq!((stats.tabs, stats.tabs_opened, stats.browsers), (1, opened, 1), "after {path}");
    }
    let hops = render(&renderer, &server.url("/hops")).unwrap_err();
    assert!(matches!(hops, RenderError::Navigation(_)), "{hops}");
    assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT), "after /hops");
    assert!(!server.hits().iter().any(|path| path.starts_with("/popup")), "a window was opened");
}

#[test]
fn private_addresses_are_closed_to_the_browser() {
    let canary = Server::start("127.66.0.1", pages(&[("/canary", String::new())]));
    let Some((renderer, _profiles)) = renderer(|settings| {
        settings.blocked.images = false;
        settings.resolve = vec![format!("sly.test:{}:127.66.0.1", canary.port).parse().unwrap()];
    }) else {
        return;
    };
    let port = canary.port;
    let ask = format!(
        "<img src=http://127.66.0.1:{port}/canary/img><iframe src=http://127.66.0.1:{port}/canary></iframe><iframe src=file:///etc/passwd></iframe>\
         <link rel=stylesheet href=http://sly.test:{port}/canary><script>\
         const done = t => {{ const p = document.createElement('p'); p.textContent = t; document.body.append(p) }};\
         fetch('http://127.66.0.1:{port}/canary').then(() => done('leaked'), () => done('refused'));\
         fetch('http://sly.test:{port}/canary', {{ mode: 'no-cors' }}).then(() => done('leaked'), () => done('refused'));\
         new WebSocket('ws://127.66.0.1:{port}/canary'); navigator.sendBeacon('http://127.66.0.1:{port}/canary')</script>"
    );
    let jump = format!("<script>location = 'http://127.66.0.1:{port}/canary'</script>");
    let server = Server::start("127.0.0.1", pages(&[("/ask", ask), ("/jump", jump)]));
    let page = render(&renderer, &server.url("/ask")).unwrap();
    assert!(
        page.html.matches("<p>refused</p>").count() == 2 && !page.html.contains("<p>leaked"),
        "{}",
        page.html
    );
    assert!(!page.html.contains("root:"));
    let _ = render(&renderer, &server.url("/jump"));
    let direct = render(&renderer, &canary.url("/canary")).unwrap_err();
    assert!(
        matches!(&direct, RenderError::AddressBlocked { address, .. } if address.to_string() == "127.66.0.1"),
        "{direct}"
    );
    assert_eq!(canary.hits(), Vec::<String>::new());
}

/// Waits until no process of a browser is left: they die of a signal, which takes its time.
fn gone(profiles: &Path) {
    let start = Instant::now();
    while !processes_of(profiles).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", processes_of(profiles));
        std::thread::yield_now();
    }
}

/// Waits until the server has been asked so often for paths that begin so.
async fn asked(server: &Server, path: &str, times: usize) {
    let start = Instant::now();
    while server.hits().iter().filter(|hit| hit.starts_with(path)).count() < times {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", server.hits());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn what_is_no_page_is_a_typed_error() {
    let Some((renderer, profiles)) = renderer(|settings| settings.budgets.navigate = Duration::from_secs(2))
    else {
        return;
    };
    let mut served = pages(&[]);
    served.insert(
        "/file",
        ("Content-Type: application/octet-stream\r\nContent-Disposition: attachment\r\n", "x".into()),
    );
    let server = Server::start("127.0.0.1", served);
    let file = render(&renderer, &server.url("/file")).unwrap_err();
    assert!(matches!(file, RenderError::Navigation(_)), "{file}");
    let never = render(&renderer, &server.url("/never")).unwrap_err();
    let limit = Duration::from_secs(2);
    assert_eq!(never, RenderError::Timeout { phase: RenderPhase::Navigate, limit });
    let closed = render(&renderer, &"http://127.0.0.1:1/".parse().unwrap()).unwrap_err();
    assert!(matches!(closed, RenderError::Navigation(_)), "{closed}");
    let scheme = render(&renderer, &"chrome://crash".parse().unwrap()).unwrap_err();
    assert!(matches!(scheme, RenderError::Url(_)), "{scheme}");
    let missing =
        Renderer::new(ChromeSettings { path: Some("/nowhere/chrome".into()), ..ChromeSettings::default() });
    assert_eq!(
        render(&missing, &server.url("/")).unwrap_err(),
        RenderError::Missing("/nowhere/chrome".into())
    );
    drop(renderer);
    gone(profiles.path());
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 0, "a profile was left");
}

#[test]
fn crashed_tabs_and_killed_browsers_are_replaced() {
    let Some((renderer, profiles)) = renderer(|settings| settings.tabs = 2) else { return };
    let good = script(&format!("setTimeout(() => {{ app.textContent = '{TEXT}' }}, 150)"));
    let waits = script("setInterval(() => app.append('x'), 10); setInterval(() => fetch('/runs'), 40)");
    let server = Server::start("127.0.0.1", pages(&[("/good", good), ("/waits", waits)]));
    let kill = |kind: &str| {
        let pids = processes_of(profiles.path()).into_iter().filter(|pid| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if kind.is_empty() { !line.contains("--type=") } else { line.contains(kind) }
        });
        let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
        assert!(!pids.is_empty(), "nothing to kill");
        std::process::Command::new("kill").arg("-9").args(pids).status().unwrap();
    };
    block_on(async {
        assert!(renderer.render(&server.url("/good")).await.is_ok());
        let url = server.url("/waits");
        let (crashed, ()) = tokio::join!(renderer.render(&url), async {
            // not at once: a process that the browser has just begun for its next tab would be killed too
            asked(&server, "/runs", 20).await;
            kill("--type=renderer");
        });
        assert_eq!(crashed.unwrap_err(), RenderError::Crashed);
        assert!(renderer.render(&server.url("/good")).await.unwrap().html.contains(TEXT));
        assert_eq!(renderer.stats().browsers, 1);

        let urls: Vec<_> = (0..20).map(|n| server.url(&format!("/good?{n}"))).collect();
        let all = futures::future::join_all(urls.iter().map(|url| renderer.render(url)));
        let (results, ()) = tokio::join!(all, async {
            asked(&server, "/good?", 6).await;
            kill("");
        });
        assert_eq!(results.len(), 20);
        let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert!(
            failed.iter().all(|e| matches!(e, RenderError::BrowserLost(_) | RenderError::Crashed)),
            "{failed:?}"
        );
        assert!((1..=2).contains(&failed.len()), "the pages of two tabs were lost at most: {failed:?}");
        assert_eq!(renderer.stats().browsers, 2);
    });
}

#[test]
fn browsers_are_recycled_after_their_pages() {
    let Some((renderer, profiles)) = renderer(|settings| settings.recycle_pages = 3) else { return };
    let server =
        Server::start("127.0.0.1", pages(&[("/good", script(&format!("app.textContent = '{TEXT}'")))]));
    for _ in 0..7 {
        assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT));
    }
    assert_eq!((renderer.stats().browsers, renderer.stats().pages), (3, 7));
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
}

/// Not a test of its own: the parent that the next one kills.
#[test]
fn parent_that_is_killed() {
    let Ok(profiles) = std::env::var("CRAWL_CHROME_TEST_PARENT") else { return };
    let keep = tempfile::tempdir().unwrap();
    let mut settings = settings(&keep).unwrap();
    settings.profiles = Some(profiles.into());
    let server = Server::start("127.0.0.1", pages(&[("/good", script("1"))]));
    let renderer = Renderer::new(settings);
    render(&renderer, &server.url("/good")).unwrap();
    println!("rendered");
    std::thread::park();
}

#[test]
fn no_process_outlives_a_killed_parent() {
    use std::io::{BufRead, BufReader};
    let profiles = tempfile::tempdir().unwrap();
    if settings(&profiles).is_none() {
        return;
    }
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "parent_that_is_killed", "--nocapture"])
        .env("CRAWL_CHROME_TEST_PARENT", profiles.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(parent.stdout.take().unwrap());
    assert!(out.lines().map_while(Result::ok).any(|line| line.contains("rendered")));
    let pid = parent.id();
    assert!(processes_of(profiles.path()).into_iter().any(|p| p != pid), "there is no browser");
    parent.kill().unwrap();
    parent.wait().unwrap();
    gone(profiles.path());
    // the profile is what is left, and the next start removes it
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
    let mut next = settings(&profiles).unwrap();
    next.profiles = Some(profiles.path().to_owned());
    let server = Server::start("127.0.0.1", pages(&[("/good", script("1"))]));
    let renderer = Renderer::new(next);
    render(&renderer, &server.url("/good")).unwrap();
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
}
