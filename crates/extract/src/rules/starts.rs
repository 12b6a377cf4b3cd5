//! Words and line starts in many languages: lists of hundreds, which are not compared one by one.

use aho_corasick::{AhoCorasick, BuildError};
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// Beginnings of lines, in lower case.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct Starts(FxHashMap<char, Vec<String>>);

impl From<Vec<String>> for Starts {
    fn from(list: Vec<String>) -> Self {
        let mut starts: FxHashMap<char, Vec<String>> = FxHashMap::default();
        for start in list {
            if let Some(first) = start.chars().next() {
                starts.entry(first).or_default().push(start);
            }
        }
        Self(starts)
    }
}

impl Starts {
    /// Returns true if the line begins with one of them.
    pub(crate) fn begin(&self, line: &str) -> bool {
        self.matches_with_rest(line).next().is_some()
    }

    /// Each matching start of a line with the rest of the line.
    pub(crate) fn matches_with_rest<'a>(&'a self, line: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let with_letter = line.chars().next().and_then(|first| self.0.get(&first));
        with_letter
            .into_iter()
            .flatten()
            .filter_map(|start| Some((start.as_str(), line.strip_prefix(start.as_str())?)))
    }
}

/// Lower-case words that a line may contain.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(crate) struct Words(AhoCorasick);

impl TryFrom<Vec<String>> for Words {
    type Error = BuildError;

    fn try_from(list: Vec<String>) -> Result<Self, BuildError> {
        AhoCorasick::new(list).map(Self)
    }
}

impl Words {
    /// Returns true if the line contains one of them.
    pub(crate) fn are_in(&self, line: &str) -> bool {
        self.0.is_match(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_starts_are_looked_up_by_first_letter() {
        let starts =
            Starts::from(vec!["by ".to_owned(), "by the".to_owned(), "автор".to_owned(), String::new()]);
        assert!(
            starts.begin("by ada") && starts.begin("автор: ада") && !starts.begin("") && !starts.begin("bye")
        );
        assert_eq!(
            starts.matches_with_rest("by the sea").map(|(_, rest)| rest).collect::<Vec<_>>(),
            ["the sea", " sea"]
        );
    }

    #[test]
    fn words_are_found_anywhere_in_a_line() {
        let words = Words::try_from(vec!["newsletter".to_owned(), "рассылку".to_owned()]).unwrap();
        assert!(
            words.are_in("our newsletter") && words.are_in("на нашу рассылку") && !words.are_in("the news")
        );
    }
}
