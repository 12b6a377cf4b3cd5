//! Slow hosts beside a fast one.

use crate::{
    run::{Sandbox, run},
    support::{made::Tree, server::Server},
};
use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    thread,
    time::{Duration, Instant},
};

/// Number of slow connections, and the duration of each.
const DRIPS: usize = 200;
const DRIP_TIME: Duration = Duration::from_secs(60);

/// Runs work on a separate thread.
fn spawn(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().spawn(work).unwrap();
}

/// Answers each request with a page at two bytes per second.
#[expect(clippy::disallowed_methods, reason = "a server that drips has to wait")]
fn dripping() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn(move || {
        for mut stream in listener.incoming().take(DRIPS).flatten() {
            spawn(move || {
                // A client refuses an answer that arrives before its request.
                let request = BufReader::new(&stream).lines().map_while(Result::ok);
                request.take_while(|line| !line.is_empty()).for_each(drop);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n";
                let (began, mut sent) = (Instant::now(), stream.write_all(head.as_bytes()));
                while sent.is_ok() && began.elapsed() < DRIP_TIME {
                    thread::sleep(Duration::from_millis(500));
                    sent = stream.write_all(b"x");
                }
            });
        }
    });
    address
}

/// Eight slow hosts occupy four slots, each for the maximum time of a body. The ninth host comes last.
#[test]
fn slow_hosts_do_not_block_other_hosts() {
    let (drip, sandbox) = (dripping(), Sandbox::new());
    let tree = Tree::of(16);
    let good = Server::start(0, tree.handler()).unwrap();
    let port = drip.port();
    let mut seeds: Vec<String> = (0..8).map(|n| format!("http://h{n}.test:{port}/")).collect();
    seeds.push(good.url("/"));
    let resolve: Vec<String> = (0..8).map(|n| format!("\"h{n}.test:{port}:127.0.0.1\"")).collect();
    let config = format!(
        "[politeness]\naddress_share = 0\n[fetch]\nconcurrency = 4\nread_timeout = \"40s\"\nresolve = [{}]\n",
        resolve.join(", ")
    );
    let config = sandbox.write("crawl.toml", config);
    let flags = ["--config", config.to_str().unwrap(), "--max-time", "22s", "-O", "out.jsonl"];
    let began = Instant::now();
    run(&mut sandbox.crawl(&seeds, &flags)).expect(5);
    let took = began.elapsed();
    let from_good = sandbox.records("out.jsonl").len();
    assert!(from_good >= 4, "{from_good} pages of the host that answers at once");
    // the bodies last for 60 s
    assert!(took < Duration::from_secs(45), "{took:?} of 22 s");
}
