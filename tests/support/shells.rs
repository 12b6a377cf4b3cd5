//! The site of shells under `fixtures/sites/shells`, with the expectations for each of its pages.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails the test that uses it")]

use serde::Deserialize;
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

/// Expectations for a page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub path: String,
    /// Name of the gold text.
    pub gold: String,
    /// Expected type of the static page.
    #[serde(rename = "type")]
    pub page_type: String,
    pub strategy: String,
    /// The rule, where it matters which.
    pub rule: Option<String>,
    /// Final page of a browser, if another.
    pub lands: Option<String>,
    /// Texts that no record may hold.
    #[serde(default)]
    pub absent: Vec<String>,
    /// True if the browser fails, and the text of the static page stays.
    #[serde(default)]
    pub kept: bool,
    /// True if it never settles.
    #[serde(default)]
    pub restless: bool,
}

#[derive(Deserialize)]
struct File {
    page: Vec<Expected>,
}

/// The folder of the site.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/shells")
}

/// All pages, in the order of the file.
pub fn expected() -> Vec<Expected> {
    let text = fs::read_to_string(root().join("_expected.toml")).unwrap();
    toml::from_str::<File>(&text).unwrap().page
}

impl Expected {
    /// Final text that a reader sees.
    pub fn gold(&self) -> String {
        fs::read_to_string(root().join("_gold").join(&self.gold)).unwrap()
    }

    /// Fault of a page's text; `None` if it is correct.
    pub fn wrong_with(&self, text: &str) -> Option<String> {
        let (recall, precision) = overlap(&self.gold(), text);
        let held: Vec<&String> = self.absent.iter().filter(|words| text.contains(*words)).collect();
        let fine = recall >= 0.95 && precision >= 0.8 && held.is_empty();
        (!fine)
            .then(|| format!("{}: recall {recall:.3}, precision {precision:.3}, holds {held:?}", self.path))
    }
}

/// Common words of `gold` and `text`, with repetitions, as shares of both.
fn overlap(gold: &str, text: &str) -> (f64, f64) {
    let (gold, text) = (words(gold), words(text));
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in &text {
        *left.entry(word).or_default() += 1;
    }
    let mut shared = 0;
    for word in &gold {
        if let Some(count) = left.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    let share = |of: usize| if of == 0 { 0.0 } else { f64::from(shared) / of as f64 };
    (share(gold.len()), share(text.len()))
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
