//! Fast check of a value: its letters exclude most values before parsing.

use super::property::{Property, importance, is_hiding};

impl Property {
    /// Returns true if the value hides, alone or with others. A fast check of the letters excludes most
    /// values.
    pub(super) fn can_hide(self, value: &str) -> bool {
        let is_written_oddly = || value.contains('\\') || value.starts_with("/*");
        if !self.may_hide(value) && !is_written_oddly() {
            return false;
        }
        let mut hides = false;
        self.read(importance(value).0, &mut |slot, value| hides |= is_hiding(slot, value));
        hides
    }

    /// Returns false if the letters show that the value does not hide.
    fn may_hide(self, value: &str) -> bool {
        let first = value.bytes().next().unwrap_or(b' ').to_ascii_lowercase();
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        let last = importance(value).0.bytes().next_back().unwrap_or(b' ');
        let is_function = matches!(first, b'c' | b'm');
        // a number of two digits is small only as a percentage
        let is_small = digits < 2 && matches!(first, b'0'..=b'2' | b'.' | b'-' | b'+');
        let is_share = last == b'%' && digits <= 2;
        // a number of one digit is far in no unit, and one of three is not in pixels and percentages
        let is_far = digits >= 4 || digits >= 2 && !matches!(last, b'%' | b'x' | b'X');
        match self {
            Self::Display => first == b'n',
            Self::Security => first != b'n',
            Self::Visibility | Self::Contents => matches!(first, b'h' | b'c'),
            Self::Opacity | Self::LineHeight | Self::Zoom => {
                matches!(first, b'0' | b'.' | b'-' | b'+') || is_function || is_share
            }
            Self::FontSize | Self::Scale => is_small || is_share || is_function,
            Self::Height | Self::Width | Self::MaxHeight | Self::MaxWidth => is_small || is_function,
            Self::Font => value.split_ascii_whitespace().any(|word| {
                let is_long = word.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
                word.contains(['%', '(']) || word.starts_with(['0', '1', '2', '.', '+']) && !is_long
            }),
            Self::Left | Self::Top | Self::Right | Self::Bottom => {
                is_far_before(value) || is_function || is_far
            }
            Self::Margin => value.contains('(') || is_far_before(value),
            Self::Indent => value.contains('(') || is_far_before(value) || is_far || digits >= 3,
            Self::Letters => value.contains(['-', '(']) || is_far,
            Self::Inset | Self::Translate => {
                value.contains(['-', '(']) || value.len() >= 4 && first.is_ascii_digit()
            }
            // other colours have no alpha
            Self::Colour | Self::Fill => {
                first == b't' || value.contains('(') || first == b'#' && matches!(value.len(), 5 | 9..)
            }
            Self::Clip | Self::ClipPath | Self::Transform | Self::Mask | Self::Filter | Self::Rotate => {
                first != b'n'
            }
            Self::Position
            | Self::Overflow
            | Self::Background
            | Self::Ground
            | Self::Image
            | Self::GroundClip
            | Self::Shadow
            | Self::Stroke
            | Self::Animation
            | Self::Transition
            | Self::Float => false,
        }
    }
}

/// Returns false if the letters show that no number of the value is far below zero. Two digits in pixels or
/// percentages are not.
fn is_far_before(value: &str) -> bool {
    value.split('-').skip(1).any(|number| {
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let unit = number[digits..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        digits >= 3 || !(unit.starts_with("px") || unit.starts_with('%'))
    })
}
