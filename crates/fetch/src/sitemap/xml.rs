//! XML formats, read event by event: memory for one entry at a time, at any depth.

use super::{Collected, MAX_DATE, SitemapError, SitemapKind};
use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_html5_entity,
    events::{BytesStart, Event},
};

/// Maximum characters of one element's text: more than any crawled URL.
const MAX_TEXT: usize = 16 * 1024;

/// Role of an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// `url`, `sitemap`, `item` or `entry`.
    Entry,
    /// `loc` or `link`.
    Location,
    /// `guid`: a URL if there is no link.
    Guid,
    /// `lastmod`, `pubDate`, `date`, `updated`, `published`.
    Date,
}

#[derive(Default)]
struct Walk {
    kind: Option<SitemapKind>,
    depth: usize,
    /// Depth of the current entry.
    entry: Option<usize>,
    /// The element whose text is being read, with its depth.
    reading: Option<(Role, usize)>,
    text: String,
    /// True if the text holds an unresolved entity.
    unresolved: bool,
    /// Text directly within the entry, in which a location lacks its element.
    loose: String,
    /// Locations of this entry so far.
    found: usize,
    /// Location of an Atom entry: the first alternate link.
    atom_link: Option<String>,
    guid: Option<String>,
    lastmod: Option<String>,
}

/// Reads a file that begins with `<`. The second value is true if it is damaged.
pub(super) fn parse(text: &str, collected: &mut Collected<'_>) -> Result<(SitemapKind, bool), SitemapError> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    config.expand_empty_elements = true;
    let mut walk = Walk::default();
    let damaged = loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => walk.start(&element)?,
            Ok(Event::End(_)) => walk.end(collected),
            Ok(Event::Text(text)) => walk.text(&text),
            Ok(Event::CData(text)) => walk.text(&text),
            Ok(Event::GeneralRef(name)) => match name.resolve_char_ref() {
                Ok(Some(c)) => walk.text(c.encode_utf8(&mut [0; 4])),
                _ => match resolve_html5_entity(&name) {
                    Some(text) => walk.text(text),
                    None => walk.unresolved = true,
                },
            },
            Ok(Event::DocType(declaration)) if declaration.to_ascii_uppercase().contains("<!ENTITY") => {
                return Err(SitemapError::Entities);
            }
            Ok(Event::Eof) => break walk.depth > 0,
            Ok(_) => {}
            Err(_) => break true,
        }
        if collected.full {
            break false;
        }
    };
    match walk.kind {
        Some(kind) => Ok((kind, damaged)),
        None => Err(SitemapError::Unknown("there is no element".into())),
    }
}

/// The local name in lower case, and true if it has a prefix.
fn name_of(element: &BytesStart<'_>) -> (String, bool) {
    let name = element.name();
    let prefixed = name.prefix().is_some();
    (name.local_name().as_ref().to_ascii_lowercase(), prefixed)
}

fn attribute(element: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let found = element
        .attributes()
        .with_checks(false)
        .flatten()
        .find(|a| a.key.as_ref().eq_ignore_ascii_case(wanted))?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

impl Walk {
    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), SitemapError> {
        self.depth += 1;
        let (name, prefixed) = name_of(element);
        let Some(kind) = self.kind else {
            self.kind = Some(root(&name)?);
            return Ok(());
        };
        // a prefix for the sitemap namespace itself, as in <sit:url>, is that of the root. Elements such as
        // image:loc are nested deeper than the children of an entry.
        let role = role(kind, &name, prefixed);
        match (role, self.entry) {
            (Some(Role::Entry), None) => self.begin_entry(element),
            (Some(role), Some(entry)) if role != Role::Entry && self.depth == entry + 1 => {
                self.reading = Some((role, self.depth));
                self.text.clear();
                self.unresolved = false;
                if role == Role::Location {
                    self.link_attribute(kind, element);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_entry(&mut self, element: &BytesStart<'_>) {
        *self = Self { kind: self.kind, depth: self.depth, entry: Some(self.depth), ..Self::default() };
        // RSS 1.0 names an item's page in its attribute
        self.guid = attribute(element, "rdf:about");
    }

    /// Reads the link attribute of Atom; the page's link has `rel=alternate` or no `rel`.
    fn link_attribute(&mut self, kind: SitemapKind, element: &BytesStart<'_>) {
        let is_page = attribute(element, "rel").is_none_or(|rel| rel.eq_ignore_ascii_case("alternate"));
        if matches!(kind, SitemapKind::Atom | SitemapKind::Rss) && is_page && self.atom_link.is_none() {
            self.atom_link = attribute(element, "href");
        }
    }

    fn text(&mut self, text: &str) {
        let target = match (self.reading, self.entry) {
            (Some((_, depth)), _) if depth == self.depth => &mut self.text,
            (None, Some(entry)) if entry == self.depth => &mut self.loose,
            _ => return,
        };
        if target.len() + text.len() <= MAX_TEXT {
            target.push_str(text);
        } else {
            // a partial URL is invalid
            self.unresolved = true;
        }
    }

    fn end(&mut self, collected: &mut Collected<'_>) {
        if let Some((role, depth)) = self.reading
            && depth == self.depth
        {
            self.reading = None;
            if !self.unresolved {
                self.element(role, collected);
            }
        }
        if self.entry == Some(self.depth) {
            self.end_entry(collected);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn element(&mut self, role: Role, collected: &mut Collected<'_>) {
        let text = self.text.trim().to_owned();
        match role {
            Role::Location if !text.is_empty() => {
                self.found += usize::from(collected.push(&text, self.lastmod.take()));
            }
            Role::Guid if text.starts_with("http") => self.guid = Some(text),
            Role::Date if !text.is_empty() && text.len() <= MAX_DATE => match collected.entries.last_mut() {
                // the date usually follows its location, but may precede it
                Some(entry) if self.found > 0 => {
                    entry.lastmod.get_or_insert(text);
                }
                _ => self.lastmod = Some(text),
            },
            _ => {}
        }
    }

    fn end_entry(&mut self, collected: &mut Collected<'_>) {
        if self.found == 0 {
            let loose =
                Some(std::mem::take(&mut self.loose)).filter(|text| text.trim_start().starts_with("http"));
            if let Some(location) = self.atom_link.take().or_else(|| self.guid.take()).or(loose) {
                collected.push(&location, self.lastmod.take());
            }
        }
        self.entry = None;
    }
}

fn root(name: &str) -> Result<SitemapKind, SitemapError> {
    match name {
        "urlset" => Ok(SitemapKind::UrlSet),
        "sitemapindex" => Ok(SitemapKind::Index),
        "rss" | "rdf" => Ok(SitemapKind::Rss),
        "feed" => Ok(SitemapKind::Atom),
        _ => Err(SitemapError::Unknown(format!("its root element is <{name}>"))),
    }
}

fn role(kind: SitemapKind, name: &str, prefixed: bool) -> Option<Role> {
    use SitemapKind as K;
    Some(match (kind, name) {
        (K::UrlSet, "url") | (K::Index, "sitemap") | (K::Rss, "item") | (K::Atom, "entry") => Role::Entry,
        (K::UrlSet | K::Index, "loc") => Role::Location,
        (K::Rss | K::Atom, "link") if !prefixed => Role::Location,
        (K::Rss, "guid") => Role::Guid,
        (K::UrlSet | K::Index, "lastmod")
        | (K::Rss, "pubdate" | "date")
        | (K::Atom, "updated" | "published") => Role::Date,
        _ => return None,
    })
}
