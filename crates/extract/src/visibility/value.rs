//! Lengths and shapes of values.

use cssparser::{ParseError, Parser, Token};

/// Maximum opacity of an unreadable element.
pub(super) const MAX_FAINT_OPACITY: f32 = 0.05;
/// Maximum size of an unreadable font (pixels).
const TINY_FONT: f32 = 2.0;
/// Maximum size of an unreadable font, relative to the outer font.
pub(super) const TINY_SHARE: f32 = 0.1;
/// Position up or to the left that is off the screen (pixels).
const FAR_BEFORE: f32 = -500.0;
/// Position down or to the right that is off the screen, where a page can be scrolled (pixels).
const FAR_BEHIND: f32 = 5000.0;
/// Maximum scale or share that leaves nothing visible.
const NO_SCALE: f32 = 0.02;
/// Minimum blur radius that hides letters (pixels).
const BLURRED: f32 = 20.0;
/// Pixels of the units that are relative to the font and to the screen.
const EM: f32 = 16.0;
const VIEW_WIDTH: f32 = 12.8;
const VIEW_HEIGHT: f32 = 7.2;
/// Maximum lengths of a value.
const MAX_LENGTHS: usize = 64;

/// A length, as a sum of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Length {
    px: f32,
    em: f32,
    /// 100 is the whole.
    percent: f32,
    /// A number without a unit.
    plain: Option<f32>,
}

impl Length {
    const fn px(px: f32) -> Self {
        Self { px, em: 0.0, percent: 0.0, plain: None }
    }

    const fn plain(number: f32) -> Self {
        Self { plain: Some(number), ..Self::px(number) }
    }

    /// A number, or a percentage as a number.
    pub(super) fn number(self) -> Option<f32> {
        self.plain.or_else(|| (self.px == 0.0 && self.em == 0.0).then_some(self.percent / 100.0))
    }

    pub(super) fn is_zero(self) -> bool {
        self.pixels() == 0.0 && self.percent == 0.0 && self.plain.unwrap_or_default() == 0.0
    }

    fn pixels(self) -> f32 {
        self.px + self.em * EM
    }

    /// Returns true if the length of a font is relative to the outer font.
    pub(super) fn is_relative(self) -> bool {
        self.em != 0.0 || self.percent != 0.0
    }

    pub(super) fn is_tiny_font(self) -> bool {
        if self.is_relative() {
            self.em + self.percent / 100.0 + self.px / EM <= TINY_SHARE
        } else {
            self.px <= TINY_FONT
        }
    }

    pub(super) fn is_far_before(self) -> bool {
        self.pixels() <= FAR_BEFORE || self.percent <= -100.0
    }

    pub(super) fn is_far(self) -> bool {
        self.is_far_before() || self.pixels() >= FAR_BEHIND || self.percent >= 1000.0
    }

    /// Returns true if text with this indent begins beyond the end of its line.
    pub(super) fn is_past_line(self) -> bool {
        self.percent >= 100.0
    }

    pub(super) fn is_nothing(self) -> bool {
        self.pixels() <= 1.0 && self.percent <= 0.0
    }

    /// Returns true if letters with this spacing overlap.
    pub(super) fn overlaps(self) -> bool {
        self.px <= -6.0 || self.em <= -0.4
    }

    /// Returns true if the number is a line height at which lines overlap.
    pub(super) fn is_no_line(self) -> bool {
        self.plain.map_or(self.pixels() <= 1.0 && self.percent <= 5.0, |number| number <= 0.05)
    }

    fn add(self, other: Self, sign: f32) -> Self {
        Self {
            px: self.px + sign * other.px,
            em: self.em + sign * other.em,
            percent: self.percent + sign * other.percent,
            plain: self.plain.zip(other.plain).map(|(a, b)| a + sign * b),
        }
    }

    fn times(self, factor: f32) -> Self {
        Self {
            px: self.px * factor,
            em: self.em * factor,
            percent: self.percent * factor,
            plain: self.plain.map(|number| number * factor),
        }
    }
}

fn dimension(value: f32, unit: &str) -> Option<Length> {
    let px = match unit.to_ascii_lowercase().as_str() {
        "px" => value,
        "em" | "ex" | "ch" | "ic" | "lh" => return Some(Length { em: value, ..Length::default() }),
        "rem" | "rex" | "rch" | "rlh" => value * EM,
        "vw" | "vi" | "svw" | "lvw" | "dvw" | "vmax" => value * VIEW_WIDTH,
        "vh" | "vb" | "svh" | "lvh" | "dvh" | "vmin" => value * VIEW_HEIGHT,
        "pt" => value * 4.0 / 3.0,
        "pc" => value * 16.0,
        "in" => value * 96.0,
        "cm" => value * 37.8,
        "mm" => value * 3.78,
        "q" => value * 0.945,
        _ => return None,
    };
    Some(Length::px(px))
}

/// The next token as a length, with evaluated calculations. `None` for other tokens.
fn length(input: &mut Parser<'_>) -> Option<Length> {
    match input.next().ok()?.clone() {
        Token::Number { value, .. } => Some(Length::plain(value)),
        Token::Percentage { unit_value, .. } => {
            Some(Length { percent: 100.0 * unit_value, ..Length::default() })
        }
        Token::Dimension { value, unit, .. } => dimension(value, &unit),
        Token::ParenthesisBlock => nested(input, sum),
        Token::Function(name) => match name.to_ascii_lowercase().as_str() {
            "calc" | "-webkit-calc" => nested(input, sum),
            "min" => nested(input, |input| chosen(input, |best, next| next < best)),
            "max" => nested(input, |input| chosen(input, |best, next| next > best)),
            // the least, the value, the most
            "clamp" => nested(input, |input| {
                let all = arguments(input)?;
                let [least, value, most] = all.as_slice() else { return None };
                let value = if value.pixels() > most.pixels() { most } else { value };
                Some(if value.pixels() < least.pixels() { *least } else { *value })
            }),
            _ => None,
        },
        _ => None,
    }
}

fn nested<T>(input: &mut Parser<'_>, read: impl FnOnce(&mut Parser<'_>) -> Option<T>) -> Option<T> {
    let result: Result<T, ParseError<()>> =
        input.parse_nested_block(|input| read(input).ok_or_else(|| ParseError::custom(())));
    result.ok()
}

fn sum(input: &mut Parser<'_>) -> Option<Length> {
    let mut total = product(input)?;
    while !input.is_exhausted() {
        let sign = match input.next().ok()? {
            Token::Delim('+') => 1.0,
            Token::Delim('-') => -1.0,
            _ => return None,
        };
        total = total.add(product(input)?, sign);
    }
    Some(total)
}

fn product(input: &mut Parser<'_>) -> Option<Length> {
    let mut total = length(input)?;
    loop {
        let before = input.state();
        match input.next() {
            Ok(Token::Delim('*')) => {
                let next = length(input)?;
                total = match (total.plain, next.plain) {
                    (_, Some(factor)) => total.times(factor),
                    (Some(factor), None) => next.times(factor),
                    _ => return None,
                };
            }
            Ok(Token::Delim('/')) => total = total.times(1.0 / length(input)?.plain.filter(|by| *by != 0.0)?),
            _ => {
                input.reset(&before);
                return Some(total);
            }
        }
    }
}

fn arguments(input: &mut Parser<'_>) -> Option<Vec<Length>> {
    let mut all = Vec::new();
    while !input.is_exhausted() {
        let mut total = product(input)?;
        while let Ok(token) = input.next() {
            let sign = match token {
                Token::Delim('+') => 1.0,
                Token::Delim('-') => -1.0,
                Token::Comma => break,
                _ => return None,
            };
            total = total.add(product(input)?, sign);
        }
        if all.len() < MAX_LENGTHS {
            all.push(total);
        }
    }
    Some(all)
}

fn chosen(input: &mut Parser<'_>, is_better: impl Fn(f32, f32) -> bool) -> Option<Length> {
    arguments(input)?
        .into_iter()
        .reduce(|best, next| if is_better(best.pixels(), next.pixels()) { next } else { best })
}

/// Lengths and numbers of a value, in order, without other words.
pub(super) fn lengths(value: &str) -> Vec<Length> {
    all_lengths(&mut Parser::new(value))
}

fn all_lengths(input: &mut Parser<'_>) -> Vec<Length> {
    let mut all = Vec::new();
    while !input.is_exhausted() && all.len() < MAX_LENGTHS {
        all.extend(length(input));
    }
    all
}

/// Size in the value of `font`.
pub(super) fn font_size(value: &str) -> Option<Length> {
    // the number without a unit is the weight
    lengths(value).into_iter().find(|length| length.plain.is_none_or(|number| number == 0.0))
}

/// Visits the functions of a value: the name in lower case, and its lengths.
fn any_function(value: &str, mut found: impl FnMut(&str, &[Length]) -> bool) -> bool {
    let mut input = Parser::new(value);
    loop {
        let Ok(token) = input.next() else { return false };
        if let Token::Function(name) = token {
            let name = name.to_ascii_lowercase();
            let lengths = nested(&mut input, |input| Some(angles_and_lengths(input))).unwrap_or_default();
            if found(&name, &lengths) {
                return true;
            }
        }
    }
}

/// Lengths, and angles as numbers of degrees.
fn angles_and_lengths(input: &mut Parser<'_>) -> Vec<Length> {
    let mut all = Vec::new();
    while !input.is_exhausted() && all.len() < MAX_LENGTHS {
        let before = input.state();
        let angle = match input.next() {
            Ok(Token::Dimension { value, unit, .. }) => match unit.to_ascii_lowercase().as_str() {
                "deg" => Some(*value),
                "turn" => Some(360.0 * value),
                "rad" => Some(value.to_degrees()),
                "grad" => Some(0.9 * value),
                _ => None,
            },
            _ => None,
        };
        match angle {
            Some(angle) => all.push(Length::plain(angle)),
            None => {
                input.reset(&before);
                all.extend(length(input));
            }
        }
    }
    all
}

/// `rect()` of `clip` without area.
pub(super) fn is_empty_rect(value: &str) -> bool {
    any_function(value, |name, sides| {
        let [top, right, bottom, left] = sides else { return false };
        name == "rect" && (bottom.pixels() - top.pixels() <= 1.0 || right.pixels() - left.pixels() <= 1.0)
    })
}

/// A shape of `clip-path` without area.
pub(super) fn is_empty_shape(value: &str) -> bool {
    any_function(value, |name, all| {
        let is_nothing = |length: &Length| length.is_nothing();
        match name {
            "inset" => {
                let side = |at: usize| all.get(at).or_else(|| all.get(at % 2)).or_else(|| all.first());
                let closes = |a: Option<&Length>, b: Option<&Length>| {
                    a.zip(b).is_some_and(|(a, b)| {
                        a.percent + b.percent >= 99.0 || a.pixels() + b.pixels() >= 2.0 * FAR_BEHIND
                    })
                };
                closes(side(0), side(2)) || closes(side(1), side(3))
            }
            "circle" => all.first().is_some_and(is_nothing),
            "ellipse" => all.iter().take(2).any(is_nothing),
            "rect" => matches!(all, [top, right, bottom, left]
                if bottom.add(*top, -1.0).is_nothing() || right.add(*left, -1.0).is_nothing()),
            "xywh" => all.iter().skip(2).take(2).any(is_nothing),
            "polygon" => {
                let is_flat = |from: usize| {
                    let mut line = all.iter().skip(from).step_by(2);
                    let first = line.next();
                    first.is_some_and(|first| {
                        line.all(|next| next.add(*first, -1.0) == Length::plain(0.0) || next == first)
                    })
                };
                all.len() >= 2 && (is_flat(0) || is_flat(1))
            }
            _ => false,
        }
    })
}

/// Returns true if a transformation leaves nothing visible.
pub(super) fn transforms_away(value: &str) -> bool {
    any_function(value, |name, all| {
        let number = |at: usize| all.get(at).and_then(|length| length.number());
        let is_edge = || number(0).is_some_and(|degrees| ((degrees.abs() % 180.0) - 90.0).abs() < 1.0);
        match name {
            "scale" | "scalex" | "scaley" | "scale3d" => {
                all.iter().any(|length| length.number().is_some_and(|n| n.abs() <= NO_SCALE))
            }
            "matrix" => match (number(0), number(1), number(2), number(3)) {
                (Some(a), Some(b), Some(c), Some(d)) => {
                    (a * d - b * c).abs() <= NO_SCALE || all.iter().skip(4).any(|shift| shift.is_far())
                }
                _ => false,
            },
            "translate" | "translatex" | "translatey" | "translate3d" => {
                all.iter().any(|length| length.is_far())
            }
            "rotatex" | "rotatey" | "skew" | "skewx" | "skewy" => is_edge(),
            _ => false,
        }
    })
}

/// Returns true if a filter leaves nothing visible.
pub(super) fn filters_away(value: &str) -> bool {
    any_function(value, |name, all| {
        let first = all.first();
        match name {
            "opacity" => {
                first.and_then(|length| length.number()).is_some_and(|share| share <= MAX_FAINT_OPACITY)
            }
            "blur" => first.is_some_and(|radius| radius.pixels() >= BLURRED),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn css_lengths_are_parsed() {
        let px = |value: &str| lengths(value).first().map(|length| length.pixels());
        for (value, pixels) in [
            ("0", 0.0),
            ("-9999px", -9999.0),
            ("1em", 16.0),
            ("-500vh", -3600.0),
            ("calc(1px - 1000px)", -999.0),
            ("calc(-1 * (200px + 300px) * 2)", -1000.0),
            ("calc(100px / 2)", 50.0),
            ("min(0px, 50px)", 0.0),
            ("max(-1px, -2px)", -1.0),
            ("clamp(1px, 5px, 3px)", 3.0),
        ] {
            assert_eq!(px(value), Some(pixels), "{value}");
        }
        assert_eq!(lengths("auto var(--x)"), []);
        assert_eq!(font_size("700 0/0 a"), Some(Length::plain(0.0)));
        assert_eq!(font_size("italic 14px/1.5 Arial"), Some(Length::px(14.0)));
    }

    #[test]
    fn shapes_without_area_are_recognised() {
        for shape in [
            "inset(50%)",
            "inset(100%)",
            "inset(0 50%)",
            "inset(0 0 100% 0)",
            "circle(0)",
            "circle(0 at 50% 50%)",
            "polygon(0 0, 0 0, 0 0)",
            "polygon(0 0,100% 0,50% 0)",
            "ellipse(0 50%)",
            "xywh(0 0 0 0)",
            "rect(0 0 0 0)",
        ] {
            assert!(is_empty_shape(shape), "{shape}");
        }
        for shape in [
            "inset(0)",
            "inset(10%)",
            "circle(50%)",
            "polygon(0 0,100% 0,50% 100%)",
            "url(#a)",
            "none",
            "rect(0 9px 9px 0)",
        ] {
            assert!(!is_empty_shape(shape), "{shape}");
        }
        assert!(is_empty_rect("rect(0 0 0 0)") && is_empty_rect("rect(1px, 1px, 1px, 1px)"));
        assert!(!is_empty_rect("rect(0px, 60px, 200px, 0px)") && !is_empty_rect("auto"));
    }

    #[test]
    fn transforms_and_filters_that_hide_are_recognised() {
        for value in [
            "scale(0)",
            "scaleY(0)",
            "translateX(-9999px)",
            "translate(0, -200%)",
            "rotateX(90deg)",
            "matrix(0,0,0,0,0,0)",
            "rotate(3deg) scale(0.001)",
        ] {
            assert!(transforms_away(value), "{value}");
        }
        for value in [
            "scale(1)",
            "translate(-50%, -50%)",
            "translateY(20px)",
            "rotate(90deg)",
            "none",
            "translateX(100%)",
        ] {
            assert!(!transforms_away(value), "{value}");
        }
        assert!(
            filters_away("opacity(0)")
                && filters_away("blur(50px)")
                && !filters_away("blur(2px) opacity(.5)")
        );
    }
}
