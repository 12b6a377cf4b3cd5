//! Tools for a release.
//!
//! [`advisories`] searches a local database for known advisories about the packages of a `Cargo.lock`.
//! [`sbom`] lists the packages and the bundled C libraries of a binary.
//!
//! This crate never uses the network. The crate `rustsec` matches versions: cargo-deny and cargo-audit take
//! minutes to build. Also, cargo-deny accepts a database only as a Git repository that it fetched itself.

pub mod advisories;
pub mod sbom;
