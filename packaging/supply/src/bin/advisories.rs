//! `advisories [POLICY LOCKFILE…]`: checks lockfiles (by default those of the repository) against a RustSec
//! database.
//!
//! Exit code 0: no advisory applies, or there is no database, which is reported. 1: an advisory applies to a
//! package. 2: the check failed.

use crawl_supply::advisories::{VARIABLE, check, find_database};
use jiff::Timestamp;
use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "advisories: {error:#}");
        ExitCode::from(2)
    })
}

fn run() -> anyhow::Result<ExitCode> {
    let mut out = io::stdout();
    let Some(database) = find_database()? else {
        writeln!(
            out,
            "advisories were not checked: this machine has no RustSec database; clone \
             https://github.com/RustSec/advisory-db and name the folder in {VARIABLE}"
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut named = env::args_os().skip(1).map(PathBuf::from);
    let policy = named.next().unwrap_or_else(|| "deny.toml".into());
    let mut lockfiles: Vec<PathBuf> = named.collect();
    if lockfiles.is_empty() {
        lockfiles = vec!["Cargo.lock".into(), "fuzz/Cargo.lock".into()];
    }
    let checked = check(&database, &lockfiles, &policy, Timestamp::now())?;
    write!(out, "{}", checked.report)?;
    writeln!(out, "{} advisories hold for packages", checked.found)?;
    Ok(if checked.found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
