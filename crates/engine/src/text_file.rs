//! Text files of the user that were written on another system: other encodings, and paths with backslashes.

/// Returns the reason why bytes are not read as text. `head` are the first bytes of the file.
pub(crate) fn wrong_encoding(head: &[u8]) -> &'static str {
    if is_utf16(head) { "the file is UTF-16; save it as UTF-8" } else { "not UTF-8; save the file as UTF-8" }
}

/// Returns true for the byte order mark of UTF-16, which some shells write by default.
pub(crate) fn is_utf16(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// The words of the TOML parser, with advice for a path with backslashes.
pub(crate) fn toml_problem(message: &str) -> String {
    if ["escape", "unicode"].iter().any(|word| message.contains(word)) {
        return format!(
            "{message} (a backslash in double quotes begins an escape; put a path with backslashes in single quotes)"
        );
    }
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_backslashes_gets_advice() {
        for text in [r#"a = "C:\Users\me""#, r#"a = "C:\data""#, r#"a = "C:\x""#] {
            let error = text.parse::<toml::Table>().unwrap_err();
            let problem = toml_problem(error.message());
            assert!(problem.contains("single quotes"), "{text}: {problem}");
        }
        let other = "a = ".parse::<toml::Table>().unwrap_err();
        assert!(!toml_problem(other.message()).contains("single quotes"));
    }
}
