//! What a page says about itself.

mod authors;
mod bylines;
mod dates;
mod facts;
mod jsonld;
mod near;
mod published;
mod sources;
mod title;

pub(crate) use dates::{DateFile, DateRules, Order, is_bare_date, is_date_line};
pub(crate) use jsonld::{JsonLd, types};

use crate::{dom::Tag, links::tokens, page::Page, text};
use crawl_model::{Hreflang, MetadataSources, PageMetadata};
use html5ever::local_name;
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};

/// Lists of keywords, breadcrumbs and the like are cut here.
const MAX_LIST: usize = 64;

/// The `meta` elements of a page: name, property, itemprop or http-equiv in lower case, and the content.
pub(crate) struct Metas<'a> {
    list: Vec<(String, &'a str)>,
}

impl<'a> Metas<'a> {
    fn of(page: &'a Page<'_>) -> Self {
        let dom = &page.dom;
        let mut list = Vec::new();
        for id in (0..dom.len()).filter(|id| dom.tag(*id) == Tag::Meta) {
            // Some programs write the content into `value`.
            let attribute = |name| dom.attr(id, &name).map(str::trim).filter(|c| !c.is_empty());
            let Some(content) = attribute(local_name!("content")).or_else(|| attribute(local_name!("value")))
            else {
                continue;
            };
            for attribute in [
                local_name!("property"),
                local_name!("name"),
                local_name!("itemprop"),
                local_name!("http-equiv"),
            ] {
                for name in dom.attr(id, &attribute).unwrap_or_default().split_ascii_whitespace() {
                    list.push((name.to_ascii_lowercase(), content));
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

/// The metadata, and what else its collectors know.
pub(crate) struct Collected {
    pub(crate) metadata: PageMetadata,
    /// A meta element holds a date, or `datePublished` of the page's JSON-LD does.
    pub(crate) dated: bool,
    /// The data, a mark or a byline names an author; a label somewhere on the page says less about its kind.
    pub(crate) credited: bool,
    /// The page says that it is free to read, or that it is not.
    pub(crate) accessible: Option<bool>,
}

/// What the collectors look at.
pub(crate) struct Sources<'a> {
    pub(crate) page: &'a Page<'a>,
    pub(crate) metas: Metas<'a>,
    pub(crate) json: &'a JsonLd,
    pub(crate) nodes: Vec<&'a Value>,
    /// The object that describes the page: an article before a product, a product before a web page.
    pub(crate) main: Option<&'a Value>,
    near: OnceCell<Vec<String>>,
    /// The authors come from a label somewhere on the page.
    by_label: Cell<bool>,
    noted: RefCell<MetadataSources>,
    numbered: OnceCell<Vec<u32>>,
}

impl Sources<'_> {
    /// The short lines near the heading ([`near::lines`]), looked for once.
    fn near(&self) -> &[String] {
        self.near.get_or_init(|| near::lines(self.page))
    }

    /// The texts that may hold a date ([`published::numbered`]), looked for once.
    fn numbered(&self) -> &[u32] {
        self.numbered.get_or_init(|| published::numbered(self.page))
    }

    /// What the first source that has a value says; the explanation names it.
    fn first<T>(&self, field: &'static str, sources: &[(&'static str, Source<'_, T>)]) -> Option<T> {
        sources.iter().find_map(|(name, source)| {
            let found = source()?;
            self.note(field, name);
            Some(found)
        })
    }
}

/// Somewhere to look for a value.
type Source<'a, T> = &'a dyn Fn() -> Option<T>;

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

/// Collects the metadata of a page.
pub(crate) fn collect(page: &Page<'_>, json: &JsonLd) -> Collected {
    let nodes = json.nodes();
    let main = MAIN_TYPES
        .iter()
        .find_map(|group| nodes.iter().copied().find(|node| types(node).iter().any(|t| group.contains(t))));
    let (near, numbered) = (OnceCell::new(), OnceCell::new());
    let sources = Sources {
        page,
        metas: Metas::of(page),
        json,
        nodes,
        main,
        near,
        by_label: Cell::new(false),
        noted: RefCell::default(),
        numbered,
    };
    let s = &sources;
    let site_name = site_name(s);
    let language = language(s);
    let order = published::order_of(language.as_deref());
    let mut metadata = PageMetadata {
        title: title::find(s, site_name.as_deref()),
        description: described(s),
        authors: authors::find(s),
        published: published::published(s, order),
        modified: published::modified(s, order),
        language,
        site_name,
        image: image(s),
        keywords: keywords(s),
        breadcrumbs: breadcrumbs(s),
        og_type: s.metas.get("og:type").map(str::to_owned),
        ..PageMetadata::default()
    };
    for node in &s.nodes {
        for kind in types(node) {
            if metadata.json_ld_types.len() < MAX_LIST && !metadata.json_ld_types.iter().any(|t| t == kind) {
                metadata.json_ld_types.push(kind.to_owned());
            }
        }
    }
    link_elements(page, &mut metadata);
    metadata.licence = metadata.licence.or_else(|| {
        let named = s.main.and_then(|main| jsonld::text(main.get("license")?));
        named
            .or_else(|| s.metas.first(&["dcterms.license", "dc.rights.license", "license"]))
            .map(str::to_owned)
    });
    let accessible = s.nodes.iter().find_map(|node| match node.get("isAccessibleForFree")? {
        Value::Bool(free) => Some(*free),
        Value::String(text) => Some(!text.trim().to_ascii_lowercase().ends_with("false")),
        _ => None,
    });
    let credited = !metadata.authors.is_empty() && !s.by_label.get();
    metadata.section = facts::section(s);
    metadata.author_urls = facts::author_urls(s, &metadata.authors);
    metadata.structured = facts::structured(s);
    metadata.is_accessible_for_free = accessible;
    metadata.sources = s.noted.take();
    Collected { metadata, dated: published::is_declared(s, order), credited, accessible }
}

fn non_empty(text: &str) -> Option<String> {
    Some(text::fold(text)).filter(|t| !t.is_empty())
}

fn site_name(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.first(&["og:site_name", "application-name", "al:android:app_name"]);
    let from_json = || {
        let publisher = s.main.and_then(|main| main.get("publisher"));
        let publisher = publisher.map(|p| s.json.by_id(&s.nodes, p).unwrap_or(p));
        publisher.and_then(|p| p.get("name")).and_then(jsonld::text).or_else(|| {
            let site = s.nodes.iter().find(|node| types(node).contains(&"WebSite"))?;
            jsonld::text(site.get("name")?)
        })
    };
    named.or_else(from_json).and_then(non_empty)
}

fn described(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.first(&[
        "og:description",
        "description",
        "twitter:description",
        "dc.description",
        "dcterms.description",
    ]);
    named.or_else(|| jsonld::text(s.main?.get("description")?)).and_then(non_empty)
}

fn image(s: &Sources<'_>) -> Option<String> {
    let named = s.metas.first(&[
        "og:image",
        "og:image:url",
        "og:image:secure_url",
        "twitter:image",
        "twitter:image:src",
    ]);
    named.or_else(|| jsonld::text(s.main?.get("image")?)).and_then(|address| s.page.resolve(address))
}

fn keywords(s: &Sources<'_>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        for word in text.split([',', ';']).filter_map(non_empty) {
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
        if let Some(name) = name.and_then(non_empty) {
            trail.push((position.unwrap_or(trail.len() as i64), name));
        }
    }
    trail.sort_by_key(|(position, _)| *position);
    trail.into_iter().map(|(_, name)| name).collect()
}

/// Declared language (heuristics reference §8): the html element, `og:locale`, JSON-LD, meta elements; else none.
fn language(s: &Sources<'_>) -> Option<String> {
    let dom = &s.page.dom;
    let html = dom.find(0..dom.len().min(16), Tag::Html);
    let attribute = html.and_then(|id| {
        dom.attr(id, &local_name!("lang")).or_else(|| {
            dom.attrs(id).find(|(name, _)| matches!(&***name, "xml:lang" | "lang")).map(|(_, value)| value)
        })
    });
    let in_json = || s.nodes.iter().find_map(|node| jsonld::text(node.get("inLanguage")?));
    attribute
        .and_then(tag_of)
        .or_else(|| s.metas.get("og:locale").and_then(primary_of))
        .or_else(|| in_json().and_then(tag_of))
        .or_else(|| {
            s.metas
                .first(&["content-language", "language", "dc.language", "dcterms.language"])
                .and_then(tag_of)
        })
}

/// `en_US` becomes `en` (§8, step 2).
fn primary_of(locale: &str) -> Option<String> {
    tag_of(locale.split(['_', '-']).next()?)
}

/// A language tag with hyphens, in the case that BCP 47 recommends; the first of a list. Nothing that is no tag.
fn tag_of(text: &str) -> Option<String> {
    let tag = text
        .split([',', ';', ' '])
        .map(str::trim)
        .find(|t| !t.is_empty())?
        .to_ascii_lowercase()
        .replace('_', "-");
    let primary = tag.split('-').next()?;
    let fine = (2..=3).contains(&primary.len())
        && primary.bytes().all(|b| b.is_ascii_lowercase())
        && tag.len() <= 35
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    fine.then(|| in_case(&tag))
}

/// A tag in the case of RFC 5646 §2.1.1: regions in capitals (`en-US`), scripts with one (`zh-Hant`), all else in lower case.
fn in_case(tag: &str) -> String {
    let mut out = String::with_capacity(tag.len());
    let mut lower = false;
    for (at, part) in tag.split('-').enumerate() {
        if at > 0 {
            out.push('-');
        }
        let start = out.len();
        out.push_str(part);
        out[start..].make_ascii_lowercase();
        match part.len() {
            // Behind a singleton (`x`, `u`) nothing is a region or a script.
            1 => lower = true,
            2 if at > 0 && !lower => out[start..].make_ascii_uppercase(),
            4 if at > 0 && !lower => {
                let first = out[start..].chars().next().map_or(1, char::len_utf8);
                out[start..start + first].make_ascii_uppercase();
            }
            _ => {}
        }
    }
    out
}

/// `link` elements, and the licence that an anchor names.
fn link_elements(page: &Page<'_>, metadata: &mut PageMetadata) {
    let dom = &page.dom;
    for id in 0..dom.len() {
        let tag = dom.tag(id);
        if !matches!(tag, Tag::Link | Tag::A) {
            continue;
        }
        let Some(rel) = dom.attr(id, &local_name!("rel")) else { continue };
        let Some(url) = dom.attr(id, &local_name!("href")).and_then(|href| page.resolve(href)) else {
            continue;
        };
        for rel in tokens(rel).take(MAX_LIST) {
            match rel.as_str() {
                "canonical" if tag == Tag::Link && metadata.canonical.is_none() => {
                    metadata.canonical = Some(url.clone());
                }
                "license" if metadata.licence.is_none() => metadata.licence = Some(url.clone()),
                "alternate" if tag == Tag::Link => alternate(page, id, url.clone(), metadata),
                _ => {}
            }
        }
    }
}

fn alternate(page: &Page<'_>, id: u32, url: String, metadata: &mut PageMetadata) {
    let lang =
        page.dom.attr(id, &local_name!("hreflang")).map(|lang| in_case(&lang.trim().replace('_', "-")));
    let media = page.dom.attr(id, &local_name!("type")).unwrap_or_default().trim().to_ascii_lowercase();
    let is_feed =
        matches!(media.as_str(), "application/rss+xml" | "application/atom+xml" | "application/feed+json");
    if is_feed && metadata.feeds.len() < MAX_LIST {
        metadata.feeds.push(url);
    } else if let Some(lang) = lang.filter(|lang| !lang.is_empty())
        && metadata.hreflang.len() < 4 * MAX_LIST
    {
        metadata.hreflang.push(Hreflang { lang, url });
    }
}
