//! Requests the URLs of standard input, one per line, and prints the cost: `requests CONCURRENCY
//! [HOST:PORT:ADDRESS …] < urls.txt`.

#![allow(clippy::print_stdout, reason = "it is what the example is for")]

use crawl_fetch::{
    AddressPolicy, ByteBudget, Fetched, Gate, HttpClient, HttpSettings, PolitenessSettings, SlotOutcome,
};
use crawl_model::{CrawlRequest, HostKey};
use futures::{StreamExt, stream};
use std::{error::Error, io::stdin, time::Duration, time::Instant};
use url::Url;

/// CPU seconds of this process, from `/proc/self/stat` (fields 14 and 15, in hundredths).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let concurrency = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(16);
    let settings = HttpSettings {
        addresses: AddressPolicy { allow_private: true, allow: Vec::new() },
        resolve: arguments.map(|rule| rule.parse()).collect::<Result<_, _>>()?,
        pool_idle_per_host: concurrency,
        ..HttpSettings::default()
    };
    let client = HttpClient::new(settings, ByteBudget::new(64 << 20))?;
    let free = PolitenessSettings {
        delay: Duration::ZERO,
        host_concurrency: concurrency,
        ..PolitenessSettings::default()
    };
    let gate = Gate::with_addresses(free, client.address_book());
    let urls: Vec<Url> = stdin().lines().map_while(Result::ok).filter_map(|line| line.parse().ok()).collect();
    let (count, started, cpu) = (urls.len(), Instant::now(), cpu_seconds());
    let bytes: u64 = stream::iter(urls)
        .map(|url| one(&client, &gate, url))
        .buffer_unordered(concurrency)
        .fold(0, |sum, bytes| async move { sum + bytes })
        .await;
    let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let each = 1e3 * cpu / f64::from(u32::try_from(count.max(1))?);
    println!("{count} requests, {bytes} bytes, {wall:.2} s, {cpu:.2} CPU s, {each:.3} CPU ms each");
    Ok(())
}

async fn one(client: &HttpClient, gate: &Gate, url: Url) -> u64 {
    let Some(host) = HostKey::of(&url) else { return 0 };
    let slot = gate.acquire(&host).await;
    let request = CrawlRequest::of_seed(url);
    let fetched = client.fetch(request).await;
    slot.finish(SlotOutcome::of(&fetched));
    match fetched {
        Fetched::Page(page) => page.wire_bytes,
        _ => 0,
    }
}
