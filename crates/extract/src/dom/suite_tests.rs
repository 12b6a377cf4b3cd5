//! The tree construction suite of html5lib-tests: compares our tree with the expected one, and extracts every
//! case.
//!
//! Intended differences are removed from the expected trees first. We keep no comments, document types,
//! processing instructions or namespaces, and a template's contents are its children.

use super::{Dom, Limits, Tag, parse};
use crate::{Input, Options, PageExtractor};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Trees that differ, with reasons: each is a decision of the tree, not of the test.
const DIFFERENT: [(&str, &str); 3] = [
    (
        "<select><button><selectedcontent></button><option>X",
        "the option that is chosen is not copied into <selectedcontent>: its text would stand there twice",
    ),
    ("FOO&#x008D;ZOO", CONTROL),
    ("FOO&#x009D;ZOO", CONTROL),
];
const CONTROL: &str = "a control character is whitespace, so that no record holds one";

/// One line of a tree: its depth and its content.
type Line = (usize, String);

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/protocol/html_tree_construction.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Parses the suite's notation, one line per element, attribute or text; a text may hold line breaks.
fn expected(document: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for line in document.split('\n') {
        match line.strip_prefix("| ") {
            Some(rest) => {
                let text = rest.trim_start_matches(' ');
                lines.push(((rest.len() - text.len()) / 2, text.to_owned()));
            }
            None => {
                if let Some((_, text)) = lines.last_mut() {
                    text.push('\n');
                    text.push_str(line);
                }
            }
        }
    }
    let mut out: Vec<Line> = Vec::new();
    // Depths of the open templates: nodes below their `content` are one level less deep.
    let mut contents: Vec<usize> = Vec::new();
    for (depth, text) in lines {
        while contents.last().is_some_and(|content| depth <= *content) {
            contents.pop();
        }
        let shallow = depth - contents.len();
        if text == "content" {
            contents.push(depth);
        } else if let Some(name) = text.strip_prefix('<').and_then(|t| t.strip_suffix('>')) {
            if !name.starts_with(['!', '?']) {
                out.push((shallow, format!("<{}>", name.rsplit(' ').next().unwrap())));
            }
        } else if text.starts_with('"') {
            out.push((shallow, text));
        } else {
            // An attribute; `xlink href` is its name with its namespace.
            let (name, value) = text.split_once('=').unwrap();
            out.push((shallow, format!("{}={value}", name.rsplit(' ').next().unwrap())));
        }
    }
    joined(out)
}

/// Joins runs of text that a comment separated. Attributes are sorted again, since their names lost the
/// namespace.
fn joined(lines: Vec<Line>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    for (depth, text) in lines {
        match out.last_mut() {
            Some((above, before)) if *above == depth && before.starts_with('"') && text.starts_with('"') => {
                before.truncate(before.len() - 1);
                before.push_str(&text[1..]);
            }
            _ => out.push((depth, text)),
        }
    }
    let is_attribute = |line: &Line| !line.1.starts_with(['<', '"']);
    let mut at = 0;
    while at < out.len() {
        let end = out[at..].iter().position(|line| !is_attribute(line)).map_or(out.len(), |len| at + len);
        out[at..end].sort();
        at = end.max(at + 1);
    }
    out
}

fn ours(dom: &Dom) -> Vec<Line> {
    let mut out = Vec::new();
    for id in 1..dom.len() {
        let depth = dom.ancestors(id).count() - 1;
        if dom.tag(id) == Tag::Text {
            out.push((depth, format!("\"{}\"", dom.text(id))));
            continue;
        }
        out.push((depth, format!("<{}>", dom.name(id))));
        out.extend(dom.attrs(id).map(|(name, value)| (depth + 1, format!("{name}=\"{value}\""))));
    }
    joined(out)
}

#[test]
fn html5lib_trees_equal_those_of_the_standard() {
    let cases = cases();
    let (mut agree, mut fragments, mut scripted, mut argued) = (0, 0, 0, 0);
    let mut faults = Vec::new();
    for case in &cases {
        let html = STANDARD.decode(case["data_b64"].as_str().unwrap()).unwrap();
        // Pages are whole and have no scripts that run.
        if !case["fragment"].is_null() {
            fragments += 1;
            continue;
        }
        if case["script"] == "on" {
            scripted += 1;
            continue;
        }
        let html = String::from_utf8_lossy(&html);
        let found = ours(&parse(&html, &Limits::default()).dom);
        let wanted = expected(case["document"].as_str().unwrap());
        if found == wanted {
            agree += 1;
        } else if let Some((data, why)) = DIFFERENT.iter().find(|(data, _)| *data == html) {
            println!("{data}: {why}");
            argued += 1;
        } else {
            faults.push(format!("{html:?}\n  ours     {found:?}\n  expected {wanted:?}"));
        }
    }
    let run = cases.len() - fragments - scripted;
    println!("{agree} of {run} trees agree, {argued} differ for reasons that are listed");
    println!("not run: {fragments} fragments, {scripted} with scripting");
    assert!(faults.is_empty(), "{} trees differ:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn html5lib_cases_extract_deterministically() {
    let cases = cases();
    let extractor = PageExtractor::new(Options::default().with_images(true).with_blocks(true)).unwrap();
    for case in &cases {
        let bytes = STANDARD.decode(case["data_b64"].as_str().unwrap()).unwrap();
        let input = Input::new(&bytes).with_content_type("text/html");
        let found = extractor.extract(&input);
        assert_eq!(format!("{found:?}"), format!("{:?}", extractor.extract(&input)));
        assert!(found.blocks.len() <= bytes.len());
    }
    println!("{} cases extracted", cases.len());
}
