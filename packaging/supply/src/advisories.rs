//! Known advisories about the packages of a `Cargo.lock`.

use anyhow::{Context, Result, bail, ensure};
use jiff::{Timestamp, civil::Date};
use rustsec::{
    Database, Lockfile, Report,
    advisory::{Id, Informational, Metadata},
    report::Settings,
};
use serde::Deserialize;
use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Environment variable with the folder of a database.
pub const VARIABLE: &str = "ADVISORY_DB";

/// Age in days from which a database is reported as old.
const OLD_DAYS: i64 = 30;

/// Result of a check.
#[derive(Debug)]
pub struct Checked {
    /// Lines for people.
    pub report: String,
    /// Number of advisories that apply to a package and are not ignored.
    pub found: usize,
}

/// An advisory that applies to a package.
struct Hit {
    id: Id,
    line: String,
}

#[derive(Deserialize)]
struct Policy {
    #[serde(default)]
    advisories: Section,
}

#[derive(Default, Deserialize)]
struct Section {
    #[serde(default)]
    ignore: Vec<Ignored>,
}

/// An ignored advisory, in the notation of cargo-deny. An entry without a reason is refused.
#[derive(Deserialize)]
struct Ignored {
    id: Id,
    reason: String,
}

/// Finds a database: the folder in [`VARIABLE`], or the one of cargo-deny or cargo-audit in cargo's folder.
/// `None` if there is none.
///
/// # Errors
/// When [`VARIABLE`] names a folder that is no database.
pub fn find_database() -> Result<Option<PathBuf>> {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        ensure!(is_database(&named), "{VARIABLE}: {} has no folder crates", named.display());
        return Ok(Some(named));
    }
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return Ok(None) };
    let kept = fs::read_dir(home.join("advisory-dbs")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = kept.map(|entry| entry.path()).collect();
    found.sort();
    found.push(home.join("advisory-db"));
    Ok(found.into_iter().find(|folder| is_database(folder)))
}

fn is_database(folder: &Path) -> bool {
    folder.join("crates").is_dir()
}

/// Checks lockfiles against a database. Advisories that `policy` (a `deny.toml`) ignores are listed with
/// their reasons.
///
/// # Errors
/// When a file cannot be read.
pub fn check(database: &Path, lockfiles: &[PathBuf], policy: &Path, now: Timestamp) -> Result<Checked> {
    let ignored = read_policy(policy)?;
    let known = Database::open(database).with_context(|| format!("{}: no database", database.display()))?;
    ensure!(known.iter().next().is_some(), "{}: the database is empty", database.display());
    let mut report = describe(database, &known, now)?;
    let mut hits = Vec::new();
    for path in lockfiles {
        let lockfile = Lockfile::load(path).with_context(|| path.display().to_string())?;
        hits.extend(hits_of(&known, &lockfile, &path.display().to_string()));
    }
    let mut found = 0;
    for hit in &hits {
        match ignored.iter().find(|entry| entry.id == hit.id) {
            Some(entry) => writeln!(report, "ignored: {}\n    reason: {}", hit.line, entry.reason)?,
            None => {
                found += 1;
                writeln!(report, "found: {}", hit.line)?;
            }
        }
    }
    for entry in ignored.iter().filter(|entry| hits.iter().all(|hit| hit.id != entry.id)) {
        writeln!(report, "needless: {} is ignored and holds for no package", entry.id)?;
    }
    Ok(Checked { report, found })
}

fn read_policy(path: &Path) -> Result<Vec<Ignored>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let policy: Policy = toml::from_str(&text).with_context(|| path.display().to_string())?;
    let ignored = policy.advisories.ignore;
    if let Some(entry) = ignored.iter().find(|entry| entry.reason.trim().is_empty()) {
        bail!("{}: {} is ignored without a reason", path.display(), entry.id);
    }
    Ok(ignored)
}

/// Describes the database: its folder, the number of its advisories, and its age in days.
fn describe(folder: &Path, known: &Database, now: Timestamp) -> Result<String> {
    let (age, source) = match committed(folder) {
        Some(time) => (days(now, time), "its last commit"),
        None => (days(now, newest(known)?), "its newest advisory"),
    };
    let old = if age > OLD_DAYS { "; it is old: fetch it anew" } else { "" };
    let count = known.iter().count();
    Ok(format!("database: {}, {count} advisories, {age} days since {source}{old}\n", folder.display()))
}

fn days(now: Timestamp, then: Timestamp) -> i64 {
    now.duration_since(then).as_hours() / 24
}

/// Time of the last commit, if the folder is a Git repository.
fn committed(folder: &Path) -> Option<Timestamp> {
    if !folder.join(".git").exists() {
        return None;
    }
    let output =
        Command::new("git").arg("-C").arg(folder).args(["log", "-1", "--format=%ct"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Timestamp::from_second(text.trim().parse().ok()?).ok()
}

/// Date of the newest advisory.
fn newest(known: &Database) -> Result<Timestamp> {
    let dates = known.iter().map(|advisory| advisory.metadata.date.as_str());
    let date: Date = dates.max().context("the database is empty")?.parse()?;
    Ok(date.in_tz("UTC")?.timestamp())
}

/// Advisories that apply to a package of a lockfile, without withdrawn ones.
fn hits_of(known: &Database, lockfile: &Lockfile, place: &str) -> Vec<Hit> {
    let kinds = vec![Informational::Unmaintained, Informational::Unsound, Informational::Notice];
    let settings = Settings { informational_warnings: kinds, ..Settings::default() };
    let report = Report::generate(known, lockfile, &settings);
    let vulnerable = report.vulnerabilities.list.iter().map(|found| {
        let patched: Vec<String> = found.versions.patched().iter().map(ToString::to_string).collect();
        let remedy = if patched.is_empty() {
            "no patch".into()
        } else {
            format!("patched in {}", patched.join(" and "))
        };
        hit(&found.advisory, &found.package, "vulnerability", &remedy, place)
    });
    let warned = report.warnings.values().flatten().filter_map(|warning| {
        Some(hit(warning.advisory.as_ref()?, &warning.package, warning.kind.as_str(), "informational", place))
    });
    vulnerable.chain(warned).collect()
}

fn hit(
    advisory: &Metadata,
    package: &rustsec::package::Package,
    kind: &str,
    remedy: &str,
    place: &str,
) -> Hit {
    let (id, title) = (advisory.id.clone(), &advisory.title);
    let line = format!("{id} ({kind}) {} {} of {place}: {title} ({remedy})", package.name, package.version);
    Hit { id, line }
}
