//! The known name that an unknown one perhaps means.

/// Names of other programs for settings of this one.
const ALIASES: &[(&str, &str)] = &[
    ("max_depth", "depth"),
    ("depth_limit", "depth"),
    ("max_pages", "limit"),
    ("max_urls", "limit"),
    ("max_records", "limit"),
    ("max_duration", "max_time"),
    ("download_delay", "delay"),
    ("crawl_delay", "delay"),
    ("rate_limit", "delay"),
    ("max_concurrency", "concurrency"),
    ("concurrent_requests", "concurrency"),
    ("file", "append"),
    ("path", "append"),
    ("allow", "include"),
    ("deny", "exclude"),
    ("robots", "obey_robots"),
    ("robotstxt_obey", "obey_robots"),
    ("host", "match"),
    ("hosts", "match"),
    ("domain", "match"),
    ("browser", "chrome"),
    ("never", "none"),
];

/// Letters of a name for each edit that it may differ by; one edit is always allowed.
const LETTERS_AN_EDIT: usize = 5;

/// The known name that is most like a given one, or means the same in other programs. A name is like another if it differs in few
/// letters (edit distance): a wrong guess is worse than none.
pub fn nearest<'a, T>(given: &str, known: impl Iterator<Item = &'a T>) -> Option<String>
where
    T: AsRef<str> + ?Sized + 'a,
{
    let alias = ALIASES.iter().find(|(alias, _)| *alias == given).map(|(_, name)| *name);
    let mut best: Option<(usize, &str)> = None;
    for name in known.map(AsRef::as_ref) {
        if alias == Some(name) {
            return Some(name.to_owned());
        }
        let distance = strsim::osa_distance(given, name);
        if is_near(distance, given, name) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name.to_owned())
}

/// The parser's message about a word that a setting does not know, in plain words, and the word that was perhaps meant. `None` for
/// another message.
pub(super) fn of_unknown_word(message: &str) -> Option<(String, Option<String>)> {
    let (given, known) = message.strip_prefix("unknown variant `")?.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some((format!("\"{given}\" is not one of {}", known.join(", ")), nearest(given, known.iter())))
}

/// Returns true if two names are spellings of one.
#[must_use]
pub fn is_misspelled(given: &str, name: &str) -> bool {
    is_near(strsim::osa_distance(given, name), given, name)
}

fn is_near(distance: usize, given: &str, name: &str) -> bool {
    let shorter = given.chars().count().min(name.chars().count());
    distance <= (shorter / LETTERS_AN_EDIT).max(1) && distance < shorter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspellings_and_aliases_are_guessed() {
        let of = |given: &str, known: &[&str]| nearest(given, known.iter().copied());
        let keys = ["depth", "max_time", "limit", "delay", "include", "match"];
        for (given, meant) in [
            ("depht", Some("depth")),
            ("limt", Some("limit")),
            ("dealy", Some("delay")),
            ("max_depth", Some("depth")),
            ("max_pages", Some("limit")),
            ("hosts", Some("match")),
            ("max_size", None),
            ("insecure", None),
            ("timeout", None),
        ] {
            assert_eq!(of(given, &keys).as_deref(), meant, "{given}");
        }
        assert_eq!(of("path", &["append", "batch"]).as_deref(), Some("append"));
        assert_eq!(of("path", &["batch"]), None);
        assert_eq!(of("a", &["b"]), None);
    }

    #[test]
    fn an_unknown_word_is_told_without_terms_of_the_parser() {
        let words = "unknown variant `browser`, expected one of `auto`, `static`, `chrome`";
        let problem = "\"browser\" is not one of auto, static, chrome".to_owned();
        assert_eq!(of_unknown_word(words), Some((problem, Some("chrome".to_owned()))));
        let of_two = of_unknown_word("unknown variant `sit`, expected `exact` or `site`");
        assert_eq!(of_two, Some(("\"sit\" is not one of exact, site".to_owned(), Some("site".to_owned()))));
        assert_eq!(of_unknown_word("invalid type: string \"x\""), None);
    }
}
