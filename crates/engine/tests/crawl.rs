//! The crawl of a program, without a command line.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_engine::{
    Crawl,
    config::{Config, Limit},
    ending::Ending,
};
use crawl_model::Record;
use crawl_output::{DiscardingOutput, OutputError, RecordOutput};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Output that collects the URLs of records.
#[derive(Clone, Default)]
struct Urls(Arc<Mutex<BTreeSet<String>>>);

impl RecordOutput for Urls {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        self.0.lock().unwrap().insert(record.url.clone());
        Ok(())
    }

    fn name(&self) -> &'static str {
        "urls"
    }
}

/// Starts a site of a page that links to two others; robots.txt is missing. It answers until the test ends.
fn site() -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let path = first.split(' ').nth(1).unwrap_or_default();
            let status = if ["/", "/a", "/b"].contains(&path) { "200 OK" } else { "404 Not Found" };
            let words = "Some words about pears and apples. ".repeat(20);
            let body =
                format!("<title>{path}</title><main><p>{words}<a href=/a>a</a> <a href=/b>b</a></main>");
            let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\n");
            // a client that has gone is not this test's matter
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    };
    thread::Builder::new().name("site".into()).spawn(serve).unwrap();
    Url::parse(&format!("http://{address}/")).unwrap()
}

fn settings() -> Config {
    let mut config = Config::defaults().unwrap();
    config.fetch.allow_private_addresses = true;
    config.politeness.delay = std::time::Duration::ZERO;
    config.crawl.soft404 = false;
    config.near_duplicates.drop = false;
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn library_crawl_writes_to_a_custom_output() {
    let (site, urls) = (site(), Urls::default());
    let crawl = Crawl::new(settings()).seed(site.clone());
    let ending = crawl.run(Box::new(urls.clone()), Box::new(DiscardingOutput)).await.unwrap();
    let expected = ["", "a", "b"].map(|path| site.join(path).unwrap().to_string());
    assert_eq!((ending, &*urls.0.lock().unwrap()), (Ending::Drained, &BTreeSet::from(expected)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limit_or_cancellation_ends_the_crawl() {
    let site = site();
    let mut config = settings();
    config.crawl.limit = Limit(Some(1));
    let limited = Crawl::new(config).seed(site.clone());
    let ending = limited.run(Box::new(Urls::default()), Box::new(DiscardingOutput)).await.unwrap();
    assert!(matches!(ending, Ending::Limit(_)), "{ending:?}");
    let (stopped, urls) = (CancellationToken::new(), Urls::default());
    stopped.cancel();
    let crawl = Crawl::new(settings()).seed(site).stop_on(stopped);
    let ending = crawl.run(Box::new(urls.clone()), Box::new(DiscardingOutput)).await.unwrap();
    assert_eq!((ending, urls.0.lock().unwrap().len()), (Ending::Interrupted, 0));
}
