//! The components of a binary as a CycloneDX document.
//!
//! The document has no time and no random number: the same sources give the same bytes.

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Node, NodeDep, Package, PackageId};
use cyclonedx_bom::{
    external_models::uri::Purl,
    models::{
        bom::{Bom, SpecVersion},
        component::{Classification, Component, Components, Scope},
        dependency::{Dependencies, Dependency},
        hash::{Hash, HashAlgorithm, HashValue, Hashes},
        license::{LicenseChoice, Licenses},
        metadata::Metadata as Head,
    },
    validation::Validate,
};
use rustsec::Lockfile;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::Command,
};

const BUNDLED: &str = include_str!("../bundled.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    bundled: Vec<Bundled>,
    keys: Keys,
    licences: BTreeMap<String, String>,
}

/// A library that a crate bundles, and the part of its source that proves the version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bundled {
    #[serde(rename = "crate")]
    crate_name: String,
    name: String,
    version: String,
    licence: String,
    proof: Proof,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    file: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    names: Vec<String>,
}

/// Lists the components of the package `root` of a workspace, built for `target`, as CycloneDX 1.5 in JSON.
///
/// # Errors
/// When a package has no licence or no checksum, or links a library that `bundled.toml` does not know.
pub fn document(manifest: &Path, root: &str, target: &str) -> Result<String> {
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(["--locked", "--filter-platform", target].map(String::from).to_vec())
        .exec()?;
    let lockfile = Lockfile::load(metadata.workspace_root.join("Cargo.lock"))?;
    let facts: Facts = toml::from_str(BUNDLED)?;
    let found = metadata.workspace_packages().into_iter().find(|package| package.name == root);
    let top = found.with_context(|| format!("the workspace has no package {root}"))?;
    let graph = Graph::of(&metadata, root, target)?;

    let mut components = BTreeMap::new();
    let mut dependencies = BTreeMap::new();
    for (id, needed_by) in &graph.built {
        let package = &metadata[id];
        let mut depends: Vec<String> = needed_by.iter().map(|id| reference(&metadata[id])).collect();
        for library in facts.of(package)? {
            let component = bundled(library, package, graph.linked.contains(id))?;
            let name = component.bom_ref.clone().unwrap_or_default();
            depends.push(name.clone());
            dependencies.insert(name.clone(), Vec::new());
            components.insert(name, component);
        }
        depends.sort();
        dependencies.insert(reference(package), depends);
        if **id != top.id {
            let component = component(package, &lockfile, &facts, graph.linked.contains(id))?;
            components.insert(reference(package), component);
        }
    }
    let mut head = Component::new(
        Classification::Application,
        &top.name,
        &top.version.to_string(),
        Some(reference(top)),
    );
    head.licenses = Some(licences(top, &facts)?);
    let pairs = dependencies.into_iter();
    let bom = Bom {
        version: 1,
        serial_number: None,
        metadata: Some(Head { component: Some(head), ..Head::default() }),
        components: Some(Components(components.into_values().collect())),
        dependencies: Some(Dependencies(
            pairs.map(|(name, all)| Dependency { dependency_ref: name, dependencies: all }).collect(),
        )),
        spec_version: SpecVersion::V1_5,
        ..Bom::default()
    };
    let valid = bom.validate_version(SpecVersion::V1_5);
    ensure!(valid.passed(), "the document is not valid: {valid:?}");
    let mut text = Vec::new();
    bom.output_as_json_v1_5(&mut text)?;
    text.push(b'\n');
    Ok(String::from_utf8(text)?)
}

/// The packages that a build needs.
struct Graph<'a> {
    /// Packages of the build, each with its dependencies.
    built: BTreeMap<&'a PackageId, BTreeSet<&'a PackageId>>,
    /// Packages whose code is in the binary. The others run at build time.
    linked: BTreeSet<&'a PackageId>,
}

impl<'a> Graph<'a> {
    /// Reads both commands: `cargo metadata` has the dependencies of all workspace members with all features,
    /// `cargo tree` those of one build.
    fn of(metadata: &'a Metadata, root: &str, target: &str) -> Result<Self> {
        let resolve = metadata.resolve.as_ref().context("cargo resolved no dependencies")?;
        let built = tree(metadata, root, target, "normal,build")?;
        let linked = tree(metadata, root, target, "normal,no-proc-macro")?;
        let nodes = resolve.nodes.iter().filter(|node| built.contains(&node.id));
        let depends = |node: &'a Node| {
            let all = node.deps.iter().filter(|dep| is_needed(dep) && built.contains(&dep.pkg));
            (&node.id, all.map(|dep| &dep.pkg).collect())
        };
        Ok(Self { built: nodes.map(depends).collect(), linked })
    }
}

fn is_needed(dependency: &NodeDep) -> bool {
    dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
}

/// The packages that `cargo tree` lists for these kinds of edges.
fn tree<'a>(
    metadata: &'a Metadata,
    root: &str,
    target: &str,
    edges: &str,
) -> Result<BTreeSet<&'a PackageId>> {
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--locked", "--package", root, "--target", target, "--edges", edges])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(&metadata.workspace_root)
        .output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let listed: BTreeSet<(&str, &str)> = text.lines().filter_map(name_and_version).collect();
    let is_listed =
        |package: &&Package| listed.contains(&(package.name.as_str(), package.version.to_string().as_str()));
    let found: BTreeSet<&PackageId> = metadata.packages.iter().filter(is_listed).map(|p| &p.id).collect();
    ensure!(found.len() == listed.len(), "cargo tree and cargo metadata name different packages");
    Ok(found)
}

/// Name and version in a line like `url v2.5.4 (proc-macro)`.
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

impl Facts {
    /// The libraries that a package bundles.
    fn of(&self, package: &Package) -> Result<Vec<&Bundled>> {
        let found: Vec<_> = self.bundled.iter().filter(|entry| package.name == entry.crate_name).collect();
        let is_key = self.keys.names.iter().any(|name| package.name == *name);
        if package.links.is_some() && found.is_empty() && !is_key {
            bail!("{} links a library that packaging/supply/bundled.toml does not name", package.name);
        }
        Ok(found)
    }
}

/// Name of a component within the document: its package URL.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn scope(linked: bool) -> Scope {
    if linked { Scope::Required } else { Scope::Excluded }
}

fn component(package: &Package, lockfile: &Lockfile, facts: &Facts, linked: bool) -> Result<Component> {
    let version = package.version.to_string();
    let mut component =
        Component::new(Classification::Library, &package.name, &version, Some(reference(package)));
    component.purl = Some(Purl::new("cargo", &package.name, &version)?);
    component.scope = Some(scope(linked));
    component.licenses = Some(licences(package, facts)?);
    // a workspace package has no checksum: the commit identifies its source
    if package.source.is_some() {
        let is_it = |locked: &&rustsec::package::Package| {
            locked.name.as_str() == package.name.as_str() && locked.version.to_string() == version
        };
        let locked = lockfile.packages.iter().find(is_it).and_then(|locked| locked.checksum.as_ref());
        let sum = locked.with_context(|| format!("Cargo.lock has no checksum of {}", package.name))?;
        let hash = Hash { alg: HashAlgorithm::SHA_256, content: HashValue(sum.to_string()) };
        component.hashes = Some(Hashes(vec![hash]));
    }
    Ok(component)
}

fn licences(package: &Package, facts: &Facts) -> Result<Licenses> {
    let said = package.license.as_ref().or_else(|| facts.licences.get(package.name.as_str()));
    let said = said.with_context(|| {
        format!("{} has no licence: name it in packaging/supply/bundled.toml", package.name)
    })?;
    // before SPDX expressions, cargo used a slash
    Ok(Licenses(vec![LicenseChoice::expression(&said.replace('/', " OR "))]))
}

fn bundled(library: &Bundled, package: &Package, linked: bool) -> Result<Component> {
    let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
    let file = folder.join(&library.proof.file);
    let source = fs::read_to_string(&file).with_context(|| file.to_string())?;
    ensure!(
        source.contains(&library.proof.text),
        "{file} does not have {:?}: bring the version of {} in packaging/supply/bundled.toml up to date",
        library.proof.text,
        library.name
    );
    let name = format!("bundled:{}/{}@{}", package.name, library.name, library.version);
    let mut component = Component::new(Classification::Library, &library.name, &library.version, Some(name));
    component.scope = Some(scope(linked));
    component.licenses = Some(Licenses(vec![LicenseChoice::expression(&library.licence)]));
    Ok(component)
}
