//! Reviewer's report: one self-contained HTML file, without external scripts or styles.

mod data;

use crate::{CorpusError, Findings, Origin};
use serde::Serialize;
use std::io::Write;

/// Style, structure and script of the report.
const PAGE: &str = include_str!("html/page.html");

/// Common parts of report pages, and the placeholders in a page for them and for its data.
const SHARED: [(&str, &str); 2] =
    [("/*STYLE*/", include_str!("html/style.css")), ("/*HELPERS*/", include_str!("html/helpers.js"))];
const PLACE: &str = "/*DATA*/null";

/// Fills a report page: `/*STYLE*/` and `/*HELPERS*/` with shared colours, boxes and plots, `/*DATA*/null`
/// with data as JSON. The result is self-contained.
///
/// # Errors
/// When the output fails, or the data has no JSON form.
pub fn fill_page(page: &str, data: &impl Serialize, out: &mut dyn Write) -> Result<(), CorpusError> {
    let data = serde_json::to_string(data).map_err(|e| CorpusError::Output(e.into()))?;
    // a script must not contain its own end tag; `<` only occurs in strings there
    let data = data.replace('<', "\\u003c");
    let page = SHARED.iter().fold(page.to_owned(), |page, (place, shared)| page.replacen(place, shared, 1));
    let (before, after) = page.split_once(PLACE).unwrap_or((&page, ""));
    for part in [before, &data, after] {
        out.write_all(part.as_bytes()).map_err(CorpusError::Output)?;
    }
    out.flush().map_err(CorpusError::Output)
}

/// Writes the report: counts, plots of sizes and scores, groups by size with the differences of their members
/// from the canonical document, clusters, filters. It shows the largest 300 groups, up to 20 different texts
/// of each, and the first 5,000 words of a text. Needs [`Keep::Texts`](crate::Keep::Texts) or more.
///
/// # Errors
/// When the output fails or the work directory cannot be read.
pub fn write_html(findings: &Findings, origin: &Origin, out: &mut dyn Write) -> Result<(), CorpusError> {
    fill_page(PAGE, &data::shown(findings, origin)?, out)
}
