//! The page for a reviewer: one HTML file with everything in it, no script or style from elsewhere.

mod data;

use crate::{CorpusError, Findings, Origin};
use serde::Serialize;
use std::io::Write;

/// The page's own style, structure and script.
const PAGE: &str = include_str!("html/page.html");

/// What pages of reports have in common, and the places in a page where it goes, and where its data goes.
const SHARED: [(&str, &str); 2] =
    [("/*STYLE*/", include_str!("html/style.css")), ("/*HELPERS*/", include_str!("html/helpers.js"))];
const PLACE: &str = "/*DATA*/null";

/// Fills a page of a report: `/*STYLE*/` and `/*HELPERS*/` with the colours, the boxes and the plots that such pages share,
/// `/*DATA*/null` with data as JSON. The page needs nothing else.
///
/// # Errors
/// When the output fails, or the data is none that JSON can hold.
pub fn fill_page(page: &str, data: &impl Serialize, out: &mut dyn Write) -> Result<(), CorpusError> {
    let data = serde_json::to_string(data).map_err(|e| CorpusError::Output(e.into()))?;
    // within a script nothing may look like its end; `<` can only stand in strings there
    let data = data.replace('<', "\\u003c");
    let page = SHARED.iter().fold(page.to_owned(), |page, (place, shared)| page.replacen(place, shared, 1));
    let (before, after) = page.split_once(PLACE).unwrap_or((&page, ""));
    for part in [before, &data, after] {
        out.write_all(part.as_bytes()).map_err(CorpusError::Output)?;
    }
    out.flush().map_err(CorpusError::Output)
}

/// Writes the page: counts, plots of sizes and scores, groups by size with what their members have other than the
/// canonical document, clusters, filters. It shows the largest 300 groups and up to 20 different texts of each, of each
/// text the first 5,000 words. Needs [`Keep::Texts`](crate::Keep::Texts) or more.
///
/// # Errors
/// When the output fails or the work directory cannot be read.
pub fn write_html(findings: &Findings, origin: &Origin, out: &mut dyn Write) -> Result<(), CorpusError> {
    fill_page(PAGE, &data::shown(findings, origin)?, out)
}
