//! `crawl extract URL`: one page from the web.

use super::{super::visit, print};
use crate::{
    cli::{ExtractArgs, TextFormat},
    logging,
};
use crawl_engine::{
    config::{self, Override},
    exit::{Exit, Failure},
    seeds,
};
use crawl_extract::LinkStyle;
use crawl_fetch::parse_seed_line;
use crawl_output::Fields;
use url::Url;

/// The URL that is given instead of a file, if any.
///
/// # Errors
/// When the URL is faulty, or a flag needs a file.
pub(super) fn named(args: &ExtractArgs) -> Result<Option<Url>, Failure> {
    let Some(text) = args.file.as_deref().and_then(seeds::as_url).filter(|text| text.contains("://")) else {
        return Ok(None);
    };
    let flag = [
        (args.jsonl, "--jsonl"),
        (args.url.is_some(), "--url"),
        (args.content_type.is_some(), "--content-type"),
        (args.explain.is_some(), "--explain"),
        (args.select.is_some(), "--select"),
        (args.format == Some(TextFormat::Text), "--format text"),
    ];
    if !args.more.is_empty() {
        return Err(Failure::usage(
            "one URL at a time: for several, use a crawl without links: crawl URL URL --depth 0 -o pages.jsonl",
        ));
    }
    if let Some((_, flag)) = flag.iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::usage(format!("{flag} needs a file: save the page first")));
    }
    let seed = parse_seed_line(text).map_err(|problem| Failure::usage(format!("the URL: {problem}")))?;
    Ok(Some(seed.url))
}

/// Fetches a page and prints its text, or its record with `--format json`.
pub(super) fn run(args: &ExtractArgs, url: Url, fields: Option<&Fields>) -> Result<Exit, Failure> {
    let settings =
        config::load_with_sources(args.config.as_deref(), config::environment()?, overrides(args))?;
    let mut config = settings.config;
    // the default of a crawl is `once`, that of a single page keeps all links, as of a file
    if settings.values.iter().any(|v| v.section == "extract" && v.key == "links" && v.place.is_none()) {
        config.extract.links = LinkStyle::Keep;
    }
    logging::start(&config.log)?;
    let record = visit::page(url, config)?;
    print(&record, args.format.unwrap_or(TextFormat::Markdown), fields)
}

/// The flags that are given, as settings of a crawl. Without one the settings file decides.
fn overrides(args: &ExtractArgs) -> Vec<Override> {
    let mut out = Vec::new();
    let mut set = |flag, key, value: toml::Value| out.push(Override::new(flag, key, value));
    if let Some(favor) = args.favor {
        set("--favor", "extract.favor", favor.to_string().into());
    }
    if let Some(links) = args.links {
        set("--links", "extract.links", links.to_string().into());
    }
    let switches = [
        (args.images, "--images", "extract.images", true),
        (args.no_tables, "--no-tables", "extract.tables", false),
        (args.comments, "--comments", "extract.comments", true),
        (args.raw_metadata, "--raw-metadata", "extract.raw_metadata", true),
    ];
    for (_, flag, key, value) in switches.into_iter().filter(|(is_given, ..)| *is_given) {
        set(flag, key, value.into());
    }
    let text = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    if let Some(rules) = &args.rules.rules {
        set("--rules", "extract.rules", text(rules).into());
    }
    if !args.allow_address.is_empty() {
        set("--allow-address", "fetch.allow_addresses", args.allow_address.clone().into());
    }
    if !args.resolve.is_empty() {
        set("--resolve", "fetch.resolve", args.resolve.clone().into());
    }
    if let Some(chrome) = &args.chrome {
        set("--chrome", "chrome.path", text(chrome).into());
    }
    if args.chrome_no_sandbox {
        set("--chrome-no-sandbox", "chrome.sandbox", false.into());
    }
    let lists: Vec<String> = args.rules.consent_list.iter().map(text).collect();
    if !lists.is_empty() {
        set("--consent-list", "extract.consent_lists", lists.into());
    }
    out
}
