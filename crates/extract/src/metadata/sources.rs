//! Stable names of the rules that give the fields of the metadata.

use super::Sources;
use crawl_model::MetadataSources;

impl Sources<'_> {
    /// Notes the rule that gave a field, for the explanation and for the record.
    pub(super) fn note(&self, field: &'static str, rule: &'static str) {
        self.page.trace.source(field, rule);
        let mut noted = self.noted.borrow_mut();
        let MetadataSources { title, authors, published, modified } = &mut *noted;
        let place = match field {
            "title" => title,
            "authors" => authors,
            "published" => published,
            _ => modified,
        };
        *place = Some(name_of(rule).to_owned());
    }
}

/// The name of a rule in a record, by its words in an explanation. Several rules that look at one place share a name.
fn name_of(rule: &str) -> &'static str {
    match rule {
        "JSON-LD" | "JSON-LD headline" | "JSON-LD, organizations included" => "json_ld",
        "meta elements" | "meta elements that name the publisher" => "meta",
        "twitter:data1" | "twitter:creator" => "twitter",
        "the title element" => "title_element",
        "an RDFa property" => "rdfa",
        "the URL" => "url",
        "the first post of the thread" | "the first author of a post" | "the first date of a post" => "post",
        "an element marked as the author"
        | "an element marked as the author, with the publisher's name"
        | "a time element, or an element named like a date"
        | "the only day in the page's time elements" => "element",
        _ if rule.contains("heading")
            && !rule.contains("near the heading")
            && !rule.contains("below the") =>
        {
            "heading"
        }
        _ => "text",
    }
}
