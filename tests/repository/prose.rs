//! Language of doc comments and names of tests: no opener that hides the subject, and short sentences.
//!
//! `CONTRIBUTING.md` explains the rules.

use regex::Regex;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Words that must not open a doc comment: it begins with a noun phrase or a verb in the third person.
const OPENERS: [&str; 9] = ["What", "Whether", "Where", "Who", "Of", "As", "How", "That", "If"];

/// Words that must not open the name of a test: it begins with its subject.
const NAME_OPENERS: [&str; 4] = ["what_", "who_", "those_", "which_"];

/// Maximum words of a sentence.
const MAX_WORDS: usize = 25;

/// Folders with sources of this project.
const FOLDERS: [&str; 5] = ["crates", "tests", "benches", "fuzz", "packaging"];

/// Faults of doc comments.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Faults {
    /// Doc comments with one of the [`OPENERS`].
    openers: usize,
    /// Sentences with more than [`MAX_WORDS`] words.
    long: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Rust sources below a folder, without build output.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "target" {
                sources(&path, out);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// Marker, indent and text of a line with a doc comment.
fn doc_line(line: &str) -> Option<((usize, &str), &str)> {
    let text = line.trim_start();
    let marker = ["///", "//!"].into_iter().find(|marker| text.starts_with(marker))?;
    let rest = &text[marker.len()..];
    (!rest.starts_with('/')).then_some(((line.len() - text.len(), marker), rest.trim()))
}

/// Doc comments of a source: the number of the first line, and the lines.
fn doc_comments(source: &str) -> Vec<(usize, Vec<&str>)> {
    let mut comments: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut open = None;
    for (number, line) in source.lines().enumerate() {
        let found = doc_line(line);
        match (found, comments.last_mut()) {
            (Some((kind, text)), Some((_, lines))) if open == Some(kind) => lines.push(text),
            (Some((_, text)), _) => comments.push((number + 1, vec![text])),
            (None, _) => {}
        }
        open = found.map(|(kind, _)| kind);
    }
    comments
}

/// Paragraphs and list items of a doc comment, without code blocks, headings and tables.
fn paragraphs(lines: &[&str]) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut is_code = false;
    for line in lines {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
            let numbered = line.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok());
            let item = item.or(numbered.map(|(_, text)| text));
            if line.is_empty() || line.starts_with(['#', '|']) || item.is_some() {
                out.push(String::new());
            }
            if !line.starts_with(['#', '|']) {
                let paragraph = out.last_mut().unwrap();
                write!(paragraph, "{} ", item.unwrap_or(line)).unwrap();
            }
        }
    }
    out.retain(|paragraph| !paragraph.trim().is_empty());
    out
}

/// Replacements before the search for sentences: inline code is one word, the target of a link is none, and an
/// abbreviation ends no sentence.
static REPLACEMENTS: LazyLock<[(Regex, &str); 3]> = LazyLock::new(|| {
    let regex = |pattern| Regex::new(pattern).unwrap();
    [(regex("`[^`]*`"), "`x`"), (regex(r"\]\([^)]*\)"), "]"), (regex(r"\b(e\.g|i\.e|al|vs|cf)\."), "$1")]
});

/// Possible end of a sentence, with the space after it.
static END: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"[.!?]["')\]]*\s+"#).unwrap());

/// Counts the words of each sentence.
fn words_by_sentence(paragraph: &str) -> Vec<(usize, String)> {
    let mut text = paragraph.to_owned();
    for (pattern, by) in &*REPLACEMENTS {
        text = pattern.replace_all(&text, *by).into_owned();
    }
    let mut start = 0;
    let mut sentences = Vec::new();
    for end in END.find_iter(&text) {
        let next = text[end.end()..].chars().next();
        if next.is_none_or(|c| c.is_uppercase() || c.is_ascii_digit() || "`[\"('*".contains(c)) {
            sentences.push(&text[start..end.end()]);
            start = end.end();
        }
    }
    sentences.push(&text[start..]);
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    let count =
        |sentence: &&str| (sentence.split_whitespace().filter(is_word).count(), (*sentence).to_owned());
    sentences.iter().map(count).collect()
}

/// Faults of a source, with a message for each.
fn faults(source: &str) -> (Faults, Vec<String>) {
    let mut found = Faults::default();
    let mut messages = Vec::new();
    for (line, lines) in doc_comments(source) {
        let paragraphs = paragraphs(&lines);
        let first = paragraphs.first().and_then(|text| text.split(|c: char| !c.is_alphanumeric()).next());
        if let Some(opener) = first.filter(|word| OPENERS.contains(word)) {
            found.openers += 1;
            messages.push(format!("{line}: opens with {opener}"));
        }
        for (words, sentence) in paragraphs.iter().flat_map(|text| words_by_sentence(text)) {
            if words > MAX_WORDS {
                found.long += 1;
                messages.push(format!("{line}: {words} words: {}", sentence.trim()));
            }
        }
    }
    (found, messages)
}

/// Definition of a function, with its name.
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*(?:[a-z()]+ )*fn (\w+)").unwrap());

/// Names of tests that hide their subject, each with its line. In a folder of tests each function counts.
fn obscure_names(source: &str, is_of_tests: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_test = false;
    for (number, line) in source.lines().enumerate() {
        let attribute = line.trim_start();
        is_test |= attribute.starts_with("#[test]") || attribute.starts_with("#[tokio::test");
        if let Some(name) = FUNCTION.captures(line).map(|captures| captures[1].to_owned()) {
            let is_obscure =
                NAME_OPENERS.iter().any(|opener| name.starts_with(opener)) || name.contains("under_way");
            if is_obscure && (is_test || is_of_tests) {
                found.push(format!("{}: {name} names no subject", number + 1));
            }
            is_test = false;
        }
    }
    found
}

/// Messages about all sources, each with the path of its source.
fn messages(find: impl Fn(&Path, &str) -> Vec<String>) -> Vec<String> {
    let root = root();
    let mut paths = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&root.join(folder), &mut paths));
    assert!(paths.len() > 300, "{} sources", paths.len());

    let mut messages = Vec::new();
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap();
        let found = find(name, &fs::read_to_string(path).unwrap());
        messages.extend(found.iter().map(|message| format!("{}:{message}", name.display())));
    }
    messages
}

#[test]
fn doc_comments_are_plain_english() {
    let messages = messages(|_, source| faults(source).1);
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

#[test]
fn test_names_begin_with_their_subject() {
    let messages = messages(|path, source| {
        obscure_names(source, path.components().any(|folder| folder.as_os_str() == "tests"))
    });
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

#[test]
fn obscure_test_names_are_found() {
    let count = |source: &str| [false, true].map(|is_of_tests| obscure_names(source, is_of_tests).len());
    assert_eq!(count("    #[test]\n    fn what_is_missing_fails() {}\n"), [1, 1]);
    assert_eq!(count("#[tokio::test]\n#[ignore]\nasync fn page_under_way_is_awaited() {}\n"), [1, 1]);
    assert_eq!(count("#[test]\nfn whole_files_are_read() {}\npub(crate) fn which_one() {}\n"), [0, 1]);
}

#[test]
fn openers_and_long_sentences_are_found() {
    let comment = |text: &str| format!("    /// {text}\n    fn f() {{}}\n");
    let count = |text: &str| faults(&comment(text)).0;
    let long = "word ".repeat(MAX_WORDS);
    assert_eq!(count("What it does."), Faults { openers: 1, long: 0 });
    assert_eq!(count("`Whether` is a word. Where it stands."), Faults::default());
    assert_eq!(count(&format!("{long}end.")), Faults { openers: 0, long: 1 });
    assert_eq!(count(&format!("{long}.")), Faults::default());
    assert_eq!(count(&format!("{long}`a b c`.")), Faults { openers: 0, long: 1 });
    // the end of a sentence, of a list item, and of a paragraph
    assert_eq!(count("Short. And `more`. ").long + count(&format!("Short: {long}")).long, 1);
    assert_eq!(count(&format!("Items:\n    /// - {long}\n    /// - {long}")), Faults::default());
    assert_eq!(
        count(&format!("Text:\n    ///\n    /// ```\n    /// {long}{long}\n    /// ```")),
        Faults::default()
    );
    assert_eq!(faults(&format!("// {long}{long}\n//// What\n")).0, Faults::default());
}
