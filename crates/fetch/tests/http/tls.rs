//! TLS: errors and negotiation.

use crate::{
    error, page,
    support::{client, request, settings},
};
use crawl_fetch::{FetchError, HttpSettings};
use hyper::http;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
    server::TlsStream,
};
use url::Url;

/// A server with a certificate for 127.0.0.1 that speaks the protocols it offers by ALPN.
struct TlsServer {
    address: SocketAddr,
    /// Its certificate, which is self-signed.
    pem: String,
    /// Negotiated protocol of each connection.
    spoken: Arc<Mutex<Vec<String>>>,
}

impl TlsServer {
    async fn offering(protocols: &[&str]) -> Self {
        let (acceptor, pem) = acceptor(protocols);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let spoken = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&spoken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, log) = (acceptor.clone(), Arc::clone(&log));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let protocol = stream.get_ref().1.alpn_protocol().unwrap_or_default().to_vec();
                    let protocol = String::from_utf8(protocol).unwrap();
                    log.lock().unwrap().push(protocol.clone());
                    if protocol == "h2" { serve_h2(stream).await } else { serve_http1(stream).await }
                });
            }
        });
        Self { address, pem, spoken }
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("https://{}{path}", self.address)).unwrap()
    }

    fn trusted(&self) -> HttpSettings {
        HttpSettings { extra_roots: self.pem.clone().into_bytes(), ..settings() }
    }
}

/// Acceptor with a certificate for 127.0.0.1, and that certificate in PEM.
pub fn acceptor(protocols: &[&str]) -> (TlsAcceptor, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    // the default of the process is the client's
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

/// Answers each request with its own path.
async fn serve_h2(stream: TlsStream<TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let answer = http::Response::builder().header("content-type", "text/html").body(()).unwrap();
        let mut body = respond.send_response(answer, false).unwrap();
        let text = format!("{:?} {}", request.version(), request.uri().path());
        body.send_data(text.into_bytes().into(), true).unwrap();
    }
}

async fn serve_http1(mut stream: TlsStream<TcpStream>) {
    let mut head = [0; 4096];
    while stream.read(&mut head).await.is_ok_and(|n| n > 0) {
        let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\nHTTP/1.1";
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// HTTP/2 is used if the server offers it, over one connection for many requests; otherwise HTTP/1.1.
#[tokio::test]
async fn http_2_is_negotiated_by_alpn() {
    for (offer, expected) in [(&["h2", "http/1.1"][..], "h2"), (&["http/1.1"], "http/1.1"), (&[], "")] {
        let server = TlsServer::offering(offer).await;
        let client = client(server.trusted());
        for path in ["/a", "/b", "/c"] {
            let page = page(client.fetch(request(server.url(path))).await);
            let body = String::from_utf8(page.body.bytes.to_vec()).unwrap();
            let answered = if expected == "h2" { format!("HTTP/2.0 {path}") } else { "HTTP/1.1".to_owned() };
            assert_eq!(body, answered);
        }
        assert_eq!(*server.spoken.lock().unwrap(), [expected], "one connection for all three");
    }
}

#[tokio::test]
async fn untrusted_certificate_is_a_tls_error() {
    let server = TlsServer::offering(&["h2"]).await;
    let error = error(client(settings()).fetch(request(server.url("/"))).await);
    assert!(matches!(&error, FetchError::Tls { host, .. } if host == "127.0.0.1"), "{error:?}");
    assert!(error.is_unreachable());
}

/// A server without memory or free workers sends the alert 80; 40 means that it never will agree.
#[tokio::test]
async fn alert_of_an_internal_error_is_transient() {
    for (alert, kind, is_transient) in [(80, "connection_lost", true), (40, "tls", false)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 4096];
            let _ = stream.read(&mut hello).await;
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).await;
            let _ = stream.shutdown().await;
        });
        let error = error(client(settings()).fetch(request(url)).await);
        assert_eq!((error.kind(), error.is_transient()), (kind, is_transient), "{error}");
    }
}

#[tokio::test]
async fn plain_text_on_a_tls_port_is_a_tls_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            // held open, so that the client reads it before the end
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    });
    let url = Url::parse(&format!("https://{address}/")).unwrap();
    let error = error(client(settings()).fetch(request(url)).await);
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
}

#[tokio::test]
async fn tls_key_update_request_aborts_the_connection() {
    let (acceptor, pem) = acceptor(&["http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let _ = stream.read(&mut [0; 4096]).await;
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\npage";
            let _ = stream.write_all(head).await;
            let _ = stream.get_mut().1.refresh_traffic_keys();
            let _ = stream.write_all(b"page").await;
            let _ = stream.flush().await;
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    let limits = HttpSettings { read_timeout: Duration::from_secs(60), ..settings() };
    let client = client(HttpSettings { extra_roots: pem.into_bytes(), ..limits });
    let answer = tokio::time::timeout(Duration::from_secs(20), client.fetch(request(url))).await;
    let error = error(answer.unwrap());
    assert!(!matches!(error, FetchError::Timeout { .. }), "{error:?}");
}

/// Old servers close a TLS connection without its closing message. Only a body of that end is whole.
#[tokio::test]
async fn body_that_ends_with_a_tls_connection_is_whole_without_its_closing_message() {
    let (acceptor, pem) = acceptor(&["http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut head = [0; 4096];
            let length = stream.read(&mut head).await.unwrap_or(0);
            let framing = match &head[..length] {
                head if head.starts_with(b"GET /length") => "Content-Length: 99\r\n\r\n",
                head if head.starts_with(b"GET /chunk") => "Transfer-Encoding: chunked\r\n\r\n4\r\n",
                _ => "\r\n",
            };
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{framing}page");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.flush().await;
            drop(stream);
        }
    });
    let client = client(HttpSettings { extra_roots: pem.into_bytes(), ..settings() });
    let url = |path: &str| Url::parse(&format!("https://{address}/{path}")).unwrap();
    let whole = page(client.fetch(request(url("close"))).await);
    assert_eq!((&*whole.body.bytes, whole.body.truncated), (&b"page"[..], false));
    for path in ["length", "chunk"] {
        let error = error(client.fetch(request(url(path))).await);
        assert!(matches!(error, FetchError::ConnectionLost(_)), "{path}: {error}");
    }
}
