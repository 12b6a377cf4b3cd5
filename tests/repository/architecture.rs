//! Dependencies of crates and modules: `model <- fetch | extract | dedup | store <- engine <- server <- crawl`, read
//! from `cargo metadata`.

use super::modules;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Crates of the workspace, and their allowed dependencies in any section of the manifest.
const ALLOWED: [(&str, &[&str]); 16] = [
    ("crawl-model", &[]),
    ("crawl-fetch", &["crawl-model"]),
    ("crawl-extract", &["crawl-model"]),
    ("crawl-dedup", &["crawl-model"]),
    ("crawl-store", &["crawl-model"]),
    // for any archive and any corpus, independent of each other; a corpus uses the language codes
    ("crawl-archive", &[]),
    ("crawl-corpus", &["crawl-model"]),
    // for one document; the result is part of a record
    ("crawl-quality", &["crawl-model"]),
    // the address policy; in tests, the consent rules of the static path
    ("crawl-chrome", &["crawl-fetch", "crawl-extract"]),
    // tables of the archive; `private` files of the store
    ("crawl-output", &["crawl-model", "crawl-archive", "crawl-store"]),
    // analyses clean pages as a crawl does
    ("crawl-projects", &["crawl-model", "crawl-fetch", "crawl-extract", "crawl-dedup", "crawl-store"]),
    // runs the binary, and reads its output
    ("crawl-faults", &["crawl-archive"]),
    // reads lockfiles and metadata of cargo, and no code of ours
    ("crawl-supply", &[]),
    // the crawl, without a command line
    (
        "crawl-engine",
        &[
            "crawl-model",
            "crawl-fetch",
            "crawl-extract",
            "crawl-dedup",
            "crawl-archive",
            "crawl-corpus",
            "crawl-quality",
            "crawl-store",
            "crawl-chrome",
            "crawl-output",
            "crawl-projects",
        ],
    ),
    // doors to projects and to the counts of a run
    (
        "crawl-server",
        &[
            "crawl-fetch",
            "crawl-model",
            "crawl-dedup",
            "crawl-extract",
            "crawl-store",
            "crawl-output",
            "crawl-projects",
            "crawl-engine",
        ],
    ),
    (
        "crawl",
        &[
            "crawl-model",
            "crawl-fetch",
            "crawl-extract",
            "crawl-dedup",
            "crawl-archive",
            "crawl-corpus",
            "crawl-quality",
            "crawl-store",
            "crawl-chrome",
            "crawl-output",
            "crawl-projects",
            "crawl-engine",
            "crawl-server",
        ],
    ),
];

/// Packages of the workspace, as `cargo metadata` lists them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

/// Dependencies of each crate of the workspace, by name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let name = |v: &Value| v["name"].as_str().unwrap().to_owned();
    packages()
        .iter()
        .map(|p| (name(p), p["dependencies"].as_array().unwrap().iter().map(name).collect()))
        .collect()
}

/// Dependencies in `found` that `allowed` does not list, one per line.
fn violations(found: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into();
    let mut out = Vec::new();
    for (package, dependencies) in found {
        let Some(may) = allowed.get(package.as_str()) else {
            out.push(format!("{package} has no place in the house yet: add it to this test and to the map"));
            continue;
        };
        for other in dependencies.iter().filter(|d| allowed.contains_key(d.as_str())) {
            if !may.contains(&other.as_str()) {
                out.push(format!("{package} must not know {other}"));
            }
        }
    }
    out
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let found = dependencies();
    assert_eq!(violations(&found), Vec::<String>::new());
    let missing: Vec<_> = ALLOWED.iter().filter(|(name, _)| !found.contains_key(*name)).collect();
    assert!(missing.is_empty(), "not in the workspace: {missing:?}");
    for middle in ["crawl-fetch", "crawl-extract", "crawl-dedup", "crawl-store"] {
        assert!(
            found["crawl-engine"].contains(middle),
            "the engine is said to know all stages, but not {middle}"
        );
        assert!(found[middle].contains("crawl-model"), "{middle} does not speak the common types");
    }
}

/// Appends the Rust sources under a folder.
fn read_sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn no_dependency_is_unused() {
    let (mut unused, mut declared) = (Vec::new(), BTreeSet::new());
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let folder = Path::new(manifest).parent().unwrap();
        let [mut product, mut tests] = [String::new(), String::new()];
        read_sources(&folder.join("src"), &mut product);
        ["tests", "benches", "examples"].iter().for_each(|name| read_sources(&folder.join(name), &mut tests));
        if package["name"] == "crawl" {
            read_sources(&folder.join("../../tests"), &mut tests);
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            declared.insert(name.to_owned());
            let word = dependency["rename"].as_str().unwrap_or(name).replace('-', "_");
            let is_named = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
            };
            if !is_named(&product) && (dependency["kind"] != "dev" || !is_named(&tests)) {
                unused.push(format!("{manifest}: {name}"));
            }
        }
    }
    let root = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml")).unwrap();
    let root: toml::Table = root.parse().unwrap();
    let shared = root["workspace"]["dependencies"].as_table().unwrap();
    unused.extend(
        shared.keys().filter(|name| !declared.contains(*name)).map(|name| format!("Cargo.toml: {name}")),
    );
    assert_eq!(unused, Vec::<String>::new());
}

/// Collects the files of a folder that have one of the names in code outside of tests.
fn files_naming(names: [&str; 2], folder: &Path, out: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_naming(names, &path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap();
            let mut code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
            if code.any(|line| names.iter().any(|name| line.contains(name))) {
                out.insert(path.to_string_lossy().into_owned());
            }
        }
    }
}

/// An engine of storage is one folder of the store and its entry in `lib.rs`. SQLite has the projects too, in `state.rs`.
#[test]
fn only_the_store_names_a_storage_engine() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates").canonicalize().unwrap();
    let store = crates.join("store/src");
    for (names, folders, files) in [
        // a worker of PostgreSQL keeps its held pages in SQLite
        (["Sqlite", "rusqlite"], &["sqlite", "postgres"][..], &["lib.rs", "state.rs"][..]),
        (["Pg", "postgres::"], &["postgres"], &["lib.rs"]),
    ] {
        let mut found = BTreeSet::new();
        for package in fs::read_dir(&crates).unwrap() {
            files_naming(names, &package.unwrap().path().join("src"), &mut found);
        }
        let (inside, outside): (Vec<String>, Vec<String>) = found
            .into_iter()
            .partition(|file| folders.iter().any(|folder| Path::new(file).starts_with(store.join(folder))));
        assert!(inside.len() > 5, "the search finds {names:?}: {inside:?}");
        let files: Vec<String> =
            files.iter().map(|file| store.join(file).to_string_lossy().into_owned()).collect();
        assert_eq!(outside, files, "{names:?}");
    }
}

/// A format of records is one file, with its module and its line in the table beside it.
#[test]
fn only_the_format_table_names_a_format() {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/output/src").canonicalize().unwrap();
    let formats = source.join("formats");
    let mut files = BTreeMap::new();
    read_files(&source, &mut files);
    // helpers of several formats stand beside them, and are not in the table
    let table = fs::read_to_string(formats.join("mod.rs")).unwrap();
    let modules: BTreeSet<String> = fs::read_dir(&formats)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| table.contains(&format!("{name}::")))
        .collect();
    assert!(modules.len() > 3, "no format is found: {modules:?}");
    for module in modules {
        let names_it =
            |text: &str| text.contains(&format!("{module}::")) || text.contains(&format!("mod {module};"));
        let found: Vec<&Path> = files
            .iter()
            .filter(|(path, text)| !path.starts_with(formats.join(&module)) && names_it(text))
            .map(|(path, _)| path.strip_prefix(&source).unwrap())
            .collect();
        assert_eq!(found, [Path::new("formats/mod.rs")], "{module}");
    }
}

/// Rust sources under a folder, by path.
fn read_files(folder: &Path, out: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            out.insert(path, text);
        }
    }
}

/// A program uses the engine without a command line, a progress bar or a web server.
#[test]
fn the_engine_needs_no_command_line() {
    let found = dependencies();
    for (library, user) in [
        ("clap", "crawl"),
        ("indicatif", "crawl"),
        ("tracing-subscriber", "crawl"),
        ("axum", "crawl-server"),
        ("rmcp", "crawl-server"),
    ] {
        assert!(!found["crawl-engine"].contains(library), "crawl-engine must not depend on {library}");
        assert!(found[user].contains(library), "{user} does not depend on {library}: the test holds nothing");
    }
}

#[test]
fn forbidden_dependency_is_detected() {
    let mut found = dependencies();
    found.get_mut("crawl-dedup").unwrap().insert("crawl-store".into());
    found.insert("crawl-extra".into(), BTreeSet::new());
    assert_eq!(violations(&found).len(), 2);
}

/// Sources of the crates of the workspace by their folder.
fn graphs() -> BTreeMap<String, modules::Graph> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    folders
        .map(|folder| {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            (name, modules::graph(&folder.join("src")))
        })
        .collect()
}

#[test]
fn modules_have_no_import_cycles() {
    let graphs = graphs();
    assert!(graphs["engine"]["pipeline"].contains("scheduler"), "no import is read");
    let found: BTreeMap<&str, Vec<Vec<String>>> = graphs
        .iter()
        .map(|(name, graph)| (name.as_str(), modules::circles(graph)))
        .filter(|(_, circles)| !circles.is_empty())
        .collect();
    assert_eq!(found, BTreeMap::new(), "break the circle: move what both modules need into one of its own");
}

#[test]
fn module_cycle_is_detected() {
    let mut graph = graphs().remove("engine").unwrap();
    graph.get_mut("slow_lane").unwrap().insert("pipeline".into());
    let circle = modules::circles(&graph).concat();
    assert!(
        circle.contains(&"scheduler".to_owned()) && circle.contains(&"slow_lane".to_owned()),
        "{circle:?}"
    );
}
