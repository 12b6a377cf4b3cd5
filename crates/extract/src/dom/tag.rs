//! Names of elements as one byte.

use html5ever::LocalName;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use zerocopy::{Immutable, IntoBytes};

macro_rules! tags {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// Name of an element, for names that a rule or renderer uses. Elements outside of the HTML namespace
        /// are [`Tag::Svg`], [`Tag::Math`] or [`Tag::Other`], whatever their name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Immutable, IntoBytes)]
        #[repr(u8)]
        pub(crate) enum Tag {
            /// A run of text, which is no element.
            Text,
            /// The document itself.
            Document,
            /// An element of any other name.
            Other,
            /// An element of any other name that contains a block, is inside one, and has no text beside it.
            CustomBlock,
            $(#[doc = $name] $variant),+
        }

        static BY_NAME: LazyLock<FxHashMap<LocalName, Tag>> =
            LazyLock::new(|| [$((LocalName::from($name), Tag::$variant)),+].into_iter().collect());

        impl Tag {
            /// The tag of an HTML element's name.
            pub(crate) fn of(name: &LocalName) -> Self {
                BY_NAME.get(name).copied().unwrap_or(Self::Other)
            }

            /// The name; empty for text, document and unknown elements.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    Self::Text | Self::Document | Self::Other | Self::CustomBlock => "",
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}

tags! {
    A = "a", Abbr = "abbr", Address = "address", AmpAudio = "amp-audio", AmpDailymotion = "amp-dailymotion",
    AmpIframe = "amp-iframe", AmpVideo = "amp-video", AmpVimeo = "amp-vimeo", AmpYoutube = "amp-youtube",
    Area = "area", Article = "article", Aside = "aside",
    Audio = "audio", B = "b", Base = "base", Blockquote = "blockquote", Body = "body", Br = "br",
    Button = "button", Canvas = "canvas", Caption = "caption", Center = "center", Cite = "cite",
    Code = "code", Col = "col", Colgroup = "colgroup", Datalist = "datalist", Dd = "dd", Del = "del",
    Details = "details", Dialog = "dialog", Dir = "dir", Div = "div", Dl = "dl", Dt = "dt", Em = "em",
    Embed = "embed", Fieldset = "fieldset", Figcaption = "figcaption", Figure = "figure", Font = "font",
    Footer = "footer", Form = "form", Frame = "frame", Frameset = "frameset", H1 = "h1", H2 = "h2",
    H3 = "h3", H4 = "h4", H5 = "h5", H6 = "h6", Head = "head", Header = "header", Hgroup = "hgroup",
    Hr = "hr", Html = "html", I = "i", Iframe = "iframe", Img = "img", Input = "input", Ins = "ins",
    Kbd = "kbd", Label = "label", Legend = "legend", Li = "li", Link = "link", LiteVimeo = "lite-vimeo",
    LiteYoutube = "lite-youtube", Main = "main",
    Map = "map", Mark = "mark", Math = "math", Menu = "menu", Meta = "meta", Meter = "meter",
    Nav = "nav", Noembed = "noembed", Noframes = "noframes", Noscript = "noscript", Object = "object",
    Ol = "ol", Optgroup = "optgroup", Option = "option", Output = "output", P = "p", Param = "param",
    Picture = "picture", Pre = "pre", Progress = "progress", Q = "q", Rp = "rp", Rt = "rt", Ruby = "ruby",
    S = "s", Samp = "samp", Script = "script", Search = "search", Section = "section", Select = "select",
    Slot = "slot", Small = "small", Source = "source", Span = "span", Strike = "strike", Strong = "strong",
    Style = "style", Sub = "sub", Summary = "summary", Sup = "sup", Svg = "svg", Table = "table",
    Tbody = "tbody", Td = "td", Template = "template", Textarea = "textarea", Tfoot = "tfoot", Th = "th",
    Thead = "thead", Time = "time", Title = "title", Tr = "tr", Track = "track", Tt = "tt", U = "u",
    Ul = "ul", Var = "var", Video = "video", Wbr = "wbr",
}

impl Tag {
    /// Returns true if the element starts and ends a block of text. Unknown (custom) elements do so if they
    /// hold a block.
    pub(crate) const fn is_block(self) -> bool {
        matches!(
            self,
            Self::Document
                | Self::CustomBlock
                | Self::Html
                | Self::Body
                | Self::Address
                | Self::Article
                | Self::Aside
                | Self::Blockquote
                | Self::Caption
                | Self::Center
                | Self::Dd
                | Self::Details
                | Self::Dialog
                | Self::Dir
                | Self::Div
                | Self::Dl
                | Self::Dt
                | Self::Fieldset
                | Self::Figcaption
                | Self::Figure
                | Self::Footer
                | Self::Form
                | Self::H1
                | Self::H2
                | Self::H3
                | Self::H4
                | Self::H5
                | Self::H6
                | Self::Header
                | Self::Hgroup
                | Self::Hr
                | Self::Legend
                | Self::Li
                | Self::Main
                | Self::Menu
                | Self::Nav
                | Self::Noscript
                | Self::Ol
                | Self::P
                | Self::Pre
                | Self::Search
                | Self::Section
                | Self::Summary
                | Self::Table
                | Self::Tbody
                | Self::Td
                | Self::Template
                | Self::Tfoot
                | Self::Th
                | Self::Thead
                | Self::Tr
                | Self::Ul
                | Self::Frameset
                | Self::Option
                | Self::Optgroup
        )
    }

    /// Returns true if an inline element around this one is laid out as a block.
    pub(super) const fn makes_block(self) -> bool {
        self.is_block() && !matches!(self, Self::Noscript | Self::Template | Self::Option | Self::Optgroup)
    }

    /// Level 1 to 6 of `h1` to `h6`.
    pub(crate) const fn heading_level(self) -> Option<u8> {
        match self {
            Self::H1 => Some(1),
            Self::H2 => Some(2),
            Self::H3 => Some(3),
            Self::H4 => Some(4),
            Self::H5 => Some(5),
            Self::H6 => Some(6),
            _ => None,
        }
    }

    /// Returns true for an element of HTML or AMP that plays media or shows another document. Custom elements that
    /// load a player on a click count as well.
    pub(crate) const fn is_player(self) -> bool {
        matches!(
            self,
            Self::Iframe
                | Self::Video
                | Self::Audio
                | Self::Embed
                | Self::AmpAudio
                | Self::AmpDailymotion
                | Self::AmpIframe
                | Self::AmpVideo
                | Self::AmpVimeo
                | Self::AmpYoutube
                | Self::LiteVimeo
                | Self::LiteYoutube
        )
    }

    /// Returns true if a reader sees no text inside of the element.
    pub(crate) const fn is_silent(self) -> bool {
        self.is_player()
            || matches!(
                self,
                Self::Head
                    | Self::Script
                    | Self::Style
                    | Self::Template
                    | Self::Noscript
                    | Self::Svg
                    | Self::Object
                    | Self::Canvas
                    | Self::Noembed
                    | Self::Noframes
                    | Self::Datalist
                    | Self::Select
                    | Self::Textarea
                    | Self::Input
                    | Self::Meter
                    | Self::Progress
                    | Self::Rp
                    | Self::Title
                    | Self::Param
            )
    }
}
