//! Graph of the modules of a crate, read from its sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Modules of the crate's root, each with those that it names.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Reads the graph of a crate from its folder `src`. A file belongs to the module of the root that it lies in. Tests do not count.
pub fn graph(src: &Path) -> Graph {
    let mut files = Vec::new();
    collect(src, &mut files);
    let root = fs::read_to_string(src.join("lib.rs")).unwrap();
    let (exports, mut graph) = (exports(&root), Graph::new());
    for (path, text) in &files {
        graph.entry(module(path)).or_default();
        assert!(!text.contains("use super::super::super"), "{path}: name the module from the root");
    }
    for (path, text) in &files {
        let own = module(path);
        let names = named(text, "crate::").into_iter().chain(named(text, &supers(path)));
        // a comma may end a group
        let names = names.filter(|name| !name.is_empty());
        let modules = names.map(|name| exports.get(&name).cloned().unwrap_or(name));
        let others: BTreeSet<String> =
            modules.filter(|name| *name != own && graph.contains_key(name)).collect();
        graph.entry(own).or_default().extend(others);
    }
    graph
}

/// Groups of modules each of which leads to all others of its group, in the order of their names.
pub fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut found = BTreeSet::new();
    for (from, to) in &reach {
        let group: Vec<String> =
            to.iter().filter(|other| reach[**other].contains(from)).map(|name| (*name).clone()).collect();
        if group.len() > 1 {
            found.insert(group);
        }
    }
    found.into_iter().collect()
}

fn reachable<'g>(graph: &'g Graph, from: &'g String) -> BTreeSet<&'g String> {
    let (mut seen, mut ahead) = (BTreeSet::new(), vec![from]);
    while let Some(module) = ahead.pop() {
        ahead.extend(graph[module].iter().filter(|next| seen.insert(*next)));
    }
    seen
}

/// Source files without their tests, by their paths below `src`.
fn collect(src: &Path, out: &mut Vec<(String, String)>) {
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !["lib", "main", "tests"].contains(&name.as_str())
                && !name.ends_with("_tests")
            {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap()).collect();
                out.push((path.strip_prefix(src).unwrap().to_string_lossy().into_owned(), code.join("\n")));
            }
        }
    }
}

/// The module of the root that a file belongs to.
fn module(path: &str) -> String {
    path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
}

/// The path by which a file names its crate's root from where it is.
fn supers(path: &str) -> String {
    let depth = path.trim_end_matches("/mod.rs").matches('/').count() + 1;
    "super::".repeat(depth)
}

/// Modules that the root names items of: `pub use module::{A, B}`.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for part in root.split("pub use ").skip(1) {
        let Some((module, rest)) = part.split_once("::") else { continue };
        let Some((items, _)) = rest.split_once(';') else { continue };
        for item in items.trim_matches(['{', '}', ' ', '\n']).split(',') {
            let name = item.rsplit(' ').next().unwrap_or_default().trim();
            out.insert(name.to_owned(), module.to_owned());
        }
    }
    out
}

/// First names after a prefix, one by one or in a group in braces.
fn named(text: &str, prefix: &str) -> Vec<String> {
    let mut out = Vec::new();
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    for (at, _) in text.match_indices(prefix) {
        // a longer path, or a longer row of `super::`
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let (mut depth, mut item) = (0, 0);
            for (at, c) in group.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth > 0 => depth -= 1,
                    ',' if depth == 0 => {
                        out.push(name(&group[item..at]));
                        item = at + 1;
                    }
                    '}' => {
                        out.push(name(&group[item..at]));
                        break;
                    }
                    _ => {}
                }
            }
        } else {
            out.push(name(rest));
        }
    }
    out
}
