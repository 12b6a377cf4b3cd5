//! Pages of known programs: documentation in its own containers, forums post by post (`platforms.toml`).

use super::{Chosen, prune};
use crate::{
    dom::Tag,
    options::{Favor, Options},
    page::{Amount, Page},
    polish::Polish,
    rules::{Part, Roles},
    selection::Selection,
};
use crawl_model::PageMetadata;
use rustc_hash::{FxHashSet, FxHasher};
use std::{hash::Hasher, ops::Range};

/// Elements of a part, in document order.
pub(super) fn elements(page: &Page<'_>, part: Part, platform: u16) -> Vec<u32> {
    page.parts.iter().filter(|(p, index, _)| *p == part && *index == platform).map(|(_, _, id)| *id).collect()
}

/// Visible elements that are inside of no other one.
pub(super) fn outermost(page: &Page<'_>, elements: Vec<u32>) -> Vec<u32> {
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

/// The recognised generator whose containers hold the most words.
fn best_documentation(page: &Page<'_>) -> Option<(u16, Vec<u32>, u32)> {
    (0..page.rules.platforms.documentation.len() as u16)
        .filter(|platform| page.is_signed(*platform))
        .filter_map(|platform| {
            let found = outermost(page, elements(page, Part::DocContent, platform));
            let words: u32 = found.iter().map(|id| page.amount(*id).words).sum();
            (words > 0).then_some((platform, found, words))
        })
        .max_by_key(|(platform, _, words)| (*words, std::cmp::Reverse(*platform)))
}

/// Text of a documentation page: its containers without the generator's navigation. Readers' comments of its drop list
/// stay if they are wanted.
pub(super) fn documentation(page: &Page<'_>, options: &Options) -> Option<Chosen> {
    let platforms = &page.rules.platforms.documentation;
    let (platform, roots, words) = best_documentation(page)?;
    let dom = &page.dom;
    let mut drop = vec![false; dom.len() as usize];
    let is_wanted = |id: u32| options.comments && page.roles[id as usize].has(Roles::COMMENTS);
    for id in elements(page, Part::DocDrop, platform).into_iter().filter(|id| !is_wanted(*id)) {
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
    let enough = selection.words >= page.rules.extraction.words.dom;
    enough.then(|| Chosen::by_platform(selection, reason, Polish::Nothing))
}

/// Returns true if the page's data or URL call it a thread.
pub(super) fn is_thread(page: &Page<'_>, metadata: &PageMetadata) -> bool {
    let rules = &page.rules.platforms;
    let by_type = metadata.json_ld_types.iter().any(|t| rules.thread_types.contains(t));
    by_type || address_has(page, &['/', '.', '-', '_'], &rules.thread_words)
}

/// Returns true if a label of the page's host, or a part of its path between these separators, is one of the
/// words.
pub(super) fn address_has(page: &Page<'_>, separators: &[char], words: &[String]) -> bool {
    page.url.is_some_and(|url| {
        let host = url.host_str().unwrap_or_default().split('.');
        let mut parts = host.chain(url.path().split(separators));
        parts.any(|part| words.iter().any(|word| word.eq_ignore_ascii_case(part)))
    })
}

/// Posts of a thread, each preceded by its author and date.
pub(super) fn forum(page: &Page<'_>, metadata: &PageMetadata, favor: Favor) -> Option<Chosen> {
    let thread = is_thread(page, metadata);
    let platforms = &page.rules.platforms.forum;
    let seen: Vec<u16> =
        page.parts.iter().filter(|(part, ..)| *part == Part::Post).map(|(_, index, _)| *index).collect();
    let found: Vec<(u32, u16, Vec<Post>)> = (0..platforms.len() as u16)
        .filter(|platform| seen.contains(platform) && (thread || !platforms[*platform as usize].generic))
        .filter_map(|platform| {
            let posts = posts(page, platform, &dropped(page, platform));
            let words: u32 =
                posts.iter().flat_map(|post| &post.bodies).map(|id| page.amount(*id).words).sum();
            (words >= page.rules.extraction.words.dom && posts.len() > 1).then_some((words, platform, posts))
        })
        .collect();
    // The first program with about the most words: the generic ones at the end of the list include comments.
    let most = found.iter().map(|(words, ..)| *words).max()?;
    let (_, platform, mut posts) = found.into_iter().find(|(words, ..)| words * 2 >= most)?;
    let mut drop = dropped(page, platform);
    if favor != Favor::Recall {
        drop_repeated(page, &posts, &mut drop);
        posts.retain(|post| !post.bodies.iter().all(|body| drop[*body as usize]));
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
    Some(Chosen::by_platform(selection, reason, Polish::Nothing))
}

/// Drop list of the program, by node.
fn dropped(page: &Page<'_>, platform: u16) -> Vec<bool> {
    let mut drop = vec![false; page.dom.len() as usize];
    for id in elements(page, Part::PostDrop, platform) {
        drop[id as usize] = true;
        page.trace.mark(id, "the forum program's own drop list (platforms.toml)");
    }
    drop
}

/// Minimum share of a quote's characters in earlier posts that makes it a repetition.
const REPEATED: f32 = 0.5;
/// Minimum share of a box's characters in earlier posts that makes it a copy.
const COPIED: f32 = 0.9;
/// Minimum words of a copy; a shorter one may be an answer that two readers give.
const MIN_COPY: u32 = 20;
/// Minimum characters of a text run that identifies its source.
const MIN_RUN: u32 = 12;

/// Drops quotes and copies of earlier posts of the page. Other quotes stay.
///
/// Text runs are compared by hash, since programs put names, dates and links around quotes.
fn drop_repeated(page: &Page<'_>, posts: &[Post], drop: &mut [bool]) {
    let dom = &page.dom;
    let mut said: FxHashSet<u64> = FxHashSet::default();
    for post in posts {
        let mut own: Vec<u64> = Vec::new();
        for &body in &post.bodies {
            let runs = Runs::of(page, body, &said);
            let mut id = body;
            while id < dom.end(body) {
                let reason = if id != body && is_quote(dom.tag(id)) && is_repeated(page, id, &said) {
                    Some("a quote of an earlier post of the page")
                } else if (id == body || is_box(dom.tag(id))) && runs.is_copy(id..dom.end(id)) {
                    Some("a copy of an earlier post of the page")
                } else {
                    None
                };
                if let Some(reason) = reason {
                    drop[id as usize] = true;
                    page.trace.mark(id, reason);
                    id = dom.end(id);
                } else {
                    own.extend(run_hash(page, id));
                    id += 1;
                }
            }
        }
        said.extend(own);
    }
}

const fn is_quote(tag: Tag) -> bool {
    matches!(tag, Tag::Blockquote | Tag::Aside)
}

/// Returns true for elements in which programs show a copy of a post, such as a quote or a preview.
const fn is_box(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Div
            | Tag::CustomBlock
            | Tag::Section
            | Tag::Article
            | Tag::Fieldset
            | Tag::Table
            | Tag::Td
            | Tag::Li
    )
}

/// Cumulative text of a post outside of its quotes by node, so that a box is checked in one step, however many
/// boxes surround it.
struct Runs {
    body: u32,
    /// Characters, characters that occurred before, and words.
    sums: Vec<[u32; 3]>,
}

impl Runs {
    fn of(page: &Page<'_>, body: u32, said: &FxHashSet<u64>) -> Self {
        let dom = &page.dom;
        let mut sums = Vec::new();
        if said.is_empty() {
            return Self { body, sums };
        }
        let (mut sum, mut quote_end) = ([0; 3], 0);
        for id in body..dom.end(body) {
            sums.push(sum);
            if is_quote(dom.tag(id)) {
                quote_end = quote_end.max(dom.end(id));
            }
            if id >= quote_end && dom.tag(id) == Tag::Text {
                let amount = page.amount(id);
                let is_known = run_hash(page, id).is_some_and(|hash| said.contains(&hash));
                let known = if is_known { amount.chars } else { 0 };
                sum = [sum[0] + amount.chars, sum[1] + known, sum[2] + amount.words];
            }
        }
        sums.push(sum);
        Self { body, sums }
    }

    /// Returns true if nearly all of a box occurred before.
    fn is_copy(&self, nodes: Range<u32>) -> bool {
        let at = |node: u32| self.sums.get((node - self.body) as usize);
        let (Some(start), Some(end)) = (at(nodes.start), at(nodes.end)) else { return false };
        let [chars, known, words] = [0, 1, 2].map(|part| end[part] - start[part]);
        words >= MIN_COPY && known as f32 >= chars as f32 * COPIED
    }
}

/// Returns true if most of a subtree occurred before.
fn is_repeated(page: &Page<'_>, quote: u32, said: &FxHashSet<u64>) -> bool {
    let known = |id: &u32| run_hash(page, *id).is_some_and(|hash| said.contains(&hash));
    let chars: u32 = (quote..page.dom.end(quote)).filter(known).map(|id| page.amount(id).chars).sum();
    chars as f32 > page.amount(quote).chars as f32 * REPEATED
}

/// Hash of a text node, if it is long enough.
fn run_hash(page: &Page<'_>, id: u32) -> Option<u64> {
    if page.dom.tag(id) != Tag::Text || page.amount(id).chars < MIN_RUN {
        return None;
    }
    let mut hasher = FxHasher::default();
    page.dom.text(id).split_whitespace().for_each(|word| hasher.write(word.as_bytes()));
    Some(hasher.finish())
}

struct Post {
    author: Option<u32>,
    date: Option<u32>,
    bodies: Vec<u32>,
}

/// Posts with a body. Nested posts (replies) are separate posts.
fn posts(page: &Page<'_>, platform: u16, drop: &[bool]) -> Vec<Post> {
    let mut starts = elements(page, Part::Post, platform);
    starts.retain(|id| page.is_visible(*id));
    let bodies = bodies(page, platform, drop);
    let authors = elements(page, Part::PostAuthor, platform);
    let dates = elements(page, Part::PostDate, platform);
    starts
        .iter()
        .enumerate()
        .filter_map(|(at, &start)| {
            // Up to the next post, which may be a nested reply.
            let end = page.dom.end(start).min(starts.get(at + 1).copied().unwrap_or(u32::MAX));
            let bodies = best_bodies(page, &bodies, start..end);
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

/// Rank and element of possible post texts, in document order. A signature in a dropped part may look like
/// one.
fn bodies(page: &Page<'_>, platform: u16, drop: &[bool]) -> Vec<(u8, u32)> {
    let all = page.parts.iter().filter_map(|(part, index, id)| match part {
        Part::PostBody(rank) if *index == platform => Some((*rank, *id)),
        _ => None,
    });
    all.filter(|(_, id)| page.is_visible(*id) && !prune::is_masked(page, *id, drop)).collect()
}

/// Text of one post: the elements of the best rank in its range.
fn best_bodies(page: &Page<'_>, bodies: &[(u8, u32)], range: Range<u32>) -> Vec<u32> {
    let from = bodies.partition_point(|(_, id)| *id < range.start);
    let inside = || bodies[from..].iter().take_while(|(_, id)| *id < range.end);
    let best = inside().map(|(rank, _)| *rank).min();
    outermost(page, inside().filter(|(rank, _)| Some(*rank) == best).map(|(_, id)| *id).collect())
}

/// Returns true for a name or a date, false for a sentence.
const fn is_short(amount: Amount) -> bool {
    amount.chars > 0 && amount.chars <= 60
}

/// Part of an ascending list within a range.
fn within(list: &[u32], range: Range<u32>) -> &[u32] {
    let from = list.partition_point(|id| *id < range.start);
    let to = list.partition_point(|id| *id < range.end);
    &list[from..to.max(from)]
}
