//! Good and bad pages in a real browser. Tests that need it are ignored without it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_chrome::{ConsentRules, RenderError};
use std::time::{Duration, Instant};
use support::{PATIENCE, Server, TEXT, block_on, pages, patient, render, renderer, script};

#[test]
#[ignore = "needs Chromium"]
fn text_added_by_scripts_is_rendered() {
    let (renderer, _profiles) = renderer(patient);
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
        assert!(page.bytes > 0 && page.timings.total < PATIENCE, "{path}: {page:?}");
    }
    let stats = renderer.stats();
    assert_eq!((stats.pages, stats.errors, stats.browsers, stats.tabs_opened, stats.tabs), (9, 0, 1, 1, 1));
}

#[test]
#[ignore = "needs Chromium"]
fn shadow_roots_are_part_of_the_text() {
    let (renderer, _profiles) = renderer(patient);
    let card = "customElements.define('x-card', class extends HTMLElement { connectedCallback() { \
                const root = this.attachShadow({ mode: this.getAttribute('mode') }); \
                fetch('/text').then(r => r.text()).then(t => { root.innerHTML = `<style>p { color: red }</style><p>${t}</p>\
                <slot name=head>no head</slot><section><slot></slot></section><x-line></x-line>` }) } }); \
                customElements.define('x-line', class extends HTMLElement { constructor() { super(); \
                this.attachShadow({ mode: 'open' }).innerHTML = '<i>nested <slot>fallback</slot></i>' } })";
    let body = "<x-card mode=open><b>given</b><h2 slot=head>Heading</h2></x-card><x-card mode=closed></x-card>\
                <div id=declared><template shadowrootmode=open><em>declared</em></template>hidden</div><template>inert</template>";
    let mut served = pages(&[("/card", format!("{body}{}", script(card)))]);
    served.insert("/text", ("Content-Type: text/plain\r\n", TEXT.into()));
    let page = render(&renderer, &Server::start("127.0.0.1", served).url("/card")).unwrap();
    let shown = format!(
        "<x-card mode=\"open\"><p>{TEXT}</p><h2 slot=\"head\">Heading</h2><section><b>given</b></section>\
         <x-line><i>nested fallback</i></x-line></x-card>"
    );
    assert!(page.html.contains(&shown), "{}", page.html);
    assert!(page.html.contains(&format!("<x-card mode=\"closed\"><p>{TEXT}</p>no head")), "{}", page.html);
    // content without a slot is not shown, and a template stays one
    assert!(page.html.contains("<div id=\"declared\"><em>declared</em></div>"), "{}", page.html);
    assert!(page.html.contains("<template>inert</template>") && page.settled, "{}", page.html);
}

#[test]
#[ignore = "needs Chromium"]
fn client_side_routing_and_redirects_give_the_final_url() {
    let (renderer, _profiles) = renderer(patient);
    let route = format!(
        "history.pushState(0, '', '/routed?to=1'); fetch('/there').then(() => {{ app.textContent = '{TEXT}'; \
         history.replaceState(0, '', '/routed?to=2#part') }})"
    );
    let mut served = pages(&[
        ("/route", script(&route)),
        ("/refresh", "<meta http-equiv=refresh content='0; url=/there'>".into()),
        ("/form", "<form id=f action=/there></form><script>f.submit()</script>".into()),
        ("/there", script(&format!("app.textContent = '{TEXT}'"))),
        ("/moved", String::new()),
    ]);
    served.get_mut("/moved").unwrap().0 = "Location: /refresh\r\n";
    let server = Server::start("127.0.0.1", served);
    for (path, end) in
        [("/route", "/routed?to=2#part"), ("/refresh", "/there"), ("/form", "/there?"), ("/moved", "/there")]
    {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")), "{path}: {}", page.html);
        assert_eq!((page.url, page.status, page.settled), (server.url(end), 200, true), "{path}");
    }
}

#[test]
#[ignore = "needs Chromium"]
fn navigation_to_another_page_is_an_error() {
    let (renderer, _profiles) = renderer(patient);
    let again = format!(
        "if (location.search) app.textContent = '{TEXT}'; else location.search = '?again'; location.hash = 'part'"
    );
    let mut served = pages(&[
        ("/refresh", "<meta http-equiv=refresh content='0; url=/there'>".into()),
        ("/script", script("location = '/there'")),
        ("/form", "<form id=f action=/there></form><script>f.submit()</script>".into()),
        ("/loop", script("setInterval(() => location = '/there?' + Math.random(), 20)")),
        ("/again", script(&again)),
        ("/framed", script(&format!("app.textContent = '{TEXT}'")) + "<iframe src=/inside></iframe>"),
        ("/inside", "within".into()),
        ("/there", script("")),
        ("/moved", String::new()),
    ]);
    served.get_mut("/moved").unwrap().0 = "Location: /there\r\n";
    let server = Server::start("127.0.0.1", served);
    let only = |path: &str| {
        let (url, own) = (server.url(path), server.url(path));
        block_on(renderer.render_page(&url, Vec::new(), false, move |to| to.path() == own.path()))
    };
    for (path, to, by) in [
        ("/moved", "/there", 302),
        ("/refresh", "/there", 200),
        ("/script", "/there", 200),
        ("/form", "/there?", 200),
    ] {
        assert_eq!(only(path), Err(RenderError::NavigatedAway { to: server.url(to), status: by }), "{path}");
    }
    let looped = only("/loop").map(|page| page.url);
    assert!(matches!(looped, Err(RenderError::NavigatedAway { .. })), "{looped:?}");
    for path in ["/again", "/framed", "/again"] {
        let page = only(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")), "{path}: {}", page.html);
    }
    let hits = server.hits();
    assert!(!hits.iter().any(|path| path.starts_with("/there")), "{hits:?}");
    assert_eq!(hits.iter().filter(|path| *path == "/inside").count(), 1, "{hits:?}");
}

/// A link with `download` that a script clicks, and an address of a file that it leads to, leave the page as it is. No file is
/// requested.
#[test]
#[ignore = "needs Chromium"]
fn page_that_starts_a_download_is_rendered() {
    let (renderer, _profiles) = renderer(patient);
    let click = "const a = document.createElement('a'); a.href = '/file'; a.download = 'file'; a.click()";
    let lead = "location = '/setup.exe?from=page'";
    let server = Server::start(
        "127.0.0.1",
        pages(&[
            ("/now", script(&format!("app.textContent = '{TEXT}'; {click}"))),
            ("/later", script(&format!("setTimeout(() => {{ app.textContent = '{TEXT}'; {click} }}, 100)"))),
            ("/lead", script(&format!("app.textContent = '{TEXT}'; {lead}"))),
            (
                "/late-lead",
                script(&format!("setTimeout(() => {{ app.textContent = '{TEXT}'; {lead} }}, 100)")),
            ),
            ("/file", "data".into()),
            ("/setup.exe", "data".into()),
        ]),
    );
    for path in ["/now", "/later", "/lead", "/late-lead", "/now"] {
        let (url, own) = (server.url(path), server.url(path));
        let page = block_on(renderer.render_page(&url, Vec::new(), false, move |to| to.path() == own.path()));
        let page = page.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{TEXT}<")) && page.settled, "{path}: {}", page.html);
        let refresh = page.headers.iter().find(|(name, _)| name == "refresh");
        let led = refresh.is_some_and(|(_, target)| target.ends_with("/setup.exe?from=page"));
        assert_eq!(led, path.ends_with("lead"), "{path}: {refresh:?}");
    }
    let hits = server.hits();
    assert!(!hits.iter().any(|path| path == "/file" || path.starts_with("/setup")), "{hits:?}");
}

/// A full browser would wait for a user who enters a password.
#[test]
#[ignore = "needs Chromium"]
fn request_for_a_password_is_answered_at_once() {
    let (renderer, _profiles) = renderer(patient);
    let ask = format!("fetch('/secret').then(() => {{ app.textContent = '{TEXT}' }})");
    let mut served = pages(&[("/page", script(&ask))]);
    served.insert("/secret", ("WWW-Authenticate: Basic realm=x\r\n", "no".into()));
    let server = Server::start("127.0.0.1", served);
    let page = render(&renderer, &server.url("/page")).unwrap();
    assert!(page.html.contains(&format!(">{TEXT}<")) && page.settled, "{}", page.html);
    assert_eq!(render(&renderer, &server.url("/secret")).unwrap().status, 401);
}

/// A policy without `allow-scripts` stops the timers of our script, too.
#[test]
#[ignore = "needs Chromium"]
fn sandboxed_page_is_taken_without_its_scripts() {
    let (renderer, _profiles) = renderer(patient);
    let text = format!("<p id=app>{TEXT}</p><script>app.textContent = 'scripts'</script><img src=/slow.png>");
    let mut served = pages(&[
        ("/none", text.clone()),
        ("/some", text),
        ("/late", format!("<p>{}<i>{TEXT}</i>", "word ".repeat(200_000))),
    ]);
    for (path, policy) in [
        ("/none", "Content-Security-Policy: sandbox; default-src 'none'\r\n"),
        ("/late", "content-security-policy: default-src 'self', sandbox allow-forms\r\n"),
        ("/some", "Content-Security-Policy: sandbox allow-scripts\r\n"),
    ] {
        served.get_mut(path).unwrap().0 = policy;
    }
    let server = Server::start("127.0.0.1", served);
    for (path, end) in [("/none", TEXT), ("/some", "scripts"), ("/late", TEXT), ("/none", TEXT)] {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.html.contains(&format!(">{end}<")) && page.settled && !page.stopped, "{path}: {page:?}");
    }
    assert_eq!(renderer.stats().tabs_opened, 1);
}

/// JSON cannot hold a half of a character, which a script or the limit of the HTML leaves of an emoji.
#[test]
#[ignore = "needs Chromium"]
fn half_of_a_character_is_replaced() {
    let (renderer, _profiles) = renderer(|settings| {
        patient(settings);
        settings.max_html = 1000;
    });
    let cut = "app.textContent = 'cut ' + '\\ud83d' + ' whole \\ud83d\\ude00'; \
               String.prototype.toWellFormed = null";
    let server = Server::start(
        "127.0.0.1",
        pages(&[
            ("/half", script(cut)),
            ("/long", format!("<meta charset=utf-8>{}", "\u{1f600}".repeat(600))),
            ("/odd", format!("<meta charset=utf-8>x{}", "\u{1f600}".repeat(600))),
        ]),
    );
    let html = |path: &str| {
        let page = render(&renderer, &server.url(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        (page.html, page.truncated)
    };
    let (cut, truncated) = html("/half");
    assert!(cut.contains("cut \u{fffd} whole \u{1f600}<") && !truncated, "{cut}");
    // one of the two is cut within an emoji
    let ends = ["/long", "/odd"].map(|path| html(path).0.chars().next_back());
    assert!(ends.contains(&Some('\u{fffd}')) && ends.contains(&Some('\u{1f600}')), "{ends:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn page_measures_the_configured_viewport() {
    let (renderer, _profiles) = renderer(|settings| {
        patient(settings);
        settings.viewport = (1200, 900);
    });
    let measure = "app.textContent = [innerWidth, innerHeight, screen.width, screen.height, devicePixelRatio, \
                   getComputedStyle(app).width, matchMedia('(min-width: 1200px)').matches, document.visibilityState].join(' ')";
    let page = format!("<style>body {{ margin: 0 }}</style>{}", script(measure));
    let server = Server::start("127.0.0.1", pages(&[("/page", page)]));
    let shown = render(&renderer, &server.url("/page")).unwrap();
    assert!(shown.html.contains("1200 900 1200 900 1 1200px true visible"), "{}", shown.html);
}

#[test]
#[ignore = "needs Chromium"]
fn tabs_are_reused_and_never_more_than_their_limit() {
    let (renderer, _profiles) = renderer(|settings| {
        patient(settings);
        settings.tabs = 2;
    });
    let opens =
        format!("open('/page'); setTimeout(() => {{ app.textContent = '{TEXT}'; open('/page', 'w') }}, 20)");
    let server = Server::start("127.0.0.1", pages(&[("/page", script(&opens))]));
    let urls: Vec<_> = (0..24).map(|n| server.url(&format!("/page?{n}"))).collect();
    let most = block_on(async {
        let all = futures::future::join_all(urls.iter().map(|url| renderer.render(url)));
        let most = async {
            let mut most = 0;
            while renderer.stats().pages + renderer.stats().errors < 24 {
                most = most.max(renderer.stats().tabs);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            most
        };
        let (pages, most) =
            tokio::time::timeout(2 * PATIENCE, async { tokio::join!(all, most) }).await.unwrap();
        assert!(pages.iter().all(|page| page.as_ref().is_ok_and(|page| page.html.contains(TEXT))));
        most
    });
    let stats = renderer.stats();
    assert_eq!((most, stats.tabs, stats.tabs_opened, stats.browsers, stats.errors), (2, 2, 2, 1, 0));
}

#[test]
#[ignore = "needs Chromium"]
fn headers_and_status_come_from_the_document() {
    let (renderer, _profiles) = renderer(patient);
    let mut served = pages(&[("/page", script("fetch('/other')"))]);
    served.get_mut("/page").unwrap().0 = "X-Robots-Tag: noarchive\r\nX-Private: 1\r\n";
    let server = Server::start("127.0.0.1", served);
    let page = render(&renderer, &server.url("/page")).unwrap();
    let expected = [("content-type", "text/html"), ("x-robots-tag", "noarchive")];
    assert_eq!(page.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(render(&renderer, &server.url("/nowhere")).unwrap().status, 404);
}

#[test]
#[ignore = "needs Chromium"]
fn lazy_lists_load_by_scrolling_within_a_limit() {
    let (renderer, _profiles) = renderer(|settings| {
        // the number of steps is the bound here
        patient(settings);
        settings.scrolls = 8;
    });
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
#[ignore = "needs Chromium"]
fn consent_banners_are_removed_before_the_snapshot() {
    let wall = format!(
        "<style>body {{ overflow: hidden }}</style><body><main id=app>Closed.</main><div id=onetrust-consent-sdk>We use cookies \
         <a href=/elsewhere>Accept</a><button onclick=\"fetch('/text').then(r => r.text()).then(t => app.textContent = t)\">Accept all</button></div>\
         <div class=x9-cookie-layer>This site uses cookies. <button>OK</button></div><article class=cookie-recipes>{}</article>",
        "We use cookies of butter in this recipe, and more sugar. ".repeat(20)
    );
    let rules = crawl_extract::Rules::embedded().unwrap();
    let banners = rules.consent_banners();
    let (renderer, _profiles) = renderer(|settings| {
        patient(settings);
        settings.consent = ConsentRules {
            selectors: banners.selectors.iter().map(ToString::to_string).collect(),
            tokens: banners.tokens.to_vec(),
            phrases: banners.phrases.to_vec(),
            max_words: banners.max_words,
            max_share: banners.max_share,
            overlays: banners.overlays.to_vec(),
            max_overlay_words: banners.max_overlay_words,
        };
    });
    let mut served = pages(&[("/wall", wall)]);
    served.insert("/text", ("Content-Type: text/plain\r\n", TEXT.into()));
    let page = render(&renderer, &Server::start("127.0.0.1", served).url("/wall")).unwrap();
    assert!(page.html.contains(TEXT), "{}", page.html);
    assert!(!page.html.contains("Accept all") && !page.html.contains("x9-cookie-layer"), "{}", page.html);
    assert!(page.html.contains("cookies of butter"), "an article was taken for a banner");
    assert_eq!((page.banners, page.url.path()), (2, "/wall"));
}

#[test]
#[ignore = "needs Chromium"]
fn page_that_never_settles_ends_at_its_time_budget() {
    let (renderer, _profiles) = renderer(|settings| settings.max_html = 20_000);
    let restless = script(&format!("app.textContent = '{TEXT}'; setInterval(() => app.append('x'), 10)"));
    let grows = script("setInterval(() => app.append('grows '.repeat(5000)), 10)");
    let server = Server::start("127.0.0.1", pages(&[("/restless", restless), ("/grows", grows)]));
    let page = render(&renderer, &server.url("/restless")).unwrap();
    assert!(page.html.contains(TEXT) && !page.settled);
    let took = page.timings.settle;
    // the budget runs from the navigation's end
    assert!(took > Duration::from_millis(2500) && took < PATIENCE / 2, "{took:?}");
    let page = render(&renderer, &server.url("/grows")).unwrap();
    assert!(page.truncated && page.html.len() == 20_000 && !page.settled);
}

#[test]
#[ignore = "needs Chromium"]
fn page_that_keeps_navigating_is_an_error() {
    let (renderer, _profiles) = renderer(patient);
    let served = pages(&[
        ("/hops", script("location = '/hops?' + Math.random()")),
        // each document arrives after the one before has settled
        ("/slow-hops", script("location = '/slow-hops?' + Math.random()")),
        ("/good", script(&format!("app.textContent = '{TEXT}'"))),
    ]);
    let server = Server::start("127.0.0.1", served);
    for path in ["/hops", "/slow-hops"] {
        let error = render(&renderer, &server.url(path)).unwrap_err();
        assert!(matches!(error, RenderError::Navigation(_)), "{path}: {error}");
        assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT), "after {path}");
    }
}

/// Time for pages that never end by themselves. The other pages of the test need a part of it.
const HOSTILE_BUDGET: Duration = Duration::from_secs(8);

/// Pages with hostile scripts.
fn hostile_pages() -> support::Pages {
    let asks =
        "onbeforeunload = () => 'x'; for (let i = 0; i < 1000; i++) { alert(1); confirm(2); prompt(3) }";
    let opens = "for (let i = 0; i < 1000; i++) open('/popup?' + i); for (let i = 0; i < 50; i++) { const a = \
                 document.createElement('a'); a.href = '/popup'; a.target = '_blank'; a.click() }";
    let again = format!("app.textContent = '{TEXT}'; setInterval(() => {{ while (true) {{}} }}, 1)");
    // without a script, so only the tab could be ended
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
        ("/worker", script("app.textContent = 'worker: ' + ('serviceWorker' in navigator)")),
    ])
}

#[test]
#[ignore = "needs Chromium"]
fn hostile_scripts_affect_only_their_page() {
    let (renderer, _profiles) = renderer(|settings| settings.budgets.settle = HOSTILE_BUDGET);
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
        assert!(start.elapsed() < PATIENCE, "{path}: {:?}", start.elapsed());
        opened += u64::from(stopped);
        match page {
            Ok(page) => {
                assert!(path != "/stuck" && page.html.contains(text), "{path}: {}", page.html);
                assert_eq!((page.stopped, page.settled), (stopped, !stopped), "{path}");
            }
            // its sets of nodes may fill the memory of a page before its time is up
            Err(error) => {
                let is_expected = matches!(error, RenderError::Hung | RenderError::Memory { .. });
                assert!(path == "/stuck" && is_expected, "{path}: {error}");
            }
        }
        assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT), "after {path}");
        let stats = renderer.stats();
        assert_eq!((stats.tabs, stats.tabs_opened, stats.browsers), (1, opened, 1), "after {path}");
    }
    assert!(!server.hits().iter().any(|path| path.starts_with("/popup")), "a window was opened");
}
