//! Ends of sentences in many scripts.

/// Returns true if a text ends as a sentence does, with or without closing quotes, brackets and numbers of
/// notes.
///
/// An ellipsis is no end, since it marks a text that was cut. Thai and Lao text never ends so: it has no mark
/// for the end of a sentence.
pub(crate) fn ends_sentence(text: &str) -> bool {
    const ENDS: [char; 16] =
        ['.', '!', '?', '。', '｡', '！', '？', '．', '؟', '۔', '।', '॥', '։', '።', '။', '។'];
    let text = trim_closing(text);
    text.strip_suffix(ENDS).is_some_and(|rest| !(text.ends_with(DOTS) && rest.ends_with(DOTS)))
}

/// Dots of which two in a row are an ellipsis, and the ellipsis itself.
const DOTS: [char; 5] = ['.', '…', '。', '｡', '．'];

/// Text without white space, closing quotes and brackets, and numbers of notes such as `[1]` at its end.
fn trim_closing(text: &str) -> &str {
    const CLOSING: [char; 19] = [
        '"', '\'', '”', '’', '“', '‘', '»', '«', '›', '‹', '」', '』', '】', '》', '〉', ')', '）', ']', '］',
    ];
    let mut text = text;
    loop {
        text = text.trim_end();
        let before_note = text
            .strip_suffix([']', '］'])
            .and_then(|inner| inner.trim_end_matches(char::is_numeric).strip_suffix(['[', '［']));
        match before_note.or_else(|| text.strip_suffix(CLOSING)) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_with_its_mark() {
        for text in [
            "It sails.",
            "It sails!",
            "Does it sail? ",
            "“It sails.”",
            "(It sails.)",
            "»It sails.«",
            "›It sails.‹",
            "It sails.[1]",
            "It sails. [1] [12]",
            "It sails.[1]”",
            "[It sails.]",
            "船が出る。",
            "船が出る｡",
            "「船が出る。」",
            "【船が出る。】",
            "《船が出る。》",
            "〈船が出る！〉",
            "船出？",
            "नाव चलती है।",
            "هل يبحر؟",
            "كشتی می‌رود۔",
            "Նավը։",
            "သင်္ဘော။",
            "ទូក។",
        ] {
            assert!(ends_sentence(text), "{text}");
        }
        for text in [
            "",
            "[1]",
            "It sails",
            "It sails…",
            "It sails ...",
            "It sails..",
            "It sails [...]",
            "It sails […]",
            "It sails….",
            "It sails:",
            "It sails [1]",
            "“It sails”",
            "船が出る",
            "船が出る。。。",
            "船が出る…。",
            "เรือออก",
            "See [chart]",
        ] {
            assert!(!ends_sentence(text), "{text}");
        }
    }
}
