//! Rules of the metadata fields, with their names.

use super::Sources;
use crawl_model::{Confidence, MetadataConfidence, MetadataSources};

/// Place name of dates in scripts and data attributes.
pub(crate) const IN_SCRIPT: &str = "script";

/// A rule that gives a title, authors or a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Headline,
    DeclaredTitle,
    TitleElement,
    AgreeingHeading,
    PartOfHeading,
    HeadingOfAddress,
    NameOfAddress,
    OwnFeed,
    OnlyHeading,
    FirstHeading,
    LowerHeading,
    JsonLd,
    Meta,
    MetaForOrganization,
    MarkedForOrganization,
    BylineForOrganization,
    Organization,
    TwitterLabel,
    ThreadAuthor,
    MarkedAuthor,
    Byline,
    BesideDate,
    LabelledAuthor,
    PostAuthor,
    Signature,
    MarkedPublisher,
    MetaPublisher,
    TwitterCreator,
    ShownOfTwo,
    BeforeMeta,
    BeforeBuild,
    BeforeChange,
    Rdfa,
    ThreadDate,
    MarkedDate,
    Url,
    DateLine,
    Dateline,
    LabelledDate,
    DateSentence,
    PostDate,
    BylineDate,
    ScriptDate,
    OnlyTime,
    OnlyChange,
    ShareImage,
    ShownChange,
}

impl Rule {
    /// Name of the rule in explanations, and name of its place in records.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Headline => ("JSON-LD headline", "json_ld"),
            Self::DeclaredTitle => ("meta elements", "meta"),
            Self::TitleElement => ("the title element", "title_element"),
            Self::AgreeingHeading => ("the heading that agrees with the page's data", "heading"),
            Self::PartOfHeading => ("the part of the heading that the page's data names", "heading"),
            Self::HeadingOfAddress => ("the heading that the page's address repeats", "heading"),
            Self::NameOfAddress => ("the name in the data that the page's address repeats", "meta"),
            Self::OwnFeed => ("the line that the page's own feed names", "heading"),
            Self::OnlyHeading => {
                ("the only heading, as the page's data names no more than the site", "heading")
            }
            Self::FirstHeading => ("the first heading, as the page's data has no title", "heading"),
            Self::LowerHeading => {
                ("the first heading of a lower level, as the page's data has no title", "heading")
            }
            Self::JsonLd => ("JSON-LD", "json_ld"),
            Self::Meta => ("meta elements", "meta"),
            Self::MetaForOrganization => ("meta elements, instead of an organization in JSON-LD", "meta"),
            Self::MarkedForOrganization => {
                ("an element marked as the author, instead of an organization in JSON-LD", "element")
            }
            Self::BylineForOrganization => ("the byline, instead of an organization in JSON-LD", "text"),
            Self::Organization => ("JSON-LD, organizations included", "json_ld"),
            Self::TwitterLabel => ("twitter:data1", "twitter"),
            Self::ThreadAuthor => ("the first post of the thread", "post"),
            Self::MarkedAuthor => ("an element marked as the author", "element"),
            Self::Byline => ("a byline near the heading", "text"),
            Self::BesideDate => ("a name beside the date", "text"),
            Self::LabelledAuthor => ("a line that calls itself the author's", "text"),
            Self::PostAuthor => ("the first author of a post", "post"),
            Self::Signature => ("the signature of the text", "text"),
            Self::MarkedPublisher => ("an element marked as the author, with the publisher", "element"),
            Self::MetaPublisher => ("meta elements that name the publisher", "meta"),
            Self::TwitterCreator => ("twitter:creator", "twitter"),
            Self::ShownOfTwo => ("meta elements, with the day that the page shows", "meta"),
            Self::BeforeMeta => ("an earlier date on the page, instead of a meta element's", "text"),
            Self::BeforeBuild => {
                ("a line near the heading, before the day on which the page was built", "text")
            }
            Self::BeforeChange => {
                ("a line on the publication, before the day of the last change in the data", "text")
            }
            Self::Rdfa => ("an RDFa property", "rdfa"),
            Self::ThreadDate => ("the first post of the thread", "post"),
            Self::MarkedDate => ("a time element, or an element named like a date", "element"),
            Self::Url => ("the URL", "url"),
            Self::DateLine => ("a line near the heading", "text"),
            Self::Dateline => ("the start of a paragraph below the heading", "text"),
            Self::LabelledDate => ("a line that calls itself a date of publication", "text"),
            Self::DateSentence => ("a sentence on the page's publication", "text"),
            Self::PostDate => ("the first date of a post", "post"),
            Self::BylineDate => ("a line that names an author and a date", "text"),
            Self::ScriptDate => ("the only day of publication in scripts", IN_SCRIPT),
            Self::OnlyTime => ("the only day in the page's time elements", "element"),
            Self::OnlyChange => ("the only date there is, of the last change", "text"),
            Self::ShareImage => ("the folder of the image that the page shares", "meta"),
            Self::ShownChange => ("a date that calls itself one of a change", "text"),
        }
    }

    /// Returns true for rules whose place is neither JSON-LD nor a meta element nor an element marked as the
    /// author.
    pub(super) const fn is_of_text(self) -> bool {
        matches!(
            self,
            Self::Byline
                | Self::BesideDate
                | Self::LabelledAuthor
                | Self::Signature
                | Self::ThreadAuthor
                | Self::TwitterLabel
        )
    }

    const fn strength(self) -> Strength {
        match self {
            Self::Headline | Self::DeclaredTitle | Self::TitleElement | Self::NameOfAddress => {
                Strength::Unseen
            }
            Self::LowerHeading
            | Self::Organization
            | Self::BylineForOrganization
            | Self::MarkedPublisher
            | Self::MetaPublisher
            | Self::TwitterCreator
            | Self::PostAuthor
            | Self::PostDate
            | Self::BeforeChange
            | Self::OnlyChange
            | Self::ShareImage => Strength::Weak,
            _ => Strength::Plain,
        }
    }
}

/// Reliability of a rule by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    Plain,
    /// Title in data that no heading of the page repeats.
    Unseen,
    /// Place that may hold a name or a date of another text.
    Weak,
}

impl Sources<'_> {
    /// Notes the rule of a field and its certainty, for the explanation and for the record. `confirmed`:
    /// another place of the page agrees.
    pub(super) fn note(&self, field: Field, rule: Rule, confirmed: bool) {
        let (words, place) = rule.names();
        self.page.trace.source(field.name(), words);
        let confidence = match (rule.strength(), confirmed) {
            (Strength::Weak, _) | (Strength::Unseen, false) => Confidence::Low,
            (Strength::Unseen, true) | (Strength::Plain, false) => Confidence::Medium,
            (Strength::Plain, true) => Confidence::High,
        };
        let mut origins = self.origins.borrow_mut();
        let FieldOrigins { sources, confidence: known } = &mut *origins;
        let (source, sure) = match field {
            Field::Title => (&mut sources.title, &mut known.title),
            Field::Authors => (&mut sources.authors, &mut known.authors),
            Field::Published => (&mut sources.published, &mut known.published),
            Field::Modified => (&mut sources.modified, &mut known.modified),
        };
        *source = Some(place.to_owned());
        *sure = Some(confidence);
    }
}

/// Origins and certainty of the fields.
#[derive(Default)]
pub(super) struct FieldOrigins {
    pub(super) sources: MetadataSources,
    pub(super) confidence: MetadataConfidence,
}

/// A field whose rule is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Title,
    Authors,
    Published,
    Modified,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Authors => "authors",
            Self::Published => "published",
            Self::Modified => "modified",
        }
    }
}
