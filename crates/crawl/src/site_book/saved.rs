//! The evidence of hosts in the store, and what it has shown.

use super::Store;
use crawl_extract::SiteEvidence;
use crawl_model::{Frontier, HostKey, RunStore, StoreError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// Prefix of the names under which the store keeps the evidence of hosts.
const EVIDENCE: &str = "site:";
/// Prefix of the names under which the store keeps the templates of a host whose content the rules missed.
const TEMPLATES: &str = "site_missed:";
/// Prefix of the names under which the store keeps the URLs of a host that are due in the round after another one; the number of
/// that round and a colon follow it.
const AGAIN: &str = "site_again:";
/// URLs of a host that are due in the next round, at most.
const MAX_AGAIN: usize = 10_000;

/// A template of a host whose content the rules missed, mended by the evidence of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedTemplate {
    /// Path of tags and classes to the content.
    pub template: String,
    /// Pages that were extracted by the evidence, over all rounds.
    pub pages: u64,
    /// Pages of the host that had been counted when it was noticed.
    pub noticed_at_page: u32,
    /// When it was noticed.
    pub noticed_at: String,
    /// The first such page.
    pub example: String,
}

/// The templates of a host whose content the rules missed, and its URLs that are due again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedSite {
    /// The host.
    pub host: String,
    /// The template with most pages first.
    pub templates: Vec<MissedTemplate>,
    /// Pages whose records were written before it was noticed: their URLs are due in the next round.
    #[serde(default)]
    pub due_again: u64,
}

/// Returns the evidence of a host, if any is kept.
pub(super) fn evidence(store: &Store, host: &HostKey) -> Result<Option<SiteEvidence>, StoreError> {
    read(store, &format!("{EVIDENCE}{host}"))
}

pub(super) fn save_evidence(
    store: &Store,
    host: &HostKey,
    evidence: &SiteEvidence,
) -> Result<(), StoreError> {
    write(store, &format!("{EVIDENCE}{host}"), evidence)
}

/// Returns the templates of a host whose content the rules missed, if any are kept.
pub(super) fn templates(store: &Store, host: &HostKey) -> Result<Option<Vec<MissedTemplate>>, StoreError> {
    let site: Option<MissedSite> = read(store, &format!("{TEMPLATES}{host}"))?;
    Ok(site.map(|site| site.templates))
}

pub(super) fn save_templates(
    store: &Store,
    host: &HostKey,
    templates: Vec<MissedTemplate>,
) -> Result<(), StoreError> {
    let site = MissedSite { host: host.to_string(), templates, due_again: 0 };
    write(store, &format!("{TEMPLATES}{host}"), &site)
}

/// Notes URLs of a host that are due in the next round. Returns the number of those that were not noted before.
pub(super) fn note_due_again(store: &Store, host: &HostKey, urls: Vec<String>) -> Result<usize, StoreError> {
    let name = format!("{AGAIN}{}:{host}", store.round()?);
    let mut again: Vec<String> = read(store, &name)?.unwrap_or_default();
    let before = again.len();
    again.extend(urls);
    again.sort_unstable();
    again.dedup();
    again.truncate(MAX_AGAIN);
    write(store, &name, &again)?;
    Ok(again.len() - before)
}

/// Returns the hosts with templates whose content the rules missed, those with most pages first.
///
/// # Errors
/// When storage fails.
pub fn missed_sites(store: &(impl Frontier + RunStore + ?Sized)) -> Result<Vec<MissedSite>, StoreError> {
    let mut sites: BTreeMap<String, MissedSite> = BTreeMap::new();
    for (name, text) in store.entries(TEMPLATES)? {
        let site: MissedSite = parse(&name, &text)?;
        sites.insert(site.host.clone(), site);
    }
    let prefix = format!("{AGAIN}{}:", store.round()?);
    for (name, text) in store.entries(&prefix)? {
        let host = name.trim_start_matches(&prefix).to_owned();
        let again: Vec<String> = parse(&name, &text)?;
        let new = MissedSite { host: host.clone(), templates: Vec::new(), due_again: 0 };
        sites.entry(host).or_insert(new).due_again = again.len() as u64;
    }
    let pages = |site: &MissedSite| site.templates.iter().map(|template| template.pages).sum::<u64>();
    let mut sites: Vec<MissedSite> =
        sites.into_values().filter(|site| pages(site) + site.due_again > 0).collect();
    sites.sort_by(|a, b| pages(b).cmp(&pages(a)).then_with(|| a.host.cmp(&b.host)));
    Ok(sites)
}

/// Returns the URLs that the round before has left to be read again in this one.
///
/// # Errors
/// When storage fails.
pub fn due_again(store: &Store) -> Result<Vec<String>, StoreError> {
    let Some(before) = store.round()?.checked_sub(1) else { return Ok(Vec::new()) };
    let mut urls = Vec::new();
    for (name, text) in store.entries(&format!("{AGAIN}{before}:"))? {
        urls.extend(parse::<Vec<String>>(&name, &text)?);
    }
    Ok(urls)
}

fn read<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>, StoreError> {
    store.get(name)?.map(|text| parse(name, &text)).transpose()
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Corrupt(format!("{name}: {e}")))
}

fn write(store: &Store, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_string(value).map_err(|e| StoreError::Other(e.to_string()))?;
    store.put(name, &text)
}
