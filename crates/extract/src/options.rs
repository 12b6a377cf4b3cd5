//! Options of the caller.

pub use crate::dom::Limits;
use std::{fmt, str::FromStr, time::Duration};

/// Error of a name that an option does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("\"{given}\" is not one of {known}")]
pub struct ParseOptionError {
    /// Given name.
    pub given: String,
    /// Known names.
    pub known: String,
}

macro_rules! choice {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type { $($(#[$vdoc])* $variant),+ }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = ParseOptionError;
            fn from_str(text: &str) -> Result<Self, ParseOptionError> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(ParseOptionError { given: text.to_owned(), known: [$($name),+].join(", ") }),
                }
            }
        }
    };
}

choice! {
    /// Preferred error: too much text, or too little.
    Favor {
        /// Drops doubtful text.
        Precision = "precision",
        /// Keeps doubtful text.
        Recall = "recall",
        /// Weigh both.
        #[default]
        Balanced = "balanced",
    }
}

choice! {
    /// Format of the content.
    Format {
        /// Markdown (CommonMark with tables).
        #[default]
        Markdown = "markdown",
        /// Plain text: one line per block, no marks.
        Text = "text",
    }
}

choice! {
    /// Style of links in Markdown.
    LinkStyle {
        /// `[text](url)` for each link, including links within the page.
        #[default]
        Keep = "keep",
        /// `[text](url)` at the first occurrence of a URL, else only the text, as for links to the page
        /// itself.
        Once = "once",
        /// The text alone.
        Strip = "strip",
        /// `[text][1]`, with the URLs at the end.
        Reference = "reference",
    }
}

/// Options of extraction, for all pages of an extractor.
///
/// Begin with [`Options::default`] and change what differs:
///
/// ```
/// use crawl_extract::{Format, Options};
///
/// let options = Options::default().with_format(Format::Text).with_comments(true);
/// assert!(options.comments && options.tables);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Preference for precision or recall.
    pub favor: Favor,
    /// Format of the content.
    pub format: Format,
    /// Style of links in Markdown.
    pub links: LinkStyle,
    /// Keeps images of the content, as `![alt](url)`. Plain text has no images.
    pub images: bool,
    /// Keep data tables.
    pub tables: bool,
    /// Keep readers' comments below an article.
    pub comments: bool,
    /// Includes all JSON-LD and OpenGraph ([`crawl_model::PageMetadata::json_ld`]).
    pub raw_metadata: bool,
    /// Splits the whole page into hashed blocks ([`crawl_model::Extraction::blocks`]), for site-wide
    /// comparisons. It costs about a twentieth of the extraction.
    pub blocks: bool,
    /// Our name in `<meta name="TOKEN" content="noindex">`, honoured like `name="robots"`.
    pub product_token: String,
    /// Bounds on the parser.
    pub limits: Limits,
    /// Wall-clock limit per page. A page beyond it has [`crawl_model::Warning::DeadlineExceeded`] and no
    /// content. `None` for no limit.
    pub deadline: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            favor: Favor::default(),
            format: Format::default(),
            links: LinkStyle::default(),
            images: false,
            tables: true,
            comments: false,
            raw_metadata: false,
            blocks: false,
            product_token: "crawl".to_owned(),
            limits: Limits::default(),
            deadline: None,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $setter:ident: $field:ident, $type:ty;)+) => {
        impl Options {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $setter(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}

setters! {
    /// Sets [`favor`](Self::favor).
    with_favor: favor, Favor;
    /// Sets [`format`](Self::format).
    with_format: format, Format;
    /// Sets [`links`](Self::links).
    with_links: links, LinkStyle;
    /// Sets [`images`](Self::images).
    with_images: images, bool;
    /// Sets [`tables`](Self::tables).
    with_tables: tables, bool;
    /// Sets [`comments`](Self::comments).
    with_comments: comments, bool;
    /// Sets [`raw_metadata`](Self::raw_metadata).
    with_raw_metadata: raw_metadata, bool;
    /// Sets [`blocks`](Self::blocks).
    with_blocks: blocks, bool;
    /// Sets [`limits`](Self::limits).
    with_limits: limits, Limits;
}

impl Options {
    /// Sets [`product_token`](Self::product_token).
    #[must_use]
    pub fn with_product_token(mut self, product_token: impl Into<String>) -> Self {
        self.product_token = product_token.into();
        self
    }

    /// Sets [`deadline`](Self::deadline).
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.deadline = deadline.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_names_round_trip() {
        for favor in [Favor::Precision, Favor::Recall, Favor::Balanced] {
            assert_eq!(favor.to_string().parse(), Ok(favor));
        }
        let error = "html".parse::<Format>().unwrap_err();
        assert_eq!(error.to_string(), "\"html\" is not one of markdown, text");
    }
}
