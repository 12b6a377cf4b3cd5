//! Politeness from the server's view: every request of any kind counts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

mod support;

use crawl_fetch::{
    Fetched, Gate, HttpClient, PolitenessSettings, RobotsPolicy, SitemapEntry, SitemapLimits, SlotOutcome,
    parse_sitemap,
};
use crawl_model::{HostKey, Origin};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use support::{Server, Then, client, html, request, response, settings};
use tokio::io::AsyncWriteExt;
use url::Url;

/// Arrival of each request, completion of its answer, and path.
type Log = Arc<Mutex<Vec<(Instant, Instant, String)>>>;

/// A site with redirecting pages, a sitemap of two files, and some slow answers.
async fn site(log: Log) -> Server {
    Server::start(move |seen, mut stream| {
        let log = Arc::clone(&log);
        async move {
            let host = seen.header("host").unwrap_or_default().to_owned();
            let location = |path: &str| format!("<loc>http://{host}{path}</loc>");
            let answer = match seen.path.as_str() {
                "/robots.txt" => response("301 Moved", "Location: /real-robots.txt\r\n", b""),
                "/real-robots.txt" => {
                    response("200 OK", "", format!("sitemap: http://{host}/index.xml").as_bytes())
                }
                "/index.xml" => {
                    let body =
                        format!("<sitemapindex><sitemap>{}</sitemap></sitemapindex>", location("/1.xml"));
                    response("200 OK", "", body.as_bytes())
                }
                "/1.xml" => {
                    let urls: String =
                        (0..30).map(|n| format!("<url>{}</url>", location(&format!("/{n}")))).collect();
                    response("200 OK", "", format!("<urlset>{urls}</urlset>").as_bytes())
                }
                path if path.ends_with('7') => response("302 Found", "Location: /target\r\n", b""),
                path => {
                    if path.ends_with('3') {
                        tokio::time::sleep(Duration::from_millis(60)).await;
                    }
                    html("page")
                }
            };
            // logged before the write: afterwards a busy machine may delay us
            log.lock().unwrap().push((seen.at, Instant::now(), seen.path));
            let _ = stream.write_all(&answer).await;
            (stream, Then::KeepOpen)
        }
    })
    .await
}

async fn page(client: &HttpClient, gate: &Gate, url: Url) -> Fetched {
    let slot = gate.acquire(&HostKey::of(&url).unwrap()).await;
    let fetched = client.fetch(request(url)).await;
    slot.finish(SlotOutcome::of(&fetched));
    fetched
}

async fn sitemap(client: &HttpClient, gate: &Gate, url: Url) -> Vec<SitemapEntry> {
    let slot = gate.acquire(&HostKey::of(&url).unwrap()).await;
    let answer = client.fetch_resource(&url, 1 << 20).await;
    slot.finish(SlotOutcome::of_resource(&answer));
    parse_sitemap(&answer.unwrap().body, &url, &SitemapLimits::default()).unwrap().entries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_requests_to_a_host_keep_the_delay() {
    const DELAY: Duration = Duration::from_millis(20);
    let log = Log::default();
    let server = site(Arc::clone(&log)).await;
    let (client, gate) = (
        Arc::new(client(settings())),
        Gate::new(PolitenessSettings { delay: DELAY, jitter: 0.0, ..PolitenessSettings::default() }),
    );
    let origin = Origin::of(&server.url("/")).unwrap();
    let robots =
        RobotsPolicy::from_cached(&client.fetch_robots(&gate, &origin, None).await.unwrap(), "crawl");
    let index = sitemap(&client, &gate, robots.sitemaps()[0].parse().unwrap()).await;
    let urls = sitemap(&client, &gate, index[0].url.clone()).await;
    assert_eq!((index.len(), urls.len()), (1, 30));
    // several workers compete for the one host
    let tasks: Vec<_> = urls
        .into_iter()
        .map(|entry| {
            let (client, gate) = (Arc::clone(&client), gate.clone());
            tokio::spawn(async move {
                if let Fetched::Redirect { to, .. } = page(&client, &gate, entry.url).await {
                    page(&client, &gate, to).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let mut log = log.lock().unwrap().clone();
    log.sort_by_key(|(came, ..)| *came);
    assert_eq!(log.len(), 2 + 2 + 30 + 3);
    for pair in log.windows(2) {
        let gap = pair[1].0.saturating_duration_since(pair[0].1);
        assert!(gap >= DELAY, "{gap:?} between {} and {}", pair[0].2, pair[1].2);
    }
}

#[tokio::test]
async fn requests_after_a_429_wait_for_retry_after() {
    let server = Server::answering(|seen| match seen.path.as_str() {
        "/busy" => response("429 Too Many Requests", "Retry-After: 1\r\n", b""),
        _ => html("x"),
    })
    .await;
    let (client, gate) = (
        client(settings()),
        Gate::new(PolitenessSettings {
            delay: Duration::ZERO,
            host_concurrency: 4,
            ..PolitenessSettings::default()
        }),
    );
    page(&client, &gate, server.url("/busy")).await;
    futures::future::join_all((0..3).map(|n| page(&client, &gate, server.url(&format!("/{n}"))))).await;
    let seen = server.seen();
    let busy = seen.iter().find(|s| s.path == "/busy").unwrap().at;
    for later in seen.iter().filter(|s| s.path != "/busy") {
        assert!(later.at - busy >= Duration::from_secs(1), "{} came after {:?}", later.path, later.at - busy);
    }
}

#[tokio::test]
async fn robots_txt_redirect_to_a_blocked_host_is_abandoned() {
    let target = Server::answering(|_| response("200 OK", "", b"user-agent: *")).await;
    let to = target.url("/robots.txt");
    let server = Server::answering(move |_| response("301 Moved", &format!("Location: {to}\r\n"), b"")).await;
    let (client, origin) = (client(settings()), Origin::of(&server.url("/")).unwrap());
    let key = HostKey::of(&target.url("/")).unwrap();
    let quick = PolitenessSettings { delay: Duration::ZERO, ..PolitenessSettings::default() };
    let busy = Gate::new(quick.clone());
    let told = SlotOutcome {
        status: Some(429),
        retry_after: Some(Duration::from_secs(300)),
        ..SlotOutcome::default()
    };
    busy.acquire(&key).await.finish(told);
    let dead = Gate::new(PolitenessSettings { break_after: 1, break_tries: 0, ..quick.clone() });
    dead.acquire(&key).await.finish(SlotOutcome { unanswered: true, ..SlotOutcome::default() });
    for (gate, kind) in [(busy, "timeout"), (dead, "connect")] {
        let fetched = client.fetch_robots(&gate, &origin, None);
        let answer = tokio::time::timeout(Duration::from_secs(8), fetched).await.expect("it should not wait");
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.is_transient(), error.is_timeout()), (kind, true, false));
        let own = HostKey::of(&server.url("/")).unwrap();
        assert!(gate.try_acquire(&own).is_ok(), "the slot of the first hop was given back");
    }
    assert_eq!(target.connections(), 0);
    let open = Gate::new(quick);
    assert_eq!(client.fetch_robots(&open, &origin, None).await.unwrap().status, 200);
}
