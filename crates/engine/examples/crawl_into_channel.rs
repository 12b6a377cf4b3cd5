//! Crawls a site into a channel: `cargo run -p crawl-engine --example crawl_into_channel https://example.org/`.

use crawl_engine::{Crawl, config::Config};
use crawl_model::Record;
use crawl_output::{DiscardingOutput, OutputError, RecordOutput};
use std::{
    error::Error,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};
use url::Url;

/// Records that wait for their reader. A full channel slows the crawl down.
const WAITING: usize = 16;

/// Output that sends each record to the other end of a channel.
struct ChannelRecords(SyncSender<Record>);

impl ChannelRecords {
    fn new() -> (Self, Receiver<Record>) {
        let (sender, receiver) = sync_channel(WAITING);
        (Self(sender), receiver)
    }
}

impl RecordOutput for ChannelRecords {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        // the sink has a thread of its own, so that it may wait
        self.0.send(record.clone()).map_err(|_| OutputError::ClosedPipe)
    }

    fn name(&self) -> &'static str {
        "channel"
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url: Url = std::env::args().nth(1).ok_or("name a URL")?.parse()?;
    let config = Config::builder().with("crawl.limit", 10).build()?;
    let (output, records) = ChannelRecords::new();
    let reader =
        thread::Builder::new().name("reader".into()).spawn(move || records.iter().for_each(print))?;
    let ending = Crawl::new(config).seed(url).run(Box::new(output), Box::new(DiscardingOutput)).await;
    reader.join().map_err(|_| "the reader panicked")?;
    ending.map(drop).map_err(|failure| failure.error.into())
}

#[expect(clippy::print_stdout, clippy::needless_pass_by_value, reason = "an example")]
fn print(record: Record) {
    println!("{}  {} words", record.url, record.metadata.word_count);
}
