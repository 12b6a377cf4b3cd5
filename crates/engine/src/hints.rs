//! Hints for the user about failures that are no failed requests, one sentence per kind. [`crawl_fetch::FetchError`]
//! has the hints for failed requests; docs/errors.md lists both.

/// Every kind that the error log names, sorted.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<_> =
        KINDS.iter().map(|(kind, _)| *kind).chain(REQUEST_KINDS.iter().copied()).collect();
    kinds.sort_unstable();
    kinds
}

/// Returns the hint for a kind of failure; empty for a kind of a failed request.
#[must_use]
pub fn of(kind: &str) -> &'static str {
    KINDS.iter().find(|(name, _)| *name == kind).map_or("", |(_, hint)| hint)
}

/// Reasons for which a page has no record and no line in the error log.
const SKIP_REASONS: [(&str, &str); 6] = [
    ("content_type", "its Content-Type is neither HTML, plain text nor Markdown"),
    ("sniffed_type", "its content is neither HTML, plain text nor Markdown"),
    ("attachment", "the server sends it as a download"),
    ("no_content", "its body is empty"),
    ("noindex", "it asks not to be indexed"),
    ("ai_optout", "the page or its site opts out of text mining; see crawl.respect_ai_optout"),
];

/// Reason for a kind of skipped page that has no line in the error log.
#[must_use]
pub fn left_out(kind: &str) -> Option<&'static str> {
    SKIP_REASONS.iter().find(|(of, _)| *of == kind).map(|(_, reason)| *reason)
}

/// Every kind that is not a [`crawl_fetch::FetchError`]'s, with its hint.
const KINDS: &[(&str, &str)] = &[
    ("ai_optout_unknown", "try again later, or set crawl.ai_optout_unknown to keep"),
    ("browser_proxy", "name an http:// proxy with --proxy, or use --strategy static to do without a browser"),
    ("crawl_delay", "leave the host out, or use --ignore-robots if the site is yours"),
    (
        "duplicate",
        "omit --drop-duplicates to keep it; if its similarity is below 1, a higher near_duplicates.jaccard keeps it too",
    ),
    ("held_unreadable", "check the disk: it returns different bytes than were written to the state"),
    ("host_dead", "look at the first failures of the host, and run the same command again when it is back"),
    ("internal", "please report it with the URL: no page should be able to do that"),
    ("redirect_loop", "try --cookies; if a browser loops as well, the site's owner has to fix it"),
    ("retry_after", "run the same command again after that time, or raise politeness.max_retry_after"),
    ("robots_disallowed", "leave it out, or use --ignore-robots if the site is yours"),
    ("robots_unreachable", "try again later, or use --ignore-robots if the site is yours"),
    ("sitemap", "the site's owner has to fix the file; crawl check sitemap shows what is read from it"),
    ("too_many_redirects", "look at the URL in a browser; if it ends there, name the last URL as a seed"),
    ("trap_calendar", "raise traps.calendar_years, or name the page as a seed"),
    ("trap_host_bytes", "raise traps.host_bytes if the host really has that many pages"),
    ("trap_host_urls", "raise traps.host_urls if the host really has that many pages"),
    ("trap_hosts", "raise traps.hosts_per_domain, or name the host as a seed"),
    ("trap_links", "raise traps.links_per_page"),
    ("trap_parameters", "name the page as a seed"),
    ("trap_path_depth", "name the page as a seed"),
    ("trap_repeated_segment", "name the page as a seed"),
    ("trap_sitemap_hosts", "raise crawl.sitemap_hosts if the files are the site's"),
    ("trap_sitemaps", "raise crawl.sitemap_files"),
    ("trap_template", "raise traps.template_credit, or name the page as a seed"),
];

/// Kinds of a [`crawl_fetch::FetchError`] or a [`crawl_chrome::RenderError`] that end a URL.
const REQUEST_KINDS: &[&str] = &[
    "address_blocked",
    "bad_redirect",
    "browser_launch",
    "browser_lost",
    "browser_missing",
    "browser_network",
    "browser_protocol",
    "browser_sandbox",
    "connect",
    "connection_lost",
    "content_encoding",
    "dns",
    "http_status",
    "invalid_url",
    "navigation",
    "page_crashed",
    "page_hung",
    "page_memory",
    "protocol",
    "renderer_closed",
    "timeout",
    "tls",
    "too_large",
    "too_slow",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_chrome::RenderError;
    use crawl_fetch::{FetchError, Phase, Trap};
    use std::time::Duration;

    const DOCS: &str = include_str!("../../../docs/errors.md");

    /// Cell with the remedy in the row of a kind.
    fn documented(kind: &str) -> &'static str {
        let row = DOCS.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/errors.md has no row for {kind}"));
        row.trim_end_matches('|').rsplit('|').next().unwrap().trim()
    }

    fn plain(text: &str) -> String {
        text.replace('`', "")
    }

    #[test]
    fn error_kinds_match_the_documentation() {
        let mut rows: Vec<&str> = DOCS
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(kind, _)| kind)
            .collect();
        rows.sort_unstable();
        assert_eq!(kinds(), rows);
    }

    #[test]
    fn every_kind_is_documented_with_its_hint() {
        for (kind, hint) in KINDS {
            assert_eq!(plain(documented(kind)), *hint, "{kind}");
        }
        let (host, reason) = (String::new, String::new);
        let errors = [
            FetchError::Url(reason()),
            FetchError::Dns { host: host(), reason: reason(), is_unknown: true },
            FetchError::Timeout { phase: Phase::Body, limit: Duration::ZERO },
            FetchError::TooSlow { min_rate: 1 },
            FetchError::ConnectionLost(reason()),
            FetchError::Protocol(reason()),
            FetchError::TooLarge { announced: 1, cap: 0 },
            FetchError::Encoding { coding: host(), reason: reason() },
            FetchError::Redirect(reason()),
        ];
        for error in errors {
            assert_eq!(plain(documented(error.kind())), error.hint());
        }
        for reason in ["", "InvalidContentType", "its certificate belongs to an authority (CA:TRUE)"] {
            let hint = FetchError::Tls { host: host(), reason: reason.to_owned() }.hint();
            assert!(plain(documented("tls")).contains(&hint), "{hint}");
        }
        for (reason, proxy) in [
            ("", false),
            ("", true),
            ("tls handshake eof", false),
            ("tunnel error: unsuccessful", false),
            ("tunnel error: proxy authorization required", false),
        ] {
            let hint = FetchError::Connect { host: host(), reason: reason.to_owned(), proxy }.hint();
            assert!(plain(documented("connect")).contains(&hint), "{hint}");
        }
        let errors = [
            RenderError::Missing(reason()),
            RenderError::Sandbox,
            RenderError::Launch { path: "chromium".into(), reason: reason() },
            RenderError::Navigation(reason()),
            RenderError::Network(reason()),
            RenderError::Hung,
            RenderError::Crashed,
            RenderError::BrowserLost(reason()),
            RenderError::Protocol(reason()),
            RenderError::Closed,
        ];
        for error in errors {
            assert_eq!(plain(documented(error.kind())), error.hint());
        }
        // these depend on the address and the status
        assert!(documented("address_blocked").contains("--allow-address"));
        for status in [401, 403, 404, 407, 429, 451, 503, 418] {
            let hint = FetchError::Status(status).hint();
            assert!(plain(documented("http_status")).contains(&hint), "{status}: {hint}");
        }
    }

    #[test]
    fn every_trap_has_a_hint() {
        let text = String::new;
        for trap in [
            Trap::PathDepth(1),
            Trap::RepeatedSegment(text()),
            Trap::Parameters(1),
            Trap::Calendar(1),
            Trap::Pattern(text()),
            Trap::Hosts(text()),
            Trap::Links(1),
        ] {
            let hint = of(trap.kind());
            assert!(hint.contains("traps.") || hint.contains("as a seed"), "{}", trap.kind());
        }
    }
}
