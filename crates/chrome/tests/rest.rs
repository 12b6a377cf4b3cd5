//! Settling of a page: activity that it waits for, and activity that it ignores. Without a browser each test
//! prints a line and is skipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use std::time::Duration;
use support::{Server, TEXT, block_on, pages, patient, render, renderer, script};

const JS: &str = "Content-Type: text/javascript\r\n";

/// A page with a text of its own, so that it is taken once no work is pending.
fn with_text(code: &str) -> String {
    format!("<p>{}</p>{}", "Words that are there from the start. ".repeat(20), script(code))
}

/// Modules and scripts that load in sequence, each with a delay.
fn modules(mut served: support::Pages) -> support::Pages {
    let shows = format!("app.textContent = '{TEXT}'");
    // large enough that reading it takes a while
    let functions = (0..20_000).map(|n| format!("export const f{n} = (a, b) => b ? [a, {n}] : '{n}';\n"));
    for (path, code) in [
        ("/slow-shows.js", shows.clone()),
        ("/slow-first.js", "import '/slow-second.js'; import('/slow-shows.js')".into()),
        ("/slow-second.js", "export default 1".into()),
        ("/large.js", functions.collect::<String>() + &shows),
        ("/slow-sheet.css", "p { color: red }".into()),
    ] {
        served.insert(path, (if path.ends_with("css") { "Content-Type: text/css\r\n" } else { JS }, code));
    }
    served.insert("/slow-text", ("Content-Type: text/plain\r\n", TEXT.into()));
    served
}

/// Pages whose last words come from loaded resources.
fn loading() -> Vec<(&'static str, String)> {
    let shows = format!("app.textContent = '{TEXT}'");
    vec![
        ("/import", with_text("import('/slow-shows.js')")),
        ("/imports", with_text("import('/slow-first.js')")),
        (
            "/preloaded",
            format!("<link rel=modulepreload href=/slow-shows.js>{}", with_text("import('/slow-shows.js')")),
        ),
        ("/large", with_text("import('/large.js')")),
        (
            "/seen",
            with_text(
                "new IntersectionObserver(e => e[0].isIntersecting && import('/slow-shows.js')).observe(app)",
            ),
        ),
        ("/measured", with_text(&format!("new ResizeObserver(() => {{ {shows} }}).observe(app)"))),
        ("/module", format!("{}<script type=module>import '/slow-first.js'</script>", with_text(""))),
        (
            "/within",
            with_text(
                "const d = document.createElement('div'); const s = document.createElement('script'); s.src = '/slow-shows.js'; d.append(s); setTimeout(() => document.body.append(d), 20)",
            ),
        ),
        (
            "/sheet",
            with_text(&format!(
                "const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = '/slow-sheet.css'; l.onload = () => {{ {shows} }}; onload = () => document.head.append(l)"
            )),
        ),
        (
            "/fetches",
            with_text(
                "fetch('/slow-text').then(r => r.blob()).then(b => b.text()).then(t => { app.textContent = t })",
            ),
        ),
    ]
}

/// Pages whose last words come from delayed work.
fn working() -> Vec<(&'static str, String)> {
    let shows = format!("app.textContent = '{TEXT}'");
    vec![
        (
            "/digest",
            with_text(&format!(
                "crypto.subtle.digest('SHA-256', new Uint8Array(1 << 22)).then(() => {{ {shows} }})"
            )),
        ),
        (
            "/slices",
            with_text(&format!(
                "let n = 40; const c = new MessageChannel(); c.port1.onmessage = () => {{ if (--n) c.port2.postMessage(0); else {{ {shows} }} }}; c.port2.postMessage(0)"
            )),
        ),
        (
            "/task",
            with_text(&format!("scheduler.postTask(() => {{ {shows} }}, {{ priority: 'background' }})")),
        ),
        (
            "/debounce",
            with_text(&format!(
                "let t; const put = () => {{ clearTimeout(t); t = setTimeout(() => {{ {shows} }}, 300) }}; put(); setTimeout(put, 200)"
            )),
        ),
        (
            "/worker",
            with_text(&format!(
                "const w = new Worker(URL.createObjectURL(new Blob(['postMessage(0)']))); w.onmessage = () => {{ {shows} }}"
            )),
        ),
        (
            "/types",
            with_text(&format!(
                "let n = 0; const t = '{TEXT}'; const i = setInterval(() => {{ app.textContent = t.slice(0, ++n); if (n === t.length) clearInterval(i) }}, 10)"
            )),
        ),
    ]
}

#[test]
#[ignore = "needs Chromium"]
fn page_waits_for_pending_requests_even_with_text() {
    let (renderer, _profiles) = renderer(patient);
    let late = [loading(), working()].concat();
    let server = Server::start("127.0.0.1", modules(pages(&late)));
    for (path, _) in late {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")), "{path}: {:?} {}", page.timings, page.html);
        assert!(page.settled, "{path}: {:?}", page.timings);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn page_that_redirects_by_script_gives_its_target() {
    let (renderer, _profiles) = renderer(patient);
    let mut served = pages(&[
        ("/header", with_text("")),
        ("/script", with_text("onload = () => { location = '/slow-there' }")),
        (
            "/form",
            with_text(
                "onload = () => { const f = document.createElement('form'); f.action = '/slow-there'; document.body.append(f); f.submit() }",
            ),
        ),
        ("/slow-there", with_text("import('/slow-shows.js')")),
    ]);
    served.get_mut("/header").unwrap().0 = "Refresh: 0; url=/slow-there\r\n";
    let server = Server::start("127.0.0.1", modules(served));
    for path in ["/header", "/script", "/form"] {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")), "{path}: {:?} {}", page.timings, page.html);
        assert_eq!((page.url.path(), page.settled), ("/slow-there", true), "{path}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn requests_without_an_answer_do_not_delay_settling() {
    let (renderer, _profiles) = renderer(|settings| settings.budgets.settle = Duration::from_secs(20));
    let server = Server::start(
        "127.0.0.1",
        modules(pages(&[
            // a script that comes as text is never loaded
            (
                "/text",
                with_text(
                    &format!("onload = () => {{ app.innerHTML = '<script src=/never></script>{TEXT}' }}")
                        .replace("</script>", "<\\/script>"),
                ),
            ),
            (
                "/nomodule",
                with_text(&format!(
                    "onload = () => {{ const s = document.createElement('script'); s.noModule = true; s.src = '/never'; document.body.append(s, '{TEXT}') }}"
                )),
            ),
            (
                "/missing",
                with_text(&format!("import('/nowhere.js').catch(() => {{ app.textContent = '{TEXT}' }})")),
            ),
            (
                "/permission",
                with_text(&format!(
                    "navigator.permissions.query({{ name: 'geolocation' }}); app.textContent = '{TEXT}'"
                )),
            ),
        ])),
    );
    for path in ["/text", "/nomodule", "/missing", "/permission"] {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(TEXT) && page.settled, "{path}: {}", page.html);
        assert!(page.timings.settle < Duration::from_secs(15), "{path}: {:?}", page.timings);
    }
}

#[test]
#[ignore = "needs Chromium"]
fn document_is_returned_as_sent_on_request() {
    let (renderer, _profiles) = renderer(|_| {});
    let code = format!("app.textContent = '{TEXT}'");
    let mut served =
        pages(&[("/page", with_text(&code)), ("/other", with_text(&code)), ("/long", with_text(&code))]);
    served.get_mut("/page").unwrap().1.push_str("<b>sent \u{fc}ber</b>");
    served.get_mut("/page").unwrap().0 = "Content-Type: text/html; charset=utf-8\r\n";
    served.get_mut("/long").unwrap().1.push_str(&"<!-- more than is kept -->".repeat(200_000));
    let server = Server::start("127.0.0.1", served.clone());
    let as_sent = |path: &str, wanted: bool| {
        let page = block_on(renderer.render_page(&server.url(path), Vec::new(), wanted, |_| true)).unwrap();
        assert!(page.html.contains(&format!("<div id=\"app\">{TEXT}<")), "{path}: {}", page.html.len());
        page.as_sent
    };
    for (path, wanted, given) in [
        ("/page", false, false),
        ("/page", true, true),
        ("/other", true, true),
        ("/long", true, false),
        ("/page", true, true),
        ("/page", false, false),
    ] {
        let body = &served[path].1;
        assert!(as_sent(path, wanted).as_ref() == Some(body).filter(|_| given), "{path}, {wanted}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn page_without_pending_work_settles_at_once() {
    let (renderer, _profiles) = renderer(|_| {});
    // the clock runs in a frame, which is not tracked: the page changes too often to be silent, without
    // pending work
    let ticks = format!(
        "app.textContent = '{TEXT}'; const f = document.createElement('iframe'); document.body.append(f); \
         f.contentWindow.setInterval(() => document.body.append('x'), 10)"
    );
    let server = Server::start("127.0.0.1", pages(&[("/page", with_text(&ticks))]));
    for n in 0..3 {
        let page = render(&renderer, &server.url(&format!("/page?{n}"))).unwrap();
        assert!(page.html.contains(TEXT) && page.settled, "{:?}", page.timings);
    }
}
