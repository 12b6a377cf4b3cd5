//! The list of components of this repository.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_supply::sbom::document;
use serde_json::Value;
use std::{collections::BTreeMap, path::Path, process::Command};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn written() -> String {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    document(&manifest, "crawl", TARGET).unwrap()
}

/// Packages of a build as cargo lists them, by kinds of edges.
fn tree(edges: &str) -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "crawl", "--locked", "--offline", "--target", TARGET])
        .args(["--prefix", "none", "--format", "{p}", "--edges", edges])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let package = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    text.lines().filter_map(package).collect()
}

fn sums() -> BTreeMap<(String, String), String> {
    let text = include_str!("../../../Cargo.lock");
    let lock: toml::Table = text.parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let field =
        |package: &toml::Value, key: &str| package.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let sum = |package| {
        let name = (field(package, "name").unwrap(), field(package, "version").unwrap());
        Some((name, field(package, "checksum")?))
    };
    packages.iter().filter_map(sum).collect()
}

#[test]
fn sbom_lists_every_package_of_the_build() {
    let text = written();
    assert_eq!(text, written(), "the same sources give the same bytes");
    let bom: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(bom["metadata"]["component"]["name"], "crawl");
    assert!(bom["serialNumber"].is_null() && bom["metadata"]["timestamp"].is_null());
    let listed: BTreeMap<&str, &Value> =
        bom["components"].as_array().unwrap().iter().map(|c| (c["bom-ref"].as_str().unwrap(), c)).collect();
    let sums = sums();
    let built = tree("normal,build");
    assert!(built.len() > 300, "{}", built.len());
    for (name, version) in built.iter().filter(|(name, _)| name != "crawl") {
        let component = listed.get(&*format!("pkg:cargo/{name}@{version}"));
        let component = component.unwrap_or_else(|| panic!("{name} {version} is not listed"));
        assert!(!component["licenses"][0]["expression"].as_str().unwrap().is_empty(), "{name}");
        let sum = sums.get(&(name.clone(), version.clone()));
        assert_eq!(component["hashes"][0]["content"].as_str(), sum.map(String::as_str), "{name}");
        assert_eq!(sum.is_none(), name.starts_with("crawl-"), "{name}");
    }
    // and no others, except for the C libraries
    for name in listed.keys().filter(|name| !name.starts_with("bundled:")) {
        let known = |(package, version): &(String, String)| *name == format!("pkg:cargo/{package}@{version}");
        assert!(built.iter().any(known), "{name} is in no build");
    }
    for library in ["SQLite", "Zstandard", "mimalloc", "AWS-LC"] {
        let found = listed.values().find(|component| component["name"] == library);
        assert_eq!(found.map(|c| &c["scope"]), Some(&"required".into()), "{library}");
    }
    // build tools are in no binary
    let compiler = listed.iter().find(|(name, _)| name.starts_with("pkg:cargo/cc@"));
    assert_eq!(compiler.map(|(_, c)| &c["scope"]), Some(&"excluded".into()));
}
