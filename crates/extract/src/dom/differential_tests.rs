//! Trees of real and of damaged pages: compares ours with html5ever's own, as `scraper` keeps it.
//!
//! The suite of html5lib has small pages. These are whole ones, with parts that are cut, doubled or spliced. Pages
//! with parts of a stream are left out, since our tree moves those.

use super::{Dom, Limits, Tag, parse};
use crate::invisible;
use html5ever::{driver, tendril::TendrilSink, tree_builder::TreeBuilderOpts};
use scraper::{Html, HtmlTreeSink, Node};
use std::{fs, path::Path};

/// Damaged pages of a run.
const DAMAGED: usize = 400;

/// One line of a tree: its depth, and a name, an attribute or a text.
type Line = (usize, String);

fn theirs(html: &str) -> Vec<Line> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = driver::ParseOpts { tree_builder, ..driver::ParseOpts::default() };
    let tree = driver::parse_document(HtmlTreeSink::new(Html::new_document()), opts).one(html);
    let mut lines = Vec::new();
    for node in tree.tree.root().descendants().skip(1) {
        // A template has a fragment, which is no node of ours.
        let depth = || node.ancestors().filter(|above| !above.value().is_fragment()).count();
        match node.value() {
            Node::Element(element) => {
                let depth = depth();
                lines.push((depth, format!("<{}>", element.name())));
                let attrs = element.attrs.iter();
                lines.extend(attrs.map(|(name, value)| (depth + 1, attribute(&name.local, value))));
            }
            Node::Text(text) => lines.push((depth(), format!("\"{}", &**text))),
            _ => {}
        }
    }
    settled(lines)
}

fn ours(dom: &Dom) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut depths = vec![0; dom.len() as usize];
    for id in 1..dom.len() {
        let depth = depths[dom.parent(id) as usize] + 1;
        depths[id as usize] = depth;
        if dom.tag(id) == Tag::Text {
            lines.push((depth, format!("\"{}", dom.text(id))));
        } else {
            lines.push((depth, format!("<{}>", dom.name(id))));
            lines.extend(dom.attrs(id).map(|(name, value)| (depth + 1, attribute(name, value))));
        }
    }
    settled(lines)
}

fn attribute(name: &str, value: &str) -> String {
    format!("@{name}={}", invisible::without(value))
}

/// Joins texts that a comment parted, sorts attributes, and removes invisible characters, as our tree does.
fn settled(lines: Vec<Line>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for (depth, text) in lines {
        match out.last_mut() {
            Some((above, before)) if *above == depth && before.starts_with('"') && text.starts_with('"') => {
                before.push_str(&text[1..]);
            }
            _ => out.push((depth, text)),
        }
    }
    let is_attribute = |line: &Line| line.1.starts_with('@');
    for attributes in out.chunk_by_mut(|one, other| is_attribute(one) && is_attribute(other)) {
        attributes.sort();
    }
    out.iter_mut().for_each(|(_, text)| {
        if text.starts_with('"') {
            text.retain(|c| {
                !c.is_control() && invisible::without(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8()
            });
        }
    });
    out
}

fn compare(name: &str, html: &str, faults: &mut Vec<String>) {
    if ["S:0", "S:1"].iter().any(|part| html.contains(part)) {
        return;
    }
    let limits = Limits { max_depth: u16::MAX, max_attributes: usize::MAX, ..Limits::default() };
    let (found, wanted) = (ours(&parse(html, &limits).dom), theirs(html));
    if found != wanted {
        let at = found.iter().zip(&wanted).position(|(a, b)| a != b).unwrap_or(found.len().min(wanted.len()));
        let around =
            |lines: &[Line]| format!("{:?}", &lines[at.saturating_sub(3)..(at + 3).min(lines.len())]);
        faults.push(format!(
            "{name}: line {at}\n  ours     {}\n  expected {}",
            around(&found),
            around(&wanted)
        ));
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn part<'a>(&mut self, page: &'a str) -> &'a str {
        let start = self.below(page.len());
        let len = self.below(2000);
        let (start, end) = (page.floor_char_boundary(start), page.floor_char_boundary(start + len));
        &page[start..end]
    }
}

fn damaged(pages: &[String], random: &mut Random) -> String {
    let mut page = pages[random.below(pages.len())].clone();
    for _ in 0..1 + random.below(6) {
        let at = page.floor_char_boundary(random.below(page.len()));
        match random.below(4) {
            0 => {
                let end = page.floor_char_boundary(at + random.below(300));
                page.replace_range(at..end, "");
            }
            1 => {
                let other = random.below(pages.len());
                let part = random.part(&pages[other]).to_owned();
                page.insert_str(at, &part);
            }
            2 => {
                let part = random.part(&page).repeat(2);
                page.insert_str(at, &part);
            }
            _ => {
                // A tag twice.
                let open = page[at..].find('<').map_or(at, |found| at + found);
                let close = page[open..].find('>').map_or(open, |found| open + found + 1);
                let tag = page[open..close].to_owned();
                page.insert_str(open, &tag);
            }
        }
    }
    page
}

#[test]
fn trees_of_pages_equal_those_of_html5ever() {
    let mut faults = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pages");
    let mut paths: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let pages: Vec<String> =
        paths.iter().filter_map(|path| fs::read_to_string(path.join("source.html")).ok()).collect();
    assert!(pages.len() > 20);
    for (at, page) in pages.iter().enumerate() {
        compare(&format!("page {at}"), page, &mut faults);
    }
    let mut random = Random(31);
    for at in 0..DAMAGED {
        compare(&format!("damaged {at}"), &damaged(&pages, &mut random), &mut faults);
    }
    assert!(faults.is_empty(), "{} trees differ:\n{}", faults.len(), faults.join("\n"));
}
