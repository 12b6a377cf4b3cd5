//! Classes of characters by their use. The standard library knows no scripts and no emoji.

/// Returns true if the character may be invisible and needs a closer check.
#[inline]
pub(super) const fn is_suspect(c: char) -> bool {
    if (c as u32) < 0xad {
        return is_control(c);
    }
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    ) || is_mark(c)
}

/// First bytes of the UTF-8 forms of [`is_suspect`] characters.
pub(super) const BEGINS_SUSPECT: [bool; 256] = {
    let mut begins = [false; 256];
    let mut byte = 0;
    while byte < begins.len() {
        begins[byte] = matches!(byte, 0..=0x08 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xcc | 0xcd | 0xd2 | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3);
        byte += 1;
    }
    begins
};

/// Returns true for a control character (C0, DEL, C1) other than a tab or a line feed.
pub(super) const fn is_control(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n') || matches!(c, '\u{80}'..='\u{9f}')
}

/// Returns true if the only use of the character is to carry another one.
pub(super) const fn is_carrier(c: char) -> bool {
    matches!(
        c,
        '\u{202d}' | '\u{202e}' | '\u{2061}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns true for marks on any letter, unlike those of one script.
pub(super) const fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    ) && c != '\u{34f}'
}

/// Returns true for embeddings, overrides and isolates, and for their ends.
pub(super) const fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for letters of right-to-left scripts.
pub(super) const fn is_rtl(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    ) && c != '\u{61c}'
}

/// Returns true for letters whose form a joiner changes: Arabic and related scripts, Indic scripts and their
/// descendants, Mongolian.
pub(super) const fn can_join(c: char) -> bool {
    matches!(
        c,
        '\u{600}'..='\u{61b}'
            | '\u{61d}'..='\u{8ff}'
            | '\u{900}'..='\u{dff}'
            | '\u{f00}'..='\u{109f}'
            | '\u{1700}'..='\u{180a}'
            | '\u{1810}'..='\u{18af}'
            | '\u{1900}'..='\u{1aaf}'
            | '\u{1b00}'..='\u{1cff}'
            | '\u{a800}'..='\u{abff}'
            | '\u{fb50}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefc}'
            | '\u{10a00}'..='\u{11fff}'
            | '\u{1e900}'..='\u{1e95f}'
    )
}

/// Returns true for letters of scripts without spaces, in which an invisible character ends a word: Thai,
/// Lao, Burmese, Khmer and related scripts.
pub(super) const fn is_unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}'
            | '\u{f00}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{1950}'..='\u{19ff}'
            | '\u{1a20}'..='\u{1aaf}'
            | '\u{a9e0}'..='\u{a9ff}'
            | '\u{aa60}'..='\u{aadf}'
    )
}

/// Returns true for emoji, symbols with an emoji form, and ends of emoji.
pub(super) const fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}'
            | '\u{ae}'
            | '\u{203c}'
            | '\u{2049}'
            | '\u{20e3}'
            | '\u{2100}'..='\u{214f}'
            | '\u{2190}'..='\u{2bff}'
            | '\u{3030}'
            | '\u{303d}'
            | '\u{3297}'
            | '\u{3299}'
            | '\u{fe0f}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Returns true for letters and symbols with variants in print: ideographs, letters of Burmese and Phags-pa,
/// mathematical symbols.
pub(super) const fn has_variants(c: char) -> bool {
    matches!(
        c,
        '\u{1000}'..='\u{109f}'
            | '\u{2190}'..='\u{2bff}'
            | '\u{3000}'..='\u{303f}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{a840}'..='\u{a87f}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff01}'..='\u{ff60}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

pub(super) const fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1810}'..='\u{18af}')
}

/// Returns true for conjoining parts of a Hangul syllable.
pub(super) const fn is_conjoining(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{a960}'..='\u{a97f}' | '\u{d7b0}'..='\u{d7ff}')
}
