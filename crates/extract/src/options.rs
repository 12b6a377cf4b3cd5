//! What a caller may choose.

pub use crate::dom::Limits;
use std::{fmt, str::FromStr, time::Duration};

/// A name that is none of an option's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not one of {known}")]
pub struct ParseOptionError {
    /// What was given.
    pub given: String,
    /// What could have been.
    pub known: String,
}

macro_rules! choice {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// Which error is worse: text too much, or text too little.
    Favor {
        /// Leave out what is doubtful.
        Precision = "precision",
        /// Keep what is doubtful.
        Recall = "recall",
        /// Weigh both.
        #[default]
        Balanced = "balanced",
    }
}

choice! {
    /// What the content is written as.
    Format {
        /// Markdown (CommonMark with tables).
        #[default]
        Markdown = "markdown",
        /// Plain text: a line a block, no marks.
        Text = "text",
    }
}

choice! {
    /// What becomes of links in Markdown.
    LinkStyle {
        /// `[text](url)` for each link, places in the page too.
        #[default]
        Keep = "keep",
        /// `[text](url)` where an address stands for the first time, else the text alone, as for links to the page itself.
        Once = "once",
        /// The text alone.
        Strip = "strip",
        /// `[text][1]`, with the addresses at the end.
        Reference = "reference",
    }
}

/// How pages are extracted; one set for all pages of an extractor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which error is worse.
    pub favor: Favor,
    /// What the content is written as.
    pub format: Format,
    /// What becomes of links in Markdown.
    pub links: LinkStyle,
    /// Keep images of the content, as `![alt](url)`. In plain text they have no form.
    pub images: bool,
    /// Keep data tables.
    pub tables: bool,
    /// Keep readers' comments below an article.
    pub comments: bool,
    /// Pass on all JSON-LD and OpenGraph ([`crawl_model::PageMetadata::json_ld`]).
    pub raw_metadata: bool,
    /// Cut the whole page into blocks and hash them ([`crawl_model::Extraction::blocks`]), for whoever looks at more of a
    /// site than its content. Costs about a twentieth of the extraction.
    pub blocks: bool,
    /// Our name in `<meta name="TOKEN" content="noindex">`, which is honoured beside `name="robots"`.
    pub product_token: String,
    /// Bounds on the parser.
    pub limits: Limits,
    /// Time for one page, by the wall clock; a page that needs more has [`crawl_model::Warning::DeadlineExceeded`] and no
    /// content. `None`: as long as it takes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for favor in [Favor::Precision, Favor::Recall, Favor::Balanced] {
            assert_eq!(favor.to_string().parse(), Ok(favor));
        }
        let error = "html".parse::<Format>().unwrap_err();
        assert_eq!(error.to_string(), "\"html\" is not one of markdown, text");
    }
}
