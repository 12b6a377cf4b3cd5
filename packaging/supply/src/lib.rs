//! Tools of a release.
//!
//! [`advisories`] looks for known advisories about the packages of a `Cargo.lock`, in a database that lies on this machine.
//! [`sbom`] lists the packages and the bundled C libraries that a binary is built from.
//!
//! Nothing here asks the network. The crate `rustsec` matches versions, since cargo-deny and cargo-audit take minutes to
//! build, and cargo-deny takes a database only as a Git repository that it fetched itself.

pub mod advisories;
pub mod sbom;
