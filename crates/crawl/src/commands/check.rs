//! `crawl check`: explains one decision, or answers many as JSON lines.

use super::{
    jsonl::{Lines, Object, each_object},
    read_document, write_text,
};
use crate::cli::{CheckArgs, CheckWhat, page_url};
use base64::{Engine, prelude::BASE64_STANDARD};
use crawl_engine::{
    exit::{Exit, Failure},
    judge, seeds,
};
use crawl_extract::{Rules, charset};
use crawl_fetch::{
    Canonicalizer, DEFAULT_MAX_URL_LENGTH, IdnForm, ParamRules, RobotsTxt, SitemapLimits, parse_sitemap,
    product_token,
};
use crawl_model::hide_userinfo;
use crawl_output::shown;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path};
use url::Url;

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.jsonl {
        let answer = match args.what {
            CheckWhat::Robots => robots_line,
            CheckWhat::Url => url_line,
            CheckWhat::Charset => charset_line,
            CheckWhat::Sitemap => sitemap_line,
            CheckWhat::Rules | CheckWhat::List | CheckWhat::Config => {
                return Err(Failure::usage(
                    "--jsonl cannot be used with rules, list and config: name a directory or a file",
                ));
            }
        };
        return each_object(Lines::open(args.file.as_deref())?, answer);
    }
    let text = match args.what {
        CheckWhat::Robots => robots(args)?,
        CheckWhat::Url => return urls(args),
        CheckWhat::Charset => charset_of(args)?,
        CheckWhat::Sitemap => sitemap(args)?,
        CheckWhat::Rules => rules(args)?,
        CheckWhat::List => list(args)?,
        CheckWhat::Config => super::config::check(args.file.as_deref())?,
    };
    write_text(&text)?;
    Ok(Exit::Done)
}

fn needed_url(args: &CheckArgs, what: &str) -> Result<Url, Failure> {
    let Some(text) = args.url.as_deref() else {
        return Err(Failure::usage(match args.file.as_deref().and_then(seeds::as_url) {
            Some(site) => format!(
                "{}: this is a URL; save the file first (curl -o FILE URL), then name FILE, and {what} with --url",
                hide_userinfo(site)
            ),
            None => format!("name {what} with --url"),
        }));
    };
    page_url(text).map_err(|e| Failure::usage(format!("--url {}: {e}", hide_userinfo(text))))
}

fn robots(args: &CheckArgs) -> Result<String, Failure> {
    let url = needed_url(args, "the URL to test")?;
    let token = args.user_agent.as_deref().unwrap_or_else(|| product_token());
    let robots = RobotsTxt::parse(&read_document(args.file.as_deref())?);
    let verdict = robots.verdict(token, &url);
    let mut out =
        format!("{}: {url} for \"{token}\"\n", if verdict.allowed { "allowed" } else { "disallowed" });
    let _ = match (verdict.line, &verdict.rule) {
        (Some(line), Some(rule)) => writeln!(out, "  decided by line {line}: {rule}"),
        _ => writeln!(out, "  no rule matches, which allows it"),
    };
    if let Some(delay) = robots.crawl_delay(token) {
        let _ = writeln!(out, "  asks for {delay:?} between requests");
    }
    for sitemap in robots.sitemaps() {
        let _ = writeln!(out, "  sitemap {sitemap}");
    }
    Ok(out)
}

/// Prints canonical forms. A line that is no URL to crawl fails the check after all lines are read.
fn urls(args: &CheckArgs) -> Result<Exit, Failure> {
    let canonicalizer = Canonicalizer::default();
    let given = match &args.url {
        Some(url) => url.clone(),
        None => String::from_utf8_lossy(&read_document(args.file.as_deref())?).into_owned(),
    };
    let (mut out, mut refused) = (String::new(), Vec::new());
    for line in given.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match canonicalizer.parse(line) {
            Ok(url) => {
                let _ = writeln!(out, "{url}");
            }
            Err(refusal) => refused.push(format!("{}: {refusal}", hide_userinfo(line))),
        }
    }
    write_text(&out)?;
    if refused.is_empty() { Ok(Exit::Done) } else { Err(Failure::usage(refused.join("\n"))) }
}

fn charset_of(args: &CheckArgs) -> Result<String, Failure> {
    let bytes = read_document(args.file.as_deref())?;
    let decoded = charset::decode(&bytes, args.content_type.as_deref());
    let mut out = format!("{} ({})\n", decoded.charset, source_name(decoded.source));
    for declared in charset::declarations(&bytes, args.content_type.as_deref()) {
        write_declaration(&mut out, &declared, &decoded);
    }
    if decoded.overridden {
        out.push_str("  the declared charset does not match the bytes and was not used\n");
    }
    if decoded.had_errors {
        out.push_str("  some bytes are invalid in it\n");
    }
    Ok(out)
}

/// Adds what a header or a page declares, unless it is the name of the charset that was used.
fn write_declaration(out: &mut String, declared: &charset::Declaration, decoded: &charset::Decoded<'_>) {
    /// Characters of a label that are shown.
    const SHOWN: usize = 60;
    let is_used = declared.source == decoded.source && declared.label.eq_ignore_ascii_case(decoded.charset);
    if is_used {
        return;
    }
    let by = if declared.source == charset::Source::Header { "header" } else { "page" };
    let label: String = declared.label.chars().take(SHOWN).collect();
    let label = shown::line(&label);
    let _ = match declared.charset {
        Some(name) if name.eq_ignore_ascii_case(&label) => writeln!(out, "  the {by} declares \"{label}\""),
        Some(name) => writeln!(out, "  the {by} declares \"{label}\", which means {name}"),
        None => writeln!(out, "  the {by} declares \"{label}\", which is no known charset"),
    };
}

fn sitemap(args: &CheckArgs) -> Result<String, Failure> {
    let url = needed_url(args, "the URL of the sitemap")?;
    let found = parse_sitemap(&read_document(args.file.as_deref())?, &url, &SitemapLimits::default())
        .map_err(|e| Failure::usage(e.to_string()))?;
    let damage = if found.damaged { ", damaged: entries before the damage are kept" } else { "" };
    let cut = if found.truncated { ", cut at the limits" } else { "" };
    let entries = if found.entries.len() == 1 { "entry" } else { "entries" };
    let mut out = format!("{}, {} {entries}{damage}{cut}\n", found.kind.name(), found.entries.len());
    for entry in &found.entries {
        let _ = writeln!(out, "  {} {}", entry.url, entry.lastmod.as_deref().unwrap_or_default());
    }
    Ok(out)
}

fn needed_path<'a>(args: &'a CheckArgs, what: &str) -> Result<&'a Path, Failure> {
    args.file.as_deref().ok_or_else(|| Failure::usage(format!("name {what}")))
}

/// Loads the rules of a directory as a crawl would.
fn rules(args: &CheckArgs) -> Result<String, Failure> {
    let dir = needed_path(args, "the directory of the rules")?;
    let extraction = Rules::load(Some(dir)).map_err(|error| error.to_string());
    let quality = judge::rules(&dir.to_string_lossy(), "").map_err(|failure| failure.error.to_string());
    let faults: Vec<String> = [extraction.err(), quality.err()].into_iter().flatten().collect();
    if !faults.is_empty() {
        return Err(Failure::usage(faults.join("\n")));
    }
    // files of other names are faults
    let is_rules = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "toml");
    if !fs::read_dir(dir).into_iter().flatten().flatten().any(is_rules) {
        return Err(Failure::usage(format!(
            "{}: nothing to check: it contains no rules file, such as sites.toml or quality.toml",
            dir.display()
        )));
    }
    Ok(format!("{}: no errors\n", dir.display()))
}

/// Summary of a filter list. Faulty lines fail the check, though a crawl would only leave them out.
fn list(args: &CheckArgs) -> Result<String, Failure> {
    let path = needed_path(args, "the filter list")?;
    let rules = Rules::embedded()
        .and_then(|rules| rules.with_consent_lists(&[path.to_owned()]))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let Some(report) = rules.list_report() else { return Ok(String::new()) };
    if report.problems.is_empty() {
        return Ok(format!("{}: {report}\n", path.display()));
    }
    Err(Failure::usage(format!("{}\n{}: {report}", report.problems.join("\n"), path.display())))
}

const fn source_name(source: charset::Source) -> &'static str {
    match source {
        charset::Source::Bom => "byte order mark",
        charset::Source::Header => "Content-Type header",
        charset::Source::Meta => "declared in the page",
        charset::Source::Guess => "guessed from the bytes",
    }
}

fn text<'a>(asked: &'a Object, key: &str) -> Option<&'a str> {
    asked.get(key).and_then(Value::as_str)
}

fn bytes(asked: &Object, key: &str) -> Result<Vec<u8>, String> {
    let encoded = text(asked, key).ok_or_else(|| format!("\"{key}\" is missing"))?;
    BASE64_STANDARD.decode(encoded).map_err(|e| format!("{key}: {e}"))
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

fn robots_line(asked: &Object) -> Result<Object, String> {
    let body = match text(asked, "robots") {
        Some(body) => body.as_bytes().to_vec(),
        None => bytes(asked, "robots_b64")?,
    };
    let robots = RobotsTxt::parse(&body);
    let own = [product_token()];
    let many =
        asked.get("user_agents").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let tokens: Vec<&str> = text(asked, "user_agent").into_iter().chain(many).collect();
    let rules = robots.rules_for(if tokens.is_empty() { &own } else { &tokens });
    let base = text(asked, "base").and_then(|base| Url::parse(base).ok());
    let absolute =
        |s: &String| base.as_ref().and_then(|b| b.join(s).ok()).map_or_else(|| s.clone(), String::from);
    let mut answer = object(json!({
        "crawl_delay_ms": rules.crawl_delay().map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        "sitemaps": robots.sitemaps().iter().map(absolute).collect::<Vec<_>>(),
    }));
    if let Some(url) = text(asked, "url") {
        // a text that is no URL is taken as a path
        let verdict = Url::parse(url).map_or_else(|_| rules.verdict_of_path(url), |url| rules.verdict(&url));
        answer
            .extend(object(json!({"allowed": verdict.allowed, "line": verdict.line, "rule": verdict.rule})));
    }
    Ok(answer)
}

fn url_line(asked: &Object) -> Result<Object, String> {
    let given = text(asked, "in").or_else(|| text(asked, "url")).ok_or("\"in\" is missing")?;
    let canonicalizer = match asked.get("remove_params").and_then(Value::as_array) {
        None => Canonicalizer::default(),
        Some(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            Canonicalizer::new(ParamRules::of_names(&names), DEFAULT_MAX_URL_LENGTH)
        }
    };
    let idn = if text(asked, "idn") == Some("UNICODE") { IdnForm::Unicode } else { IdnForm::Ascii };
    // a text that is no URL to crawl is printed unchanged, with the reason
    let mut answer = object(json!({"out": canonicalizer.canonical_text(given, idn)}));
    if let Err(refusal) = canonicalizer.parse(given) {
        answer.insert("reason".into(), Value::String(refusal.to_string()));
    }
    Ok(answer)
}

fn charset_line(asked: &Object) -> Result<Object, String> {
    let bytes = bytes(asked, "bytes_b64")?;
    let decoded = charset::decode(&bytes, text(asked, "content_type"));
    Ok(object(json!({
        "encoding": decoded.charset,
        "source": source_name(decoded.source),
        "overridden": decoded.overridden,
        "had_errors": decoded.had_errors,
    })))
}

fn sitemap_line(asked: &Object) -> Result<Object, String> {
    let url = text(asked, "url").ok_or("\"url\" is missing")?;
    let url = page_url(url).map_err(|e| format!("url: {e}"))?;
    let strict_location = asked.get("strict_location").and_then(Value::as_bool).unwrap_or(false);
    let limits = SitemapLimits { strict_location, ..SitemapLimits::default() };
    Ok(object(match parse_sitemap(&bytes(asked, "bytes_b64")?, &url, &limits) {
        Ok(found) => json!({
            "kind": found.kind.name(),
            "entries": found.entries.iter().map(|e| json!({"url": e.url.as_str(), "lastmod": e.lastmod})).collect::<Vec<_>>(),
            "truncated": found.truncated,
            "damaged": found.damaged,
        }),
        Err(problem) => json!({"error": problem.to_string()}),
    }))
}
