//! Names of lines: `config/rules/robots_keys.toml`.

use serde::Deserialize;
use std::sync::LazyLock;

const FILE: &str = "robots_keys.toml";
const TEXT: &str = include_str!("../../../../config/rules/robots_keys.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    user_agent: Vec<String>,
    allow: Vec<String>,
    disallow: Vec<String>,
    crawl_delay: Vec<String>,
    sitemap: Vec<String>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| crate::rules::embedded(FILE, TEXT));

/// Key of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

fn table() -> [(Key, &'static [String]); 5] {
    let names = &*NAMES;
    [
        (Key::Disallow, &names.disallow),
        (Key::Allow, &names.allow),
        (Key::UserAgent, &names.user_agent),
        (Key::Sitemap, &names.sitemap),
        (Key::CrawlDelay, &names.crawl_delay),
    ]
}

impl Key {
    /// The key of this name, in any case.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let is = |known: &String| name.eq_ignore_ascii_case(known.as_bytes());
        table().into_iter().find(|(_, names)| names.iter().any(is)).map(|(key, _)| key)
    }

    /// Key at the start of a line without a colon, and the rest of the line.
    pub(super) fn leading(line: &[u8]) -> Option<(Self, &[u8])> {
        let after = |known: &String| {
            let (head, rest) = line.split_at_checked(known.len())?;
            (head.eq_ignore_ascii_case(known.as_bytes()) && matches!(rest.first(), Some(b' ' | b'\t')))
                .then_some(rest)
        };
        table().into_iter().find_map(|(key, names)| names.iter().find_map(after).map(|rest| (key, rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_key_names_parse_and_are_unique() {
        crate::rules::parse::<Names>(FILE, TEXT).unwrap();
        let mut all: Vec<&String> = table().into_iter().flat_map(|(_, names)| names).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|name| **name == name.to_ascii_lowercase()));
        assert_eq!(Key::named(b"USER-agent"), Some(Key::UserAgent));
        assert_eq!(Key::leading(b"Disallow\t/x"), Some((Key::Disallow, &b"\t/x"[..])));
        assert_eq!(Key::leading(b"disallowed /x"), None);
    }
}
