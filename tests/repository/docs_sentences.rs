//! Length of the sentences and of the map in the documents, and in the comments of `config/`.
//!
//! # Definition of a sentence
//!
//! - **Blocks.** A document is cut into blocks: headings, paragraphs, items of lists and cells of tables. Each block ends its
//!   last sentence. Fenced code and HTML comments are left out.
//! - **Sentences.** Inside a block a full stop, an exclamation mark or a question mark before white space ends a sentence.
//!   Closing brackets, quotes and marks of emphasis may stand between. Colons and semicolons do not end one. The exception is a
//!   semicolon in a cell of a table: there it separates independent entries.
//! - **Words.** Words are separated by white space and have a letter or a digit. A piece of inline code is one word, and so is a
//!   run of pieces that only commas, slashes, "and", "or" or "to" separate. The text of a link counts, its target does not.
//! - **Comments.** In a TOML file adjacent comment lines are a paragraph. A comment that holds TOML (a table or a key with a
//!   value) is code.

use regex::Regex;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Most words of a sentence.
const MOST_WORDS: usize = 25;

/// Most words of `ARCHITECTURE.md`.
const MOST_WORDS_OF_THE_MAP: usize = 2_000;

/// Files with longer sentences, each with the reason. The test fails for a file without one.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// Stands for a piece of inline code.
const CODE: &str = "\u{1}";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Prose,
    Cell,
}

/// A block of text and the line on which it begins.
struct Block {
    line: usize,
    kind: Kind,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// Files below `folder` with one of the endings, without `skip`.
fn files(folder: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, out);
        } else if path.extension().is_some_and(|found| found == ending) {
            out.push(path);
        }
    }
}

/// Documents at the root, and those of the folders that hold documents.
fn documents() -> Vec<PathBuf> {
    let root = root();
    let mut out: Vec<PathBuf> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    for folder in ["docs", "benches", "tests/faults"] {
        files(&root.join(folder), "md", &mut out);
    }
    out.push(root.join("fuzz/README.md"));
    assert!(out.len() > 50, "only {} documents were found", out.len());
    out
}

/// Collects the lines of a block until it ends.
#[derive(Default)]
struct Paragraph {
    line: usize,
    lines: Vec<String>,
}

impl Paragraph {
    fn push(&mut self, line: usize, text: &str) {
        if self.lines.is_empty() {
            self.line = line;
        }
        self.lines.push(text.to_owned());
    }

    fn end(&mut self, out: &mut Vec<Block>) {
        if !self.lines.is_empty() {
            let text = std::mem::take(&mut self.lines).join(" ");
            out.push(Block { line: self.line, kind: Kind::Prose, text });
        }
    }
}

fn blocks_of_markdown(text: &str) -> Vec<Block> {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"<!--[^\n]*?-->"));
    static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[-*+]|\d+[.)])\s+(.*)"));
    let (mut out, mut paragraph, mut fenced) = (Vec::new(), Paragraph::default(), false);
    for (index, line) in COMMENT.replace_all(text, "").lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.starts_with("```") {
            paragraph.end(&mut out);
            fenced = !fenced;
        } else if fenced {
        } else if line.is_empty() {
            paragraph.end(&mut out);
        } else if let Some(row) = line.strip_prefix('|') {
            paragraph.end(&mut out);
            let cells = row.split(" | ").map(|cell| cell.trim().trim_end_matches('|').to_owned());
            out.extend(cells.map(|text| Block { line: number, kind: Kind::Cell, text }));
        } else if line.starts_with('#') {
            paragraph.end(&mut out);
            paragraph.push(number, line.trim_start_matches('#'));
            paragraph.end(&mut out);
        } else if let Some(item) = ITEM.captures(line) {
            paragraph.end(&mut out);
            paragraph.push(number, &item[1]);
        } else if let Some(rest) = line.strip_prefix("<br>") {
            paragraph.end(&mut out);
            paragraph.push(number, rest);
        } else {
            paragraph.push(number, line.trim_start_matches("> "));
        }
    }
    paragraph.end(&mut out);
    out
}

fn blocks_of_toml(text: &str) -> Vec<Block> {
    static TOML: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:\[|\w+ = )"));
    let (mut out, mut paragraph) = (Vec::new(), Paragraph::default());
    for (index, line) in text.lines().enumerate() {
        match line.trim().strip_prefix('#').map(str::trim) {
            Some(comment) if !comment.is_empty() && !TOML.is_match(comment) => {
                paragraph.push(index + 1, comment);
            }
            _ => paragraph.end(&mut out),
        }
    }
    paragraph.end(&mut out);
    out
}

/// Puts [`CODE`] in place of inline code.
fn without_code(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|byte| *byte == b'`').count();
        let behind = &rest[start + ticks..];
        let Some(end) = behind.find(&rest[start..start + ticks]) else { break };
        out.push_str(&rest[..start]);
        out.push_str(CODE);
        rest = behind[end..].trim_start_matches('`');
    }
    out + rest
}

fn sentences(block: &Block) -> Vec<String> {
    static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"!?\[([^\]]*)\]\([^)]*\)"));
    static RUN: LazyLock<Regex> = LazyLock::new(|| pattern("\u{1}(?:\\s*(?:,|/|;|and|or|to|\\s)\\s*\u{1})+"));
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[.!?]["”*)_]*\s+"#));
    let text = without_code(&block.text);
    let text = LINK.replace_all(&text, "$1");
    let text = RUN.replace_all(&text, CODE);
    let mut out = Vec::new();
    for part in END.split(&text) {
        match block.kind {
            Kind::Prose => out.push(part.to_owned()),
            Kind::Cell => out.extend(part.split("; ").map(str::to_owned)),
        }
    }
    out
}

fn words(sentence: &str) -> usize {
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric) || word.contains(CODE);
    sentence.split_whitespace().filter(is_word).count()
}

/// Sentences that are too long, each with its place and number of words.
fn long_sentences(name: &str, text: &str) -> Vec<String> {
    let blocks = if name.ends_with(".toml") { blocks_of_toml(text) } else { blocks_of_markdown(text) };
    let mut out = Vec::new();
    for block in &blocks {
        for sentence in sentences(block) {
            let count = words(&sentence);
            if count > MOST_WORDS {
                let shown = sentence.replace(CODE, "`…`");
                out.push(format!("{name}:{}: {count} words: {shown}", block.line));
            }
        }
    }
    out
}

#[test]
fn sentences_of_the_documents_are_short() {
    let mut paths = documents();
    files(&root().join("config"), "toml", &mut paths);
    let (mut long, mut excepted) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let found = long_sentences(&name, &fs::read_to_string(&path).unwrap());
        if EXCEPTIONS.iter().any(|(file, _)| *file == name) {
            excepted.extend((!found.is_empty()).then_some(name));
        } else {
            long.extend(found);
        }
    }
    assert!(long.is_empty(), "more than {MOST_WORDS} words:\n{}", long.join("\n"));
    let needless: Vec<_> =
        EXCEPTIONS.iter().filter(|(file, _)| !excepted.iter().any(|e| e == file)).collect();
    assert!(needless.is_empty(), "exceptions without a long sentence: {needless:?}");
    assert!(EXCEPTIONS.iter().all(|(_, reason)| reason.len() > 20), "an exception has no reason");
}

#[test]
fn architecture_document_is_short() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let count = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    assert!((500..=MOST_WORDS_OF_THE_MAP).contains(&count), "ARCHITECTURE.md has {count} words");
}

/// A sentence of so many words.
fn sentence(count: usize) -> String {
    vec!["word"; count].join(" ")
}

#[test]
fn sentences_are_counted_as_defined() {
    let (most, more) = (sentence(MOST_WORDS), sentence(MOST_WORDS + 1));
    let found = |name: &str, text: &str| long_sentences(name, text).len();
    assert_eq!(found("a.md", &format!("{most}.\n")), 0);
    assert_eq!(found("a.md", &format!("{more}.\n")), 1, "a paragraph");
    assert_eq!(found("a.md", &format!("Short one. {most}\nword. **Bold.** {more}.\n")), 2, "over lines");
    assert_eq!(found("a.md", &format!("- {more}\n- {most}\n\n1. {more}\n")), 2, "items of lists");
    assert_eq!(found("a.md", &format!("## {more}\n")), 1, "a heading");
    assert_eq!(found("a.md", &format!("| {more} | {most} |\n|---|---|\n")), 1, "cells");
    assert_eq!(found("a.md", &format!("| {most}; {most} |\n")), 0, "entries of a cell");
    assert_eq!(found("a.md", &format!("{most}; {most}\n")), 1, "a semicolon in prose");
    assert_eq!(found("a.md", &format!("```text\n{more}\n```\n<!-- {more} -->\n")), 0, "code and comments");
    assert_eq!(
        found("a.md", &format!("{} `a b c`, `d` and ``e ` f`` word.\n", sentence(23))),
        0,
        "a run of code"
    );
    assert_eq!(found("a.md", &format!("{} `a b` word `c d`.\n", sentence(23))), 1, "pieces of code");
    assert_eq!(found("a.md", &format!("{} [a link](to/a/place.md#here).\n", sentence(23))), 0, "a target");
    assert_eq!(found("a.toml", &format!("# {most}\n# word.\nkey = 1\n")), 1, "a comment");
    assert_eq!(found("a.toml", &format!("# {most}\nkey = 1 # {more}\n# [[site]] {more}\n")), 0, "TOML");
}
