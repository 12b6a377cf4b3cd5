//! The walk over a site's sitemaps: every file once, every limit kept.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

mod support;

use crawl_fetch::{Gate, PolitenessSettings, SitemapLimits, SitemapWalk, WalkLimits, WalkReport};
use std::time::Duration;
use support::{Server, client, response, settings};
use url::Url;

fn index(paths: &[&str]) -> Vec<u8> {
    let entries: String = paths.iter().map(|path| format!("<sitemap><loc>{path}</loc></sitemap>")).collect();
    response(
        "200 OK",
        "Content-Type: application/xml\r\n",
        format!("<sitemapindex>{entries}</sitemapindex>").as_bytes(),
    )
}

fn urls(count: usize) -> Vec<u8> {
    let entries: String = (0..count).map(|n| format!("<url><loc>/page/{n}</loc></url>")).collect();
    response("200 OK", "Content-Type: application/xml\r\n", format!("<urlset>{entries}</urlset>").as_bytes())
}

async fn site() -> Server {
    Server::answering(|seen| match seen.path.as_str() {
        "/loop.xml" => index(&[
            "/loop.xml",
            "/good.xml",
            "/good.xml",
            "/moved.xml",
            "/gone.xml",
            "/private.xml",
            "/page.xml",
        ]),
        "/deep.xml" => index(&["/deep2.xml"]),
        "/deep2.xml" => index(&["/good.xml"]),
        "/good.xml" => urls(20),
        "/moved.xml" => response("301 Moved", "Location: /new.xml\r\n", b""),
        "/new.xml" => urls(5),
        "/round.xml" => response("302 Found", "Location: /round.xml\r\n", b""),
        "/page.xml" => {
            response("200 OK", "Content-Type: text/html\r\n", b"<html><body>Not here</body></html>")
        }
        "/private.xml" => urls(1),
        _ => response("404 Not Found", "", b""),
    })
    .await
}

async fn walk(server: &Server, root: &str, limits: WalkLimits) -> (WalkReport, usize) {
    let client = client(settings());
    let gate = Gate::new(PolitenessSettings { delay: Duration::ZERO, ..PolitenessSettings::default() });
    let walk = SitemapWalk { client: &client, gate: &gate, limits };
    let mut found = 0;
    let allowed = |url: &Url| url.path() != "/private.xml";
    let report = walk.run(vec![server.url(root)], allowed, |entries| found += entries.len()).await;
    (report, found)
}

#[tokio::test]
async fn a_loop_is_read_once_and_what_fails_is_told() {
    let server = site().await;
    let (report, found) = walk(&server, "/loop.xml", WalkLimits::default()).await;
    assert_eq!((report.files, report.entries, found, report.truncated), (5, 25, 25, false));
    let failed: Vec<&str> = report.failed.iter().map(|(url, _)| url.rsplit('/').next().unwrap()).collect();
    assert_eq!(failed, ["gone.xml", "page.xml"]);
    let asked: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked.iter().filter(|path| *path == "/good.xml").count(), 1);
    assert!(!asked.contains(&"/private.xml".to_owned()));
}

#[tokio::test]
async fn each_limit_ends_the_walk() {
    let server = site().await;
    let base = WalkLimits::default();
    let (report, _) = walk(&server, "/deep.xml", WalkLimits { depth: 1, ..base }).await;
    assert_eq!((report.files, report.entries, report.truncated), (2, 0, true));
    let (report, _) = walk(&server, "/deep.xml", WalkLimits { files: 2, ..base }).await;
    assert_eq!((report.files, report.entries, report.truncated), (2, 0, true));
    let (report, found) = walk(&server, "/loop.xml", WalkLimits { entries: 7, ..base }).await;
    assert_eq!((report.entries, found, report.truncated), (7, 7, true));
    let file = SitemapLimits { entries: 3, ..SitemapLimits::default() };
    let (report, found) = walk(&server, "/good.xml", WalkLimits { file, ..base }).await;
    assert_eq!((report.entries, found, report.truncated), (3, 3, true));
    let (report, _) = walk(&server, "/round.xml", base).await;
    assert_eq!(report.failed[0].1, "too many redirects");
}
