//! Data of the report page.

use crate::{CorpusError, Findings, Group, Origin, verify::Pair};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Maximum groups, texts per group, and copies per text that are shown.
const GROUPS: usize = 300;
const TEXTS: usize = 20;
const COPIES: usize = 10;

/// Maximum words of a text that are compared.
const WORDS: usize = 5000;

/// Equal words shown on each side of a difference, and maximum parts of a comparison.
const CONTEXT: usize = 8;
const PARTS: usize = 120;

/// Bars of a histogram of scores.
const BARS: usize = 20;

#[derive(Serialize)]
pub(super) struct Shown<'a> {
    origin: &'a Origin,
    params: &'a crate::Settings,
    documents: u32,
    texts: usize,
    other_languages: u64,
    candidates: u64,
    /// Groups of at least two, and their documents besides the canonical ones.
    group_count: usize,
    redundant: usize,
    pairs: usize,
    /// Number of groups by size.
    sizes: Vec<(usize, usize)>,
    /// Minimum score, and pairs of different texts by score from there to 1.
    jaccard: (f64, Vec<u64>),
    cosine: Option<(f64, Vec<u64>)>,
    groups: Vec<ShownGroup<'a>>,
    clusters: Vec<ShownCluster<'a>>,
}

#[derive(Serialize)]
struct ShownGroup<'a> {
    number: u32,
    size: usize,
    /// Different texts.
    texts: usize,
    canonical: Member<'a>,
    /// Further members: one per text, copies of the canonical one first.
    others: Vec<Other<'a>>,
    more_texts: usize,
}

#[derive(Serialize)]
struct Member<'a> {
    ix: u32,
    id: &'a str,
    url: &'a str,
    title: &'a str,
    chars: u32,
    language: &'a str,
    cluster: Option<u32>,
}

#[derive(Serialize)]
struct Other<'a> {
    #[serde(flatten)]
    member: Member<'a>,
    /// Further documents with this text: number and URLs.
    copies: u32,
    copy_urls: Vec<&'a str>,
    /// True if its text is that of the canonical document.
    same: bool,
    /// Similarity to the canonical document; none if others join them.
    jaccard: Option<f64>,
    estimate: Option<f64>,
    cosine: Option<f64>,
    parts: Vec<Part>,
}

/// A part of a comparison.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "k", content = "t")]
pub(super) enum Part {
    /// Words that both have.
    #[serde(rename = "=")]
    Equal(String),
    /// Common words that are not shown.
    #[serde(rename = "~")]
    Skipped(usize),
    /// Words that only the canonical text has.
    #[serde(rename = "-")]
    Removed(String),
    /// Words that only the other text has.
    #[serde(rename = "+")]
    Added(String),
    /// Number of further parts that are cut off.
    #[serde(rename = "…")]
    CutOff(usize),
}

#[derive(Serialize)]
struct ShownCluster<'a> {
    size: u64,
    terms: &'a [String],
    samples: Vec<(&'a str, &'a str)>,
}

pub(super) fn shown<'a>(findings: &'a Findings, origin: &'a Origin) -> Result<Shown<'a>, CorpusError> {
    let groups = findings.groups.of_several();
    let scores: FxHashMap<(u32, u32), &Pair> = findings.pairs.iter().map(|p| ((p.a, p.b), p)).collect();
    let first: Result<Vec<ShownGroup<'_>>, CorpusError> = groups
        .par_iter()
        .take(GROUPS)
        .map(|(number, group)| shown_group(findings, &scores, *number, group))
        .collect();
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for (_, group) in groups.iter().rev() {
        match sizes.last_mut().filter(|(size, _)| *size == group.members.len()) {
            Some((_, count)) => *count += 1,
            None => sizes.push((group.members.len(), 1)),
        }
    }
    let settings = &findings.settings;
    let cosine = settings.tfidf.as_ref().map(|t| (t.cosine, bars(findings, t.cosine, |pair| pair.cosine)));
    Ok(Shown {
        origin,
        params: settings,
        documents: findings.documents.len(),
        texts: findings.documents.distinct().len(),
        other_languages: findings.other_languages,
        candidates: findings.candidates,
        group_count: groups.len(),
        redundant: groups.iter().map(|(_, group)| group.members.len() - 1).sum(),
        pairs: findings.pairs.len(),
        sizes,
        jaccard: (settings.jaccard, bars(findings, settings.jaccard, |pair| pair.jaccard)),
        cosine,
        groups: first?,
        clusters: clusters(findings),
    })
}

/// Pairs by a score, in equal steps from the threshold to 1.
fn bars(findings: &Findings, least: f64, score: impl Fn(&Pair) -> f64) -> Vec<u64> {
    let mut bars = vec![0; BARS];
    for pair in &findings.pairs {
        let share = (score(pair) - least) / (1.0 - least).max(f64::EPSILON);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among twenty")]
        let place = (share.clamp(0.0, 1.0) * BARS as f64) as usize;
        if let Some(bar) = bars.get_mut(place.min(BARS - 1)) {
            *bar += 1;
        }
    }
    bars
}

fn clusters(findings: &Findings) -> Vec<ShownCluster<'_>> {
    let documents = &findings.documents;
    let shown = |cluster: &'_ crate::Cluster| -> Vec<(&str, &str)> {
        cluster.samples.iter().map(|d| (documents.url(*d), documents.title(*d))).collect()
    };
    findings
        .clusters
        .iter()
        .flat_map(|found| &found.clusters)
        .map(|cluster| ShownCluster { size: cluster.size, terms: &cluster.terms, samples: shown(cluster) })
        .collect()
}

fn member(findings: &Findings, document: u32) -> Member<'_> {
    let documents = &findings.documents;
    let text = documents.distinct_of(document);
    Member {
        ix: document,
        id: documents.id(document),
        url: documents.url(document),
        title: documents.title(document),
        chars: text.map_or(0, |t| t.chars),
        language: text.map_or("und", |t| t.language.code),
        cluster: findings.clusters.as_ref().and_then(|c| c.of_text(documents.text_of(document))),
    }
}

fn shown_group<'a>(
    findings: &'a Findings,
    scores: &FxHashMap<(u32, u32), &Pair>,
    number: u32,
    group: &Group,
) -> Result<ShownGroup<'a>, CorpusError> {
    let documents = &findings.documents;
    let canonical = documents.text_of(group.canonical);
    let canonical_text = findings.text(canonical)?;
    // documents besides the canonical one by text; texts in the order of their first documents
    let mut by_text: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for document in group.members.iter().filter(|d| **d != group.canonical) {
        let text = documents.text_of(*document);
        let place = *places.entry(text).or_insert_with(|| {
            by_text.push((text, Vec::new()));
            by_text.len() - 1
        });
        if let Some((_, all)) = by_text.get_mut(place) {
            all.push(*document);
        }
    }
    let different = by_text.iter().filter(|(text, _)| *text != canonical).count();
    by_text.sort_by_key(|(text, _)| *text != canonical);
    let mut others = Vec::new();
    for (text, all) in by_text.iter().take(TEXTS) {
        let same = *text == canonical;
        let score = scores.get(&(canonical.min(*text), canonical.max(*text)));
        let parts = if same { Vec::new() } else { compared(&canonical_text, &findings.text(*text)?) };
        let (Some(first), further) = (all.first(), all.get(1..).unwrap_or_default()) else { continue };
        others.push(Other {
            member: member(findings, *first),
            copies: u32::try_from(further.len()).unwrap_or(u32::MAX),
            copy_urls: further.iter().take(COPIES).map(|d| documents.url(*d)).collect(),
            same,
            jaccard: if same { Some(1.0) } else { score.map(|s| s.jaccard) },
            estimate: if same { Some(1.0) } else { score.map(|s| s.estimate) },
            cosine: if same { Some(1.0) } else { score.map(|s| s.cosine) },
            parts,
        });
    }
    Ok(ShownGroup {
        number,
        size: group.members.len(),
        texts: different + 1,
        canonical: member(findings, group.canonical),
        more_texts: by_text.len().saturating_sub(TEXTS),
        others,
    })
}

/// Compares two texts word by word (Myers 1986), with long equal parts folded.
pub(super) fn compared(canonical: &str, other: &str) -> Vec<Part> {
    let a: Vec<&str> = canonical.split(' ').take(WORDS).collect();
    let b: Vec<&str> = other.split(' ').take(WORDS).collect();
    let operations = capture_diff_slices(Algorithm::Myers, &a, &b);
    let last = operations.len().saturating_sub(1);
    let mut parts = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        if parts.len() >= PARTS {
            parts.push(Part::CutOff(operations.len() - at));
            break;
        }
        let removed = a.get(operation.old_range()).unwrap_or_default();
        let added = b.get(operation.new_range()).unwrap_or_default();
        if matches!(operation, DiffOp::Equal { .. }) {
            fold(removed, at == 0, at == last, &mut parts);
            continue;
        }
        if !removed.is_empty() {
            parts.push(Part::Removed(removed.join(" ")));
        }
        if !added.is_empty() {
            parts.push(Part::Added(added.join(" ")));
        }
    }
    parts
}

/// Folds equal words: shows those next to a difference, and the number of those between.
fn fold(words: &[&str], first: bool, last: bool, parts: &mut Vec<Part>) {
    let before = if first { 0 } else { CONTEXT };
    let after = if last { 0 } else { CONTEXT };
    if words.len() <= before + after + 1 {
        parts.push(Part::Equal(words.join(" ")));
        return;
    }
    let (head, rest) = words.split_at(before);
    let (middle, tail) = rest.split_at(rest.len() - after);
    if !head.is_empty() {
        parts.push(Part::Equal(head.join(" ")));
    }
    parts.push(Part::Skipped(middle.len()));
    if !tail.is_empty() {
        parts.push(Part::Equal(tail.join(" ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shown_with_their_context() {
        let text = |words: std::ops::Range<u32>| words.map(|w| format!("w{w}")).collect::<Vec<_>>();
        let a = [text(0..30), vec!["old".into()], text(30..60)].concat().join(" ");
        let b = [text(0..30), vec!["new".into(), "words".into()], text(30..60), vec!["end".into()]]
            .concat()
            .join(" ");
        assert_eq!(
            compared(&a, &b),
            [
                Part::Skipped(22),
                Part::Equal(text(22..30).join(" ")),
                Part::Removed("old".into()),
                Part::Added("new words".into()),
                Part::Equal(text(30..38).join(" ")),
                Part::Skipped(14),
                Part::Equal(text(52..60).join(" ")),
                Part::Added("end".into()),
            ]
        );
        let far: Vec<String> = (0..900).map(|n| format!("{}", n % 3 * n)).collect();
        let near: Vec<String> = (0..900).map(|n| format!("{}", n % 7 * n)).collect();
        let parts = compared(&far.join(" "), &near.join(" "));
        assert!(parts.len() <= PARTS + 3 && matches!(parts.last(), Some(Part::CutOff(_))), "{}", parts.len());
    }
}
