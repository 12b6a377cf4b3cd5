//! Pipeline of an analysis: input page by page, then the steps after the last page.

use crate::{
    CorpusError, Page, Settings,
    candidates::candidates,
    clean::clean,
    cluster::Clusters,
    components::Components,
    documents::{Distinct, Documents},
    findings::Findings,
    groups::Groups,
    language::{self, Language},
    lemma::Lemmatizer,
    minhash::{Banding, MinHash},
    model::Model,
    sorter::{Bucketed, Sorter},
    spool::{self, Spool},
    verify::{Pair, Verifier},
    words::shingles,
};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Data kept in files until the outputs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// No texts: only the report.
    Report,
    /// Cleaned texts, to show differences.
    Texts,
    /// Cleaned texts and original pages, for the table.
    Pages,
}

/// Reads a corpus. Pages are added in the order of the outputs; [`finish`](Self::finish) computes the
/// results.
pub struct Analysis {
    settings: Settings,
    keep: Keep,
    directory: PathBuf,
    minhash: MinHash,
    banding: Banding,
    documents: Documents,
    other_languages: u64,
    pages: Spool,
    texts: Spool,
    lemmas: Spool,
    shingles: Spool,
    signatures: Spool,
    buckets: Sorter<Bucketed>,
}

/// A page and its cleaned text.
struct Cleaned {
    page: Page,
    text: String,
    hash: [u8; 32],
    language: Language,
}

/// Data for comparing a new text.
struct Compared {
    shingles: Vec<u64>,
    signature: Vec<u32>,
    lemmas: String,
}

impl Analysis {
    /// Creates an empty corpus. Its files in `directory` are unnamed and vanish with the process.
    ///
    /// # Errors
    /// When a setting is out of its range or no file can be created in the directory.
    pub fn new(settings: Settings, keep: Keep, directory: &Path) -> Result<Self, CorpusError> {
        settings.check()?;
        let spool = || Spool::new(directory);
        Ok(Self {
            minhash: MinHash::new(settings.permutations, settings.seed),
            banding: Banding::for_threshold(settings.permutations, settings.jaccard),
            documents: Documents::default(),
            other_languages: 0,
            pages: spool()?,
            texts: spool()?,
            lemmas: spool()?,
            shingles: spool()?,
            signatures: spool()?,
            buckets: Sorter::new(directory, settings.run_records),
            directory: directory.to_owned(),
            settings,
            keep,
        })
    }

    /// Adds pages. They are processed in parallel and are in memory together, so batches should be bounded.
    ///
    /// # Errors
    /// When a file of the work directory cannot be written, or there are more documents than 32 bits can
    /// number.
    pub fn add(&mut self, pages: Vec<Page>) -> Result<(), CorpusError> {
        let mut cleaned: Vec<Cleaned> = pages.into_par_iter().map(cleaned).collect();
        let all = cleaned.len();
        if self.settings.language != "all" {
            cleaned.retain(|c| c.language.code == self.settings.language);
        }
        self.other_languages += (all - cleaned.len()) as u64;
        let new: Vec<Option<Compared>> = cleaned
            .par_iter()
            .map(|c| (!self.documents.contains_text(&c.hash)).then(|| self.compared(c)))
            .collect();
        for (cleaned, compared) in cleaned.into_iter().zip(new) {
            self.push(&cleaned, compared)?;
        }
        Ok(())
    }

    fn compared(&self, cleaned: &Cleaned) -> Compared {
        let shingles = shingles(&cleaned.text, self.settings.shingle_words);
        let lemmas =
            self.settings.tfidf.as_ref().map(|tfidf| {
                Lemmatizer::new(cleaned.language.code).lemmas(&cleaned.text, tfidf.max_lemma_chars)
            });
        Compared {
            signature: self.minhash.signature(&shingles),
            lemmas: lemmas.unwrap_or_default(),
            shingles,
        }
    }

    fn push(&mut self, cleaned: &Cleaned, compared: Option<Compared>) -> Result<(), CorpusError> {
        let page = &cleaned.page;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let text = Distinct {
            hash: cleaned.hash,
            chars: count(cleaned.text.chars().count()),
            shingles: compared.as_ref().map_or(0, |c| count(c.shingles.len())),
            documents: 0,
            first: 0,
            language: cleaned.language.clone(),
        };
        let number = count(self.documents.distinct().len());
        let new = self.documents.push((&page.id, &page.url, &page.title), text)?;
        if self.keep == Keep::Pages {
            // a page consists of strings, which always have a JSON form
            self.pages.push(&serde_json::to_vec(page).unwrap_or_default())?;
        }
        let Some(compared) = compared.filter(|_| new) else { return Ok(()) };
        if self.keep != Keep::Report {
            self.texts.push(cleaned.text.as_bytes())?;
        }
        if self.settings.tfidf.is_some() {
            self.lemmas.push(compared.lemmas.as_bytes())?;
        }
        self.shingles.push(&spool::to_bytes(&compared.shingles))?;
        let signature: Vec<u8> = compared.signature.iter().flat_map(|row| row.to_le_bytes()).collect();
        self.signatures.push(&signature)?;
        for hash in self.banding.hashes(&compared.signature) {
            self.buckets.push(Bucketed { hash, document: number })?;
        }
        Ok(())
    }

    /// Finds pairs, groups, canonical documents and clusters.
    ///
    /// # Errors
    /// When a file of the work directory cannot be written or read.
    pub fn finish(mut self) -> Result<Findings, CorpusError> {
        self.documents.seal();
        let (lemmas, shingles, signatures) =
            (self.lemmas.finish()?, self.shingles.finish()?, self.signatures.finish()?);
        let model = match &self.settings.tfidf {
            Some(tfidf) => {
                Some(Model::new(tfidf, self.settings.run_records, &self.documents, &lemmas, &self.directory)?)
            }
            None => None,
        };
        let candidates = candidates(self.buckets.sorted()?, &self.directory, self.settings.run_records)?;
        let verifier = Verifier {
            settings: &self.settings,
            documents: &self.documents,
            shingles: &shingles,
            signatures: &signatures,
            lemmas: &lemmas,
            model: model.as_ref(),
        };
        let verified = verifier.verify(candidates.pairs)?;
        let groups = group(&self.documents, &verified.pairs);
        let clusters = match model.as_ref().zip(self.settings.tfidf.as_ref()) {
            Some((model, tfidf)) => {
                Clusters::find(model, &self.documents, &tfidf.clusters, self.settings.seed)?
            }
            None => None,
        };
        Ok(Findings {
            clusters,
            settings: self.settings,
            banding: self.banding,
            other_languages: self.other_languages,
            candidates: verified.candidates,
            thinned: candidates.thinned,
            documents: self.documents,
            pairs: verified.pairs,
            groups,
            model,
            signatures,
            lemmas,
            texts: self.texts.finish()?,
            pages: self.pages.finish()?,
        })
    }
}

/// Groups documents that strong pairs or an equal, non-empty text join.
fn group(documents: &Documents, pairs: &[Pair]) -> Groups {
    let mut components = Components::new(documents.len());
    let first = |text: u32| documents.distinct().get(text as usize).map_or(0, |t| t.first);
    for pair in pairs {
        components.join(first(pair.a), first(pair.b));
    }
    for document in 0..documents.len() {
        if let Some(text) = documents.distinct_of(document)
            && text.chars > 0
        {
            components.join(document, text.first);
        }
    }
    Groups::new(&mut components, documents)
}

fn cleaned(page: Page) -> Cleaned {
    let text = clean(&page.text);
    let hash = Sha256::digest(text.as_bytes()).into();
    let language = language::detect(&text);
    Cleaned { page, text, hash, language }
}
