//! Pages of programs that are known: documentation in its own containers, forums post by post (`platforms.toml`).

use super::{Chosen, Selection};
use crate::{
    dom::Tag,
    page::{Amount, Page},
    rules::Part,
};
use crawl_model::{Extractor, PageMetadata};
use std::ops::Range;

/// Elements of a part, in document order.
fn elements(page: &Page<'_>, part: Part, platform: u16) -> Vec<u32> {
    page.parts.iter().filter(|(p, index, _)| *p == part && *index == platform).map(|(_, _, id)| *id).collect()
}

/// Those that are inside of none of the others and visible.
fn outermost(page: &Page<'_>, elements: Vec<u32>) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    let mut end = 0;
    for id in elements {
        if id >= end && page.is_visible(id) {
            out.push(id);
            end = page.dom.end(id);
        }
    }
    out
}

/// The generator whose sign was seen and whose containers hold the most words.
fn best_documentation(page: &Page<'_>) -> Option<(u16, Vec<u32>, u32)> {
    let signed = |platform: &u16| {
        page.rules.platforms.documentation[*platform as usize].sign.is_empty()
            || page.parts.iter().any(|(part, index, _)| *part == Part::DocSign && index == platform)
    };
    (0..page.rules.platforms.documentation.len() as u16)
        .filter(signed)
        .filter_map(|platform| {
            let found = outermost(page, elements(page, Part::DocContent, platform));
            let words: u32 = found.iter().map(|id| page.amount(*id).words).sum();
            (words > 0).then_some((platform, found, words))
        })
        .max_by_key(|(platform, _, words)| (*words, std::cmp::Reverse(*platform)))
}

/// The text of a documentation page: its containers less what the generator puts in for navigating.
pub(super) fn documentation(page: &Page<'_>) -> Option<Chosen> {
    let platforms = &page.rules.platforms.documentation;
    let (platform, roots, words) = best_documentation(page)?;
    let dom = &page.dom;
    let mut drop = vec![false; dom.len() as usize];
    for id in elements(page, Part::DocDrop, platform) {
        drop[id as usize] = true;
        page.trace.mark(id, "the documentation program's own drop list (platforms.toml)");
    }
    for &root in &roots {
        for id in root..dom.end(root) {
            drop[id as usize] |= matches!(dom.tag(id), Tag::Nav | Tag::Footer | Tag::Form | Tag::Button);
        }
    }
    let selection = Selection::new(page, roots, drop);
    let name = &platforms[platform as usize].name;
    let reason = format!("documentation by {name}, {} of {words} words", selection.words);
    (selection.words >= page.rules.extraction.words.dom).then_some(Chosen {
        selection,
        extractor: Extractor::PageType,
        reason,
    })
}

/// The page's data or address call it a thread.
fn is_thread(page: &Page<'_>, metadata: &PageMetadata) -> bool {
    let rules = &page.rules.platforms;
    let by_type = metadata.json_ld_types.iter().any(|t| rules.thread_types.contains(t));
    by_type
        || page.url.is_some_and(|url| {
            let host = url.host_str().unwrap_or_default().split('.');
            let path = url.path().split(['/', '.', '-', '_']);
            host.chain(path).any(|word| rules.thread_words.iter().any(|w| w.eq_ignore_ascii_case(word)))
        })
}

/// The posts of a thread, each with its author and date in front.
pub(super) fn forum(page: &Page<'_>, metadata: &PageMetadata) -> Option<Chosen> {
    let thread = is_thread(page, metadata);
    let platforms = &page.rules.platforms.forum;
    let found: Vec<(u32, u16, Vec<Post>)> = (0..platforms.len() as u16)
        .filter(|platform| thread || !platforms[*platform as usize].generic)
        .filter_map(|platform| {
            let posts = posts(page, platform);
            let words: u32 =
                posts.iter().flat_map(|post| &post.bodies).map(|id| page.amount(*id).words).sum();
            (words >= page.rules.extraction.words.dom && posts.len() > 1).then_some((words, platform, posts))
        })
        .collect();
    // The first of the list that has about as much as any: the generic ones at its end take in comments as well.
    let most = found.iter().map(|(words, ..)| *words).max()?;
    let (_, platform, posts) = found.into_iter().find(|(words, ..)| words * 2 >= most)?;
    let mut drop = vec![false; page.dom.len() as usize];
    for id in elements(page, Part::PostDrop, platform) {
        drop[id as usize] = true;
        page.trace.mark(id, "the forum program's own drop list (platforms.toml)");
    }
    let count = posts.len();
    let mut roots: Vec<u32> = posts
        .iter()
        .flat_map(|post| post.author.iter().chain(&post.date).chain(&post.bodies))
        .copied()
        .collect();
    roots.sort_unstable();
    roots.dedup();
    let selection = Selection::new(page, outermost(page, roots), drop);
    let reason = format!("{count} posts of {}", platforms[platform as usize].name);
    Some(Chosen { selection, extractor: Extractor::PageType, reason })
}

struct Post {
    author: Option<u32>,
    date: Option<u32>,
    bodies: Vec<u32>,
}

/// Posts with a body. Posts inside of posts (replies) are posts of their own.
fn posts(page: &Page<'_>, platform: u16) -> Vec<Post> {
    let mut starts = elements(page, Part::Post, platform);
    starts.retain(|id| page.is_visible(*id));
    let bodies = outermost(page, elements(page, Part::PostBody, platform));
    let authors = elements(page, Part::PostAuthor, platform);
    let dates = elements(page, Part::PostDate, platform);
    starts
        .iter()
        .enumerate()
        .filter_map(|(at, &start)| {
            // Up to the next post, which may be a reply inside of this one.
            let end = page.dom.end(start).min(starts.get(at + 1).copied().unwrap_or(u32::MAX));
            let bodies: Vec<u32> = within(&bodies, start..end).to_vec();
            let first = |list: &[u32]| {
                within(list, start..end)
                    .iter()
                    .copied()
                    .find(|id| page.is_visible(*id) && is_short(page.amount(*id)))
            };
            (!bodies.is_empty()).then(|| Post { author: first(&authors), date: first(&dates), bodies })
        })
        .collect()
}

/// A name or a date, not a sentence.
const fn is_short(amount: Amount) -> bool {
    amount.chars > 0 && amount.chars <= 60
}

/// The part of an ascending list that lies in a range.
fn within(list: &[u32], range: Range<u32>) -> &[u32] {
    let from = list.partition_point(|id| *id < range.start);
    let to = list.partition_point(|id| *id < range.end);
    &list[from..to.max(from)]
}
