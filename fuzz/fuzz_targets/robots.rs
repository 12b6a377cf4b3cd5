//! robots.txt: the first line is a path, the rest is the file.
#![no_main]

use crawl_fetch::RobotsTxt;
use crawl_fuzz::{first_line, in_linear_time};
use libfuzzer_sys::fuzz_target;

/// Agents: one with groups in the seeds, one of a family of names, one without groups.
const AGENTS: [&str; 3] = ["crawl", "crawl-images", "nobody"];

fuzz_target!(|data: &[u8]| {
    let (path, file) = first_line(data);
    let path = String::from_utf8_lossy(path);
    let parsed = in_linear_time(data.len(), || RobotsTxt::parse(file));
    let rewritten = RobotsTxt::parse(parsed.to_string().as_bytes());
    assert_eq!(parsed.sitemaps(), rewritten.sitemaps(), "written anew:\n{parsed}");
    for agent in AGENTS {
        let (rules, again) = (parsed.rules(agent), rewritten.rules(agent));
        let verdict = in_linear_time(data.len(), || rules.verdict_of_path(&path));
        assert_eq!(verdict, rules.verdict_of_path(&path));
        assert_eq!(verdict, RobotsTxt::parse(file).rules(agent).verdict_of_path(&path));
        // only a rule forbids, and a verdict has both its rule and its line or neither
        assert!(verdict.allowed || verdict.line.is_some());
        assert_eq!(verdict.line.is_some(), verdict.rule.is_some());
        assert_eq!(
            verdict.allowed,
            again.verdict_of_path(&path).allowed,
            "{agent} {path:?}, written anew:\n{parsed}"
        );
        assert_eq!(rules.crawl_delay(), again.crawl_delay(), "{agent}, written anew:\n{parsed}");
        assert!(rules.verdict_of_path("/robots.txt").allowed);
    }
});
