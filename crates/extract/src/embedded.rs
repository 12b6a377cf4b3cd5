//! Text in data for a page's scripts: JSON-LD, framework state, preloaded threads.

mod sources;

use crate::{metadata::JsonLd, page::Page};
use memchr::memmem;
use rustc_hash::FxHashSet;
use serde_json::Value;

/// Maximum values that are read.
const MAX_VALUES: usize = 200_000;
/// Maximum nesting of JSON in strings of JSON.
const MAX_NESTED: usize = 3;
/// Bytes of texts that may be searched per byte of data, and for any data. A search of all earlier texts for
/// each new one is quadratic, so it is bounded. It suffices for a thread of some hundred posts.
const SEARCHED_PER_BYTE: usize = 64;
const SEARCHED: usize = 4 << 20;

/// Texts of the page's embedded data as HTML, each preceded by its object's author and date. `None` if there
/// are none.
pub(crate) fn find(page: &Page<'_>, json: &JsonLd) -> Option<String> {
    let rules = &page.rules.extraction.embedded;
    let mut search = Search {
        page,
        html: String::new(),
        left: MAX_VALUES,
        search: SEARCHED,
        texts: FxHashSet::default(),
        min_chars: rules.min_chars,
    };
    for id in 0..page.dom.len() {
        for data in sources::of(&page.dom, id) {
            search.search += SEARCHED_PER_BYTE * data.bytes;
            search.min_chars = if data.assigned { rules.min_assigned_chars } else { rules.min_chars };
            search.walk(&data.value, 0);
        }
    }
    search.min_chars = rules.min_chars;
    if search.html.is_empty() {
        for node in json.nodes() {
            search.walk(node, MAX_NESTED);
        }
    }
    (!search.html.is_empty()).then_some(search.html)
}

struct Search<'a> {
    page: &'a Page<'a>,
    html: String,
    left: usize,
    /// Remaining bytes that may be searched for duplicates.
    search: usize,
    texts: FxHashSet<String>,
    /// A shorter value is no text.
    min_chars: usize,
}

impl Search<'_> {
    /// Walks a value without recursion, in order.
    fn walk(&mut self, root: &Value, nested: usize) {
        let mut stack = vec![root];
        while let Some(value) = stack.pop() {
            if self.left == 0 || self.page.budget.is_over() {
                return;
            }
            self.left -= 1;
            match value {
                Value::Array(list) => stack.extend(list.iter().rev()),
                Value::Object(map) => {
                    self.object(map);
                    stack.extend(map.values().filter(|v| v.is_array() || v.is_object()).rev());
                    for text in map.values().filter_map(Value::as_str) {
                        if nested < MAX_NESTED
                            && text.starts_with(['{', '['])
                            && let Ok(inner) = serde_json::from_str::<Value>(text)
                        {
                            self.walk(&inner, nested + 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if the text is known: as a whole or, within the search bound, as a part of another.
    fn has(&mut self, text: &str) -> bool {
        if !self.texts.insert(text.to_owned()) {
            return true;
        }
        let searchable = self.html.len() <= self.search;
        self.search -= if searchable { self.html.len() } else { 0 };
        searchable && memmem::find(self.html.as_bytes(), text.as_bytes()).is_some()
    }

    /// Takes an object's text, if it is long enough.
    fn object(&mut self, map: &serde_json::Map<String, Value>) {
        let rules = &self.page.rules.extraction.embedded;
        let string = |keys: &[String]| keys.iter().find_map(|key| map.get(key)?.as_str());
        let Some(text) =
            string(&rules.text).filter(|text| text.len() >= self.min_chars && text.contains(' '))
        else {
            return;
        };
        if self.has(text) {
            return;
        }
        for keys in [&rules.author, &rules.date] {
            if let Some(short) = string(keys).filter(|short| short.len() <= 60) {
                self.html.push_str("<p>");
                self.html.push_str(&short.replace('<', "&lt;"));
                self.html.push_str("</p>");
            }
        }
        if text.contains('<') {
            self.html.push_str("<div>");
            self.html.push_str(text);
            self.html.push_str("</div>");
        } else {
            for paragraph in text.split('\n').filter(|p| !p.trim().is_empty()) {
                self.html.push_str("<p>");
                self.html.push_str(paragraph);
                self.html.push_str("</p>");
            }
        }
    }
}
