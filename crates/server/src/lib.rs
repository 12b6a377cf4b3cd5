//! Servers over projects and runs: a REST API ([`rest`]), tools for agents ([`mcp`]) and counts for Prometheus ([`metrics`]).

mod accept;
pub mod mcp;
pub mod metrics;
pub mod rest;
mod visitors;
