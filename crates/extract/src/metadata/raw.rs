//! Unchanged JSON-LD and OpenGraph of a page.

use super::Sources;
use serde_json::{Map, Value};

/// Maximum JSON of each of the two (bytes).
pub(crate) const MAX_RAW: usize = 256 << 10;

/// Prefixes of OpenGraph's properties (<https://ogp.me>), and of those of X and Facebook.
const PREFIXES: [&str; 11] = [
    "og:",
    "article:",
    "book:",
    "business:",
    "fb:",
    "music:",
    "place:",
    "product:",
    "profile:",
    "twitter:",
    "video:",
];

/// A page's data as JSON.
#[derive(Default)]
pub(super) struct Raw {
    /// List of the objects of all scripts.
    pub(super) json_ld: Option<String>,
    /// Object with a list of contents for each name, in page order.
    pub(super) open_graph: Option<String>,
    /// True if data longer than [`MAX_RAW`] was left out.
    pub(super) is_cut: bool,
}

/// All JSON-LD and OpenGraph of a page.
pub(super) fn find(s: &Sources<'_>) -> Raw {
    let mut out = Raw::default();
    // the brackets of the list, and a comma after each
    let mut left = MAX_RAW - 2;
    let mut fits = |json: &String, is_cut: &mut bool| {
        let fits = json.len() < left;
        left -= if fits { json.len() + 1 } else { 0 };
        *is_cut |= !fits;
        fits
    };
    let roots: Vec<String> = s.json.roots().iter().map(Value::to_string).collect();
    let roots: Vec<String> = roots.into_iter().filter(|json| fits(json, &mut out.is_cut)).collect();
    out.json_ld = (!roots.is_empty()).then(|| format!("[{}]", roots.join(",")));
    let mut named: Map<String, Value> = Map::new();
    let mut left = MAX_RAW - 2;
    for (name, content) in
        s.metas.list.iter().filter(|(name, _)| PREFIXES.iter().any(|p| name.starts_with(p)))
    {
        // length as written, with the marks around a name and its list
        let length = name.len() + Value::from(*content).to_string().len() + r#""":[],"#.len();
        if length > left {
            out.is_cut = true;
            continue;
        }
        left -= length;
        let contents = named.entry(name.as_str()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(contents) = contents {
            contents.push(Value::String((*content).to_owned()));
        }
    }
    out.open_graph = (!named.is_empty()).then(|| Value::Object(named).to_string());
    out
}
