//! Roles of elements.

/// Roles of an element by its names: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles(u32);

macro_rules! roles {
    ($($(#[$doc:meta])* $name:ident = $bit:literal),+ $(,)?) => {
        impl Roles {
            $($(#[$doc])* pub(crate) const $name: Self = Self(1 << $bit);)+

            /// Names of the roles in the set, in lower case.
            pub(crate) fn names(self) -> Vec<String> {
                let all = [$((Self::$name, stringify!($name))),+];
                all.iter().filter(|(role, _)| self.has(*role)).map(|(_, name)| name.to_ascii_lowercase()).collect()
            }
        }
    };
}

roles! {
    /// Menus and other site navigation.
    NAVIGATION = 0,
    /// The bottom of the page.
    FOOTER = 1,
    /// The top of the page.
    HEADER = 2,
    /// Beside the content.
    SIDEBAR = 3,
    /// Readers' comments.
    COMMENTS = 4,
    /// Advertisement.
    ADVERTISEMENT = 5,
    /// More of the site.
    RELATED = 6,
    /// Sharing and following.
    SOCIAL = 7,
    /// Requests for an address.
    NEWSLETTER = 8,
    /// Things laid over the page.
    OVERLAY = 9,
    /// About the author.
    AUTHOR = 10,
    /// Dates, categories, counters.
    META = 11,
    /// Logins, baskets, searches.
    FORM = 12,
    /// The content itself.
    CONTENT = 13,
    /// Names of a consent banner: a candidate for the keyword sweep.
    CONSENT = 14,
    /// Parts of a page builder, or boxes beside the content.
    WIDGET = 15,
    /// Parts of the content that open on a click: hidden, but content.
    FOLDED = 16,
    /// Captions of pictures: description and author.
    CAPTION = 17,
    /// The first paragraph, set apart.
    LEAD = 18,
    /// Asks for something: boilerplate in articles.
    CALL = 19,
    /// Text for screen readers alone, or hidden by a framework's class.
    UNSEEN = 20,
    /// Customers' reviews: no content on the page of a product.
    REVIEWS = 21,
}

impl Roles {
    /// No role.
    pub(crate) const NONE: Self = Self(0);

    /// Both sets.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without the roles of another.
    #[must_use]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Each role of the set separately.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        (0..32).map(|bit| Self(1 << bit)).filter(move |role| self.has(*role))
    }

    /// Returns true if the sets share a role.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
