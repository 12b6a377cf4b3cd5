//! Properties that can hide a text, and their effect.

use super::{
    colour::{self, Colour},
    value::{self, Length},
};
use cssparser::{Parser, Token};
use rustc_hash::FxHashMap;
use std::{borrow::Cow, sync::LazyLock};

macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident = $($text:literal)|+),+ $(,)?) => {
        /// A property, or several with the same effect on a text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Property {
            $($(#[$doc])* $name),+
        }

        static NAMES: LazyLock<FxHashMap<&str, Property>> =
            LazyLock::new(|| [$($(($text, Property::$name)),+),+].into_iter().collect());

        /// Lengths of the names, as bits, by their first letters.
        const LENGTHS: [u32; 256] = {
            let mut lengths = [0; 256];
            $($(lengths[$text.as_bytes()[0] as usize] |= 1 << $text.len();)+)+
            lengths
        };
    };
}

properties! {
    Display = "display",
    Visibility = "visibility",
    Opacity = "opacity",
    Font = "font",
    FontSize = "font-size",
    Indent = "text-indent",
    Position = "position",
    Left = "left" | "inset-inline-start",
    Top = "top" | "inset-block-start",
    Right = "right" | "inset-inline-end",
    Bottom = "bottom" | "inset-block-end",
    /// All four at once, or two.
    Inset = "inset" | "inset-block" | "inset-inline",
    Margin = "margin" | "margin-left" | "margin-top" | "margin-inline-start" | "margin-block-start" | "margin-inline" | "margin-block",
    Clip = "clip",
    ClipPath = "clip-path" | "-webkit-clip-path",
    Height = "height" | "block-size",
    Width = "width" | "inline-size",
    MaxHeight = "max-height" | "max-block-size",
    MaxWidth = "max-width" | "max-inline-size",
    Overflow = "overflow" | "overflow-x" | "overflow-y" | "overflow-block" | "overflow-inline" | "contain",
    Transform = "transform" | "-webkit-transform",
    Scale = "scale",
    Translate = "translate",
    Rotate = "rotate",
    Contents = "content-visibility",
    Colour = "color",
    Fill = "-webkit-text-fill-color",
    Background = "background",
    Ground = "background-color",
    Image = "background-image",
    GroundClip = "background-clip" | "-webkit-background-clip",
    Mask = "mask" | "mask-image" | "-webkit-mask" | "-webkit-mask-image",
    Filter = "filter" | "-webkit-filter",
    Letters = "letter-spacing",
    LineHeight = "line-height",
    Shadow = "text-shadow",
    Stroke = "-webkit-text-stroke" | "-webkit-text-stroke-width",
    Animation = "animation" | "animation-name" | "-webkit-animation" | "-webkit-animation-name",
    Transition = "transition" | "transition-property" | "-webkit-transition",
    Float = "float",
    Zoom = "zoom",
    Security = "-webkit-text-security",
}

/// Relevant property, by its name in a style sheet.
pub(super) fn named(name: &str) -> Option<Property> {
    if name.len() > 24 && !name.contains('\\') {
        return None;
    }
    if name.bytes().all(is_plain) { known(name) } else { known(&plain(name)?) }
}

/// Returns true for a letter of names without escapes, in lower case.
#[inline]
pub(super) const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'-'
}

/// Relevant property, by its name without escapes, in lower case.
pub(super) fn known(name: &str) -> Option<Property> {
    let lengths = LENGTHS[usize::from(*name.as_bytes().first()?)];
    let may_be_known = name.len() < 32 && lengths & 1 << name.len() != 0;
    may_be_known.then(|| NAMES.get(name).copied()).flatten()
}

/// Name without escapes, in lower case. `None` for other text.
fn plain(name: &str) -> Option<String> {
    let mut parser = Parser::new(name);
    let ident = parser.expect_ident_cloned().ok()?;
    parser.is_exhausted().then(|| ident.to_ascii_lowercase())
}

/// Set of properties: one bit each.
pub(super) type Group = u64;

const FONTS: Group = Property::Font.bit() | Property::FontSize.bit() | Property::LineHeight.bit();
const BOXES: Group = Property::Display.bit() | Property::Float.bit() | Property::Position.bit();
const MOVES: Group = Property::Animation.bit() | Property::Transition.bit();
const PLACES: Group = Property::Left.bit()
    | Property::Top.bit()
    | Property::Right.bit()
    | Property::Bottom.bit()
    | Property::Inset.bit()
    | Property::Position.bit();
pub(super) const COLOURS: Group = Property::Colour.bit()
    | Property::Fill.bit()
    | Property::Background.bit()
    | Property::Ground.bit()
    | Property::Image.bit()
    | Property::GroundClip.bit()
    | Property::Shadow.bit()
    | Property::Stroke.bit()
    | Property::Position.bit();

/// One aspect of an element's box or text. Shorthand properties set several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Display,
    Visibility,
    Opacity,
    FontSize,
    Indent,
    Position,
    Left,
    Top,
    Right,
    Bottom,
    Margin,
    Clip,
    ClipPath,
    Height,
    Width,
    MaxHeight,
    MaxWidth,
    Overflow,
    Transform,
    Scale,
    Translate,
    Rotate,
    Contents,
    Colour,
    Fill,
    Ground,
    Image,
    GroundClip,
    Mask,
    Filter,
    Letters,
    LineHeight,
    Shadow,
    Stroke,
    Animation,
    Transition,
    Float,
    Zoom,
    Security,
}

/// Slots of an element.
pub(super) const SLOTS: usize = Slot::Security as usize + 1;

/// The value of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// The slot hides the text, alone or with another slot.
    Hides,
    /// The slot does not hide, or the effect is unknown.
    Shows,
    /// An inline box, which has no width and height.
    Inline,
    /// A moved box that keeps its original place.
    Relative,
    /// The value of the parent.
    Inherit,
    Length(Length),
    Colour(Colour),
    /// The unchanged text.
    Text(&'a str),
}

/// Value without `!important`, and true if it had it.
pub(super) fn importance(value: &str) -> (&str, bool) {
    if !matches!(value.as_bytes(), [.., b't' | b'T']) {
        return (value, false);
    }
    match value.rsplit_once('!') {
        Some((front, word)) if word.trim().eq_ignore_ascii_case("important") => (front.trim_end(), true),
        _ => (value, false),
    }
}

impl Property {
    /// Bit of the property in a [`Group`].
    pub(super) const fn bit(self) -> Group {
        1 << self as u32
    }

    /// Properties that decide if this one hides: those of the same aspect, and its conditions.
    pub(super) const fn group(self) -> Group {
        match self {
            Self::Display => Self::Display.bit(),
            Self::Font | Self::FontSize => FONTS,
            Self::Indent => self.bit() | Self::Overflow.bit(),
            Self::LineHeight => FONTS | BOXES | Self::Overflow.bit(),
            Self::Left | Self::Top | Self::Right | Self::Bottom | Self::Inset => PLACES | MOVES,
            Self::Height | Self::Width | Self::MaxHeight | Self::MaxWidth => {
                self.bit() | BOXES | MOVES | Self::Overflow.bit()
            }
            Self::Scale | Self::Transform | Self::Translate | Self::Rotate => self.bit() | BOXES | MOVES,
            Self::Clip => self.bit() | Self::Position.bit() | MOVES,
            Self::Colour
            | Self::Fill
            | Self::Background
            | Self::Ground
            | Self::Image
            | Self::GroundClip
            | Self::Shadow
            | Self::Stroke => COLOURS,
            _ => self.bit() | MOVES,
        }
    }

    /// Reads a value without `!important`, and sets its slots.
    pub(super) fn read<'a>(self, value: &'a str, set: &mut impl FnMut(Slot, Value<'a>)) {
        if self.ignores(value) {
            return;
        }
        if let Some(slot) = self.slot() {
            set(slot, self.single(value));
            return;
        }
        match self {
            Self::Font => {
                let size = value::font_size(value);
                set(Slot::FontSize, size.map_or(Value::Shows, Value::Length));
                set(Slot::LineHeight, Value::Shows);
            }
            Self::Background => {
                let ground = colour::find(value);
                set(Slot::Ground, ground.map_or(Value::Shows, Value::Colour));
                set(Slot::Image, if has_function(value) { Value::Hides } else { Value::Shows });
                let clips = value.to_ascii_lowercase().split_ascii_whitespace().any(|word| word == "text");
                set(Slot::GroundClip, if clips { Value::Hides } else { Value::Shows });
            }
            Self::Inset => {
                let lengths = value::lengths(value);
                for (slot, at) in [(Slot::Top, 0), (Slot::Right, 1), (Slot::Bottom, 2), (Slot::Left, 3)] {
                    let length = lengths.get(at).or_else(|| lengths.get(at % 2)).or_else(|| lengths.first());
                    set(slot, length.copied().map_or(Value::Shows, Value::Length));
                }
            }
            _ => {}
        }
    }

    /// The slot of a property that sets only one.
    pub(super) const fn slot(self) -> Option<Slot> {
        Some(match self {
            Self::Display => Slot::Display,
            Self::Visibility => Slot::Visibility,
            Self::Opacity => Slot::Opacity,
            Self::FontSize => Slot::FontSize,
            Self::Indent => Slot::Indent,
            Self::Position => Slot::Position,
            Self::Left => Slot::Left,
            Self::Top => Slot::Top,
            Self::Right => Slot::Right,
            Self::Bottom => Slot::Bottom,
            Self::Margin => Slot::Margin,
            Self::Clip => Slot::Clip,
            Self::ClipPath => Slot::ClipPath,
            Self::Height => Slot::Height,
            Self::Width => Slot::Width,
            Self::MaxHeight => Slot::MaxHeight,
            Self::MaxWidth => Slot::MaxWidth,
            Self::Overflow => Slot::Overflow,
            Self::Transform => Slot::Transform,
            Self::Scale => Slot::Scale,
            Self::Translate => Slot::Translate,
            Self::Rotate => Slot::Rotate,
            Self::Contents => Slot::Contents,
            Self::Colour => Slot::Colour,
            Self::Fill => Slot::Fill,
            Self::Ground => Slot::Ground,
            Self::Image => Slot::Image,
            Self::GroundClip => Slot::GroundClip,
            Self::Mask => Slot::Mask,
            Self::Filter => Slot::Filter,
            Self::Letters => Slot::Letters,
            Self::LineHeight => Slot::LineHeight,
            Self::Shadow => Slot::Shadow,
            Self::Stroke => Slot::Stroke,
            Self::Animation => Slot::Animation,
            Self::Transition => Slot::Transition,
            Self::Float => Slot::Float,
            Self::Zoom => Slot::Zoom,
            Self::Security => Slot::Security,
            Self::Font | Self::Background | Self::Inset => return None,
        })
    }

    fn single(self, value: &str) -> Value<'_> {
        if let Some(keyword) = keyword(value) {
            match &*keyword {
                "inherit" => return Value::Inherit,
                "initial" | "unset" | "revert" | "revert-layer" => return Value::Shows,
                word => {
                    if let Some(value) = self.keyword(word) {
                        return value;
                    }
                }
            }
        }
        let hides = |hides: bool| if hides { Value::Hides } else { Value::Shows };
        match self {
            Self::Opacity | Self::Scale => {
                let least = if self == Self::Scale { 0.02 } else { value::MAX_FAINT_OPACITY };
                hides(
                    value::lengths(value)
                        .iter()
                        .any(|length| length.number().is_some_and(|n| n.abs() <= least)),
                )
            }
            Self::Zoom => hides(
                value::lengths(value)
                    .iter()
                    .any(|length| length.number().is_some_and(|n| 0.0 < n && n <= value::TINY_SHARE)),
            ),
            Self::Margin => hides(value::lengths(value).iter().any(|length| length.is_far_before())),
            Self::Translate => hides(value::lengths(value).iter().any(|length| length.is_far())),
            Self::Rotate => hides(value.contains("90deg") && value.contains(['x', 'y', 'X', 'Y'])),
            Self::Clip => hides(value::is_empty_rect(value)),
            Self::ClipPath => hides(value::is_empty_shape(value)),
            Self::Transform => hides(value::transforms_away(value)),
            Self::Mask => hides(colour::is_clear_gradient(value)),
            Self::Filter => hides(value::filters_away(value)),
            Self::Colour | Self::Fill => colour::parse(value).map_or(Value::Shows, Value::Colour),
            Self::Ground => colour::parse(value).map_or(Value::Shows, Value::Colour),
            Self::Image => hides(has_function(value)),
            Self::Animation | Self::Transition => Value::Text(value),
            _ => value::lengths(value).first().map_or(Value::Shows, |length| Value::Length(*length)),
        }
    }

    /// The value of a single word.
    fn keyword(self, word: &str) -> Option<Value<'static>> {
        Some(match (self, word) {
            (Self::Display, "none")
            | (Self::Visibility, "hidden" | "collapse")
            | (Self::Contents, "hidden") => Value::Hides,
            (Self::Display, "inline") => Value::Inline,
            // out of the flow, so that a length may move it off the screen
            (Self::Position, "absolute" | "fixed") => Value::Hides,
            (Self::Position, "relative") => Value::Relative,
            (Self::Overflow, "hidden" | "clip" | "scroll" | "auto" | "paint" | "strict" | "content") => {
                Value::Hides
            }
            (Self::GroundClip, "text") | (Self::Security, "disc" | "circle" | "square") => Value::Hides,
            (Self::Float, "left" | "right") => Value::Hides,
            (
                Self::Display
                | Self::Visibility
                | Self::Contents
                | Self::Position
                | Self::Overflow
                | Self::GroundClip
                | Self::Float
                | Self::Zoom
                | Self::Security
                | Self::Shadow
                | Self::Stroke
                | Self::Image
                | Self::Clip
                | Self::ClipPath
                | Self::Mask
                | Self::Filter
                | Self::Transform,
                _,
            ) => Value::Shows,
            (Self::Animation | Self::Transition, "none") => Value::Shows,
            _ => return None,
        })
    }
}

/// The single word of a value, in lower case.
fn keyword(value: &str) -> Option<Cow<'_, str>> {
    if value.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
        return Some(Cow::Borrowed(value));
    }
    // a number or a colour
    if matches!(value.as_bytes(), [b'0'..=b'9' | b'.' | b'#' | b'+', ..] | [b'-', b'0'..=b'9' | b'.', ..]) {
        return None;
    }
    let mut parser = Parser::new(value);
    let Ok(Token::Ident(word)) = parser.next().cloned() else { return None };
    // two words for the two directions of a box
    let rest = parser.next().cloned();
    match rest {
        Err(_) => Some(Cow::Owned(word.to_ascii_lowercase())),
        Ok(Token::Ident(second)) if value.starts_with("visible") => {
            Some(Cow::Owned(second.to_ascii_lowercase()))
        }
        Ok(Token::Ident(_)) => Some(Cow::Owned(word.to_ascii_lowercase())),
        Ok(_) => None,
    }
}

/// A gradient or a picture.
fn has_function(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["url(", "gradient(", "image", "var("].iter().any(|function| value.contains(function))
}

/// Returns true if a slot of this value can hide a text, alone or with others.
pub(super) fn is_hiding(slot: Slot, value: Value<'_>) -> bool {
    match (slot, value) {
        (
            Slot::Display
            | Slot::Visibility
            | Slot::Contents
            | Slot::Opacity
            | Slot::Scale
            | Slot::Margin
            | Slot::Translate
            | Slot::Rotate
            | Slot::Clip
            | Slot::ClipPath
            | Slot::Transform
            | Slot::Mask
            | Slot::Filter
            | Slot::Zoom
            | Slot::Security,
            Value::Hides,
        ) => true,
        (Slot::FontSize, Value::Length(length)) => length.is_tiny_font(),
        (Slot::Indent, Value::Length(length)) => length.is_far() || length.is_past_line(),
        (Slot::Left | Slot::Top | Slot::Right | Slot::Bottom, Value::Length(length)) => length.is_far(),
        (Slot::Letters, Value::Length(length)) => length.overlaps(),
        (Slot::LineHeight, Value::Length(length)) => length.is_no_line(),
        (Slot::Height | Slot::Width | Slot::MaxHeight | Slot::MaxWidth, Value::Length(length)) => {
            length.is_nothing()
        }
        (Slot::Colour | Slot::Fill, Value::Colour(colour)) => colour.is_clear(),
        _ => false,
    }
}
