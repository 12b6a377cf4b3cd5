//! `crawl site`: shows the extraction of sites, grouped by page template.

mod html;
mod source;

use super::{rules, write_json, write_text};
use crate::{cli::SiteArgs, words::counted};
use crawl_engine::exit::{Exit, Failure};
use crawl_extract::{CountedBlock, Options, PageExtractor, PageOutline, SiteArea, SiteEvidence};
use crawl_model::HostKey;
use serde::Serialize;
use source::{Source, SourcePage};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};
use url::Url;

const NO_PAGE: &str = "no page with HTML and a URL in the input; lines need \"html\" and \"url\", which records of a crawl do not \
    have: crawl with --warc DIR, and name DIR";
/// Examples of a template.
const EXAMPLES: usize = 3;
/// Templates of a host that are shown one by one.
const TEMPLATES: usize = 12;

/// A host, as its pages show it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SiteView {
    host: String,
    pages: u64,
    /// Those with most pages first.
    templates: Vec<TemplateView>,
}

/// Pages of a host with their own text at the same position.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TemplateView {
    /// Path of tags and first classes; empty for pages without text at a known place of content.
    template: String,
    selector: String,
    pages: u64,
    /// Words of the pages' own text, without repeated text. `taken_words` are those that extraction took.
    own_words: u64,
    taken_words: u64,
    /// Pages of which less than a fifth was taken.
    missed: u64,
    examples: Vec<String>,
    /// The first page.
    #[serde(skip)]
    outline: PageOutline,
}

pub fn run(args: &SiteArgs) -> Result<Exit, Failure> {
    let extractor = PageExtractor::from_rules(rules(&args.rules)?, Options::default());
    let source = Source::of(args)?;
    let mut evidence: HashMap<HostKey, SiteEvidence> = HashMap::new();
    let count = |page: &SourcePage<'_>| (page.host.clone(), extractor.count_blocks(&page.input));
    source.visit(count, |(host, blocks): (HostKey, Vec<CountedBlock>)| {
        evidence.entry(host).or_default().observe(&blocks);
    })?;
    evidence.values_mut().for_each(SiteEvidence::settle);
    let mut sites: BTreeMap<HostKey, BTreeMap<String, TemplateView>> = BTreeMap::new();
    let outline = |page: &SourcePage<'_>| {
        let outline = extractor.outline(&page.input, evidence.get(&page.host)?)?;
        Some((page.host.clone(), page.url.to_string(), outline))
    };
    source.visit(outline, |outlined| {
        if let Some((host, url, outline)) = outlined {
            take(sites.entry(host).or_default(), url, outline);
        }
    })?;
    let views: Vec<SiteView> = sites.into_iter().map(|(host, templates)| view(&host, templates)).collect();
    if views.is_empty() {
        return Err(Failure::usage(match args.file.as_ref().filter(|file| file.is_dir()) {
            Some(folder) if args.url.is_some() => {
                format!("{}: no page of HTML and no WARC in it", folder.display())
            }
            Some(folder) => format!(
                "{}: no page of HTML with a known URL, and no WARC, in it; --url gives the URL of the folder",
                folder.display()
            ),
            None => NO_PAGE.to_owned(),
        }));
    }
    let out = match () {
        () if args.html => html::page(&views),
        () if args.json => serde_json::to_string_pretty(&views)
            .map(|text| text + "\n")
            .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?,
        () => views.iter().map(in_words).collect::<Vec<_>>().join("\n"),
    };
    if args.json && !args.html {
        write_json(out.as_bytes())?;
    } else {
        write_text(&out)?;
    }
    Ok(Exit::Done)
}

fn take(templates: &mut BTreeMap<String, TemplateView>, url: String, outline: PageOutline) {
    let (own, taken, missed) = (outline.own_words, outline.taken_words, outline.missed);
    let view = templates.entry(outline.template.clone()).or_insert_with(|| TemplateView {
        template: outline.template.clone(),
        selector: outline.selector.clone(),
        pages: 0,
        own_words: 0,
        taken_words: 0,
        missed: 0,
        examples: Vec::new(),
        outline,
    });
    view.pages += 1;
    view.own_words += u64::from(own);
    view.taken_words += u64::from(taken.min(own));
    view.missed += u64::from(missed);
    if view.examples.len() < EXAMPLES {
        view.examples.push(url);
    }
}

fn view(host: &HostKey, templates: BTreeMap<String, TemplateView>) -> SiteView {
    let mut templates: Vec<TemplateView> = templates.into_values().collect();
    templates.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.template.cmp(&b.template)));
    SiteView { host: host.to_string(), pages: templates.iter().map(|view| view.pages).sum(), templates }
}

/// Share of a whole, in percent.
fn percent(part: u64, whole: u64) -> u64 {
    (100 * part).checked_div(whole).unwrap_or(0)
}

impl TemplateView {
    fn name(&self) -> &str {
        if self.template.is_empty() { "pages whose content has no known place" } else { &self.template }
    }

    /// The rule that takes the content of the template, for `sites.toml`.
    fn rule(&self, host: &str) -> Option<String> {
        let url = Url::parse(&format!("http://{host}/")).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or(host);
        (!self.selector.is_empty()).then(|| {
            format!(
                "[[site]]\nmatch = \"{host}\"\n[[site.template]]\ncontent = [{}]\n",
                toml::Value::from(self.selector.as_str())
            )
        })
    }
}

fn in_words(site: &SiteView) -> String {
    let mut out = format!(
        "{}: {}, {}\n",
        site.host,
        counted(site.pages, "page"),
        counted(site.templates.len() as u64, "template")
    );
    let _ =
        writeln!(out, "  {:>6} {:>7} {:>6} {:>6}  content stands in", "pages", "words", "taken", "missed");
    for view in site.templates.iter().take(TEMPLATES) {
        let words = view.own_words / view.pages.max(1);
        let taken = percent(view.taken_words, view.own_words);
        let _ =
            writeln!(out, "  {:>6} {words:>7} {taken:>4} % {:>6}  {}", view.pages, view.missed, view.name());
        let _ = writeln!(out, "  {:>30}{}", "", view.examples.first().map_or("", String::as_str));
    }
    let more = site.templates.len().saturating_sub(TEMPLATES);
    if more > 0 {
        let _ = writeln!(out, "  and {} (--json has all)", counted(more as u64, "more template"));
    }
    for view in site.templates.iter().filter(|view| 2 * view.missed > view.pages) {
        if let Some(rule) = view.rule(&site.host) {
            let _ =
                writeln!(out, "\n  a rule for sites.toml in a directory for --rules:\n{}", indented(&rule));
        }
    }
    out
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The name of an area, as the page has it.
const fn area_name(area: SiteArea) -> &'static str {
    match area {
        SiteArea::Content => "content",
        SiteArea::Particular => "particular",
        SiteArea::Frame => "frame",
        SiteArea::Unsure => "unsure",
    }
}
