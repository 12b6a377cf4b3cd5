//! The engine of the crawler: the pipeline from a frontier to outputs, its stages, and what they share. [`pipeline`] shows the flow,
//! `config/crawl.toml` every setting.
//!
//! A program crawls with [`Crawl`], whose state lies in memory, or with [`session::Session`], which resumes from a state
//! directory. [`visit::Visitor`] fetches and extracts one page at a time.

pub mod archive;
pub mod bounds;
mod browser;
pub mod config;
pub mod context;
pub mod cpu;
mod crawl;
pub mod descriptors;
mod duplicates;
pub mod ending;
pub mod exit;
mod extract_stage;
mod failed_page;
mod feed_book;
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
pub mod record;
pub mod recrawl;
pub mod replay;
mod revisit;
mod robots_cache;
pub mod rules_version;
mod scheduler;
pub mod seeds;
pub mod session;
mod shard;
mod sink;
pub mod site_book;
mod sitemap_book;
mod sitemaps;
mod slow_lane;
mod soft404;
pub mod stage_error;
pub mod state;
pub mod stats;
pub mod storage_door;
mod stored_time;
mod strategies;
pub mod threads;
pub mod traps;
pub mod visit;

pub use crawl::Crawl;
