//! Page in blocks as its reader sees it, each part with its fate.

use super::{consent_rule, described, left_out_each, names};
use crate::{
    dom::{NONE, Tag},
    explanation::{Shown, Span},
    page::{HiddenReason, Page},
    selection::Selection,
    text,
};
use rustc_hash::FxHashMap;

/// Nodes that the steps have dropped, with the step.
pub(super) struct DroppedNodes<'a> {
    /// Pass that dropped a node from a candidate.
    pub(super) marks: &'a FxHashMap<u32, &'static str>,
    /// Last pass that dropped the line of a text node.
    pub(super) lines: &'a FxHashMap<u32, &'static str>,
}

/// Blocks of the body. `in_content` marks the nodes whose text was written.
pub(super) fn blocks(
    page: &Page<'_>,
    selection: &Selection,
    in_content: &[bool],
    dropped_nodes: &DroppedNodes<'_>,
) -> Vec<Shown> {
    let mut reasons = Reasons::new(page, selection, dropped_nodes);
    let mut out: Vec<Shown> = Vec::new();
    let (mut last, mut link_end) = (NONE, NONE);
    for id in page.body..page.dom.end(page.body) {
        let tag = page.dom.tag(id);
        if page.gone[id as usize] == HiddenReason::Silent {
            continue;
        }
        if tag != Tag::Text {
            if tag == Tag::A {
                // Adjacent links are separate words, divided by style.
                if id == link_end
                    && let Some(span) =
                        out.last_mut().filter(|_| last != NONE).and_then(|b| b.spans.last_mut())
                {
                    span.text.push(' ');
                }
                link_end = page.dom.end(id);
            }
            // A block splits its parent's text.
            if tag.is_block() {
                last = NONE;
            } else if tag == Tag::Br
                && let Some(span) = out.last_mut().filter(|_| last != NONE).and_then(|b| b.spans.last_mut())
            {
                span.text.push('\n');
            }
            continue;
        }
        let raw = page.dom.text(id);
        let holder = block_of(page, id);
        let blank = raw.trim().is_empty();
        if blank && holder != last {
            continue;
        }
        let text = if tag_is_preformatted(page, holder) { raw.to_owned() } else { folded(raw) };
        if holder != last {
            let tag = page.dom.name(holder).to_owned();
            out.push(Shown { tag, element: described(page, holder), spans: Vec::new() });
            last = holder;
        }
        let Some(block) = out.last_mut() else { continue };
        let dropped = if in_content[id as usize] { None } else { Some(reasons.of(id)) };
        match block.spans.last_mut() {
            Some(span) if blank || span.dropped == dropped => span.text.push_str(&text),
            _ => block.spans.push(Span { text, dropped }),
        }
    }
    out
}

/// The nearest block element around a node.
fn block_of(page: &Page<'_>, id: u32) -> u32 {
    let mut at = page.dom.parent(id);
    while at != NONE && at != page.body && !page.dom.tag(at).is_block() {
        at = page.dom.parent(at);
    }
    if at == NONE { page.body } else { at }
}

fn tag_is_preformatted(page: &Page<'_>, id: u32) -> bool {
    page.dom.tag(id) == Tag::Pre
}

/// Text with each run of whitespace as one space, at the ends as well.
fn folded(raw: &str) -> String {
    let mut out = text::fold(raw);
    if raw.starts_with(char::is_whitespace) {
        out.insert(0, ' ');
    }
    if raw.ends_with(char::is_whitespace) && out != " " {
        out.push(' ');
    }
    out
}

/// Looks reasons up, each element's once.
struct Reasons<'p, 'a> {
    page: &'p Page<'a>,
    dropped_nodes: &'p DroppedNodes<'p>,
    /// Rule of each outermost dropped element of the chosen part.
    left_out: FxHashMap<u32, String>,
    roots: &'p [u32],
    consent: FxHashMap<u32, String>,
}

impl<'p, 'a> Reasons<'p, 'a> {
    fn new(page: &'p Page<'a>, selection: &'p Selection, dropped_nodes: &'p DroppedNodes<'p>) -> Self {
        let mut left_out = FxHashMap::default();
        left_out_each(page, selection, dropped_nodes.marks, |id, rule| {
            left_out.insert(id, rule);
            true
        });
        Self { page, dropped_nodes, left_out, roots: &selection.roots, consent: FxHashMap::default() }
    }

    fn of(&mut self, id: u32) -> String {
        match self.page.gone[id as usize] {
            HiddenReason::Consent => return self.consent_of(id),
            HiddenReason::Hidden | HiddenReason::Unreadable => {
                return "hidden by attribute or style".to_owned();
            }
            HiddenReason::No | HiddenReason::Silent => {}
        }
        if let Some(pass) = self.dropped_nodes.lines.get(&id) {
            return (*pass).to_owned();
        }
        let mut outermost = None;
        let mut inside = false;
        let mut at = id;
        while at != NONE {
            if let Some(rule) = self.left_out.get(&at) {
                return rule.clone();
            }
            inside |= self.roots.binary_search(&at).is_ok();
            if !inside && let Some(pass) = self.dropped_nodes.marks.get(&at) {
                outermost = Some((*pass).to_owned());
            }
            if !inside && outermost.is_none() && is_frame(self.page, at) {
                outermost = Some(names(self.page, at));
            }
            at = self.page.dom.parent(at);
        }
        match (inside, outermost) {
            (true, _) => "left out while the text was written".to_owned(),
            (false, Some(rule)) => rule,
            (false, None) => "outside of the chosen part".to_owned(),
        }
    }

    /// Rule of the outermost element of the banner.
    fn consent_of(&mut self, id: u32) -> String {
        let page = self.page;
        let mut outermost = id;
        let mut at = page.dom.parent(id);
        while at != NONE && page.gone[at as usize] == HiddenReason::Consent {
            outermost = at;
            at = page.dom.parent(at);
        }
        let rule = || {
            let text = page.dom.raw_text(outermost);
            format!("consent banner: {}", consent_rule(page, outermost, &text))
        };
        self.consent.entry(outermost).or_insert_with(rule).clone()
    }
}

fn is_frame(page: &Page<'_>, id: u32) -> bool {
    matches!(page.dom.tag(id), Tag::Nav | Tag::Footer | Tag::Aside | Tag::Header)
}
