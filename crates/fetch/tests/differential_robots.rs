//! The crate `robotstxt`, a port of Google's parser, is the oracle for generated files and paths.
//!
//! Three kinds of input are left out, since the port differs from RFC 9309. It does not decode percent-encoded
//! unreserved characters. Lines of other keys end a list of user agents. A star takes the first match only, so
//! that `/*b$` does not match `/bb`; `suite_robots.rs` has the cases of Google's own tests with stars.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_fetch::RobotsTxt;
use proptest::{prelude::*, sample::select};
use robotstxt::DefaultMatcher;
use url::Url;

const TOKEN: &str = "crawl";

fn line() -> impl Strategy<Value = String> {
    let agent = select(vec!["*", TOKEN, "CRAWL", "crawl/2.0", "other", "crawler", ""]);
    let key = select(vec!["Allow", "allow", "Disallow", "DISALLOW", "disallow "]);
    let comment = select(vec!["", " # why", "#", "  "]);
    prop_oneof![
        2 => agent.prop_map(|agent| format!("User-agent: {agent}")),
        5 => (key, "(/[abc$?=&.]{0,6})?", comment)
            .prop_map(|(key, path, end)| format!("{key}: {path}{end}")),
        1 => select(vec!["", "   ", "# a comment"])
            .prop_map(str::to_owned),
    ]
}

fn file() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..14), select(vec!["\n", "\r\n", "\r"]))
        .prop_map(|(lines, end)| lines.join(end))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_equal_those_of_googles_parser(
        file in file(),
        paths in prop::collection::vec("/[abc.]{0,6}([?][abc=&]{0,3})?", 1..8),
    ) {
        let rules = RobotsTxt::parse(file.as_bytes()).rules(TOKEN);
        for path in paths {
            // without dot segments, which the crate `url` resolves
            let url: Url = format!("https://example.org{path}").parse().unwrap();
            let expected = DefaultMatcher::default().one_agent_allowed_by_robots(&file, TOKEN, url.as_str());
            let verdict = rules.verdict(&url);
            prop_assert_eq!(verdict.allowed, expected, "{} by {:?}: {:?}", url, verdict, file);
        }
    }
}
