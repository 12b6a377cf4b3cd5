//! Lines `{"id","url","html"}` or `{"id","url","html_base64"}` to lines `{"id","text","metadata"}`.
//!
//! `extract_jsonl IN.jsonl OUT.jsonl [--time] [--markdown] [--images] [--links keep|once|strip|reference]
//! [--favor precision|recall|balanced] [--by-site] [--as-crawl] [--rules DIR]`
//!
//! `--as-crawl` runs what a crawl does: it counts the blocks of each page, too. `all` is the hash of every
//! result; two programs with equal lines extract the same. `--time` prints the CPU time and adds `ms` to each line.

use base64::{Engine, engine::general_purpose::STANDARD};
use cpu_time::ThreadTime;
use crawl_extract::{CountPolicy, Format, Input, Options, PageExtractor, SiteEvidence};
use crawl_model::HostKey;
use std::{
    borrow::Cow,
    collections::HashMap,
    error::Error,
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
    time::Duration,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let [input, output, ..] = args.as_slice() else { return Err("two files are needed".into()) };
    let mut options = Options::default().with_format(Format::Text);
    if has("--markdown") {
        options.format = Format::Markdown;
    }
    options.images = has("--images");
    let (as_crawl, timed) = (has("--as-crawl"), has("--time"));
    if let Some(at) = args.iter().position(|a| a == "--links") {
        options.links = args.get(at + 1).ok_or("--links needs a value")?.parse()?;
    }
    if let Some(at) = args.iter().position(|a| a == "--favor") {
        options.favor = args.get(at + 1).ok_or("--favor needs a value")?.parse()?;
    }
    let rules = args.iter().position(|a| a == "--rules").and_then(|at| args.get(at + 1));
    let extractor = PageExtractor::with_rules(rules.map(Path::new), options)?;
    let sites = if has("--by-site") { evidence(&extractor, input)? } else { HashMap::new() };
    let mut out = BufWriter::new(File::create(output)?);
    let (mut spent, mut pages, mut bytes) = (Duration::ZERO, 0u32, 0usize);
    for line in BufReader::new(File::open(input)?).lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let (body, url) = (body(&row)?, url(&row));
        let before = ThreadTime::now();
        let input = Input::new(&body).with_url(url.as_ref());
        let site = url.as_ref().and_then(HostKey::of).and_then(|host| sites.get(&host));
        let mut counted = Vec::new();
        let page = match site {
            site if as_crawl => {
                let page = extractor.extract_and_count(&input, site, CountPolicy::Every);
                counted = page.blocks;
                page.extraction
            }
            Some(site) => extractor.extract_by_site(&input, site),
            None => extractor.extract(&input),
        };
        let elapsed = before.elapsed();
        spent += elapsed;
        pages += 1;
        bytes += body.len();
        let row = serde_json::json!({
            "id": row["id"], "text": page.content, "extractor": page.extractor, "reason": page.reason, "score": page.article_score,
            "metadata": {"title": page.metadata.title, "author": page.metadata.authors, "published": page.metadata.published,
                "modified": page.metadata.modified, "sources": page.metadata.sources, "confidence": page.metadata.confidence,
                "language": page.metadata.language, "languageDetected": page.metadata.language_detected},
            "links": page.links.len(), "warnings": page.warnings, "ms": timed.then_some(elapsed.as_secs_f64() * 1000.0),
            "all": as_crawl.then(|| hash(&format!("{page:?} {counted:?}"))),
        });
        writeln!(out, "{row}")?;
    }
    out.flush()?;
    if timed {
        std::io::stdout().write_all(speed(spent, pages, bytes).as_bytes())?;
    }
    Ok(())
}

fn speed(spent: Duration, pages: u32, bytes: usize) -> String {
    let ms = spent.as_secs_f64() * 1000.0;
    let (a_page, megabytes) = (ms / f64::from(pages), bytes as f64 / 1000.0 / ms);
    format!("{pages} pages, {a_page:.3} ms CPU a page, {megabytes:.1} MB/s\n")
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The bytes of a line's page.
fn body(row: &serde_json::Value) -> Result<Cow<'_, [u8]>, base64::DecodeError> {
    match row["html"].as_str() {
        Some(html) => Ok(Cow::Borrowed(html.as_bytes())),
        None => STANDARD.decode(row["html_base64"].as_str().unwrap_or_default()).map(Cow::Owned),
    }
}

fn url(row: &serde_json::Value) -> Option<url::Url> {
    row["url"].as_str().and_then(|url| url::Url::parse(url).ok())
}

/// The evidence of each host of the lines.
fn evidence(
    extractor: &PageExtractor,
    input: &str,
) -> Result<HashMap<HostKey, SiteEvidence>, Box<dyn Error>> {
    let mut sites: HashMap<HostKey, SiteEvidence> = HashMap::new();
    for line in BufReader::new(File::open(input)?).lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let (body, url) = (body(&row)?, url(&row));
        let Some(host) = url.as_ref().and_then(HostKey::of) else { continue };
        let input = Input::new(&body).with_url(url.as_ref());
        sites.entry(host).or_default().observe(&extractor.count_blocks(&input));
    }
    sites.values_mut().for_each(SiteEvidence::settle);
    Ok(sites)
}
