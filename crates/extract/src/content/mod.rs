//! Which part of the page is its content: candidates, and the choice between them (heuristics reference §4 and §5).

mod density;
mod platform;
mod prune;
mod readability;
mod trafilatura;

use crate::{options::Options, page::Page};
use crawl_model::{Extractor, PageMetadata};

/// Chosen nodes.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Subtrees, in document order, none inside of another.
    pub(crate) roots: Vec<u32>,
    /// By node: this subtree is left out.
    pub(crate) drop: Vec<bool>,
    /// Words of what is left.
    pub(crate) words: u32,
}

impl Selection {
    /// A selection with its words counted.
    pub(crate) fn new(page: &Page<'_>, roots: Vec<u32>, drop: Vec<bool>) -> Self {
        let words = roots.iter().map(|root| prune::kept(page, *root, &drop).words).sum();
        Self { roots, drop, words }
    }
}

/// The content, which candidate it came from, and why.
pub(crate) struct Chosen {
    pub(crate) selection: Selection,
    pub(crate) extractor: Extractor,
    pub(crate) reason: String,
}

/// Runs the cascade: the better of two candidates, else the DOM heuristic, else the body.
pub(crate) fn choose(page: &Page<'_>, metadata: &PageMetadata, options: &Options) -> Chosen {
    let limits = &page.rules.extraction;
    if let Some(chosen) = platform::forum(page, metadata).or_else(|| platform::documentation(page)) {
        return chosen;
    }
    let mask = prune::boilerplate(page, options);
    let readable =
        readability::candidate(page, &mask, options).filter(|s| s.words >= limits.words.readability);
    let traf = trafilatura::candidate(page, &mask, options).filter(|s| s.words >= limits.words.trafilatura);
    match (readable, traf) {
        (Some(r), Some(t)) => {
            let ratio = limits.choice.trafilatura_ratio;
            if t.words as f32 >= r.words as f32 * ratio {
                let reason = format!(
                    "blocks have {} words, the best container {}: {ratio} times and more",
                    t.words, r.words
                );
                Chosen { selection: t, extractor: Extractor::Trafilatura, reason }
            } else {
                let reason = format!(
                    "the best container has {} words, blocks {}: less than {ratio} times",
                    r.words, t.words
                );
                Chosen { selection: r, extractor: Extractor::Readability, reason }
            }
        }
        (Some(r), None) => {
            let reason = format!("the best container has {} words, blocks too few", r.words);
            Chosen { selection: r, extractor: Extractor::Readability, reason }
        }
        (None, Some(t)) => {
            let reason = format!("blocks have {} words, no container has enough", t.words);
            Chosen { selection: t, extractor: Extractor::Trafilatura, reason }
        }
        (None, None) => density::choose(page, &mask, options),
    }
}
