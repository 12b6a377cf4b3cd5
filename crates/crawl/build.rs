//! Names the commit that a release is built from, for `crawl --version`. Builds for development name none:
//! they would be made anew at every commit. Builds without a repository may set `CRAWL_COMMIT`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CRAWL_COMMIT");
    let given = std::env::var("CRAWL_COMMIT").ok().filter(|commit| !commit.is_empty());
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| if release { of_repository() } else { None });
    let version = env!("CARGO_PKG_VERSION");
    let named = commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=CRAWL_VERSION={named}");
}

/// The commit of the repository that this file lies in, with its day.
fn of_repository() -> Option<String> {
    // a package that was unpacked inside somebody else's repository is not of its commit
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    if here != std::path::Path::new(&root).join("crates/crawl") {
        return None;
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["log", "-1", "--format=%h %cs"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| out.status.success() && !text.is_empty())
}
