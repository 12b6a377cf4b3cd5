//! Advisories of a small invented database about invented packages.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_supply::advisories::{Checked, check};
use jiff::Timestamp;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const NOW: &str = "2026-05-16T12:00:00Z";
const IGNORE: &str =
    "[advisories]\nignore = [{ id = \"RUSTSEC-2026-9005\", reason = \"no secret is compared\" }]\n";

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn lockfile() -> PathBuf {
    tests().join("Cargo.lock.made-up")
}

fn checked(policy: &str) -> anyhow::Result<Checked> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deny.toml");
    fs::write(&path, policy).unwrap();
    check(&tests().join("database"), &[lockfile()], &path, NOW.parse::<Timestamp>().unwrap())
}

#[test]
fn only_applicable_advisories_are_found() {
    let Checked { report, found } = checked(IGNORE).unwrap();
    assert_eq!(found, 2, "{report}");
    let lines: Vec<&str> = report.lines().filter(|line| line.starts_with("found: ")).collect();
    assert!(lines[0].contains("RUSTSEC-2026-9001 (vulnerability) made-up-parser 1.5.1 "), "{report}");
    assert!(lines[0].contains("patched in ") && lines[0].contains(">=1.5.2"), "{report}");
    assert!(lines[1].contains("RUSTSEC-2026-9004 (unmaintained) made-up-abandoned 0.1.0 "), "{report}");
    assert!(
        report.contains("ignored: RUSTSEC-2026-9005") && report.contains("no secret is compared"),
        "{report}"
    );
    for absent in ["9002", "9003", "9006", "made-up-parser 1.1.9", "made-up-parser 1.4.3", "made-up-unknown"]
    {
        assert!(!report.contains(absent), "{absent}: {report}");
    }
}

#[test]
fn ignored_advisory_needs_a_reason_and_must_apply() {
    assert_eq!(checked("").unwrap().found, 3);
    let bare = "[advisories]\nignore = [\"RUSTSEC-2026-9005\"]\n";
    let empty = IGNORE.replace("no secret is compared", " ");
    assert!(checked(bare).is_err() && checked(&empty).is_err());
    let needless = IGNORE.replace("9005", "9002");
    let report = checked(&needless).unwrap().report;
    assert!(report.contains("needless: RUSTSEC-2026-9002"), "{report}");
}

#[test]
fn age_of_the_advisory_database_is_reported() {
    let first = |report: &str| report.lines().next().unwrap().to_owned();
    let report = checked(IGNORE).unwrap().report;
    assert!(first(&report).ends_with("6 advisories, 10 days since its newest advisory"), "{report}");
    let policy = tests().join("../../../deny.toml");
    let later = "2026-07-01T00:00:00Z".parse().unwrap();
    let old = check(&tests().join("database"), &[lockfile()], &policy, later).unwrap().report;
    assert!(first(&old).contains("56 days") && first(&old).ends_with("it is old: fetch it anew"), "{old}");
}

/// Runs the binary with a database and a cargo home.
fn run(database: Option<&Path>, home: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_advisories"));
    command.env_remove("ADVISORY_DB").env("CARGO_HOME", home);
    if let Some(database) = database {
        command.env("ADVISORY_DB", database);
    }
    let policy = tests().join("../../../deny.toml");
    command.arg(policy).arg(lockfile()).output().unwrap()
}

#[test]
fn exit_codes_separate_found_unchecked_and_broken() {
    let home = tempfile::tempdir().unwrap();
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let none = run(None, home.path());
    assert_eq!(none.status.code(), Some(0));
    assert!(text(&none).starts_with("advisories were not checked: "), "{}", text(&none));
    let named = run(Some(&tests().join("database")), home.path());
    assert_eq!((named.status.code(), text(&named).contains("3 advisories hold")), (Some(1), true));
    assert_eq!(run(Some(home.path()), home.path()).status.code(), Some(2), "the folder is no database");
    // where cargo-deny keeps it
    let kept = home.path().join("advisory-dbs");
    fs::create_dir(&kept).unwrap();
    std::os::unix::fs::symlink(tests().join("database"), kept.join("advisory-db-1")).unwrap();
    assert_eq!(run(None, home.path()).status.code(), Some(1));
}
