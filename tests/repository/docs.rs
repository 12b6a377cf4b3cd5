//! Checks of the documents: every named flag exists in the binary, every setting in `config/crawl.toml`, and
//! every relative link has a target.

use regex::Regex;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Table of deviations, which names flags and settings of other programs.
const DEVIATIONS: &str = "docs/design/deviations.md";

/// Documents of the repository: those at its root and those under `docs/`, without [`DEVIATIONS`].
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs"), root().join("docs/design")];
    let mut out: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with(DEVIATIONS))
        .collect();
    out.sort();
    assert!(out.iter().any(|path| path.ends_with("README.md")));
    out
}

fn help(subcommand: Option<&str>) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_crawl")).args(subcommand).arg("--help").output().unwrap();
    assert!(output.status.success(), "{subcommand:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Flags in `crawl --help` and in the help of its subcommands.
fn known_flags() -> BTreeSet<String> {
    let main = help(None);
    let (_, listed) = main.split_once("Commands:\n").unwrap();
    let subcommands = listed
        .lines()
        .take_while(|l| l.starts_with(' '))
        .filter(|l| l.starts_with("  ") && !l.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .filter(|name| *name != "help");
    let flag = Regex::new(r"(?m)(?:^|[\s,(\[])(--?[a-zA-Z][a-z-]*)").unwrap();
    let mut out = BTreeSet::new();
    for text in subcommands.map(|name| help(Some(name))).chain([main.clone()]) {
        out.extend(flag.captures_iter(&text).map(|c| c[1].to_owned()));
    }
    out
}

/// Pieces of code: lines of fenced blocks, with continued lines joined, and inline code.
fn code(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let inline = Regex::new(r"`([^`\n]+)`").unwrap();
    let mut fenced = false;
    let mut pending = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            out.extend(inline.captures_iter(line).map(|c| c[1].to_owned()));
        } else if let Some(start) = line.strip_suffix('\\') {
            pending.push_str(start);
        } else {
            out.push(std::mem::take(&mut pending) + line);
        }
    }
    out
}

/// Removed flags, which only the document on upgrading names.
const FORMER_FLAGS: [&str; 2] = ["--max-record", "--pairs-per-group"];

/// Flags that a piece of code passes to `crawl`, or names alone.
fn named_flags(code: &str) -> Vec<String> {
    let mut out = Vec::new();
    let command = code.split('#').next().unwrap_or_default();
    for part in command.split(['|', ';', '&']) {
        let words: Vec<&str> = part.split_whitespace().skip_while(|w| *w == "$" || w.contains("=")).collect();
        let program = words.first().copied().unwrap_or_default();
        if program == "crawl" || program.ends_with("/crawl") || program.starts_with("--") {
            let flags = words.iter().filter(|w| w.starts_with('-') && w.len() > 1);
            out.extend(flags.map(|w| w.split('=').next().unwrap_or_default().to_owned()));
        }
    }
    out
}

#[test]
fn flags_of_the_documents_exist() {
    let known = known_flags();
    assert!(
        known.contains("--seed")
            && known.contains("-O")
            && known.contains("--jsonl")
            && known.contains("--stats"),
        "{known:?}"
    );
    let mut unknown = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let tells_of_earlier = document.ends_with("upgrading.md");
        for piece in code(&fs::read_to_string(&document).unwrap()) {
            for flag in named_flags(&piece) {
                if tells_of_earlier && FORMER_FLAGS.contains(&flag.as_str()) {
                    continue;
                }
                checked += 1;
                // one piece of inline code may hold several flags, as in "-c/--concurrency"
                if !flag.split('/').all(|f| known.contains(f)) {
                    unknown.push(format!("{}: {flag} in `{piece}`", document.display()));
                }
            }
        }
    }
    assert!(checked >= 10, "only {checked} flags found: the search is broken, or the README says nothing");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn flags_are_found_in_code() {
    let text = "Try `--depth 3`.\n```sh\necho --no | crawl --seed - \\\n  -O out.jsonl # --not\ncargo b --release\n```\n";
    let found: Vec<String> = code(text).iter().flat_map(|c| named_flags(c)).collect();
    assert_eq!(found, ["--depth", "--seed", "-O"]);
}

#[test]
fn settings_of_the_documents_exist() {
    let config: toml::Table = fs::read_to_string(root().join("config/crawl.toml")).unwrap().parse().unwrap();
    // a section may be nested: `quality.text.min_words`, a former key
    let setting = Regex::new(r"^([a-z]+)(?:\.([a-z0-9_]+))?\.([a-z_]+)$").unwrap();
    let mut unknown = Vec::new();
    // fields of a record look like settings
    for document in documents().into_iter().filter(|path| !path.ends_with("record.md")) {
        for piece in code(&fs::read_to_string(&document).unwrap()) {
            let Some(found) = setting.captures(&piece).filter(|_| !piece.ends_with(".toml")) else {
                continue;
            };
            let outer = config.get(&found[1]).and_then(|s| s.as_table());
            let section = match found.get(2) {
                Some(inner) => outer.and_then(|s| s.get(inner.as_str())).and_then(|s| s.as_table()),
                None => outer,
            };
            let tells_of_earlier =
                ["upgrading.md", "CHANGELOG.md"].iter().any(|name| document.ends_with(name));
            if tells_of_earlier && crawl_engine::config::is_former_key(&piece) {
                continue;
            }
            if outer.is_some() && section.is_none_or(|section| !section.contains_key(&found[3])) {
                unknown.push(format!("{}: {piece}", document.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// Anchor of a heading: lower case, words joined by hyphens, without punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn relative_links_have_targets() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut broken = Vec::new();
    let mut checked = 0;
    for document in documents().into_iter().chain([root().join(DEVIATIONS)]) {
        let text = fs::read_to_string(&document).unwrap();
        for target in link.captures_iter(&text).map(|c| c[1].to_owned()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let file =
                if path.is_empty() { document.clone() } else { document.with_file_name("").join(path) };
            let there = file.exists()
                && (fragment.is_empty() || {
                    let text = fs::read_to_string(&file).unwrap();
                    text.lines()
                        .filter(|l| l.starts_with('#'))
                        .any(|l| anchor(l.trim_start_matches('#')) == fragment)
                });
            if !there {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(checked > 0, "no relative link found: the search is broken");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Appends the Rust sources below `folder`.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The last column of each table of guarantees names existing tests.
#[test]
fn each_guarantee_names_its_test() {
    assert!(guarantees("docs/failures.md") > 30);
    assert!(guarantees("SECURITY.md") > 25);
}

/// Checks the tables of a document and returns the number of their rows.
fn guarantees(document: &str) -> usize {
    let mut code = String::new();
    for folder in ["crates", "tests"] {
        sources(&root().join(folder), &mut code);
    }
    let name = Regex::new(r"`(\w+)`").unwrap();
    let text = fs::read_to_string(root().join(document)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.ends_with("Test |"));
    let mut count = 0;
    for row in rows {
        let last = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let tests: Vec<&str> = name.captures_iter(last).map(|found| found.get(1).unwrap().as_str()).collect();
        assert!(!tests.is_empty(), "no test: {row}");
        for test in tests {
            assert!(code.contains(&format!("fn {test}(")), "there is no test {test}: {row}");
        }
        count += 1;
    }
    count
}

#[test]
fn every_fuzz_target_is_built_described_and_has_seeds() {
    let folder = root().join("fuzz");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let built: BTreeSet<&str> =
        manifest["bin"].as_array().unwrap().iter().map(|bin| bin["name"].as_str().unwrap()).collect();
    let rows = read("README.md");
    let stems = fs::read_dir(folder.join("fuzz_targets")).unwrap().map(|entry| entry.unwrap().path());
    let targets: Vec<String> =
        stems.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(targets.iter().map(String::as_str).collect::<BTreeSet<_>>(), built);
    for target in &targets {
        let row = rows.lines().find(|line| line.starts_with("| `") && line.contains(&format!("`{target}`")));
        assert!(row.is_some(), "fuzz/README.md does not describe {target}");
        assert!(folder.join(format!("dictionaries/{target}.dict")).is_file(), "{target} has no dictionary");
        let seeds = fs::read_dir(folder.join("seeds").join(target)).into_iter().flatten();
        let bytes: u64 = seeds.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!((1..100_000).contains(&bytes), "{target} has {bytes} bytes of seeds");
    }
}
