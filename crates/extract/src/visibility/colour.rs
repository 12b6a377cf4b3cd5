//! Colours, as far as the contrast of text and background requires.

use super::value::MAX_FAINT_OPACITY;
use cssparser::{ParseError, Parser, Token, color};

/// Minimum contrast of a visible text with its background (ratio of luminances).
const MIN_CONTRAST: f32 = 1.15;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Colour {
    /// Red, green and blue; `None` for an unsupported colour space.
    rgb: Option<[u8; 3]>,
    alpha: f32,
}

impl Colour {
    pub(super) const WHITE: Self = Self::opaque([255; 3]);

    const fn opaque(rgb: [u8; 3]) -> Self {
        Self { rgb: Some(rgb), alpha: 1.0 }
    }

    /// Returns true if the colour is transparent.
    pub(super) fn is_clear(self) -> bool {
        self.alpha <= MAX_FAINT_OPACITY
    }

    /// Returns true if the colour is opaque.
    pub(super) fn is_opaque(self) -> bool {
        self.alpha >= 1.0 && self.rgb.is_some()
    }

    /// Returns true if a text of this colour is invisible on the other.
    pub(super) fn is_lost_on(self, ground: Self) -> bool {
        let (Some(a), Some(b)) = (self.rgb, ground.rgb) else { return false };
        let (a, b) = (luminance(a), luminance(b));
        let is_alike = (a.max(b) + 0.05) / (a.min(b) + 0.05) < MIN_CONTRAST;
        is_alike && self.is_same_hue(ground)
    }

    /// Returns true if both colours have the same hue: red on green of the same brightness is visible.
    fn is_same_hue(self, other: Self) -> bool {
        let (Some(a), Some(b)) = (self.rgb, other.rgb) else { return false };
        a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 40)
    }
}

fn luminance(rgb: [u8; 3]) -> f32 {
    let [r, g, b] = rgb.map(|channel| {
        let share = f32::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Parses a value that is one colour.
pub(super) fn parse(value: &str) -> Option<Colour> {
    colour(&mut Parser::new(value))
}

/// Parses a colour of an HTML attribute, which may lack its hash.
pub(super) fn of_attribute(value: &str) -> Option<Colour> {
    let value = value.trim();
    parse(value).or_else(|| parse(&format!("#{value}")))
}

/// The first colour of a value.
pub(super) fn find(value: &str) -> Option<Colour> {
    let mut input = Parser::new(value);
    while !input.is_exhausted() {
        if let Some(colour) = colour(&mut input) {
            return Some(colour);
        }
    }
    None
}

/// Returns true if a value is a gradient between transparent colours.
pub(super) fn is_clear_gradient(value: &str) -> bool {
    let mut input = Parser::new(value);
    let Ok(Token::Function(name)) = input.next().cloned() else { return false };
    if !name.to_ascii_lowercase().contains("gradient") {
        return false;
    }
    let all = input.parse_nested_block(|input| {
        let mut all = Vec::new();
        while !input.is_exhausted() {
            all.extend(colour(input));
        }
        Ok::<_, ParseError<()>>(all)
    });
    all.is_ok_and(|all| !all.is_empty() && all.iter().all(|colour| colour.is_clear()))
}

/// The next token as a colour.
fn colour(input: &mut Parser<'_>) -> Option<Colour> {
    match input.next().ok()?.clone() {
        Token::Hash(hex) | Token::IDHash(hex) => {
            let (r, g, b, alpha) = color::parse_hash_color(hex.as_bytes()).ok()?;
            Some(Colour { rgb: Some([r, g, b]), alpha })
        }
        Token::Ident(name) => match name.to_ascii_lowercase().as_str() {
            "transparent" => Some(Colour { rgb: None, alpha: 0.0 }),
            "canvas" => Some(Colour::WHITE),
            "canvastext" => Some(Colour::opaque([0; 3])),
            name => color::parse_named_color(name).ok().map(|(r, g, b)| Colour::opaque([r, g, b])),
        },
        Token::Function(name) => {
            let name = name.to_ascii_lowercase();
            let read = input.parse_nested_block(|input| Ok::<_, ParseError<()>>(function(&name, input)));
            read.ok().flatten()
        }
        _ => None,
    }
}

fn function(name: &str, input: &mut Parser<'_>) -> Option<Colour> {
    if name == "light-dark" {
        let light = colour(input);
        while input.next().is_ok() {}
        return light;
    }
    let mut numbers: Vec<f32> = Vec::new();
    let mut has_slash = false;
    while let Ok(token) = input.next() {
        match token {
            Token::Number { value, .. } => {
                let is_share = matches!(name, "hsl" | "hsla" | "hwb") && matches!(numbers.len(), 1 | 2);
                numbers.push(if is_share { value / 100.0 } else { *value });
            }
            Token::Dimension { value, unit, .. } => numbers.push(value * degrees(unit)),
            Token::Percentage { unit_value, .. } => numbers.push(unit_value * whole(name, numbers.len())),
            Token::Delim('/') => has_slash = true,
            Token::Ident(word) if word.eq_ignore_ascii_case("none") => numbers.push(0.0),
            _ => {}
        }
        if numbers.len() > 8 {
            return None;
        }
    }
    let alpha = match numbers.len() {
        4 => numbers[3],
        _ if has_slash => *numbers.last()?,
        _ => 1.0,
    };
    let rgb = match (name, numbers.as_slice()) {
        ("rgb" | "rgba", [r, g, b, ..]) => Some([*r, *g, *b].map(|n| n.clamp(0.0, 255.0) as u8)),
        ("hsl" | "hsla", [h, s, l, ..]) => Some(of_hsl(*h, *s, *l)),
        ("hwb", [h, w, b, ..]) => Some(of_hwb(*h, *w, *b)),
        ("color", [r, g, b, ..]) => Some([*r, *g, *b].map(|n| (n * 255.0).clamp(0.0, 255.0) as u8)),
        ("lab" | "oklab", [l, a, b, ..]) => grey(name, *l, a.abs().max(b.abs())),
        ("lch" | "oklch", [l, chroma, _, ..]) => grey(name, *l, *chroma),
        _ => return None,
    };
    Some(Colour { rgb, alpha })
}

/// Value of 100 % at a place of a colour: <https://www.w3.org/TR/css-color-4/>.
fn whole(name: &str, place: usize) -> f32 {
    match (name, place) {
        ("rgb" | "rgba", 0..=2) => 255.0,
        ("lab" | "lch", 0) => 100.0,
        ("lab", 1 | 2) => 125.0,
        ("lch", 1) => 150.0,
        ("oklab", 1 | 2) | ("oklch", 1) => 0.4,
        _ => 1.0,
    }
}

/// Degrees of a unit of angles.
fn degrees(unit: &str) -> f32 {
    match unit.to_ascii_lowercase().as_str() {
        "turn" => 360.0,
        "rad" => 1f32.to_degrees(),
        "grad" => 0.9,
        _ => 1.0,
    }
}

/// A grey of a perceptual colour space; `None` for other colours of it.
fn grey(space: &str, lightness: f32, chroma: f32) -> Option<[u8; 3]> {
    let linear = if space.starts_with("ok") {
        lightness.powi(3)
    } else if lightness > 8.0 {
        ((lightness + 16.0) / 116.0).powi(3)
    } else {
        lightness / 903.3
    };
    let is_grey = chroma <= if space.starts_with("ok") { 0.01 } else { 2.0 } || linear >= 0.99;
    let share = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    is_grey.then_some([(255.0 * share).round().clamp(0.0, 255.0) as u8; 3])
}

fn of_hwb(hue: f32, white: f32, black: f32) -> [u8; 3] {
    let (white, black) = (white.clamp(0.0, 1.0), black.clamp(0.0, 1.0));
    let sum = (white + black).max(1.0);
    let (white, black) = (white / sum, black / sum);
    of_hsl(hue, 1.0, 0.5).map(|pure| (f32::from(pure) * (1.0 - white - black) + 255.0 * white).round() as u8)
}

fn of_hsl(hue: f32, saturation: f32, lightness: f32) -> [u8; 3] {
    let (s, l) = (saturation.clamp(0.0, 1.0), lightness.clamp(0.0, 1.0));
    let channel = |n: f32| {
        let k = (n + hue / 30.0).rem_euclid(12.0);
        let a = s * l.min(1.0 - l);
        let value = l - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round().clamp(0.0, 255.0) as u8
    };
    [channel(0.0), channel(8.0), channel(4.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_parse_in_all_notations() {
        for white in
            ["white", "#FFF", "#ffffffff", "rgb(255, 255, 255)", "rgb(100% 100% 100%)", "hsl(0, 0%, 100%)"]
        {
            assert_eq!(parse(white), Some(Colour::WHITE), "{white}");
        }
        for white in [
            "oklch(1 0 0)",
            "oklab(100% 0 0)",
            "lab(100% 0 0)",
            "lch(100 0 90)",
            "hwb(0 100% 0%)",
            "hwb(90 100 0)",
            "color(srgb 1 1 1)",
            "light-dark(#fff, #000)",
        ] {
            assert_eq!(parse(white), Some(Colour::WHITE), "{white}");
        }
        for clear in [
            "transparent",
            "#0000",
            "rgba(0,0,0,0)",
            "rgb(1 2 3 / 0%)",
            "oklch(0.5 0.1 20 / 0)",
            "hsla(0,0%,0%,.01)",
        ] {
            assert!(parse(clear).is_some_and(Colour::is_clear), "{clear}");
        }
        assert_eq!(parse("hsl(120 100% 50%)"), Some(Colour::opaque([0, 255, 0])));
        assert_eq!(parse("hwb(120 0% 0%)"), Some(Colour::opaque([0, 255, 0])));
        for cyan in [
            "hsl(.5turn 100% 50%)",
            "hsl(180 100 50)",
            "hsl(200grad 100% 50%)",
            "hsl(3.14159265rad 100% 50%)",
        ] {
            assert_eq!(parse(cyan), Some(Colour::opaque([0, 255, 255])), "{cyan}");
        }
        for black in ["lab(0 0 0)", "lab(.1% 0 0)", "lch(.1 0 0)", "hsl(0 0 .1)", "hwb(0 .1 100)"] {
            assert_eq!(parse(black), Some(Colour::opaque([0; 3])), "{black}");
        }
        for coloured in ["lab(50% 40% 30%)", "lch(50% 40% 30)", "oklab(50% 40% 30%)", "oklch(50% 40% 30)"] {
            assert_eq!(parse(coloured).map(|colour| colour.rgb), Some(None), "{coloured}");
        }
        assert_eq!(parse("oklch(0.6 0.2 20)").map(|colour| colour.rgb), Some(None));
        assert_eq!(
            (parse("currentcolor"), parse("var(--x)"), of_attribute("fff")),
            (None, None, Some(Colour::WHITE))
        );
        assert_eq!(find("url(x.png) no-repeat #fff"), Some(Colour::WHITE));
        assert!(is_clear_gradient("linear-gradient(transparent, #0000)"));
        assert!(!is_clear_gradient("linear-gradient(#000, transparent)"));
    }

    #[test]
    fn text_in_its_background_colour_is_invisible() {
        let on = |text: &str, ground: &str| parse(text).unwrap().is_lost_on(parse(ground).unwrap());
        assert!(on("#fff", "#fefefe") && on("#111", "#000") && on("#f5f5f5", "white"));
        assert!(!on("#fff", "#000") && !on("#ccc", "#fff") && !on("#777", "#fff") && !on("#f00", "#4a9f00"));
    }
}
