//! HTTP/2 servers that refuse streams, send GOAWAY or break the protocol. Each request waits for its turn at
//! the host, so the library below must not send any twice.

use crate::{
    error, page,
    support::{client, request, settings},
    tls::acceptor,
};
use crawl_fetch::{FetchError, HttpSettings};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::{sleep, timeout},
};
use url::Url;

/// Builds the answer frames of a stream.
type Answer = fn(u32) -> Vec<u8>;

/// Length of the client's preface.
const PREFACE: usize = 24;
const HEADERS: u8 = 1;
const END_HEADERS: u8 = 4;
const SETTINGS: u8 = 4;
/// An empty SETTINGS frame of the server.
const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];

/// Resets a stream with an error code.
fn reset(stream: u32, code: u32) -> Vec<u8> {
    [&[0, 0, 4, 3, 0][..], &stream.to_be_bytes(), &code.to_be_bytes()].concat()
}

/// Ends the connection; streams above `last` were not processed.
fn go_away(last: u32, code: u32) -> Vec<u8> {
    [&[0, 0, 8, 7, 0, 0, 0, 0, 0][..], &last.to_be_bytes(), &code.to_be_bytes()].concat()
}

/// Type and stream of the next frame.
async fn frame(stream: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u32)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let [a, b, c, kind, _, id @ ..] = head;
    let mut content = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut content).await.ok()?;
    Some((kind, u32::from_be_bytes(id)))
}

/// Answers each request with the bytes that `answer` builds for its stream. Returns the error of one fetch,
/// and the number of requests up to a while after it.
async fn fetched(answer: Answer) -> (FetchError, usize) {
    let (acceptor, pem) = acceptor(&["h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut preface = [0; PREFACE];
                if stream.read_exact(&mut preface).await.is_err() {
                    return;
                }
                let _ = stream.write_all(&EMPTY_SETTINGS).await;
                while let Some((kind, id)) = frame(&mut stream).await {
                    if kind == HEADERS {
                        count.fetch_add(1, Relaxed);
                        let _ = stream.write_all(&answer(id)).await;
                        let _ = stream.flush().await;
                    }
                }
            });
        }
    });
    let client = client(HttpSettings { extra_roots: pem.into_bytes(), ..settings() });
    let error = error(timeout(Duration::from_secs(20), client.fetch(request(url))).await.unwrap());
    sleep(Duration::from_millis(200)).await;
    (error, seen.load(Relaxed))
}

#[tokio::test]
async fn reset_http2_stream_is_a_transient_error() {
    const NO_ERROR: u32 = 0;
    const INTERNAL: u32 = 2;
    const REFUSED: u32 = 7;
    const CALM: u32 = 11;
    let answers: [(&str, Answer); 5] = [
        ("REFUSED_STREAM", |id| reset(id, REFUSED)),
        ("INTERNAL_ERROR", |id| reset(id, INTERNAL)),
        ("GOAWAY before the stream", |_| go_away(0, NO_ERROR)),
        ("GOAWAY to a client that asks too much", |_| go_away(0, CALM)),
        ("GOAWAY after a refusal", |id| [reset(id, REFUSED), go_away(0, NO_ERROR)].concat()),
    ];
    for (name, answer) in answers {
        let (error, requests) = fetched(answer).await;
        assert!(matches!(error, FetchError::ConnectionLost(_)), "{name}: {error:?}");
        assert!(error.is_transient() && error.is_unanswered(), "{name}");
        assert_eq!(requests, 1, "{name}");
    }
}

/// The next attempt is made over HTTP/1.1, which may work.
#[tokio::test]
async fn http2_violation_is_a_transient_error() {
    const PROTOCOL: u32 = 1;
    const HTTP_1_1_REQUIRED: u32 = 13;
    let answers: [(&str, Answer); 5] = [
        ("a header of HTTP/1.1, as Apache sends it behind a proxy", |id| {
            let upgrade = [&[0x88, 0, 7][..], b"upgrade", &[6], b"h2,h2c"].concat();
            raw_frame(HEADERS, END_HEADERS, id, &upgrade)
        }),
        ("a stream that was never opened", |id| reset(id + 2, PROTOCOL)),
        ("a body without headers", |id| [&[0, 0, 1, 0, 0][..], &id.to_be_bytes(), b"x"].concat()),
        ("our request is called invalid", |_| go_away(0, PROTOCOL)),
        ("HTTP/1.1 is demanded", |id| reset(id, HTTP_1_1_REQUIRED)),
    ];
    for (name, answer) in answers {
        let (error, requests) = fetched(answer).await;
        assert!(matches!(error, FetchError::Http2(_)), "{name}: {error:?}");
        assert!(error.is_transient() && !error.is_unanswered(), "{name}");
        assert_eq!(requests, 1, "{name}");
    }
}

/// The second lost connection in a row leads to HTTP/1.1, which may work.
#[tokio::test]
async fn host_that_closes_http2_connections_falls_back_to_http1() {
    let (url, pem) = flooding(go_away(0, 0), Vec::new()).await;
    let client = client(HttpSettings { extra_roots: pem.into_bytes(), ..settings() });
    for attempt in 0..2 {
        let lost = timeout(Duration::from_secs(20), client.fetch(request(url.clone()))).await.unwrap();
        let lost = error(lost);
        assert!(matches!(lost, FetchError::ConnectionLost(_)), "{attempt}: {lost:?}");
    }
    page(client.fetch(request(url)).await);
}

/// A server that answers over HTTP/2 with `begin` and then with endless `flood`, and over HTTP/1.1 with a
/// page. Returns its URL and its certificate in PEM.
async fn flooding(begin: Vec<u8>, flood: Vec<u8>) -> (Url, String) {
    let (acceptor, pem) = acceptor(&["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    let flood = flood.repeat(1_000);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, begin, flood) = (acceptor.clone(), begin.clone(), flood.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    let mut preface = [0; PREFACE];
                    let _ = stream.read_exact(&mut preface).await;
                    let _ = stream.write_all(&EMPTY_SETTINGS).await;
                    while frame(&mut stream).await.is_some_and(|(kind, _)| kind != HEADERS) {}
                    let _ = stream.write_all(&begin).await;
                    let (mut answers, mut floods) = tokio::io::split(stream);
                    let mut unread = tokio::io::sink();
                    let read = tokio::io::copy(&mut answers, &mut unread);
                    let _ = tokio::join!(read, async {
                        while !flood.is_empty() && floods.write_all(&flood).await.is_ok() {}
                    });
                    return;
                }
                let mut head = [0; 4096];
                let _ = stream.read(&mut head).await;
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\npage";
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (url, pem)
}

fn raw_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[tokio::test]
async fn host_that_floods_http2_falls_back_to_http1() {
    // static table of HPACK: status 200
    let head = || raw_frame(HEADERS, END_HEADERS, 1, &[0x88]);
    let hints = raw_frame(HEADERS, END_HEADERS, 1, &[&[0x08, 3][..], b"103"].concat());
    let floods = [
        ("ping", Vec::new(), raw_frame(6, 0, 0, &[0; 8])),
        ("settings", Vec::new(), raw_frame(SETTINGS, 0, 0, &[])),
        ("window update", Vec::new(), raw_frame(8, 0, 0, &[0, 0, 0, 0])),
        ("early hints", Vec::new(), hints),
        ("unknown", Vec::new(), raw_frame(0xfa, 0, 0, b"x")),
        ("empty data", head(), raw_frame(0, 0, 1, &[])),
        ("padding", head(), raw_frame(0, 8, 1, &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        ("continuation", raw_frame(HEADERS, 0, 1, &[0x88]), raw_frame(9, 0, 1, &[])),
    ];
    for (name, begin, flood) in floods {
        let (url, pem) = flooding(begin, flood).await;
        let limits = HttpSettings { read_timeout: Duration::from_secs(60), ..settings() };
        let client = client(HttpSettings { extra_roots: pem.into_bytes(), ..limits });
        let first = timeout(Duration::from_secs(20), client.fetch(request(url.clone()))).await;
        let first = error(first.unwrap_or_else(|_| panic!("{name}: the flood goes on")));
        assert!(matches!(first, FetchError::Http2(_) | FetchError::Protocol(_)), "{name}: {first:?}");
        page(client.fetch(request(url)).await);
    }
}
