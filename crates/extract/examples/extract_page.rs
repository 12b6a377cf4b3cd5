//! Prints the title and the main content of a page as Markdown: `cargo run --example extract_page -- page.html [URL]`.

use crawl_extract::{Input, Options, PageExtractor};
use std::{
    env,
    error::Error,
    fs,
    io::{self, Write},
};
use url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: extract_page FILE [URL]")?;
    let bytes = fs::read(path)?;
    let url = arguments.next().map(|text| Url::parse(&text)).transpose()?;

    // one extractor serves all pages and all threads
    let extractor = PageExtractor::new(Options::default())?;
    let extraction = extractor.extract(&Input::new(&bytes).with_url(url.as_ref()));

    let mut out = io::stdout().lock();
    writeln!(out, "{}\n", extraction.metadata.title.as_deref().unwrap_or("(no title)"))?;
    writeln!(out, "{}", extraction.content)?;
    writeln!(io::stderr(), "{} words: {}", extraction.word_count, extraction.reason)?;
    Ok(())
}
