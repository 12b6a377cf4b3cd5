//! Crawls a site and writes a table of its pages in a format of its own:
//! `cargo run -p crawl-engine --example custom_output https://example.org/ pages.tsv`.

use crawl_engine::{Crawl, config::Config};
use crawl_model::Record;
use crawl_output::{DiscardingOutput, OutputError, RecordOutput};
use std::{
    error::Error,
    fs::File,
    io::{self, BufWriter, Write},
};
use url::Url;

/// Output of one line with URL, title and number of words a record.
struct Table {
    file: BufWriter<File>,
    path: String,
}

impl Table {
    fn create(path: String) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(&path)?), path })
    }

    /// The outcome of a write, with the name of the file.
    fn written(&self, outcome: io::Result<()>) -> Result<(), OutputError> {
        outcome.map_err(|source| OutputError::Write { name: self.path.clone(), source })
    }
}

impl RecordOutput for Table {
    fn push(&mut self, record: &Record) -> Result<(), OutputError> {
        let title = record.metadata.title.as_deref().unwrap_or_default().replace(['\t', '\n'], " ");
        let outcome = writeln!(self.file, "{}\t{title}\t{}", record.url, record.metadata.word_count);
        self.written(outcome)
    }

    fn commit(&mut self) -> Result<Option<u64>, OutputError> {
        let outcome = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        self.written(outcome).map(|()| None)
    }

    fn name(&self) -> &str {
        &self.path
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: custom_output URL FILE".into());
    };
    let url: Url = url.parse()?;
    let config = Config::builder().with("crawl.limit", 10).with("crawl.scope", "host").build()?;
    let table = Box::new(Table::create(path)?);
    let ending = Crawl::new(config).seed(url).run(table, Box::new(DiscardingOutput)).await;
    ending.map(drop).map_err(|failure| failure.error.into())
}
