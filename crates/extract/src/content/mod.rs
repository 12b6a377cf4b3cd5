//! Choice of the content: candidates, and the decision between them (heuristics reference §4 and §5).

mod anchor;
mod asides;
mod begin;
mod captions;
mod comments;
mod copies;
pub(crate) mod declared;
mod density;
mod footer;
mod imprint;
mod layout;
mod lead;
mod lines;
mod listing;
mod notes;
mod opening;
mod platform;
mod prune;
mod readability;
mod reference;
mod relax;
mod reviews;
pub(crate) mod site_rule;
mod stamped;
mod teasers;
mod terms;
mod trafilatura;
pub(crate) mod unseen;

pub(crate) use begin::find_heading;
pub(crate) use prune::BOILERPLATE_ROLES;

use crate::{
    explain,
    options::{Favor, Options},
    page::{Amount, Page},
    polish::{ArticleStatus, Polish},
    selection::Selection,
};
use crawl_model::{Extractor, PageMetadata};
use readability::Points;

/// Settings for pruning a page's candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PruneSettings {
    favor: Favor,
    /// True if the page is an article. Lists of links are then no content, however long their links are.
    article: bool,
    /// True if the data of the page declare it an article, not only its score.
    declared: bool,
    /// True if the data of the page declare a recipe or the like, whose lists count as much as prose.
    listed: bool,
    /// True if the data of the page declare a product.
    product: bool,
    /// Node at which the text of the page ends and its footer begins.
    text_end: u32,
    /// True if the page is so similar to an article that the larger candidate may not consist of links.
    guarded: bool,
}

impl PruneSettings {
    fn of(
        page: &Page<'_>,
        metadata: &PageMetadata,
        status: ArticleStatus,
        likeness: i32,
        favor: Favor,
    ) -> Self {
        let rules = &page.rules.extraction.choice;
        Self {
            favor,
            article: status != ArticleStatus::None,
            declared: status == ArticleStatus::Declared,
            listed: has_type(metadata, &rules.listed_types),
            product: has_type(metadata, &rules.product_types)
                || metadata.og_type.as_deref().is_some_and(|t| t.starts_with("product")),
            text_end: footer::text_end(page),
            guarded: likeness >= rules.guarded_score && !is_collection(page, metadata),
        }
    }
}

/// Returns true for the start page of a site without a date of publication, and for pages that call themselves
/// collections. They have paragraphs and one heading as articles do, but their text is a list of links to other
/// pages.
fn is_collection(page: &Page<'_>, metadata: &PageMetadata) -> bool {
    let rules = &page.rules.extraction.choice;
    let is_start = page.url.is_some_and(|url| url.path() == "/" && url.query().is_none());
    // The start page of a single-article site has the date in its data. Dates of teasers are in elements or in the
    // text.
    let is_dated = || matches!(metadata.sources.published.as_deref(), Some("meta" | "json_ld"));
    let is_article = match metadata.og_type.as_deref() {
        Some("website") => false,
        og_type => og_type == Some("article") || is_dated(),
    };
    is_start && !is_article
        || has_type(metadata, &rules.collection_types) && !has_type(metadata, &rules.product_types)
}

/// Returns true if the JSON-LD of the page has one of these types.
fn has_type(metadata: &PageMetadata, types: &[String]) -> bool {
    metadata.json_ld_types.iter().any(|t| types.contains(t))
}

/// Chosen content, with its candidate and the reason.
pub(crate) struct Chosen {
    pub(crate) selection: Selection,
    pub(crate) extractor: Extractor,
    pub(crate) reason: String,
    pub(crate) polish: Polish,
    /// Share of the content's words in boxes that lead to other pages, 0 to 1.
    pub(crate) listed: f32,
    /// True if the data of the page call it a product.
    pub(crate) is_product: bool,
}

impl Chosen {
    /// Creates a choice with the whole last pass.
    const fn new(selection: Selection, extractor: Extractor, reason: String) -> Self {
        Self { selection, extractor, reason, polish: Polish::Whole, listed: 0.0, is_product: false }
    }

    /// Creates a choice by the type of page, which needs little of the last pass.
    const fn by_platform(selection: Selection, reason: String, polish: Polish) -> Self {
        Self { selection, extractor: Extractor::Platform, reason, polish, listed: 0.0, is_product: false }
    }
}

/// Status of the page by its own data, or by its score.
pub(crate) fn article_status(page: &Page<'_>, metadata: &PageMetadata, likeness: i32) -> ArticleStatus {
    let articles = &page.rules.score.content.json_ld_types;
    let called = metadata.og_type.as_deref() == Some("article")
        || metadata.json_ld_types.iter().any(|t| articles.contains(t));
    let least = page.rules.extraction.choice.article_score;
    let status = match (called, likeness >= least) {
        (true, _) => ArticleStatus::Declared,
        (false, true) => ArticleStatus::Scored,
        (false, false) => ArticleStatus::None,
    };
    page.trace.evidence(|| {
        let types = metadata.json_ld_types.join(", ");
        let og = metadata.og_type.as_deref().unwrap_or("none");
        format!(
            "cleaned as {}: og:type {og}, JSON-LD types [{types}]; score {likeness} with dates that are shown, {least} and more is one",
            match status {
                ArticleStatus::Declared => "an article, which it declares to be",
                ArticleStatus::Scored => "an article by its score with dates",
                ArticleStatus::None => "no article",
            }
        )
    });
    status
}

/// Runs the cascade: the content of a known program, else the better of two candidates, else the DOM
/// heuristic. A third candidate, the body without boilerplate, replaces a candidate that misses most of the
/// page.
pub(crate) fn choose(
    page: &Page<'_>,
    metadata: &PageMetadata,
    status: ArticleStatus,
    likeness: i32,
    options: &Options,
) -> Chosen {
    let limits = &page.rules.extraction;
    if let Some(chosen) =
        platform::forum(page, metadata, options.favor).or_else(|| platform::documentation(page, options))
    {
        explain::candidate(page, "platform", &chosen.selection);
        return chosen;
    }
    let how = PruneSettings::of(page, metadata, status, likeness, options.favor);
    let mut mask = prune::boilerplate(page, options, how);
    if let Some(chosen) = reference::candidate(page, metadata, &mask) {
        return chosen;
    }
    let listed = listing::share(page, &mask);
    if !how.declared {
        copies::mask(page, &mut mask);
    }
    teasers::mask(page, &mut mask, teaser_share(page, how), how.article);
    let outside = mask.clone();
    anchor::mask(page, &mut mask);
    let asides = mask_surroundings(page, metadata, &mut mask, how, options);
    let readable = readable(page, &mask, how, Points::Paragraphs);
    let blocks = trafilatura::candidate(page, &mask, how)
        .inspect(|s| explain::candidate(page, "trafilatura", s))
        .filter(|s| s.words >= limits.words.trafilatura);
    let readable = with_lines(page, &mask, how, readable, blocks.as_ref());
    let settled = how.article
        && matches!((&readable, &blocks), (Some(readable), Some(blocks))
            if blocks.words >= limits.choice.named_words && is_other_article(page, readable, blocks));
    let chosen = match (readable, blocks) {
        (Some(readable), Some(blocks)) if settled => {
            let (b, r) = (blocks.words, readable.words);
            let reason =
                format!("the article's own container has {b} words, the best one, with {r}, is elsewhere");
            Chosen::new(blocks, Extractor::Trafilatura, reason)
        }
        (Some(readable), Some(blocks)) => choose_better(page, readable, blocks, &asides, how),
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
    let mut chosen = choose_whole_if_better(page, chosen, &mask, how);
    if how.article && !how.product && chosen.extractor == Extractor::Readability {
        readability::add_sections(page, &mut chosen.selection, &mask, how);
        readability::fill_gaps(page, &mut chosen.selection, &mask, how);
    }
    chosen = relax::choose(page, chosen, how);
    complete(page, &mut chosen.selection, (&mask, &outside), metadata, how, options);
    Chosen { listed, is_product: how.product, ..chosen }
}

/// The best container, if it has enough words.
fn readable(page: &Page<'_>, mask: &[bool], how: PruneSettings, from: Points) -> Option<Selection> {
    let least = page.rules.extraction.words.readability;
    readability::candidate(page, mask, how, from).filter(|s| s.words >= least)
}

/// A larger container in place of the best one, if the blocks of an article have many times its words. The text
/// may stand in no paragraphs: then lines give points as paragraphs do.
fn with_lines(
    page: &Page<'_>,
    mask: &[bool],
    how: PruneSettings,
    best: Option<Selection>,
    blocks: Option<&Selection>,
) -> Option<Selection> {
    let limits = &page.rules.extraction.choice;
    let words = best.as_ref().map_or(0, |s| s.words) as f32;
    let misses_text = blocks.is_some_and(|s| s.words as f32 >= words * limits.trafilatura_ratio);
    if !how.article || !misses_text {
        return best;
    }
    let by_lines = readable(page, mask, how, Points::Lines);
    by_lines.filter(|s| s.words as f32 > words * limits.lines_ratio).or(best)
}

/// Adds text beside the chosen container: the lead of an article, prose below the heading of the page,
/// comments if they are wanted. Drops forms from an article. The masks are those of the choice and of
/// boilerplate alone.
fn complete(
    page: &Page<'_>,
    selection: &mut Selection,
    (mask, outside): (&[bool], &[bool]),
    metadata: &PageMetadata,
    how: PruneSettings,
    options: &Options,
) {
    let first = selection.roots.first().copied();
    // Content outside of its anchor is recognised by its kind.
    if how.article {
        prune::drop_forms(page, selection);
        lead::add(page, selection, outside, metadata.description.as_deref());
    }
    if !how.product {
        lead::add_prose(page, selection, mask, first, metadata.title.as_deref());
        lead::add_heading(page, selection, mask, first, metadata.title.as_deref());
    }
    if options.comments {
        comments::add(page, selection, outside);
    }
}

/// Masks text around an article or a product: news before the title, comments and reviews, titled boxes that
/// lead away. Returns these boxes.
fn mask_surroundings(
    page: &Page<'_>,
    metadata: &PageMetadata,
    mask: &mut [bool],
    how: PruneSettings,
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
    if how.product && !how.declared && !options.comments {
        reviews::mask(page, mask);
    }
    if (how.article || how.product) && !dated && !options.comments && !platform::is_thread(page, metadata) {
        stamped::mask(page, mask, how);
    }
    asides
}

/// Maximum share of the page's words in teasers that are left out.
fn teaser_share(page: &Page<'_>, how: PruneSettings) -> f32 {
    let rules = &page.rules.extraction.prune;
    match (how.declared, how.article) {
        (true, _) => rules.declared_teaser_share,
        (false, true) => rules.article_teaser_share,
        (false, false) => rules.teaser_share,
    }
}

/// Chooses the better of two (§4): the blocks if they have many times the words of the best container. On an
/// article's page the additional text must be prose, or it belongs to the site.
fn choose_better(
    page: &Page<'_>,
    readable: Selection,
    blocks: Selection,
    asides: &[u32],
    how: PruneSettings,
) -> Chosen {
    let rules = &page.rules.extraction.choice;
    let ratio = if how.listed { rules.listed_ratio } else { rules.trafilatura_ratio };
    let (r, b) = (readable.words, blocks.words);
    let larger = b as f32 >= r as f32 * ratio;
    let more = || blocks.amount(page).minus(readable.amount(page));
    let text = match (how.listed, how.declared, how.guarded) {
        (false, true, _) => is_text(more(), rules.article_prose, rules.whole_links),
        (false, false, true) => is_text(
            more().with_links(chars_in_asides(page, asides, &blocks, &readable)),
            0.0,
            rules.guarded_links,
        ),
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

/// Characters of the asides that are within the blocks but not within the best container.
fn chars_in_asides(page: &Page<'_>, asides: &[u32], blocks: &Selection, readable: &Selection) -> u32 {
    let within = |id: u32, selection: &Selection| {
        selection.roots.iter().any(|root| (*root..page.dom.end(*root)).contains(&id))
    };
    asides
        .iter()
        .filter(|id| within(**id, blocks) && !within(**id, readable))
        .map(|id| page.amount(*id).chars)
        .sum()
}

/// Returns true if the blocks come from a container that is marked as the article and is disjoint from the
/// best container.
fn is_other_article(page: &Page<'_>, readable: &Selection, blocks: &Selection) -> bool {
    let apart = |a: u32, b: u32| page.dom.end(a) <= b || page.dom.end(b) <= a;
    blocks.roots.iter().all(|b| readable.roots.iter().all(|r| apart(*b, *r)))
}

/// Returns true if the additional text of a candidate has enough prose and few links.
fn is_text(more: Amount, least_prose: f32, most_links: f32) -> bool {
    more.prose as f32 >= more.chars as f32 * least_prose
        && more.link_chars as f32 <= more.chars as f32 * most_links
}

/// Replaces the choice by the high-recall candidate if that has so much more text that the choice misses most
/// of the page. The additional text needs some prose and few links.
fn choose_whole_if_better(page: &Page<'_>, chosen: Chosen, mask: &[bool], how: PruneSettings) -> Chosen {
    let rules = &page.rules.extraction.choice;
    let factor = match how.favor {
        Favor::Precision => return chosen,
        Favor::Balanced => rules.whole_ratio,
        Favor::Recall => rules.whole_ratio.midpoint(1.0),
    };
    let mut drop = mask.to_vec();
    prune::drop_link_lists(page, &[page.body], &mut drop, how);
    let whole = Selection::new(page, vec![page.body], drop);
    explain::candidate(page, "whole body", &whole);
    if (whole.words as f32) < chosen.selection.words as f32 * factor {
        return chosen;
    }
    let more = whole.amount(page).minus(chosen.selection.amount(page));
    let least_prose = if how.declared { rules.article_prose } else { rules.whole_prose };
    if !is_text(more, least_prose, rules.whole_links) {
        return chosen;
    }
    let reason = match whole.words {
        0 => format!("the whole body without boilerplate has no words: {}", chosen.reason),
        words => format!(
            "the whole body without boilerplate has {words} words, at least {factor} times as many as the candidate: {}",
            chosen.reason
        ),
    };
    Chosen::new(whole, Extractor::BodyFallback, reason)
}
