//! [`TextIndex`] in memory.

use super::{Inner, MemoryStore};
use crawl_model::{
    Frontier, KnownText, NewText, OutputMark, Settlement, Sketch, StoreError, TextIndex, UrlKey,
};
use std::{cmp::Reverse, sync::Arc};

/// Texts in order of their positions.
#[derive(Default)]
pub(super) struct Texts {
    all: Vec<Text>,
    last: i64,
    made_as: String,
}

struct Text {
    known: KnownText,
    round: u32,
}

impl Texts {
    /// Implements [`TextIndex::similar_texts`].
    pub(super) fn like(&self, round: u32, sketch: &Sketch, limit: usize) -> Vec<KnownText> {
        let all = self.all.iter().map(|text| (shared(sketch, &text.known.sketch), text));
        let mut found: Vec<(usize, &Text)> = all.filter(|(shared, _)| *shared > 0).collect();
        found.sort_by_key(|(shared, _)| Reverse(*shared));
        let known = |text: &Text| {
            let sketch = Sketch { bands: Vec::new(), ..Sketch::clone(&text.known.sketch) };
            KnownText { this_round: text.round == round, sketch: Arc::new(sketch), ..text.known }
        };
        found.into_iter().take(limit).map(|(_, text)| known(text)).collect()
    }

    /// Implements [`TextIndex::keep_texts_of_method`].
    pub(super) fn keep_of_method(&mut self, method: &str) -> bool {
        if self.made_as == method {
            return false;
        }
        let forgotten = !self.all.is_empty();
        *self = Self { made_as: method.to_owned(), ..Self::default() };
        forgotten
    }

    pub(super) fn put(&mut self, round: u32, text: &NewText) {
        let known = self.all.iter().position(|t| t.known.page == text.page).map(|at| self.all.remove(at));
        let kept = known.map(|t| t.known.place).filter(|place| text.place == Some(*place));
        let place = kept.unwrap_or(self.last + 1);
        self.last = self.last.max(place);
        let sketch = Arc::new(text.sketch.clone());
        let known = KnownText { page: text.page, place, this_round: true, sketch };
        let at = self.all.partition_point(|t| t.known.place < place);
        self.all.insert(at, Text { known, round });
    }

    pub(super) fn forget_before(&mut self, round: u32) {
        self.all.retain(|text| text.round >= round);
    }

    pub(super) fn confirm(&mut self, round: u32, page: UrlKey) {
        self.all.iter_mut().filter(|text| text.known.page == page).for_each(|text| text.round = round);
    }

    pub(super) fn forget(&mut self, page: UrlKey) {
        self.all.retain(|text| text.known.page != page);
    }
}

impl TextIndex for MemoryStore {
    fn similar_texts(&self, sketch: &Sketch, limit: usize) -> Result<Vec<KnownText>, StoreError> {
        let inner = self.lock();
        let mut found = inner.texts.like(inner.round, sketch, limit);
        found.iter_mut().for_each(|text| text.this_round |= inner.recrawl);
        Ok(found)
    }

    fn settle_with_texts(
        &self,
        batch: &[Settlement],
        outputs: &[OutputMark],
        texts: &[NewText],
    ) -> Result<usize, StoreError> {
        let stale = self.settle(batch, outputs)?;
        let mut inner = self.lock();
        let Inner { round, texts: known, .. } = &mut *inner;
        texts.iter().for_each(|text| known.put(*round, text));
        Ok(stale)
    }

    fn keep_texts_of_method(&self, method: &str) -> Result<bool, StoreError> {
        Ok(self.lock().texts.keep_of_method(method))
    }
}

/// Number of common bands of two texts; equal contents count more than all bands.
fn shared(a: &Sketch, b: &Sketch) -> usize {
    let bands = a.bands.iter().filter(|band| b.bands.contains(band)).count();
    let content = a.content.is_some() && a.content == b.content;
    bands + if content { a.bands.len() + 1 } else { 0 }
}
