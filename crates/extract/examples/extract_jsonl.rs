//! Lines `{"id","url","html"}` or `{"id","url","html_base64"}` to lines `{"id","text","metadata"}`.
//!
//! `extract_jsonl IN.jsonl OUT.jsonl [--time] [--markdown] [--images] [--links keep|once|strip|reference] [--favor precision|recall|balanced]`

use base64::{Engine, engine::general_purpose::STANDARD};
use cpu_time::ThreadTime;
use crawl_extract::{Format, Input, Options, PageExtractor};
use std::{
    error::Error,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    time::Duration,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let [input, output, ..] = args.as_slice() else { return Err("two files are needed".into()) };
    let mut options = Options { format: Format::Text, ..Options::default() };
    if has("--markdown") {
        options.format = Format::Markdown;
    }
    options.images = has("--images");
    if let Some(at) = args.iter().position(|a| a == "--links") {
        options.links = args.get(at + 1).ok_or("--links needs a value")?.parse()?;
    }
    if let Some(at) = args.iter().position(|a| a == "--favor") {
        options.favor = args.get(at + 1).ok_or("--favor needs a value")?.parse()?;
    }
    let extractor = PageExtractor::new(options)?;
    let mut out = BufWriter::new(File::create(output)?);
    let (mut spent, mut pages, mut bytes) = (Duration::ZERO, 0u32, 0usize);
    for line in BufReader::new(File::open(input)?).lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let decoded;
        let body = match row["html"].as_str() {
            Some(html) => html.as_bytes(),
            None => {
                decoded = STANDARD.decode(row["html_base64"].as_str().unwrap_or_default())?;
                &decoded
            }
        };
        let url = row["url"].as_str().and_then(|url| url::Url::parse(url).ok());
        let before = ThreadTime::now();
        let page = extractor.extract(&Input { bytes: body, url: url.as_ref(), content_type: None });
        spent += before.elapsed();
        pages += 1;
        bytes += body.len();
        let row = serde_json::json!({
            "id": row["id"], "text": page.content, "extractor": page.extractor, "reason": page.reason, "score": page.article_score,
            "metadata": {"title": page.metadata.title, "author": page.metadata.authors, "published": page.metadata.published,
                "language": page.metadata.language, "languageDetected": page.metadata.language_detected},
            "links": page.links.len(), "warnings": page.warnings,
        });
        writeln!(out, "{row}")?;
    }
    out.flush()?;
    if has("--time") {
        let ms = spent.as_secs_f64() * 1000.0;
        let text = format!(
            "{pages} pages, {:.3} ms CPU a page, {:.1} MB/s\n",
            ms / f64::from(pages),
            bytes as f64 / 1000.0 / ms
        );
        std::io::stdout().write_all(text.as_bytes())?;
    }
    Ok(())
}
