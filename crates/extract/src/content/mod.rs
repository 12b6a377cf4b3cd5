//! Which part of the page is its content: candidates, and the choice between them (heuristics reference §4 and §5).

mod anchor;
mod asides;
mod begin;
mod comments;
mod copies;
pub(crate) mod declared;
mod density;
mod imprint;
mod lead;
mod listing;
mod platform;
mod prune;
mod readability;
mod reference;
mod relax;
pub(crate) mod site_rule;
mod stamped;
mod teasers;
mod terms;
mod trafilatura;
pub(crate) mod unseen;

use crate::{
    options::{Favor, Options},
    page::{Amount, Page},
    polish::{Genre, Polish},
};
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

    /// The visible text of what is left.
    pub(crate) fn amount(&self, page: &Page<'_>) -> Amount {
        let mut sum = Amount::default();
        self.roots.iter().for_each(|root| sum.add(prune::kept(page, *root, &self.drop)));
        sum
    }
}

/// By what a page's candidates are pruned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    favor: Favor,
    /// The page calls itself an article: then lists of links lead away from it, however long their links are.
    article: bool,
    /// It does so in its own data, and does not only look like one.
    declared: bool,
    /// Its data call it a recipe or the like: what is in lists is as much of it as the prose.
    listed: bool,
    /// Its data call it a product.
    product: bool,
    /// It is so much like an article that the larger candidate may not consist of links.
    guarded: bool,
}

impl How {
    fn of(page: &Page<'_>, metadata: &PageMetadata, genre: Genre, likeness: i32, favor: Favor) -> Self {
        let rules = &page.rules.extraction.choice;
        Self {
            favor,
            article: genre != Genre::Other,
            declared: genre == Genre::DeclaredArticle,
            listed: has_type(metadata, &rules.listed_types),
            product: has_type(metadata, &rules.product_types)
                || metadata.og_type.as_deref().is_some_and(|t| t.starts_with("product")),
            guarded: likeness >= rules.guarded_score,
        }
    }
}

/// The JSON-LD of the page has one of these types.
fn has_type(metadata: &PageMetadata, types: &[String]) -> bool {
    metadata.json_ld_types.iter().any(|t| types.contains(t))
}

/// The content, which candidate it came from, and why.
pub(crate) struct Chosen {
    pub(crate) selection: Selection,
    pub(crate) extractor: Extractor,
    pub(crate) reason: String,
    pub(crate) polish: Polish,
    /// Share of the content's words in boxes that lead to other pages, 0 to 1.
    pub(crate) listed: f32,
}

impl Chosen {
    /// A choice that gets the whole of the last pass.
    const fn new(selection: Selection, extractor: Extractor, reason: String) -> Self {
        Self { selection, extractor, reason, polish: Polish::Whole, listed: 0.0 }
    }

    /// A choice by the kind of page, which leaves little for the last pass.
    const fn by_page_type(selection: Selection, reason: String, polish: Polish) -> Self {
        Self { selection, extractor: Extractor::PageType, reason, polish, listed: 0.0 }
    }
}

/// What the page calls itself in its own data, or looks like by its score for that.
pub(crate) fn genre(page: &Page<'_>, metadata: &PageMetadata, likeness: i32) -> Genre {
    let articles = &page.rules.score.content.json_ld_types;
    let called = metadata.og_type.as_deref() == Some("article")
        || metadata.json_ld_types.iter().any(|t| articles.contains(t));
    let least = page.rules.extraction.choice.article_score;
    let genre = match (called, likeness >= least) {
        (true, _) => Genre::DeclaredArticle,
        (false, true) => Genre::Article,
        (false, false) => Genre::Other,
    };
    page.trace.evidence(|| {
        let types = metadata.json_ld_types.join(", ");
        let og = metadata.og_type.as_deref().unwrap_or("none");
        format!(
            "{}: og:type {og}, JSON-LD types [{types}]; article score {likeness} with dates that are shown, {least} and more is one",
            match genre {
                Genre::DeclaredArticle => "an article, as it calls itself",
                Genre::Article => "an article by its score",
                Genre::Other => "no article",
            }
        )
    });
    genre
}

/// Runs the cascade: what the page's own program names, else the better of two candidates, else the DOM heuristic. A
/// third candidate, the whole body less its boilerplate, takes the place of a candidate that misses most of the page.
pub(crate) fn choose(
    page: &Page<'_>,
    metadata: &PageMetadata,
    genre: Genre,
    likeness: i32,
    options: &Options,
) -> Chosen {
    let limits = &page.rules.extraction;
    if let Some(chosen) =
        platform::forum(page, metadata, options.favor).or_else(|| platform::documentation(page))
    {
        page.trace.candidate(page, "platform", &chosen.selection);
        return chosen;
    }
    let how = How::of(page, metadata, genre, likeness, options.favor);
    let mut mask = prune::boilerplate(page, options, how);
    if let Some(chosen) = reference::candidate(page, metadata, &mask) {
        return chosen;
    }
    let listed = listing::share(page, &mask);
    if !how.declared {
        copies::mask(page, &mut mask);
    }
    teasers::mask(page, &mut mask, teaser_share(page, how));
    let outside = mask.clone();
    anchor::mask(page, &mut mask);
    let asides = mask_other_news(page, metadata, &mut mask, how, options);
    let readable = readability::candidate(page, &mask, how).filter(|s| s.words >= limits.words.readability);
    let blocks = trafilatura::candidate(page, &mask, how)
        .inspect(|s| page.trace.candidate(page, "trafilatura", s))
        .filter(|s| s.words >= limits.words.trafilatura);
    let settled = how.article
        && matches!((&readable, &blocks), (Some(readable), Some(blocks))
            if blocks.words >= limits.choice.named_words && elsewhere(page, readable, blocks));
    let chosen = match (readable, blocks) {
        (Some(readable), Some(blocks)) if settled => {
            let (b, r) = (blocks.words, readable.words);
            let reason =
                format!("the article's own container has {b} words, the best one, with {r}, is elsewhere");
            Chosen::new(blocks, Extractor::Trafilatura, reason)
        }
        (Some(readable), Some(blocks)) => better(page, readable, blocks, &asides, how),
        (Some(s), None) => {
            let reason = format!("the best container has {} words, blocks too few", s.words);
            Chosen::new(s, Extractor::Readability, reason)
        }
        (None, Some(s)) => {
            let reason = format!("blocks have {} words, no container has enough", s.words);
            Chosen::new(s, Extractor::Trafilatura, reason)
        }
        (None, None) => density::choose(page, &mask, how),
    };
    let mut chosen = whole_if_better(page, chosen, &mask, how);
    chosen = relax::choose(page, chosen, how);
    // What belongs to the content and stands beside its anchor is looked for by what it is.
    if how.article {
        prune::drop_forms(page, &mut chosen.selection);
        lead::add(page, &mut chosen.selection, &outside, metadata.description.as_deref());
    }
    if options.comments {
        comments::add(page, &mut chosen.selection, &outside);
    }
    Chosen { listed, ..chosen }
}

/// Masks what an article or a product has around it: news in front of the title, comments and
/// reviews, boxes with titles that lead away. Returns these boxes.
fn mask_other_news(
    page: &Page<'_>,
    metadata: &PageMetadata,
    mask: &mut [bool],
    how: How,
    options: &Options,
) -> Vec<u32> {
    if how.article {
        begin::mask(page, mask, metadata.title.as_deref());
    }
    let dated = has_type(metadata, &page.rules.extraction.choice.dated_types);
    if how.declared && !dated && !options.comments {
        begin::mask_next(page, mask);
    }
    let mut asides = Vec::new();
    if how.article || how.guarded {
        asides = asides::mask(page, mask, options.comments);
        asides.extend(imprint::mask(page, mask));
    }
    if (how.article || how.product) && !dated && !options.comments && !platform::is_thread(page, metadata) {
        stamped::mask(page, mask, how);
    }
    asides
}

/// The share of the page's words up to which teasers are left out of it.
fn teaser_share(page: &Page<'_>, how: How) -> f32 {
    let rules = &page.rules.extraction.prune;
    match (how.declared, how.article) {
        (true, _) => rules.declared_teaser_share,
        (false, true) => rules.article_teaser_share,
        (false, false) => rules.teaser_share,
    }
}

/// Best of two (§4): the blocks if they have many times the words of the best container. On an article's page what they
/// have more has to be prose as well, or it is more of the site than of the article.
fn better(page: &Page<'_>, readable: Selection, blocks: Selection, asides: &[u32], how: How) -> Chosen {
    let rules = &page.rules.extraction.choice;
    let ratio = if how.listed { rules.listed_ratio } else { rules.trafilatura_ratio };
    let (r, b) = (readable.words, blocks.words);
    let larger = b as f32 >= r as f32 * ratio;
    let more = || blocks.amount(page).minus(readable.amount(page));
    let text = match (how.listed, how.declared, how.guarded) {
        (false, true, _) => is_text(more(), rules.article_prose, rules.whole_links),
        (false, false, true) => {
            is_text(more().with_links(beyond(page, asides, &blocks, &readable)), 0.0, rules.guarded_links)
        }
        _ => true,
    };
    if larger && text {
        let reason = format!("blocks have {b} words, the best container {r}: {ratio} times and more");
        return Chosen::new(blocks, Extractor::Trafilatura, reason);
    }
    let why = if larger { "but links or scraps" } else { "less than" };
    let reason = format!("the best container has {r} words, blocks {b}: {why} {ratio} times");
    Chosen::new(readable, Extractor::Readability, reason)
}

/// Characters of the boxes beside the text that stand within the blocks and not within the best container.
fn beyond(page: &Page<'_>, asides: &[u32], blocks: &Selection, readable: &Selection) -> u32 {
    let within = |id: u32, selection: &Selection| {
        selection.roots.iter().any(|root| (*root..page.dom.end(*root)).contains(&id))
    };
    asides
        .iter()
        .filter(|id| within(**id, blocks) && !within(**id, readable))
        .map(|id| page.amount(*id).chars)
        .sum()
}

/// The blocks come from a container that is marked as the article and shares nothing with the best container.
fn elsewhere(page: &Page<'_>, readable: &Selection, blocks: &Selection) -> bool {
    let apart = |a: u32, b: u32| page.dom.end(a) <= b || page.dom.end(b) <= a;
    blocks.roots.iter().all(|b| readable.roots.iter().all(|r| apart(*b, *r)))
}

/// What one candidate has more than another is text: enough of it prose, little of it links.
fn is_text(more: Amount, least_prose: f32, most_links: f32) -> bool {
    more.prose as f32 >= more.chars as f32 * least_prose
        && more.link_chars as f32 <= more.chars as f32 * most_links
}

/// The high-recall candidate, if it has so much more than the chosen one that this missed most of the page, and what it
/// has more is text: some of it prose, little of it links.
fn whole_if_better(page: &Page<'_>, chosen: Chosen, mask: &[bool], how: How) -> Chosen {
    let rules = &page.rules.extraction.choice;
    let factor = match how.favor {
        Favor::Precision => return chosen,
        Favor::Balanced => rules.whole_ratio,
        Favor::Recall => rules.whole_ratio.midpoint(1.0),
    };
    let mut drop = mask.to_vec();
    prune::drop_link_lists(page, &[page.body], &mut drop, how);
    let whole = Selection::new(page, vec![page.body], drop);
    page.trace.candidate(page, "whole body", &whole);
    if (whole.words as f32) < chosen.selection.words as f32 * factor {
        return chosen;
    }
    let more = whole.amount(page).minus(chosen.selection.amount(page));
    let least_prose = if how.declared { rules.article_prose } else { rules.whole_prose };
    if !is_text(more, least_prose, rules.whole_links) {
        return chosen;
    }
    let reason = format!(
        "the whole body has {} words less its boilerplate, {factor} times of: {}",
        whole.words, chosen.reason
    );
    Chosen::new(whole, Extractor::BodyFallback, reason)
}
