//! Share of the batch's removals that a stream removes too, in file order and in random orders: `cargo run
//! --release -p crawl-dedup --example dedup_stream FILE.jsonl [early|settled [SETTLE_PAGES [HOST]]]`.
//!
//! The file has JSON lines with `url` and `content`, such as records of a crawl. A removed span agrees if
//! both remove the same bytes. The program also prints the share of pages with equal text, and each host's
//! number of pages at its first release. With a part of a host's name it shows the first differences there.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it prints its figures, and ends where anything fails"
)]

use crawl_dedup::{
    Cleaned, Fingerprint, FingerprintSettings, HoldPolicy, HostStream, Mode, PageText, Release,
    batch::clean_project,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

struct Page {
    host: String,
    url: String,
    content: String,
    title: Option<String>,
    extracted: bool,
}

impl Page {
    fn of(line: &str) -> Self {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let url = text(&row["url"]).unwrap();
        let extractor = row["metadata"]["extractor"].as_str();
        Self {
            host: url.split('/').nth(2).unwrap().to_owned(),
            // null where it equals the text
            content: text(&row["content"]).or_else(|| text(&row["text"])).unwrap(),
            title: text(&row["metadata"]["title"]),
            extracted: PageText::is_extracted_by(extractor),
            url,
        }
    }

    fn text(&self) -> PageText<'_> {
        let title = self.title.as_deref();
        PageText { content: &self.content, url: &self.url, title, extracted: self.extracted }
    }
}

/// Bytes that both remove, that only the stream removes, that only the batch removes; pages, equal pages,
/// held pages; pages at the first release.
#[derive(Clone, Copy, Default)]
struct Agreement {
    both: u64,
    stream: u64,
    batch: u64,
    pages: usize,
    same: usize,
    held: usize,
    first: usize,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let text = std::fs::read_to_string(args.next().unwrap()).unwrap();
    let release = match args.next().as_deref() {
        None | Some("early") => Release::Early,
        Some(_) => Release::Settled,
    };
    let settle_pages = args.next().map_or(200, |n| n.parse().unwrap());
    let policy = HoldPolicy { release, settle_pages };
    let shown = args.next();
    let pages: Vec<Page> = text.lines().map(Page::of).collect();
    drop(text);
    let texts: Vec<_> = pages.iter().map(|page| (page.host.as_str(), page.text())).collect();
    let (batch, _) = clean_project(&texts, Mode::Site, &FingerprintSettings::default());
    let mut order: Vec<usize> = (0..pages.len()).collect();
    for seed in 0..=10 {
        println!("{}", if seed == 0 { "as in the file".into() } else { format!("random order {seed}") });
        if seed > 0 {
            shuffle(&mut order, seed);
        }
        let (stream, held) = streamed(&texts, &order, policy);
        compare(&pages, &stream, &batch, &held);
        if let Some(host) = shown.as_deref().filter(|_| seed == 0) {
            show(host, &pages, &stream, &batch);
        }
        let (ended, _) =
            streamed(&texts, &order, HoldPolicy { release: Release::Settled, settle_pages: u64::MAX });
        println!("  settled at the end: {}", if ended == batch { "identical" } else { "DIFFERENT" });
    }
}

/// Fisher and Yates, by xorshift64 (Marsaglia 2003).
fn shuffle(order: &mut [usize], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for i in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
}

/// The pages cleaned in an order; per host the number of held pages and of pages at the first release.
fn streamed<'a>(
    texts: &[(&'a str, PageText<'_>)],
    order: &[usize],
    policy: HoldPolicy,
) -> (Vec<Cleaned>, BTreeMap<&'a str, (usize, usize)>) {
    let mut cleaned: Vec<Option<Cleaned>> = vec![None; texts.len()];
    let mut hosts = BTreeMap::new();
    let mut held: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for &at in order {
        let (name, page) = &texts[at];
        let host = hosts.entry(*name).or_insert_with(|| {
            HostStream::new(Fingerprint::new(Mode::Site, FingerprintSettings::default()), policy)
        });
        let read = host.fingerprint().read(page);
        if host.observe(page, &read) {
            host.hold(page, &read, at);
            held.entry(*name).or_default().0 += 1;
        } else {
            cleaned[at] = Some(host.clean(page, &read));
        }
        for at in host.due() {
            cleaned[at] = Some(judged(host, &texts[at].1));
        }
        for at in host.to_examine() {
            let page = &texts[at].1;
            let read = host.fingerprint().read(page);
            if host.is_stable(page, &read) {
                host.release(&at);
                cleaned[at] = Some(host.clean(page, &read));
            }
        }
        if host.fingerprint().state().is_settled() {
            let (_, first) = held.entry(*name).or_default();
            *first = if *first == 0 { host.fingerprint().state().pages() as usize } else { *first };
        }
    }
    for host in hosts.values_mut() {
        for at in host.end() {
            cleaned[at] = Some(judged(host, &texts[at].1));
        }
    }
    (cleaned.into_iter().map(Option::unwrap).collect(), held)
}

fn judged(host: &HostStream<usize>, page: &PageText<'_>) -> Cleaned {
    host.clean(page, &host.fingerprint().read(page))
}

fn spans(cleaned: &Cleaned) -> BTreeSet<(u64, u64)> {
    cleaned.removed.iter().map(|span| (span.start, span.end)).collect()
}

fn compare(pages: &[Page], stream: &[Cleaned], batch: &[Cleaned], held: &BTreeMap<&str, (usize, usize)>) {
    let mut hosts: BTreeMap<&str, Agreement> = BTreeMap::new();
    let bytes = |spans: &BTreeSet<(u64, u64)>| spans.iter().map(|(start, end)| end - start).sum::<u64>();
    for (page, (stream, batch)) in pages.iter().zip(stream.iter().zip(batch)) {
        let same = usize::from(stream.text == batch.text);
        let (stream, batch) = (spans(stream), spans(batch));
        let both = bytes(&stream.intersection(&batch).copied().collect());
        let host = hosts.entry(&page.host).or_default();
        host.pages += 1;
        host.same += same;
        host.both += both;
        host.stream += bytes(&stream) - both;
        host.batch += bytes(&batch) - both;
    }
    let mut all = Agreement::default();
    for (name, host) in &mut hosts {
        (host.held, host.first) = held.get(name).copied().unwrap_or_default();
        print(name, host);
        all.both += host.both;
        all.stream += host.stream;
        all.batch += host.batch;
        all.pages += host.pages;
        all.same += host.same;
        all.held += host.held;
    }
    print("all", &all);
}

fn print(name: &str, found: &Agreement) {
    let Agreement { both, stream, batch, pages, same, held, first } = found;
    let of = both + stream + batch;
    let share = if of == 0 { 1.0 } else { *both as f64 / of as f64 };
    println!(
        "  {name:34} both {both:9} bytes, stream alone {stream:7}, batch alone {batch:7}: {share:.4}; {same} of {pages} pages alike ({:.3}); {held} waited, the first for {first}",
        *same as f64 / *pages as f64
    );
}

fn show(host: &str, pages: &[Page], stream: &[Cleaned], batch: &[Cleaned]) {
    let of_host = pages.iter().zip(stream.iter().zip(batch)).filter(|(page, _)| page.host.contains(host));
    let mut left = 200;
    for (page, (stream, batch)) in of_host {
        for (who, cleaned, other) in [("stream", stream, spans(batch)), ("batch", batch, spans(stream))] {
            for span in cleaned.removed.iter().filter(|span| !other.contains(&(span.start, span.end))) {
                left -= 1;
                let text = &page.content[span.start as usize..span.end as usize];
                println!(
                    "  {who} {:?} {}/{} (stream at {}) {} {text:?}",
                    span.reason, span.pages, cleaned.pages, stream.pages, page.url
                );
                if left == 0 {
                    return;
                }
            }
        }
    }
}
