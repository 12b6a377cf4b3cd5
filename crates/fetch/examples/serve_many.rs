//! Serves a generated site of any size on loopback, for measurements: `serve_many PAGES [PORT]`.
//!
//! Page `n` has a menu of ten links and links to pages `4n+1` to `4n+4` and to four distant pages. Its text
//! depends on `n` alone, so that two runs see the same site. Port 0, the default, picks a free port; the
//! program prints its URL.

use std::{env, error::Error, fmt::Write as _, io::Write as _, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Vocabulary of the texts.
const WORDS: &str = "harbour tide lock berth ferry crane gull rope net sail mast keel anchor quay pier buoy lamp chart wind wave \
                     storm calm catch crew captain cargo timber salt grain barrel tower bell bridge canal sluice pilot engine";
/// Children of a page.
const CHILDREN: u64 = 4;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let pages: u64 = args.next().ok_or("usage: serve_many PAGES [PORT]")?.parse()?;
    let port: u16 = args.next().map_or(Ok(0), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}/p/0", listener.local_addr()?)?;
    out.flush()?;
    let words: Arc<[&str]> = WORDS.split_whitespace().collect();
    loop {
        let (stream, _) = listener.accept().await?;
        let words = Arc::clone(&words);
        tokio::spawn(async move {
            // a client that disconnects ends only its own connection
            let _ = answer_all(stream, pages, &words).await;
        });
    }
}

/// Answers requests without a body until the client closes the connection.
async fn answer_all(mut stream: TcpStream, pages: u64, words: &[&str]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(4096);
    loop {
        while let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            buffer.drain(..end + 4);
            stream.write_all(&answer(&head, pages, words)).await?;
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

fn answer(head: &str, pages: u64, words: &[&str]) -> Vec<u8> {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let number = path.strip_prefix("/p/").and_then(|number| number.parse().ok()).filter(|n| *n < pages);
    let (status, body) = match number {
        Some(number) => ("200 OK", page(number, pages, words)),
        None => ("404 Not Found", "<title>Not found</title><p>There is no such page.".to_owned()),
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn page(number: u64, pages: u64, words: &[&str]) -> String {
    let mut dice = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    let mut roll = |below: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % below
    };
    let mut html = format!("<!doctype html><html lang=en><title>Page {number}</title><body><nav><ul>");
    for item in 0..10.min(pages) {
        let _ = write!(html, "<li><a href=\"/p/{item}\">Menu entry number {item}</a>");
    }
    let _ = write!(html, "</ul></nav><main><h1>Page {number}</h1>");
    for _ in 0..4 {
        html.push_str("<p>");
        for _ in 0..40 {
            let word = words[usize::try_from(roll(words.len() as u64)).unwrap_or(0)];
            let _ = write!(html, "{word}{} ", roll(1000));
        }
        html.push_str("</p>");
    }
    html.push_str("<ul>");
    let children = (1..=CHILDREN).map(|child| number * CHILDREN + child).filter(|child| *child < pages);
    let far: Vec<u64> = (0..4).map(|_| roll(pages)).collect();
    for link in children.chain(far) {
        let _ = write!(html, "<li><a href=\"/p/{link}\">Go on to page {link} of the site</a>");
    }
    html.push_str("</ul></main><footer><p>Aldermere Harbour Board, Quay Street 4, Aldermere</p></footer>");
    html
}
