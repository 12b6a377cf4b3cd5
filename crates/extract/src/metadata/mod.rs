//! Metadata that a page declares.

mod address;
mod authors;
mod bracket;
mod bylines;
mod changed;
mod clock;
mod dates;
mod facts;
mod headings;
mod jsonld;
mod language;
mod marks;
mod microdata;
mod near;
mod own_feed;
mod published;
mod raw;
mod relations;
mod scripts;
mod shown;
mod sources;
mod stamped;
mod start_links;
mod start_page;
mod title;

pub(crate) use dates::{is_bare_date, is_date_line};
pub(crate) use headings::without_marks;
pub(crate) use jsonld::{JsonLd, types};
pub(crate) use sources::IN_SCRIPT;

use crate::{
    dom::Tag,
    invisible,
    page::Page,
    rules::{DateRules, Order},
    text,
};
use crawl_model::PageMetadata;
use html5ever::local_name;
use marks::Marks;
use serde_json::Value;
use sources::{FieldOrigins, Rule};
use std::{
    cell::{Cell, OnceCell, RefCell},
    ops::RangeInclusive,
};

/// Maximum entries of keywords, breadcrumbs and similar lists.
const MAX_LIST: usize = 64;

/// Maximum characters of a short text.
const MAX_SHORT: u32 = 200;

/// Maximum names in an attribute of a `meta` element.
const MAX_NAMES: usize = 8;

/// `meta` elements of a page: name, property, itemprop or http-equiv in lower case, and the content.
pub(crate) struct Metas<'a> {
    list: Vec<(String, &'a str)>,
}

impl<'a> Metas<'a> {
    fn of(page: &'a Page<'_>) -> Self {
        let dom = &page.dom;
        let mut list: Vec<(String, &str)> = Vec::new();
        for id in dom.find_all(0..dom.len(), Tag::Meta) {
            // Some programs write the content into `value`.
            let attribute = |name| dom.attr(id, &name).map(str::trim).filter(|c| !c.is_empty());
            let Some(content) = attribute(local_name!("content")).or_else(|| attribute(local_name!("value")))
            else {
                continue;
            };
            let first = list.len();
            for attribute in [
                local_name!("property"),
                local_name!("name"),
                local_name!("itemprop"),
                local_name!("http-equiv"),
            ] {
                let names = dom.attr(id, &attribute).unwrap_or_default().split_ascii_whitespace();
                for name in names.take(MAX_NAMES) {
                    let name = name.to_ascii_lowercase();
                    if list[first..].iter().all(|(known, _)| *known != name) {
                        list.push((name, content));
                    }
                }
            }
        }
        Self { list }
    }

    /// The first content of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// The first content of the first name that has one.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.get(name))
    }

    /// All contents of a name.
    pub(crate) fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'a str> + 'b {
        self.list.iter().filter(move |(n, _)| n == name).map(|(_, content)| *content)
    }
}

/// Metadata, and further results of its collectors.
pub(crate) struct Collected {
    pub(crate) metadata: PageMetadata,
    /// True if a meta element, or `datePublished` of the page's JSON-LD, holds a date.
    pub(crate) dated: bool,
    /// True if the data, a mark or a byline names an author; a label elsewhere says less about the type of
    /// page.
    pub(crate) credited: bool,
    /// True or false if the page declares that it is free to read or not.
    pub(crate) accessible: Option<bool>,
    /// True if JSON-LD or OpenGraph was too long.
    pub(crate) is_cut: bool,
}

/// Input of the collectors.
pub(crate) struct Sources<'a> {
    pub(crate) page: &'a Page<'a>,
    pub(crate) metas: Metas<'a>,
    pub(crate) json: &'a JsonLd,
    pub(crate) nodes: Vec<&'a Value>,
    /// Object that describes the page: an article before a product, a product before a web page.
    pub(crate) main: Option<&'a Value>,
    near: OnceCell<Vec<String>>,
    /// True if the authors come from a label somewhere on the page.
    by_label: Cell<bool>,
    origins: RefCell<FieldOrigins>,
    with_digit: OnceCell<Vec<u32>>,
    short: OnceCell<Vec<u32>>,
    marks: Marks,
}

impl Sources<'_> {
    /// Short lines near the heading ([`near::lines`]), computed once.
    fn near(&self) -> &[String] {
        self.near.get_or_init(|| near::lines(self.page))
    }

    /// Visible texts of the body with that many characters, at most [`MAX_SHORT`]; the list of short ones is
    /// computed once.
    fn short_texts(&self, chars: RangeInclusive<u32>) -> impl Iterator<Item = u32> {
        let page = self.page;
        let short = self.short.get_or_init(|| page.texts_of(page.within_body(), 1..=MAX_SHORT));
        short.iter().copied().filter(move |id| chars.contains(&page.chars(*id)))
    }

    /// Short texts that have a digit, as every date does; computed once.
    fn with_digit(&self) -> &[u32] {
        let has_digit = |id: &u32| dates::has_digit(self.page.dom.text(*id));
        self.with_digit.get_or_init(|| self.short_texts(1..=MAX_SHORT).filter(has_digit).collect())
    }
}

/// The first value that a lookup finds, and its rule.
fn first<T>(lookups: &[(Rule, Lookup<'_, T>)]) -> Option<(Rule, T)> {
    lookups.iter().find_map(|&(rule, lookup)| Some((rule, lookup()?)))
}

/// Somewhere to look for a value.
type Lookup<'a, T> = &'a dyn Fn() -> Option<T>;

/// Types of objects that describe a page, best first.
const MAIN_TYPES: [&[&str]; 4] = [
    &[
        "Article",
        "NewsArticle",
        "BlogPosting",
        "TechArticle",
        "ScholarlyArticle",
        "Report",
        "ReportageNewsArticle",
        "LiveBlogPosting",
        "OpinionNewsArticle",
        "AnalysisNewsArticle",
        "ReviewNewsArticle",
        "SocialMediaPosting",
        "DiscussionForumPosting",
        "Review",
    ],
    &[
        "Product",
        "ProductGroup",
        "Recipe",
        "VideoObject",
        "Event",
        "Book",
        "Movie",
        "Course",
        "JobPosting",
        "SoftwareApplication",
        "Dataset",
        "HowTo",
        "QAPage",
        "Question",
        "PodcastEpisode",
        "MedicalWebPage",
    ],
    &["CreativeWork", "AboutPage", "ContactPage", "ProfilePage", "ItemPage", "CollectionPage"],
    &["WebPage"],
];

/// Collects the metadata of a page; `raw` includes all JSON-LD and OpenGraph.
pub(crate) fn collect(page: &Page<'_>, json: &JsonLd, raw: bool) -> Collected {
    let nodes = json.nodes();
    let main = MAIN_TYPES
        .iter()
        .find_map(|group| nodes.iter().copied().find(|node| types(node).iter().any(|t| group.contains(t))));
    let sources = Sources {
        page,
        metas: Metas::of(page),
        json,
        nodes,
        main,
        near: OnceCell::new(),
        by_label: Cell::new(false),
        origins: RefCell::default(),
        with_digit: OnceCell::new(),
        short: OnceCell::new(),
        marks: Marks::of(&page.dom),
    };
    let s = &sources;
    let site_name = site_name(s);
    let language = language::declared(s);
    let order = published::order_of(language.as_deref());
    let mut metadata = PageMetadata::default();
    metadata.title = title::find(s, site_name.as_deref());
    metadata.description = described(s);
    metadata.authors = authors::find(s);
    metadata.published = published::published(s, order);
    metadata.modified = changed::modified(s, order);
    metadata.language = language;
    metadata.site_name = site_name;
    metadata.image = image(s);
    metadata.keywords = keywords(s);
    metadata.breadcrumbs = breadcrumbs(s);
    metadata.og_type = s.metas.get("og:type").map(str::to_owned);
    for node in &s.nodes {
        for kind in types(node) {
            if metadata.json_ld_types.len() < MAX_LIST && !metadata.json_ld_types.iter().any(|t| t == kind) {
                metadata.json_ld_types.push(kind.to_owned());
            }
        }
    }
    relations::read(s, &mut metadata);
    metadata.licence = metadata.licence.or_else(|| {
        let named = s.main.and_then(|main| jsonld::text(main.get("license")?));
        named
            .or_else(|| s.metas.first(&["dcterms.license", "dc.rights.license", "license"]))
            .map(str::to_owned)
    });
    let accessible = facts::accessible(s);
    let credited = !metadata.authors.is_empty() && !s.by_label.get();
    metadata.section = facts::section(s);
    metadata.author_urls = facts::author_urls(s, &metadata.authors);
    metadata.structured = facts::structured(s);
    metadata.is_accessible_for_free = accessible;
    let origins = s.origins.take();
    (metadata.sources, metadata.confidence) = (origins.sources, origins.confidence);
    let raw = if raw { raw::find(s) } else { raw::Raw::default() };
    (metadata.json_ld, metadata.open_graph) = (raw.json_ld, raw.open_graph);
    let dated = published::is_declared(s, order);
    Collected { metadata, dated, credited, accessible, is_cut: raw.is_cut }
}

/// Removes invisible characters, which JSON can contain as escapes.
pub(crate) fn remove_invisible(metadata: &mut PageMetadata) {
    let texts = [
        &mut metadata.title,
        &mut metadata.description,
        &mut metadata.published,
        &mut metadata.modified,
        &mut metadata.site_name,
        &mut metadata.licence,
        &mut metadata.og_type,
        &mut metadata.section,
        &mut metadata.structured,
        &mut metadata.json_ld,
        &mut metadata.open_graph,
    ];
    texts.into_iter().flatten().for_each(invisible::remove_from);
    let lists = [
        &mut metadata.authors,
        &mut metadata.keywords,
        &mut metadata.breadcrumbs,
        &mut metadata.json_ld_types,
    ];
    lists.into_iter().flatten().for_each(invisible::remove_from);
    metadata.author_urls.iter_mut().for_each(|author| invisible::remove_from(&mut author.name));
    metadata.hreflang.iter_mut().for_each(|version| invisible::remove_from(&mut version.lang));
}

fn non_empty(text: &str) -> Option<String> {
    Some(text::fold(text)).filter(|t| !t.is_empty())
}

fn site_name(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.first(&["og:site_name", "application-name", "al:android:app_name"]);
    let from_json = || {
        let publisher = match s.main.and_then(|main| main.get("publisher")) {
            Some(Value::Array(list)) => list.first(),
            one => one,
        };
        let publisher = publisher.map(|p| s.json.by_id(&s.nodes, p).unwrap_or(p));
        publisher.and_then(|p| p.get("name")).and_then(jsonld::text).or_else(|| {
            let site = s.nodes.iter().find(|node| types(node).contains(&"WebSite"))?;
            jsonld::text(site.get("name")?)
        })
    };
    named.or_else(from_json).and_then(title::plain)
}

fn described(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.first(&[
        "og:description",
        "description",
        "twitter:description",
        "dc.description",
        "dcterms.description",
    ]);
    named.or_else(|| jsonld::text(s.main?.get("description")?)).and_then(title::plain)
}

fn image(s: &Sources<'_>) -> Option<String> {
    let names = ["og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"];
    let mut named = names.iter().flat_map(|name| s.metas.all(name));
    named.find_map(|address| s.page.resolve(address)).or_else(|| match s.main?.get("image")? {
        Value::Array(list) => list.iter().take(MAX_LIST).find_map(|image| image_url(s, image)),
        image => image_url(s, image),
    })
}

/// URL of an image in JSON-LD: a text, an object, or a reference to one.
fn image_url(s: &Sources<'_>, image: &Value) -> Option<String> {
    let of = |object: &Value| {
        let mut urls = ["url", "contentUrl"].into_iter().filter_map(|key| object.get(key)?.as_str());
        urls.find_map(|url| s.page.resolve(url.trim()))
    };
    match image {
        Value::String(url) => s.page.resolve(url.trim()),
        object => of(object).or_else(|| of(s.json.by_id(&s.nodes, object)?)),
    }
}

/// Commas and semicolons of Latin, Arabic and Chinese script.
const SEPARATORS: [char; 7] = [',', ';', '،', '؛', '，', '、', '；'];

fn keywords(s: &Sources<'_>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        // a character reference ends with the sign that separates words
        let text = title::plain(text).unwrap_or_default();
        for word in text.split(SEPARATORS).filter_map(non_empty) {
            if out.len() < MAX_LIST && word.len() <= 100 && !out.contains(&word) {
                out.push(word);
            }
        }
    };
    for name in
        ["article:tag", "keywords", "news_keywords", "parsely-tags", "sailthru.tags", "citation_keywords"]
    {
        s.metas.all(name).for_each(&mut add);
    }
    match s.main.and_then(|main| main.get("keywords")) {
        Some(Value::String(text)) => add(text),
        Some(Value::Array(list)) => list.iter().filter_map(jsonld::text).for_each(add),
        _ => {}
    }
    out
}

fn breadcrumbs(s: &Sources<'_>) -> Vec<String> {
    let list = s.nodes.iter().find_map(|node| {
        let own = types(node).contains(&"BreadcrumbList").then_some(*node);
        own.or_else(|| node.get("breadcrumb").filter(|b| b.is_object()))?.get("itemListElement")?.as_array()
    });
    let mut trail: Vec<(i64, String)> = Vec::new();
    for item in list.into_iter().flatten().take(MAX_LIST) {
        let position = item.get("position").and_then(|p| p.as_i64().or_else(|| p.as_str()?.parse().ok()));
        let name = item.get("name").or_else(|| item.get("item")?.get("name")).and_then(Value::as_str);
        if let Some(name) = name.and_then(title::plain) {
            trail.push((position.unwrap_or(trail.len() as i64), name));
        }
    }
    trail.sort_by_key(|(position, _)| *position);
    trail.into_iter().map(|(_, name)| name).collect()
}
