//! Engine of the crawler: the pipeline from a frontier to outputs, its stages, and what they share.
//!
//! A program crawls with [`Crawl`], whose state lies in memory:
//!
//! ```no_run
//! use crawl_engine::{Crawl, config::Config};
//! use crawl_model::Record;
//! use crawl_output::{DiscardingOutput, OutputError, RecordOutput};
//!
//! /// Output that prints the URL of each record.
//! struct Urls;
//!
//! impl RecordOutput for Urls {
//!     fn push(&mut self, record: &Record) -> Result<(), OutputError> {
//!         println!("{}", record.url);
//!         Ok(())
//!     }
//!
//!     fn name(&self) -> &str {
//!         "urls"
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::builder().with("crawl.limit", 10).with("politeness.delay", "2s").build()?;
//! let crawl = Crawl::new(config).seed("https://example.org/".parse()?);
//! let ending = crawl.run(Box::new(Urls), Box::new(DiscardingOutput)).await.map_err(|failure| failure.error)?;
//! println!("{ending:?}");
//! # Ok(())
//! # }
//! ```
//!
//! | To | use |
//! |---|---|
//! | crawl from a program | [`Crawl`] |
//! | crawl with a state directory and resume | [`session::Session`] |
//! | fetch and extract one page at a time | [`visit::Visitor`] |
//! | extract an archive again without requests | [`replay`] |
//! | choose settings | [`config::Config::builder`] with the keys of `config/crawl.toml` |
//!
//! The example `crawl_into_channel` sends records to another thread, and `custom_output` writes a format of its
//! own. [`pipeline`] shows the flow of a page through the stages. Settings, results and errors that may grow
//! are `#[non_exhaustive]`: [`Config::builder`](config::Config::builder) makes settings.

mod address_turns;
pub mod archive;
pub mod async_store;
pub mod bounds;
mod browser;
pub mod captures;
pub mod config;
pub mod context;
pub mod cpu;
mod crawl;
pub mod descriptors;
mod duplicates;
pub mod ending;
pub mod exit;
mod extract_stage;
mod extractors;
mod failed_page;
mod feed_quota;
mod feeds;
mod fetch_stage;
mod finished;
pub mod hints;
pub mod host_state;
pub mod judge;
mod kept_body;
pub mod latency;
mod lease_fence;
mod lessons;
mod links;
pub mod memory;
mod messages;
pub mod network;
mod opt_outs;
mod origin_cache;
mod outage;
pub mod page_rules;
mod page_work;
pub mod pipeline;
pub mod platform;
pub mod project_access;
mod quota;
pub mod record;
pub mod recrawl;
pub mod replay;
mod revisit;
mod robots_cache;
mod rotation;
pub mod rules_version;
mod scheduler;
pub mod scratch;
pub mod seeds;
pub mod session;
mod shard;
mod sink;
pub mod site_counts;
pub mod site_settings;
mod sitemap_quota;
mod sitemaps;
mod slow_lane;
mod soft404;
pub mod stage_error;
pub mod state;
pub mod stats;
mod stored_time;
mod strategies;
mod text_file;
pub mod threads;
pub mod traps;
pub mod visit;
pub mod words;

pub use crawl::Crawl;
