//! Random words of forty scripts, reproducible by seed.

/// A script: its name and the characters of its words, as ranges.
pub struct Script {
    pub name: &'static str,
    ranges: &'static [(char, char)],
}

/// Forty scripts, including those of all stemmers.
pub const SCRIPTS: [Script; 40] = [
    script("Latin", &[('a', 'z'), ('ß', 'ö'), ('ø', 'ÿ')]),
    script("Latin extended", &[('a', 'z'), ('ā', 'ž'), ('ș', 'ț')]),
    script("Greek", &[('ά', 'ώ')]),
    script("Greek, polytonic", &[('α', 'ω'), ('ἀ', 'ἕ'), ('\u{1f70}', '\u{1f7d}')]),
    script("Cyrillic", &[('а', 'ё')]),
    script("Cyrillic extended", &[('а', 'я'), ('ђ', 'џ'), ('ґ', 'ӏ')]),
    script("Armenian", &[('ա', 'և')]),
    script("Hebrew", &[('א', 'ת'), ('\u{5b0}', '\u{5bc}')]),
    script("Arabic", &[('ء', 'غ'), ('ف', 'ي'), ('\u{64b}', '\u{652}')]),
    script("Arabic of Persian", &[('ا', 'ي'), ('پ', 'گ'), ('\u{200c}', '\u{200d}')]),
    script("Syriac", &[('ܐ', 'ܬ')]),
    script("Thaana", &[('ހ', 'ޥ'), ('\u{7a6}', '\u{7b0}')]),
    script("N'Ko", &[('ߊ', 'ߪ')]),
    script("Devanagari", &[('अ', 'ह'), ('\u{93e}', '\u{94d}')]),
    script("Bengali", &[('অ', 'ঌ'), ('ক', 'ন'), ('\u{9be}', '\u{9c4}'), ('\u{9cd}', '\u{9cd}')]),
    script("Gurmukhi", &[('ਅ', 'ਊ'), ('ਕ', 'ਨ'), ('\u{a3e}', '\u{a42}')]),
    script("Gujarati", &[('અ', 'ઋ'), ('ક', 'ન'), ('\u{abe}', '\u{ac5}')]),
    script("Odia", &[('ଅ', 'ଌ'), ('କ', 'ନ'), ('\u{b3e}', '\u{b44}')]),
    script("Tamil", &[('அ', 'ஊ'), ('ம', 'ஹ'), ('\u{bbe}', '\u{bc2}'), ('\u{bcd}', '\u{bcd}')]),
    script("Telugu", &[('అ', 'ఌ'), ('క', 'న'), ('\u{c3e}', '\u{c44}')]),
    script("Kannada", &[('ಅ', 'ಌ'), ('ಕ', 'ನ'), ('\u{cbe}', '\u{cc4}')]),
    script("Malayalam", &[('അ', 'ഌ'), ('ക', 'ഹ'), ('\u{d3e}', '\u{d44}')]),
    script("Sinhala", &[('අ', 'ඖ'), ('ක', 'න'), ('\u{dcf}', '\u{dd4}')]),
    script("Thai", &[('ก', 'ฮ'), ('\u{e30}', '\u{e3a}'), ('เ', '\u{e4e}')]),
    script("Lao", &[('ກ', 'ຂ'), ('ດ', 'ທ'), ('\u{eb0}', '\u{eb9}')]),
    script("Tibetan", &[('ཀ', 'ཇ'), ('\u{f71}', '\u{f80}')]),
    script("Myanmar", &[('က', 'အ'), ('\u{102b}', '\u{1032}')]),
    script("Georgian", &[('ა', 'ჺ')]),
    script("Hangul", &[('가', '힣')]),
    script("Hangul, parts", &[('\u{1100}', '\u{1112}'), ('\u{1161}', '\u{1175}'), ('\u{11a8}', '\u{11c2}')]),
    script("Ethiopic", &[('ሀ', 'ቈ')]),
    script("Cherokee", &[('Ꭰ', 'Ᏼ')]),
    script("Khmer", &[('ក', 'អ'), ('\u{17b6}', '\u{17c5}')]),
    script("Mongolian", &[('ᠠ', 'ᡸ')]),
    script("Hiragana", &[('ぁ', 'ゖ')]),
    script("Katakana", &[('ァ', 'ヺ'), ('ー', 'ヾ')]),
    script("Han", &[('一', '龥')]),
    script("Han, beyond the first plane", &[('\u{20000}', '\u{2a6d6}')]),
    script("Tifinagh", &[('ⴰ', 'ⵧ')]),
    script("Anything", &[('\0', '\u{d7ff}'), ('\u{e000}', '\u{10ffff}')]),
];

const fn script(name: &'static str, ranges: &'static [(char, char)]) -> Script {
    Script { name, ranges }
}

/// Random numbers from a seed (Steele, Lea, Flood 2014).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((u128::from(z ^ (z >> 31))) * n as u128) >> 64) as usize
    }
}

impl Script {
    fn letter(&self, draw: &mut Draw) -> char {
        let (first, last) = self.ranges[draw.below(self.ranges.len())];
        let code = first as u32 + draw.below((last as u32 - first as u32 + 1) as usize) as u32;
        char::from_u32(code).unwrap_or(first)
    }

    /// A word of 1 to 16 letters. Half of them are drawn one by one, half repeat a syllable or two, since a
    /// stemmer removes endings one after another.
    pub fn word(&self, draw: &mut Draw) -> String {
        if draw.below(2) == 0 {
            return (0..=draw.below(16)).map(|_| self.letter(draw)).collect();
        }
        let syllables: [String; 2] = [1 + draw.below(3), 1 + draw.below(3)]
            .map(|letters| (0..letters).map(|_| self.letter(draw)).collect());
        (0..2 + draw.below(3)).map(|_| syllables[draw.below(4) / 3].as_str()).collect()
    }

    /// Words with separators.
    pub fn text(&self, words: usize, draw: &mut Draw) -> String {
        const BETWEEN: [&str; 8] = [" ", " ", " ", " ", ". ", "\n", ", ", "'s "];
        (0..words).map(|_| self.word(draw) + BETWEEN[draw.below(BETWEEN.len())]).collect()
    }
}
