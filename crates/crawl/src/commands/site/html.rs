//! The templates of sites as one HTML page: for each a picture of an example page, block by block.
//!
//! The page is self-contained: text of the sites is escaped, and a policy in the page's head forbids scripts and
//! loads.

use super::{SiteView, TemplateView, area_name, percent};
use crate::{commands::explain::html::escape, words::counted};
use crawl_extract::{OutlineBlock, SiteArea};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
/// Templates of a host that are shown.
const SHOWN: usize = 30;
/// Blocks of a picture.
const MAX_BLOCKS: usize = 400;
/// Points by which a block is indented for each element above it.
const INDENT: u32 = 6;

/// The whole page.
pub(super) fn page(sites: &[SiteView]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Templates of sites</title>\n<style>\n{STYLE}</style></head>\n<body>\n"
    );
    // writing to a string cannot fail
    let _ = key(&mut out);
    for site in sites {
        let _ = write_site(&mut out, site);
    }
    out.push_str("</body></html>\n");
    out
}

fn key(out: &mut String) -> std::fmt::Result {
    out.push_str("<header class=\"key\">");
    for (area, meaning) in [
        (SiteArea::Content, "text that differs from page to page"),
        (SiteArea::Particular, "short text that differs, once a page: titles, dates, names, prices"),
        (SiteArea::Frame, "text that repeats"),
        (SiteArea::Unsure, "lists of links, and places of which too few pages say anything"),
    ] {
        write!(out, "<span><span class=\"swatch {0}\"></span><b>{0}</b> {meaning}</span>", area_name(area))?;
    }
    writeln!(out, "<span><span class=\"swatch taken\"></span><b>taken</b> by the extraction</span></header>")
}

fn write_site(out: &mut String, site: &SiteView) -> std::fmt::Result {
    let host = escape(&site.host);
    writeln!(
        out,
        "<section><h1 dir=\"auto\">{host}</h1><p class=\"sum\">{}, {}</p>",
        counted(site.pages, "page"),
        counted(site.templates.len() as u64, "template")
    )?;
    out.push_str("<table><tr><th>content stands in</th><th class=\"n\">pages</th><th class=\"n\">words a page</th><th class=\"n\">taken</th><th class=\"n\">missed</th></tr>\n");
    for (number, view) in site.templates.iter().take(SHOWN).enumerate() {
        let bad = if 2 * view.missed > view.pages { " class=\"bad\"" } else { "" };
        writeln!(
            out,
            "<tr{bad}><td><a href=\"#{host}-{number}\">{}</a></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{} %</td>\
             <td class=\"n\">{}</td></tr>",
            escape(view.name()),
            view.pages,
            view.own_words / view.pages.max(1),
            percent(view.taken_words, view.own_words),
            view.missed
        )?;
    }
    out.push_str("</table>\n");
    let more = site.templates.len().saturating_sub(SHOWN);
    if more > 0 {
        let templates = counted(more as u64, "smaller template");
        writeln!(out, "<p class=\"sum\">{templates} not shown; --json has all</p>")?;
    }
    out.push_str("<div class=\"templates\">\n");
    for (number, view) in site.templates.iter().take(SHOWN).enumerate() {
        write_template(out, view, &site.host, &format!("{host}-{number}"))?;
    }
    out.push_str("</div></section>\n");
    Ok(())
}

fn write_template(out: &mut String, view: &TemplateView, host: &str, id: &str) -> std::fmt::Result {
    writeln!(
        out,
        "<article id=\"{id}\"><h2>{}</h2><p class=\"sum\">{}",
        escape(view.name()),
        counted(view.pages, "page")
    )?;
    if view.missed > 0 {
        write!(out, "; the rules miss the content of {}", view.missed)?;
    }
    out.push_str("</p>\n<ul class=\"examples\">");
    for url in &view.examples {
        write!(out, "<li>{}</li>", escape(url))?;
    }
    out.push_str("</ul>\n<div class=\"picture\">\n");
    let blocks = &view.outline.blocks;
    let least = blocks.iter().map(|block| block.depth).min().unwrap_or(0);
    for block in blocks.iter().take(MAX_BLOCKS) {
        write_block(out, block, block.depth - least)?;
    }
    if blocks.len() > MAX_BLOCKS {
        writeln!(
            out,
            "<p class=\"sum\">and {} more</p>",
            counted((blocks.len() - MAX_BLOCKS) as u64, "block")
        )?;
    }
    out.push_str("</div>\n");
    if let Some(rule) = view.rule(host) {
        writeln!(
            out,
            "<details><summary>A rule for sites.toml</summary><pre>{}</pre></details>",
            escape(&rule)
        )?;
    }
    out.push_str("</article>\n");
    Ok(())
}

fn write_block(out: &mut String, block: &OutlineBlock, depth: u32) -> std::fmt::Result {
    let known = match block.pages {
        0 => "too few pages have a block here".to_owned(),
        pages => format!("{pages} pages have a block here, {} this text", block.pages_with_text.max(1)),
    };
    let taken = if block.taken { " taken" } else { "" };
    let tip = format!(
        "{}: {} words; {known}{}",
        block.element,
        block.words,
        if block.taken { "; taken" } else { "" }
    );
    writeln!(
        out,
        "<div class=\"b {}{taken}\" dir=\"auto\" style=\"margin-inline-start:{}px\" title=\"{}\"><span class=\"tag\" dir=\"ltr\">{}</span>{}</div>",
        area_name(block.area),
        depth * INDENT,
        escape(&tip),
        escape(&block.element),
        escape(&block.text)
    )
}
