//! The crawler as a library; the binary is a thin shell around it. [`pipeline`] shows the flow, `config/crawl.toml`
//! every setting.

pub mod bounds;
pub mod browser;
pub mod cli;
mod commands;
pub mod config;
pub mod context;
pub mod cpu;
pub mod exit;
pub mod extract_stage;
pub mod feeds;
pub mod fetch_stage;
mod hints;
mod host_state;
pub mod latency;
pub mod links;
mod logging;
pub mod mcp;
mod memory;
mod metrics;
pub mod opt_outs;
mod origin_cache;
pub mod output;
mod page_rules;
pub mod pipeline;
pub mod progress;
pub mod projects;
pub mod record;
pub mod robots_cache;
pub mod run;
pub mod scheduler;
pub mod seeds;
pub mod serve;
pub mod shard;
pub mod sink;
pub mod sitemap_book;
mod sitemaps;
pub mod soft404;
mod state;
pub mod stats;
pub mod store;
pub mod strategies;
mod threads;
pub mod traps;
mod visit;

pub use commands::dispatch;
