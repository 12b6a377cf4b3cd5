//! Title of a page whose own data has the title of its site.
//!
//! A title that half of the pages share names the site. The page's own title is then a heading, or else the
//! first text that is particular to the page. A page without such a text has the name of a link to itself.

use super::{HALF, SiteEvidence, adjust::KnownBlock};
use crate::{
    dom::Tag,
    metadata::{is_date_line, without_marks},
    page::Page,
    text,
};
use crawl_model::{Confidence, PageMetadata};
use html5ever::local_name;
use xxhash_rust::xxh3::xxh3_64;

/// Position of titles in the counts; no path of elements has this hash.
pub(super) const PLACE: u64 = 2;
/// Minimum share of the pages with one text at a position.
const MIN_SINGLE_SHARE: f64 = 0.8;
/// Maximum characters of a title.
const MAX_CHARS: u32 = 160;
/// Minimum letters of a title.
const MIN_LETTERS: usize = 2;
/// Maximum characters of a link text that names a page.
const MAX_LINK: u32 = 60;
/// Maximum links of a page that are read.
const MAX_LINKS: usize = 400;

/// Hash of a title. Digits count: they may be the only difference between pages of a series.
pub(super) fn hash(title: &str) -> u64 {
    xxh3_64(text::fold_lower(title).as_bytes())
}

/// Replaces a title that half of the pages share.
pub(super) fn correct(
    page: &Page<'_>,
    evidence: &SiteEvidence,
    blocks: &[KnownBlock],
    metadata: &mut PageMetadata,
) {
    let Some(title) = metadata.title.as_deref().filter(|title| evidence.is_title_of_site(title)) else {
        return;
    };
    let own = heading(page, blocks).or_else(|| particular(page, blocks)).or_else(|| own_link(page));
    if let Some(own) = own.filter(|own| own != title) {
        metadata.title = Some(own);
        metadata.sources.title = Some("site".to_owned());
    }
    metadata.confidence.title = Some(Confidence::Low);
}

/// The first heading at a position with another one on each page.
fn heading(page: &Page<'_>, blocks: &[KnownBlock]) -> Option<String> {
    blocks.iter().filter(|known| known.is_title()).find_map(|known| title_text(page, known))
}

/// The first text that is particular to the page, if it is short.
fn particular(page: &Page<'_>, blocks: &[KnownBlock]) -> Option<String> {
    let is_text = |known: &&KnownBlock| {
        known.block.is_element && known.differs() && known.block.amount.link_density() < HALF as f32
    };
    let texts = blocks.iter().filter(is_text);
    let first = texts.map(|known| (known, title_text(page, known))).find(|(known, text)| {
        known.block.amount.chars > MAX_CHARS
            || text.as_deref().is_some_and(|text| !is_date_line(&page.rules.dates, text))
    });
    let (known, text) = first?;
    text.filter(|_| known.place.once >= MIN_SINGLE_SHARE)
}

fn title_text(page: &Page<'_>, known: &KnownBlock) -> Option<String> {
    let text =
        without_marks(page, known.block.id, &text::fold(&page.visible_text(known.block.id))).to_owned();
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(MIN_LETTERS).count();
    (known.block.amount.chars <= MAX_CHARS && letters == MIN_LETTERS).then_some(text)
}

/// Text of the first link to the page itself, unless that is the start page.
fn own_link(page: &Page<'_>) -> Option<String> {
    let dom = &page.dom;
    let own = page.url.filter(|url| url.path() != "/")?;
    let links = dom.find_all(page.body..dom.end(page.body), Tag::A).take(MAX_LINKS);
    let mut named = links.filter(|id| page.is_visible(*id) && page.amount(*id).chars <= MAX_LINK);
    named.find_map(|id| {
        let target = page.resolve(dom.attr(id, &local_name!("href"))?)?;
        let target = url::Url::parse(&target).ok()?;
        let path = |url: &url::Url| url.path().trim_end_matches('/').to_owned();
        let is_own = target.fragment().is_none()
            && target.host_str() == own.host_str()
            && target.query() == own.query()
            // hexadecimal digits have either case
            && path(&target).eq_ignore_ascii_case(&path(own));
        let text = is_own.then(|| text::fold(&page.visible_text(id)))?;
        let letters = text.chars().filter(|c| c.is_alphabetic()).take(MIN_LETTERS).count();
        (letters == MIN_LETTERS).then_some(text)
    })
}
