use super::*;
use crawl_model::CachedRobots;
use std::sync::Arc;

fn verdict(robots: &str, token: &str, path: &str) -> bool {
    RobotsTxt::parse(robots.as_bytes()).rules(token).verdict_of_path(path).allowed
}

#[test]
fn the_most_specific_rule_decides_and_names_its_line() {
    let robots =
        RobotsTxt::parse(b"# us\nUser-agent: crawl\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/*.x$\n");
    let url = |path: &str| Url::parse(&format!("http://h{path}")).unwrap();
    let decided = robots.verdict("crawl", &url("/a/b/c?d"));
    assert_eq!(
        (decided.allowed, decided.line, decided.rule.as_deref()),
        (true, Some(4), Some("Allow: /a/b"))
    );
    let decided = robots.verdict("crawl", &url("/a/b/c.x"));
    assert_eq!((decided.allowed, decided.line), (false, Some(5)));
    assert_eq!(robots.verdict("crawl", &url("/")), RobotsVerdict { allowed: true, line: None, rule: None });
}

#[test]
fn allow_wins_over_an_equally_long_disallow() {
    assert!(verdict("user-agent: *\ndisallow: /p\nallow: /p\n", "x", "/p"));
    assert!(verdict("user-agent: *\nallow: /p\ndisallow: /p\n", "x", "/p"));
}

#[test]
fn groups_of_one_user_agent_are_merged() {
    let robots = "user-agent: a\ndisallow: /1\n\nuser-agent: b\nuser-agent: A/2.0\ndisallow: /2\nuser-agent: *\ndisallow: /";
    assert!(!verdict(robots, "a", "/1"));
    assert!(!verdict(robots, "A", "/2"));
    assert!(verdict(robots, "a", "/3"));
    assert!(!verdict(robots, "c", "/3"));
    assert!(verdict(robots, "b", "/1"));
}

#[test]
fn rule_before_any_user_agent_is_ignored() {
    assert!(verdict("disallow: /\nuser-agent: *\ndisallow: /x", "a", "/y"));
}

#[test]
fn line_ends_bom_comments_and_binary_data_are_tolerated() {
    for end in ["\n", "\r", "\r\n", "\n\n"] {
        let robots = ["\u{feff}User-agent: *", "Disallow: /private # why", ""].join(end);
        assert!(!verdict(&robots, "a", "/private"), "{end:?}");
        assert!(verdict(&robots, "a", "/"), "{end:?}");
    }
    let rubbish = RobotsTxt::parse(b"User-agent: *\0\nDisallow: /a\n\xff\xfe\nDisallow: \xc3\xa9\n");
    assert!(!rubbish.rules("x").verdict_of_path("/a").allowed);
    assert!(!verdict("User-agent: a\0\0crawl\0\nDisallow: /", "crawl", "/x"));
}

#[test]
fn user_agent_names_match_with_versions_lists_and_families() {
    let robots = "user-agent: Bot4/1.0, bot5 # two\ndisallow: /x\nuser-agent: fam\ndisallow: /y\nuser-agent: *\ndisallow: /";
    for (name, path, expected) in [
        ("bot4", "/y", true),
        ("Bot5/2.0", "/x", false),
        ("bot6", "/y", false),
        ("bot", "/y", false),
        ("fam-images", "/x", true),
        ("Mozilla/5.0 (compatible; fam/1.0; +http://h/)", "/y", false),
        ("family", "/x", false),
    ] {
        assert_eq!(verdict(robots, name, path), expected, "{name} at {path}");
    }
}

#[test]
fn crawl_delay_does_not_end_a_user_agent_group() {
    let robots =
        RobotsTxt::parse(b"user-agent: a\ncrawl-delay: 3\nuser-agent: b\ndisallow: /x\ncrawl-delay: 9\n");
    assert!(!robots.rules("a").verdict_of_path("/x").allowed);
    assert_eq!(robots.crawl_delay("a"), Some(Duration::from_secs(3)));
    assert_eq!(robots.crawl_delay("b"), Some(Duration::from_secs(9)));
}

#[test]
fn missing_colons_markup_and_utf16_are_tolerated() {
    assert!(!verdict("user agent crawl\ndisallow /x", "crawl", "/x"));
    let html = "<!DOCTYPE html>\n<body>\nUser-agent: *<br>\nDisallow: /x<br>\n</body>";
    assert!(!verdict(html, "crawl", "/x") && verdict(html, "crawl", "/"));
    assert!(verdict("<html>User-agent: *<br>Disallow: /</html>", "crawl", "/"), "one line is no robots.txt");
    let utf16: Vec<u8> =
        "\u{feff}user-agent: *\ndisallow: /x".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert!(!RobotsTxt::parse(&utf16).rules("a").verdict_of_path("/x").allowed);
    let sitemaps = RobotsTxt::parse(b"http://h/Sitemap-1.xml\nhttp://h/other\nsitemap: /s\nsitemap: /s\n");
    assert_eq!(sitemaps.sitemaps(), ["http://h/Sitemap-1.xml", "/s"]);
}

#[test]
fn allowed_index_html_allows_its_directory() {
    let robots = "user-agent: *\ndisallow: /\nallow: /d/index.html";
    assert!(verdict(robots, "a", "/d/") && verdict(robots, "a", "/d/index.html"));
    assert!(!verdict(robots, "a", "/d/x") && !verdict(robots, "a", "/"));
}

#[test]
fn robots_txt_itself_is_always_allowed() {
    assert!(verdict("user-agent: *\ndisallow: /", "a", "/robots.txt"));
}

#[test]
fn crawl_delay_and_sitemaps_are_parsed() {
    let robots = RobotsTxt::parse(
        b"Sitemap: https://h/a.xml\nuser-agent: a\ncrawl-delay: 1.5\nuser-agent: *\ncrawl-delay: 1e9\nsitemap: /b.xml",
    );
    assert_eq!(robots.crawl_delay("a"), Some(Duration::from_millis(1500)));
    assert_eq!(robots.crawl_delay("z"), Some(Duration::from_secs(86_400)));
    assert_eq!(robots.sitemaps(), ["https://h/a.xml", "/b.xml"]);
    for nonsense in ["-1", "soon", "nan", ""] {
        let text = format!("user-agent: *\ncrawl-delay: {nonsense}");
        assert_eq!(RobotsTxt::parse(text.as_bytes()).crawl_delay("a"), None, "{nonsense}");
    }
}

#[test]
fn reported_memory_covers_hostile_rules() {
    let parsed = |line: &str, count: usize| {
        RobotsTxt::parse(format!("user-agent: *\n{}", line.repeat(count)).as_bytes())
            .rules("crawl")
            .heap_bytes()
    };
    assert_eq!(parsed("", 1), 0);
    let (rules, stars) =
        (parsed("allow:/\n", 10_000), parsed(&format!("allow:/{}\n", "*a".repeat(1_000)), 40));
    assert!((1_000_000..4_000_000).contains(&rules), "80 kB of short rules: {rules}");
    assert!((1_000_000..4_000_000).contains(&stars), "80 kB of stars: {stars}");
}

#[test]
fn the_status_decides_before_the_rules() {
    let policy = |status| {
        let body: Arc<[u8]> = Arc::from(&b"user-agent: *\ndisallow: /x"[..]);
        RobotsPolicy::from_cached(&CachedRobots { status, body, fetched_at_ms: 0 }, "crawl")
    };
    let (x, y) = (Url::parse("http://h/x").unwrap(), Url::parse("http://h/y").unwrap());
    assert!(!policy(200).verdict(&x).allowed && policy(200).verdict(&y).allowed);
    for status in [301, 400, 401, 403, 404, 410, 451] {
        assert!(policy(status).verdict(&x).allowed, "{status}");
    }
    for status in [0, 429, 500, 503, 999] {
        assert!(!policy(status).verdict(&y).allowed && policy(status).is_unreachable(), "{status}");
    }
}

#[test]
fn parsed_rules_round_trip_as_text() {
    let text = "user-agent: a\nCrawl-delay: 1.5\nuser-agent: b/2\nallow: /x%7e*$\ndisallow: *\nuser-agent: c\ndisallow:\n\
                user-agent: /x\ndisallow: /\nuser-agent: d\ndisallow: /caf\u{e9}\nsitemap: https://h/map\nsitemap: https://h/map";
    let robots = RobotsTxt::parse(text.as_bytes());
    let written = robots.to_string();
    assert_eq!(
        written,
        "User-agent: a\nCrawl-delay: 1.5\nUser-agent: b\nAllow: /x~*$\nDisallow: *\n\n\
         User-agent: c\nDisallow:\n\nUser-agent:\nDisallow: /\n\nUser-agent: d\nDisallow: /caf%C3%A9\n\n\
         Sitemap: https://h/map\n"
    );
    let again = RobotsTxt::parse(written.as_bytes());
    for agent in ["a", "b", "c", "d", "e"] {
        let (rules, rules_again) = (robots.rules(agent), again.rules(agent));
        assert_eq!(rules.crawl_delay(), rules_again.crawl_delay(), "{agent}");
        for path in ["/", "/x~1", "/caf%c3%a9", "/y"] {
            let (verdict, verdict_again) = (rules.verdict_of_path(path), rules_again.verdict_of_path(path));
            assert_eq!(verdict.allowed, verdict_again.allowed, "{agent} {path}");
        }
    }
}

#[test]
fn many_sitemaps_or_names_parse_in_linear_time() {
    // The maximum size of a robots.txt; comparing each line with all earlier ones took seconds.
    let sitemaps: String = (0..35_000).map(|n| format!("Sitemap: {n:05}\n")).collect();
    let agents: String = (0..70_000).map(|n| format!("{n:x},")).collect();
    let names = format!("User-agent: {agents}\nDisallow: /\n");
    let started = cpu_time::ThreadTime::now();
    assert_eq!(RobotsTxt::parse(sitemaps.as_bytes()).sitemaps().len(), 35_000);
    assert!(RobotsTxt::parse(names.as_bytes()).rules("nobody").verdict_of_path("/").allowed);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn allowed_index_pattern_allows_its_directory() {
    for value in ["/a/index.html", "/a/index.htm", "/a/index.html*", "/a/%69ndex.html$", "*/index.html?x"] {
        let robots = format!("user-agent: *\ndisallow: /\nallow: {value}");
        assert!(verdict(&robots, "x", "/a/"), "{value}");
        assert!(!verdict(&robots, "x", "/a/b"), "{value}");
    }
    assert!(!verdict("user-agent: *\ndisallow: /\nallow: /a/my-index.html", "x", "/a/"));
}
