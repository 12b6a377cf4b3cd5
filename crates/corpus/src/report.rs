//! The JSON report.

use crate::{CorpusError, Findings, Settings, findings::DocumentPair, minhash::Banding, verify::CosineTerms};
use serde::Serialize;
use std::io::Write;

/// Titles shown of a group.
const SAMPLE_TITLES: usize = 5;

/// Origin of a report's documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Time of the report (RFC 3339).
    pub timestamp: String,
    /// Inputs, in order of reading.
    pub inputs: Vec<InputCount>,
}

/// Counts of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InputCount {
    /// Name of the file.
    pub name: String,
    /// Documents read.
    pub documents: u64,
    /// Records without a page: requests, revisits, images, …
    pub skipped: u64,
    /// Documents of a table whose text is not UTF-8: read as windows-1252, or as damaged UTF-8.
    pub not_utf8: u64,
    /// Unreadable records, by kind of error.
    pub unreadable: std::collections::BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(flatten)]
    origin: &'a Origin,
    counts: Counts,
    params: &'a Settings,
    banding: Banding,
    tfidf_vocabulary_size: usize,
}

#[derive(Serialize)]
struct Counts {
    documents: u32,
    other_languages: u64,
    distinct_texts: usize,
    exact_duplicate_groups: usize,
    candidate_pairs: u64,
    buckets_thinned: u64,
    near_duplicate_pairs: usize,
    near_duplicate_pairs_not_listed: u64,
    near_duplicate_groups: usize,
    topic_clusters: usize,
}

#[derive(Serialize)]
struct DocumentEntry<'a> {
    id: &'a str,
    url: &'a str,
    title: &'a str,
    len_clean: u32,
    exact_hash: String,
    exact_group_size: u32,
    dup_group: u32,
    dup_group_size: usize,
    canonical_ix: u32,
    is_canonical: bool,
    cluster: Option<u32>,
    language: &'a str,
    language_confidence: f64,
}

#[derive(Serialize)]
struct PairEntry<'a> {
    i: u32,
    j: u32,
    /// Null without TF-IDF, and if neither text has a word.
    tfidf_cosine: Option<f64>,
    /// Null without TF-IDF.
    cosine_terms: Option<CosineTerms>,
    jaccard: f64,
    minhash_jaccard_est: f64,
    url_i: &'a str,
    title_i: &'a str,
    url_j: &'a str,
    title_j: &'a str,
}

#[derive(Serialize)]
struct Named<'a> {
    ix: u32,
    id: &'a str,
    url: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct GroupEntry<'a> {
    dup_group: u32,
    size: usize,
    canonical: Named<'a>,
    members: &'a [u32],
    sample_titles: Vec<&'a str>,
}

#[derive(Serialize)]
struct ExactEntry<'a> {
    exact_hash: String,
    size: u32,
    members: &'a [u32],
}

#[derive(Serialize)]
struct ClusterEntry<'a> {
    cluster: u32,
    size: u64,
    top_terms: &'a [String],
    sample_documents: Vec<Named<'a>>,
}

/// Writes the report: one JSON object, with one list entry per line.
///
/// # Errors
/// When the output fails.
pub fn write_report(findings: &Findings, origin: &Origin, out: &mut dyn Write) -> Result<(), CorpusError> {
    let documents = &findings.documents;
    let pairs = findings.document_pairs();
    let groups = findings.groups.of_several();
    let members = documents.members();
    let exact: Vec<ExactEntry<'_>> = (0..)
        .zip(documents.distinct())
        .filter(|(_, text)| text.documents > 1)
        .map(|(number, text)| ExactEntry {
            exact_hash: hex(&text.hash),
            size: text.documents,
            members: members.of(number),
        })
        .collect();
    let clusters = findings.clusters.as_ref().map(|c| c.clusters.as_slice()).unwrap_or_default();
    let counts = Counts {
        documents: documents.len(),
        other_languages: findings.other_languages,
        distinct_texts: documents.distinct().len(),
        exact_duplicate_groups: exact.len(),
        candidate_pairs: findings.candidates,
        buckets_thinned: findings.thinned,
        near_duplicate_pairs: pairs.pairs.len(),
        near_duplicate_pairs_not_listed: pairs.not_listed,
        near_duplicate_groups: groups.len(),
        topic_clusters: clusters.len(),
    };
    let meta = Meta {
        origin,
        counts,
        params: &findings.settings,
        banding: findings.banding,
        tfidf_vocabulary_size: findings.vocabulary().map_or(0, crate::Vocabulary::len),
    };
    let mut lists = Lists { out };
    lists.text("{\"meta\":")?;
    lists.value(&meta)?;
    lists.list("documents", (0..documents.len()).filter_map(|d| findings.document_entry(d)))?;
    lists.list("near_duplicate_pairs", pairs.pairs.iter().map(|pair| findings.pair_entry(pair)))?;
    lists.list(
        "near_duplicate_groups",
        groups.iter().map(|(number, group)| GroupEntry {
            dup_group: *number,
            size: group.members.len(),
            canonical: findings.named(group.canonical),
            members: &group.members,
            sample_titles: findings.sample_titles(&group.members),
        }),
    )?;
    lists.list("exact_duplicate_groups", exact.into_iter())?;
    lists.list(
        "topic_clusters",
        (0..).zip(clusters).map(|(number, cluster)| ClusterEntry {
            cluster: number,
            size: cluster.size,
            top_terms: &cluster.terms,
            sample_documents: cluster.samples.iter().map(|d| findings.named(*d)).collect(),
        }),
    )?;
    lists.text("}\n")?;
    lists.out.flush().map_err(CorpusError::Output)
}

impl Findings {
    fn document_entry(&self, document: u32) -> Option<DocumentEntry<'_>> {
        let text = self.documents.distinct_of(document)?;
        let dup_group = self.groups.of(document);
        let group = self.groups.get(dup_group)?;
        Some(DocumentEntry {
            id: self.documents.id(document),
            url: self.documents.url(document),
            title: self.documents.title(document),
            len_clean: text.chars,
            exact_hash: hex(&text.hash),
            exact_group_size: text.documents,
            dup_group,
            dup_group_size: group.members.len(),
            canonical_ix: group.canonical,
            is_canonical: group.canonical == document,
            cluster: self.clusters.as_ref().and_then(|c| c.of_text(self.documents.text_of(document))),
            language: text.language.code,
            language_confidence: text.language.confidence,
        })
    }

    fn pair_entry(&self, pair: &DocumentPair) -> PairEntry<'_> {
        let terms = self.vocabulary().map(|_| pair.scores.terms);
        PairEntry {
            i: pair.i,
            j: pair.j,
            tfidf_cosine: terms.filter(|terms| *terms != CosineTerms::None).map(|_| pair.scores.cosine),
            cosine_terms: terms,
            jaccard: pair.scores.jaccard,
            minhash_jaccard_est: pair.scores.estimate,
            url_i: self.documents.url(pair.i),
            title_i: self.documents.title(pair.i),
            url_j: self.documents.url(pair.j),
            title_j: self.documents.title(pair.j),
        }
    }

    fn named(&self, document: u32) -> Named<'_> {
        let documents = &self.documents;
        Named {
            ix: document,
            id: documents.id(document),
            url: documents.url(document),
            title: documents.title(document),
        }
    }

    /// The first titles that differ.
    fn sample_titles(&self, members: &[u32]) -> Vec<&str> {
        let mut titles: Vec<&str> = Vec::new();
        for title in members.iter().map(|d| self.documents.title(*d)).filter(|t| !t.is_empty()) {
            if !titles.contains(&title) {
                titles.push(title);
            }
            if titles.len() == SAMPLE_TITLES {
                break;
            }
        }
        titles
    }
}

/// Writes lists as members of an object.
struct Lists<'a> {
    out: &'a mut dyn Write,
}

impl Lists<'_> {
    fn text(&mut self, text: &str) -> Result<(), CorpusError> {
        self.out.write_all(text.as_bytes()).map_err(CorpusError::Output)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), CorpusError> {
        serde_json::to_writer(&mut self.out, value).map_err(|e| CorpusError::Output(e.into()))
    }

    fn list<T: Serialize>(
        &mut self,
        name: &str,
        entries: impl Iterator<Item = T>,
    ) -> Result<(), CorpusError> {
        self.text(",\n\"")?;
        self.text(name)?;
        self.text("\":[")?;
        for (at, entry) in entries.enumerate() {
            self.text(if at == 0 { "\n" } else { ",\n" })?;
            self.value(&entry)?;
        }
        self.text("]")
    }
}

/// A hash as 64 hex digits.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    use std::fmt::Write;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // writing to a string never fails
        let _ = write!(text, "{byte:02x}");
        text
    })
}
