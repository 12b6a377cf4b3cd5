//! Generator of `docs/settings.md` from `config/crawl.toml`. `tests.rs` checks that file against the types.

use super::DEFAULTS;
use std::fmt::Write as _;

const HEAD: &str = "\
# Settings

This page lists every setting with its default, section by section. Most crawls need none. A settings file, given with `--config`,
needs only the settings that differ from the default:

```toml
[politeness]
delay = \"2s\"
```

Flags override environment variables, which override the settings file, which overrides the defaults. The environment variable
for `delay` of `[politeness]` is `CRAWL_POLITENESS_DELAY`. `crawl --help` lists the flags. Unknown keys are errors.
`crawl check config FILE` checks a settings file, and `crawl config` prints the effective settings.

Durations are written `\"200ms\"`, `\"1s\"`, `\"2m 30s\"`, sizes `\"512 KiB\"`, `\"16 MiB\"`. The word `\"unlimited\"` removes a limit.
A table `[[site]]` has settings for [single sites](commands.md#settings-by-site).

This page is generated from [`config/crawl.toml`](../config/crawl.toml), the source of the defaults.
";

/// Renders the page.
fn page() -> String {
    let mut out = HEAD.to_owned();
    let (mut comment, mut keys): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lines = DEFAULTS.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix('#') {
            flush(&mut out, &mut comment, &mut keys);
            comment.push(words.trim());
        } else if let Some(section) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            flush(&mut out, &mut comment, &mut keys);
            comment.clear();
            let _ = write!(out, "\n## `[{section}]`\n\n");
        } else if let Some((key, value)) = line.split_once('=') {
            let mut value = value.trim().to_owned();
            // a list over several lines
            while value.starts_with('[') && !value.ends_with(']') {
                let Some(next) = lines.next() else { break };
                value.push(' ');
                value.push_str(next.trim());
            }
            keys.push(format!("**`{}`** = `{value}`", key.trim()));
        }
    }
    flush(&mut out, &mut comment, &mut keys);
    out
}

/// Writes the keys below a comment. If no key has followed the comment yet, it continues.
fn flush(out: &mut String, comment: &mut Vec<&str>, keys: &mut Vec<String>) {
    if keys.is_empty() {
        return;
    }
    let _ = writeln!(out, "- {}", keys.join(", "));
    if !comment.is_empty() {
        let _ = writeln!(out, "  <br>{}", comment.join("\n  ").replace('<', "&lt;"));
    }
    comment.clear();
    keys.clear();
}

#[test]
fn settings_page_matches_the_defaults() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == page,
        "docs/settings.md is not up to date: UPDATE_DOCS=1 cargo nextest run -p crawl-engine settings_page"
    );
}
