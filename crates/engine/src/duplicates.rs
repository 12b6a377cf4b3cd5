//! Pages that repeat an earlier one. They are compared where records are written, one after another, so that a
//! record names only an earlier one.

use crate::{
    config::Config, context::Context, exit::Failure, finished::seed_of, hints, stage_error::StageError,
};
use crawl_corpus::{Comparison, CorpusError, SketchSettings, Sketcher, Threshold};
use crawl_model::{
    CleanPage, ContentHash, Duplicate, FailedPage, KnownText, NewText, Sketch, Stage, StoreError, UrlKey,
    Warning, now_ms, rfc3339,
};
use crawl_projects::SaveError;
use std::{mem, sync::Arc};

/// Texts that a page is compared with at the most: the texts that share the most bands with it.
const COMPARED: usize = 32;

/// Values of a signature by which pages are compared. A crawl keeps one for each page, so it has fewer than a
/// signature of `crawl duplicates`.
const PERMUTATIONS: usize = 64;

/// Minimum distinct shingles of a compared text. Shorter texts repeat a page only with the same content: half
/// of their shingles would change with one word.
const MIN_SHINGLES: usize = 20;

/// Returns the maker of sketches, if texts are compared at all.
///
/// # Errors
/// When a setting is out of its range.
pub fn sketcher(config: &Config) -> Result<Option<Sketcher>, Failure> {
    let (near, pipeline) = (&config.near_duplicates, &config.duplicates);
    if !near.enabled {
        return Ok(None);
    }
    let settings = SketchSettings {
        shingle_words: pipeline.shingle_words,
        permutations: PERMUTATIONS,
        // the fewest that miss at most one pair in 100,000 at the threshold: 16 at the default
        bands: 0,
        jaccard: near.jaccard,
        min_shingles: MIN_SHINGLES,
        seed: pipeline.seed,
    };
    let section = |error: &CorpusError| match error {
        CorpusError::Setting { name: "shingle_words", .. } => "duplicates",
        _ => "near_duplicates",
    };
    Sketcher::new(settings).map(Some).map_err(|e| Failure::usage(format!("{}.{e}", section(&e))))
}

/// The duplicates of a run.
pub struct Duplicates {
    context: Arc<Context>,
    /// Texts of records that are not settled yet.
    new: Vec<NewText>,
}

/// A text that is similar to the compared one.
#[derive(Clone, Copy)]
struct SimilarText {
    page: UrlKey,
    /// Position in the order of texts; `None` for a text of this batch, which comes last.
    place: Option<i64>,
    this_round: bool,
    similarity: f64,
    estimate: Option<f64>,
}

impl SimilarText {
    fn order(&self) -> i64 {
        self.place.unwrap_or(i64::MAX)
    }
}

impl Duplicates {
    /// Creates the duplicates of a run over this store or project.
    #[must_use]
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, new: Vec::new() }
    }

    /// Compares a page with earlier records. Returns true if it is left out. Otherwise the page names the page that
    /// it repeats, and later pages are compared with it.
    ///
    /// # Errors
    /// When storage fails.
    pub fn compare(&mut self, page: &mut CleanPage) -> Result<bool, StageError> {
        let key = UrlKey::of(page.page.final_url.as_str());
        let mut own = None;
        let mut found = None;
        if page.sketch.is_none() && page.exact.is_some() {
            // its content came before: mostly that settles it
            let content = Sketch { content: page.exact, ..Sketch::default() };
            (found, own) = self.first_like(key, &content)?;
        }
        if found.is_none() {
            let sketch = page.sketch.take().unwrap_or_else(|| sketch(&self.context, page.exact, &page.text));
            (found, own) = self.first_like(key, &sketch)?;
            page.sketch = Some(sketch);
        }
        let drop = self.context.config.near_duplicates.drop;
        if found.is_some() {
            page.duplicate = found;
            if drop {
                return Ok(true);
            }
        } else if drop {
            // what it names may be left out yet, for this page
            page.duplicate = None;
        }
        if page.duplicate.is_some() {
            page.page.extraction.warnings.push(Warning::Duplicate);
            if found.is_none() {
                // the page that it names is what others repeat, or else the two would name each other
                return Ok(false);
            }
        }
        // a copy needs no entry, since a text that is similar to it is similar to the first one
        if let Some(sketch) = page.sketch.take().filter(|s| s.content.is_some() || !s.bands.is_empty()) {
            self.new.push(NewText { page: key, sketch, place: own });
        }
        Ok(false)
    }

    /// The texts of records since the last call, to be settled with them.
    pub fn take(&mut self) -> Vec<NewText> {
        mem::take(&mut self.new)
    }

    /// Texts since the last [`take`](Self::take).
    #[must_use]
    pub fn count(&self) -> usize {
        self.new.len()
    }

    /// Drops texts of pages that do not become records, all but the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.new.truncate(count);
    }

    /// Finds the text that a page repeats: the most similar of those that count, of these the first. Also
    /// returns the place of the page's own earlier text, if it is still much the same.
    fn first_like(
        &self,
        key: UrlKey,
        sketch: &Sketch,
    ) -> Result<(Option<Duplicate>, Option<i64>), StageError> {
        let like = self.like(sketch)?;
        let own = like.iter().find(|known| known.page == key).and_then(|known| known.place);
        let first = like
            .iter()
            .filter(|known| known.page != key && self.counts(known, own))
            .min_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.order().cmp(&b.order())));
        let duplicate = |first: &SimilarText| Duplicate {
            of: first.page,
            similarity: Some(first.similarity),
            estimate: first.estimate,
        };
        Ok((first.map(duplicate), own))
    }

    /// Returns true if a page can repeat this text. A page that was there before the text repeats nothing, so
    /// that two pages do not name each other in the next round. If repeated pages are left out, only texts of
    /// this round's records count, since an older page may be gone.
    fn counts(&self, known: &SimilarText, own: Option<i64>) -> bool {
        if self.context.config.near_duplicates.drop && self.context.records.project.is_none() {
            return known.this_round;
        }
        own.is_none_or(|own| known.order() < own)
    }

    /// Texts of this batch and of the index above the threshold of similarity.
    fn like(&self, sketch: &Sketch) -> Result<Vec<SimilarText>, StageError> {
        if sketch.content.is_none() && sketch.bands.is_empty() {
            return Ok(Vec::new());
        }
        let threshold =
            self.context.reading.sketcher.as_ref().map_or(Threshold::SAME_CONTENT, Sketcher::threshold);
        let known = self.known_like(sketch)?;
        let mut new = self.new.iter().filter(|new| may_be_like(sketch, &new.sketch)).peekable();
        if known.is_empty() && new.peek().is_none() {
            return Ok(Vec::new());
        }
        let comparison = Comparison::new(sketch, threshold);
        let compared = |page, place, this_round, other: &Sketch| {
            let similarity = comparison.similarity(other)?;
            Some(SimilarText { page, place, this_round, similarity, estimate: comparison.estimate(other) })
        };
        let new = new.filter_map(|new| compared(new.page, new.place, true, &new.sketch));
        // a record of this batch replaces its entry of the index
        let known = known.iter().filter(|known| self.new.iter().all(|new| new.page != known.page));
        let known = known.filter_map(|k| compared(k.page, Some(k.place), k.this_round, &k.sketch));
        Ok(known.chain(new).collect())
    }

    /// Returns similar texts of the run's project, if it has one, else of its state directory.
    fn known_like(&self, sketch: &Sketch) -> Result<Vec<KnownText>, StageError> {
        let Some(project) = &self.context.records.project else {
            return Ok(self.context.store.similar_texts(sketch, COMPARED)?);
        };
        let at = |e| StageError::Project { name: project.name.clone(), source: SaveError::Store(e) };
        project.similar_texts(sketch, COMPARED).map_err(at)
    }
}

/// Returns true if the index would find them: a common band, or the same content.
fn may_be_like(a: &Sketch, b: &Sketch) -> bool {
    a.bands.iter().zip(&b.bands).any(|(a, b)| a == b) || (a.content.is_some() && a.content == b.content)
}

/// Makes the sketch by which a page is compared.
#[must_use]
pub fn sketch(context: &Context, exact: Option<ContentHash>, text: &str) -> Sketch {
    match &context.reading.sketcher {
        Some(sketcher) => sketcher.sketch(exact, text),
        None => Sketch { content: exact, ..Sketch::default() },
    }
}

/// The line for a page that is left out.
#[must_use]
pub fn line(page: &CleanPage) -> FailedPage {
    let kind = "duplicate";
    let repeats = page.duplicate.map_or_else(String::new, |first| match first.similarity {
        Some(similarity) => format!("repeats the record {} (similarity {similarity:.3})", first.of),
        None => format!("repeats the record {}", first.of),
    });
    FailedPage {
        url: page.page.final_url.as_str().to_owned(),
        stage: Stage::Dedup,
        kind,
        status: Some(page.page.status),
        attempts: page.page.request.attempt + 1,
        message: repeats,
        hint: hints::of(kind).to_owned(),
        at: rfc3339(now_ms()),
        found_on: None,
        lease: None,
        seed: seed_of(&page.page.request),
    }
}

/// Makes the index of a state directory, or of a project, one that this run can use.
///
/// # Errors
/// When storage fails.
pub fn open(context: &Context) -> Result<(), StoreError> {
    let made_as = context.reading.sketcher.as_ref().map_or_else(|| "contents".to_owned(), Sketcher::name);
    let forgotten = match &context.records.project {
        Some(project) => project.keep_texts_of_method(&made_as)?,
        None => context.store.keep_texts_of_method(&made_as)?,
    };
    if forgotten {
        tracing::warn!(
            "near_duplicates has other settings than before: the texts of earlier runs are discarded"
        );
    }
    Ok(())
}
