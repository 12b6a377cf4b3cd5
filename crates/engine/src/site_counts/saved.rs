//! Counts of hosts in the store, and the templates with missed content.

use super::Store;
use crawl_extract::SiteEvidence;
use crawl_model::{Frontier, HostKey, RunStore, StoreError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// Prefix of the names under which the store keeps the evidence of hosts.
const EVIDENCE_PREFIX: &str = "site:";
/// Prefix of the names under which the store keeps the templates of a host whose content the rules missed.
const TEMPLATES: &str = "site_missed:";
/// Prefix of the names under which the store keeps the URLs of a host that were written undecided.
const UNDECIDED_PREFIX: &str = "site_unjudged:";
/// Prefix of the names under which the store keeps a host's URLs that one round found due in the next.
const DUE_URLS_PREFIX: &str = "site_again:";
/// URLs of a host that are due in the next round, at most.
const MAX_DUE_URLS: usize = 10_000;

/// The evidence of a host.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedEvidence {
    /// Round in which the counting began.
    pub(super) began: u32,
    pub(super) evidence: SiteEvidence,
}

/// URLs that are due in the round after another one, by the number of this one. Two rounds are kept.
type DueUrlsByRound = BTreeMap<u32, Vec<String>>;

/// A template of a host whose content the rules missed, mended by the evidence of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissedTemplate {
    /// Path of tags and classes to the content.
    pub template: String,
    /// The last round in which pages were extracted by the evidence.
    pub round: u32,
    /// Pages that were extracted by the evidence in that round.
    pub pages: u64,
    /// Pages of the host that had been counted when it was noticed.
    pub noticed_at_page: u32,
    /// Time at which it was noticed.
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

/// Returns the evidence of a host, if any is kept. Evidence that cannot be read is counted anew.
pub(super) fn evidence(store: &Store, host: &HostKey) -> Result<Option<SavedEvidence>, StoreError> {
    read_or_forget(store, &format!("{EVIDENCE_PREFIX}{host}"))
}

pub(super) fn save_evidence(store: &Store, host: &HostKey, saved: &SavedEvidence) -> Result<(), StoreError> {
    note(store, &format!("{EVIDENCE_PREFIX}{host}"), saved)
}

/// Returns the templates of a host whose content the rules missed.
pub(super) fn templates(store: &Store, host: &HostKey) -> Result<Vec<MissedTemplate>, StoreError> {
    let site: Option<MissedSite> = read_or_forget(store, &format!("{TEMPLATES}{host}"))?;
    Ok(site.map(|site| site.templates).unwrap_or_default())
}

pub(super) fn save_templates(
    store: &Store,
    host: &HostKey,
    templates: Vec<MissedTemplate>,
) -> Result<(), StoreError> {
    let site = MissedSite { host: host.to_string(), templates, due_again: 0 };
    write(store, &format!("{TEMPLATES}{host}"), &site)
}

/// Returns the URLs of a host that were written undecided.
pub(super) fn undecided(store: &Store, host: &HostKey) -> Result<Vec<String>, StoreError> {
    Ok(read_or_forget(store, &format!("{UNDECIDED_PREFIX}{host}"))?.unwrap_or_default())
}

pub(super) fn save_undecided(store: &Store, host: &HostKey, urls: &[&str]) -> Result<(), StoreError> {
    note(store, &format!("{UNDECIDED_PREFIX}{host}"), &urls)
}

/// Notes URLs of a host that are due in the next round. Returns the number of those that were not noted before.
pub(super) fn add_due_again(store: &Store, host: &HostKey, urls: Vec<String>) -> Result<usize, StoreError> {
    let (name, round) = (format!("{DUE_URLS_PREFIX}{host}"), store.round()?);
    let mut rounds: DueUrlsByRound = read_or_forget(store, &name)?.unwrap_or_default();
    // this round reads the entries of the previous round
    rounds.retain(|kept, _| kept + 1 >= round);
    let again = rounds.entry(round).or_default();
    let before = again.len();
    again.extend(urls);
    again.sort_unstable();
    again.dedup();
    again.truncate(MAX_DUE_URLS);
    let new = again.len() - before;
    write(store, &name, &rounds)?;
    Ok(new)
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
    let round = store.round()?;
    for (name, text) in store.entries(DUE_URLS_PREFIX)? {
        let host = name.trim_start_matches(DUE_URLS_PREFIX).to_owned();
        let again = parse::<DueUrlsByRound>(&name, &text)?.remove(&round).unwrap_or_default();
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
    for (name, text) in store.entries(DUE_URLS_PREFIX)? {
        urls.extend(parse::<DueUrlsByRound>(&name, &text)?.remove(&before).unwrap_or_default());
    }
    Ok(urls)
}

/// Reads a value; one that cannot be read is as if it had never been saved.
fn read_or_forget<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>, StoreError> {
    match store.get(name)?.map(|text| parse(name, &text)).transpose() {
        Err(StoreError::Corrupt(error)) => {
            tracing::warn!(error, "the saved templates of a site are unreadable: they are counted again");
            Ok(None)
        }
        read => read,
    }
}

fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Corrupt(format!("{name}: {e}")))
}

fn write(store: &Store, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    store.put(name, &json(value)?)
}

/// Writes a value about pages that are not settled yet: one commit stores it and ends them.
fn note(store: &Store, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    store.note(name, &json(value)?)
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Other(e.to_string()))
}
