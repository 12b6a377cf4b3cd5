//! The page for a reviewer: one HTML file with everything in it, no script or style from elsewhere.

mod data;

use crate::{CorpusError, Findings, Origin};
use std::io::Write;

/// Style, structure and script; the data goes where [`PLACE`] stands.
const PAGE: &str = include_str!("html/page.html");
const PLACE: &str = "/*DATA*/null";

/// Writes the page: counts, plots of sizes and scores, groups by size with what their members have other than the
/// canonical document, clusters, filters. It shows the largest 300 groups and up to 20 different texts of each, of each
/// text the first 5,000 words. Needs [`Keep::Texts`](crate::Keep::Texts) or more.
///
/// # Errors
/// When the output fails or the work directory cannot be read.
pub fn write_html(findings: &Findings, origin: &Origin, out: &mut dyn Write) -> Result<(), CorpusError> {
    let data =
        serde_json::to_string(&data::shown(findings, origin)?).map_err(|e| CorpusError::Output(e.into()))?;
    // within a script nothing may look like its end; `<` can only stand in strings there
    let data = data.replace('<', "\\u003c");
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    for part in [before, &data, after] {
        out.write_all(part.as_bytes()).map_err(CorpusError::Output)?;
    }
    out.flush().map_err(CorpusError::Output)
}
