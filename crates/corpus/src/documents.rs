//! Data of each document and each distinct text that stays in memory.

use crate::{CorpusError, language::Language};
use rustc_hash::FxHashMap;

/// SHA-256 of a cleaned text.
pub type TextHash = [u8; 32];

/// Names of documents, concatenated in one string.
#[derive(Debug, Default)]
struct Names {
    all: String,
    ends: Vec<usize>,
}

impl Names {
    fn push(&mut self, name: &str) {
        self.all.push_str(name);
        self.ends.push(self.all.len());
    }

    fn get(&self, index: u32) -> &str {
        let index = index as usize;
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.ends.get(index).and_then(|end| self.all.get(start..*end)).unwrap_or_default()
    }
}

/// Documents in order of arrival, and the distinct texts in the order of their first documents.
#[derive(Debug, Default)]
pub struct Documents {
    ids: Names,
    urls: Names,
    titles: Names,
    /// Document → its text.
    texts: Vec<u32>,
    distinct: Vec<Distinct>,
    by_hash: FxHashMap<TextHash, u32>,
}

/// A cleaned text that one or more documents have.
#[derive(Clone, Debug)]
pub struct Distinct {
    /// Hash of the cleaned text.
    pub hash: TextHash,
    /// Characters of the cleaned text.
    pub chars: u32,
    /// Distinct shingles.
    pub shingles: u32,
    /// Documents with this text.
    pub documents: u32,
    /// First document with this text.
    pub first: u32,
    /// Language of the text.
    pub language: Language,
}

impl Documents {
    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> u32 {
        // `push` refuses more than 32 bits can number
        u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// A document's id, as given.
    #[must_use]
    pub fn id(&self, document: u32) -> &str {
        self.ids.get(document)
    }

    /// A document's address, as given.
    #[must_use]
    pub fn url(&self, document: u32) -> &str {
        self.urls.get(document)
    }

    /// A document's title, as given.
    #[must_use]
    pub fn title(&self, document: u32) -> &str {
        self.titles.get(document)
    }

    /// The number of a document's text.
    #[must_use]
    pub fn text_of(&self, document: u32) -> u32 {
        self.texts.get(document as usize).copied().unwrap_or(u32::MAX)
    }

    /// The distinct texts.
    #[must_use]
    pub fn distinct(&self) -> &[Distinct] {
        &self.distinct
    }

    /// The text of a document; `None` if there is no such document.
    #[must_use]
    pub fn distinct_of(&self, document: u32) -> Option<&Distinct> {
        self.distinct.get(self.text_of(document) as usize)
    }

    /// Documents of each text, in order.
    #[must_use]
    pub fn members(&self) -> Members {
        let mut starts = vec![0_usize; self.distinct.len() + 1];
        let mut sum = 0;
        for (start, text) in starts.iter_mut().skip(1).zip(&self.distinct) {
            sum += text.documents as usize;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut documents = vec![0; self.texts.len()];
        for (document, text) in (0..).zip(&self.texts) {
            if let Some(place) = next.get_mut(*text as usize) {
                if let Some(slot) = documents.get_mut(*place) {
                    *slot = document;
                }
                *place += 1;
            }
        }
        Members { starts, documents }
    }

    /// Returns true if a text is known.
    pub(crate) fn contains_text(&self, hash: &TextHash) -> bool {
        self.by_hash.contains_key(hash)
    }

    /// Adds a document; returns true if its text is new.
    pub(crate) fn push(
        &mut self,
        (id, url, title): (&str, &str, &str),
        text: Distinct,
    ) -> Result<bool, CorpusError> {
        let document = u32::try_from(self.texts.len()).ok().filter(|n| *n < u32::MAX - 1);
        let document = document.ok_or(CorpusError::TooMany)?;
        self.ids.push(id);
        self.urls.push(url);
        self.titles.push(title);
        if let Some(number) = self.by_hash.get(&text.hash) {
            self.texts.push(*number);
            if let Some(known) = self.distinct.get_mut(*number as usize) {
                known.documents += 1;
            }
            return Ok(false);
        }
        // never more texts than documents
        let number = u32::try_from(self.distinct.len()).map_err(|_| CorpusError::TooMany)?;
        self.by_hash.insert(text.hash, number);
        self.texts.push(number);
        self.distinct.push(Distinct { documents: 1, first: document, ..text });
        Ok(true)
    }

    /// Frees the data that only adding needs.
    pub(crate) fn seal(&mut self) {
        self.by_hash = FxHashMap::default();
    }
}

/// Documents of each text.
#[derive(Debug)]
pub struct Members {
    starts: Vec<usize>,
    documents: Vec<u32>,
}

impl Members {
    /// Documents with a text, in order.
    #[must_use]
    pub fn of(&self, text: u32) -> &[u32] {
        let text = text as usize;
        let range = self.starts.get(text).zip(self.starts.get(text + 1));
        range.and_then(|(from, to)| self.documents.get(*from..*to)).unwrap_or_default()
    }
}
