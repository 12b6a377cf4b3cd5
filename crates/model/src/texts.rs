//! Texts that pages are compared with as they stream by, and the trait of their index.

use crate::{ContentHash, OutputMark, Settlement, StoreError, UrlKey};

/// What a page is compared by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Hash of all of its content; none for a page that is too short for that.
    pub content: Option<ContentHash>,
    /// The shingles of its text, in the form of whoever compares them; empty for a page that has too few.
    pub shingles: Vec<u8>,
    /// MinHash signature of the shingles; empty without them.
    pub signature: Vec<u32>,
    /// What each band of the signature hashes to.
    pub bands: Vec<u64>,
}

/// A text to be put into an index. Its identity is its page: it replaces what is known of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewText {
    /// Of the page's URL.
    pub page: UrlKey,
    /// What others are compared with.
    pub sketch: Sketch,
    /// The place of the page's earlier text, if this one is to keep it.
    pub place: Option<i64>,
}

/// A text of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownText {
    /// Of the page's URL.
    pub page: UrlKey,
    /// Its place in the order in which texts came; grows.
    pub place: i64,
    /// It was put in, or confirmed, in this round; or the round is one over what is known, where the others rest.
    pub this_round: bool,
    /// As it was put in, but without its bands.
    pub sketch: Sketch,
}

/// The index of a crawl's texts. It outlives rounds. A page leaves it when a visit to it ends as something else than a record, and
/// when a whole round did not bring it.
pub trait TextIndex: Send + Sync {
    /// Texts that have the same content as one, or share a band with it: first those that share the most, of these the
    /// oldest, `limit` at most. Of a band that many texts share the oldest ones are looked at.
    ///
    /// # Errors
    /// When storage fails.
    fn texts_like(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError>;

    /// [`Frontier::settle`](crate::Frontier::settle), and puts the texts of records into the index, in their order: one
    /// transaction, so that each text of the index is that of a record.
    ///
    /// # Errors
    /// When storage fails; then nothing was settled.
    fn settle_with_texts(
        &self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError>;

    /// Forgets all texts unless they were made as `how` says, which is remembered. Returns whether texts were forgotten.
    ///
    /// # Errors
    /// When storage fails.
    fn keep_texts_made_as(&self, how: &str) -> Result<bool, StoreError>;
}
