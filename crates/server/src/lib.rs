//! Servers over projects and runs: a REST API ([`rest`]), tools for agents ([`mcp`]) counts for Prometheus ([`metrics`])
//! and webhooks ([`notify`]).

mod accept;
pub mod mcp;
pub mod metrics;
pub mod notify;
pub mod rest;
mod visitors;
