//! The five specifications as data: `tests/specs/*.toml` lists each requirement with its test and any
//! deviation. This file checks the data against the tree and against `docs/design/deviations.md`. The other
//! files test requirements that no test of a crate covers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod chunks;
mod cleaner;
mod defaults;
#[path = "../support/mcp_client.rs"]
mod mcp_client;
mod projects;
#[path = "../support/run.rs"]
mod run;

use regex::Regex;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Most words of a requirement.
const MAX_WORDS: usize = 25;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecFile {
    /// Name of the document.
    document: String,
    /// Prefix of each `id` of the file.
    prefix: String,
    requirement: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    /// The rule, number, column or example.
    requirement: String,
    /// Tests that hold it, as `file::function`.
    test: Vec<String>,
    /// Rule of the program that replaces this one; the document gives the reason.
    deviation: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn spec_files() -> Vec<SpecFile> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("tests/specs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| -> SpecFile {
        let found: SpecFile = toml::from_str(&fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem().unwrap().to_str(), Some(found.document.as_str()));
        found
    };
    paths.iter().map(read).collect()
}

fn requirements() -> Vec<Requirement> {
    spec_files().into_iter().flat_map(|file| file.requirement).collect()
}

/// Returns true if a source has a test function of that name. It has the attribute, or is in the list of a
/// suite whose macro writes the attribute.
fn has_test(code: &str, name: &str) -> bool {
    let attributes = r"#\[(?:tokio::)?test(?:\([^\]]*\))?\]\s*(?:#\[[^\]]*\]\s*)*";
    let function = Regex::new(&format!(r"{attributes}(?:pub )?(?:async )?fn {name}\s*\(")).unwrap();
    let of_suite = || {
        let suite = Regex::new(r"(?s)\n\w+!\(([^;]*?)\);").unwrap();
        let listed = |list: &str| list.split(',').any(|entry| entry.trim() == name);
        code.contains("#[test] fn $name()")
            && code.contains(&format!("fn {name}("))
            && suite.captures_iter(code).any(|found| listed(&found[1]))
    };
    function.is_match(code) || of_suite()
}

#[test]
fn test_functions_differ_from_other_functions() {
    let code = "#[test]\n#[ignore]\nfn plain() {}\n#[tokio::test(flavor = \"x\")]\nasync fn later() {}\nfn helper() {}\n";
    assert!(has_test(code, "plain") && has_test(code, "later"));
    assert!(!has_test(code, "helper") && !has_test(code, "plai"));
    let suite =
        "$(#[test] fn $name() { })+\nsuite!(\n    one,\n    two,\n);\nfn one(s: &S) {}\nfn three(s: &S) {}\n";
    assert!(has_test(suite, "one") && !has_test(suite, "two") && !has_test(suite, "three"));
}

#[test]
fn each_document_has_its_requirements() {
    let files = spec_files();
    let names: Vec<&str> = files.iter().map(|file| file.document.as_str()).collect();
    assert_eq!(
        names,
        [
            "domain-boilerplate-dedup",
            "heuristics-reference",
            "html-cleaner-impact",
            "repetition-filter",
            "web-archive-duplicates"
        ]
    );
    let count: usize = files.iter().map(|file| file.requirement.len()).sum();
    assert!(count >= 300, "only {count} requirements");
    let id = Regex::new(r"^[a-z0-9-]+(?:\.[a-z0-9-]+)+$").unwrap();
    let mut seen = BTreeSet::new();
    for file in files {
        for found in file.requirement {
            assert!(id.is_match(&found.id), "{} is no id", found.id);
            assert!(found.id.starts_with(&format!("{}.", file.prefix)), "{} is of another file", found.id);
            let words = found.requirement.split_whitespace().count();
            assert!(found.requirement.ends_with('.'), "{}: no sentence", found.id);
            assert!(words <= MAX_WORDS, "{}: {words} words", found.id);
            assert!(seen.insert(found.id.clone()), "{} is there twice", found.id);
        }
    }
}

#[test]
fn each_requirement_names_its_test() {
    let mut sources: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for Requirement { id, test, .. } in requirements() {
        if test.is_empty() {
            faults.push(format!("{id}: no test"));
        }
        for named in test {
            let Some((file, function)) = named.split_once("::") else {
                faults.push(format!("{id}: {named} is not file::function"));
                continue;
            };
            let path = root().join(file);
            let code =
                sources.entry(path.clone()).or_insert_with(|| fs::read_to_string(path).unwrap_or_default());
            if !has_test(code, function) {
                faults.push(format!("{id}: there is no test {named}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Ids in the first column of the tables of deviations.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/design/deviations.md")).unwrap();
    let id = Regex::new(r"`([a-z0-9.-]+)`").unwrap();
    let first = |row: &str| row.split('|').nth(1).map(str::to_owned);
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(first)
        .flat_map(|cell| id.captures_iter(&cell).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn each_deviation_stands_in_its_document() {
    let documented = documented();
    let stated: BTreeSet<String> =
        requirements().into_iter().filter(|found| found.deviation.is_some()).map(|found| found.id).collect();
    let missing: Vec<&String> = stated.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/design/deviations.md: {missing:?}");
    let unknown: Vec<&String> = documented.difference(&stated).collect();
    assert!(unknown.is_empty(), "no requirement has this deviation: {unknown:?}");
}
