//! Texts for the search of near duplicates during a crawl, and the trait of their index.

use crate::{ContentHash, OutputMark, Settlement, StoreError, UrlKey};
use std::sync::Arc;

/// Sketch of a page's text for comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Hash of the whole content; none for a page that is too short.
    pub content: Option<ContentHash>,
    /// Shingles of the text, in the encoding of the comparing code; empty for a page that has too few.
    pub shingles: Vec<u8>,
    /// MinHash signature of the shingles; empty without them.
    pub signature: Vec<u32>,
    /// Hash of each band of the signature.
    pub bands: Vec<u64>,
}

/// A text for the index. Its page is its identity: it replaces the page's earlier text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewText {
    /// Key of the page's URL.
    pub page: UrlKey,
    /// Sketch for comparisons.
    pub sketch: Sketch,
    /// Position of the page's earlier text, if this text keeps it.
    pub place: Option<i64>,
}

/// A text of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownText {
    /// Key of the page's URL.
    pub page: UrlKey,
    /// Position in the order of arrival; grows.
    pub place: i64,
    /// True if the text was added or confirmed in this round, or if the round is a recrawl in which the
    /// others rest.
    pub this_round: bool,
    /// Sketch as added, without its bands. Stores keep sketches of large families for further look-ups.
    pub sketch: Arc<Sketch>,
}

/// Index of a crawl's texts; it outlives rounds. A page leaves it if a visit ends without a record, or if a
/// whole round does not find it.
pub trait TextIndex: Send + Sync {
    /// Texts with the same content as a sketch or with a common band, `limit` at most. Texts with the most
    /// common bands come first, of these the oldest. Only the oldest texts of a band that many share are
    /// compared.
    ///
    /// # Errors
    /// When storage fails.
    fn similar_texts(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError>;

    /// Settles leases as [`Frontier::settle`](crate::Frontier::settle) does and adds the texts of records to
    /// the index, in order. One transaction, so that each text of the index belongs to a record.
    ///
    /// # Errors
    /// When storage fails; then nothing was settled.
    fn settle_with_texts(
        &self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError>;

    /// Stores the method that made the texts. If another method made the stored ones, deletes them all and returns
    /// true.
    ///
    /// # Errors
    /// When storage fails.
    fn keep_texts_of_method(&self, method: &str) -> Result<bool, StoreError>;
}
