use super::*;
use std::{cell::Cell, time::Duration};

fn none() -> impl Iterator<Item = (String, String)> {
    std::iter::empty()
}

pub(super) fn with_file(text: &str) -> Result<Config, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    load(Some(file.path()), none(), vec![])
        .map_err(|e| e.to_string().replace(&file.path().display().to_string(), "FILE"))
}

#[test]
fn default_file_holds_every_setting() {
    // deny_unknown_fields and the absence of serde defaults make this one call compare both directions
    let config = load(None, none(), vec![]).unwrap();
    assert_eq!(config.politeness.delay, Duration::from_secs(1));
    assert_eq!(config.crawl.limit, Limit(None));
    assert_eq!(config.fetch.max_body.as_u64(), 8 << 20);
}

#[test]
fn every_default_is_explained() {
    let mut explained = false;
    for line in DEFAULTS.lines() {
        match line.trim() {
            "" => explained = false,
            l if l.starts_with('#') => explained = true,
            l if l.starts_with('[') => explained = false,
            // a comment may speak for the keys that follow it without a blank line
            l if explained || matches!(l.split(' ').next(), Some("images")) => {}
            l => panic!("no comment above {l}"),
        }
    }
}

#[test]
fn flags_override_environment_file_and_defaults() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[fetch]\nretries = 7\nconcurrency = 3\n[politeness]\ndelay = \"2s\"\n")
        .unwrap();
    let env = [
        ("CRAWL_POLITENESS_DELAY", "3s"),
        ("CRAWL_FETCH_CONCURRENCY", "4"),
        ("CRAWL_CRAWL_LIMIT", "9"),
        ("PATH", "/bin"),
    ];
    let flags = vec![Override { flag: "--delay", key: "politeness.delay", value: "4s".into() }];
    let config =
        load(Some(file.path()), env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())), flags).unwrap();
    assert_eq!(config.politeness.delay, Duration::from_secs(4));
    assert_eq!(config.fetch.concurrency, 4);
    assert_eq!(config.fetch.retries, 7);
    assert_eq!(config.crawl.limit, Limit(Some(9)));
    assert_eq!(config.politeness.host_concurrency, 1);
}

#[test]
fn errors_name_file_line_key_and_the_nearest_name() {
    let error = with_file("[fetch]\nretries = 1\nconcurency = 3\n").unwrap_err();
    assert_eq!(error, "FILE:3: fetch.concurency: unknown key; did you mean \"concurrency\"?");
    let error = with_file("[fetsh]\n").unwrap_err();
    assert_eq!(error, "FILE:1: fetsh: unknown section; did you mean \"fetch\"?");
    let error = with_file("depth = 2\n").unwrap_err();
    assert_eq!(error, "FILE:1: depth: a key of the section [crawl]: write it below that line");
    let error = with_file("\n[politeness]\ndelay = 3\n").unwrap_err();
    assert!(error.starts_with("FILE:3: politeness.delay: \"3\" has no unit; write \"3s\""), "{error}");
    let error = with_file("\n[politeness]\ndelay = 0.5\n").unwrap_err();
    assert_eq!(error, "FILE:3: politeness.delay: expected a duration such as \"1s\", not 0.5");
    assert_eq!(with_file("[politeness]\ndelay = 0\n").unwrap().politeness.delay, Duration::ZERO);
    let error = with_file("[politeness]\ndelay = \"soon\"\n").unwrap_err();
    assert!(error.starts_with("FILE:2: politeness.delay: \"soon\" is not a duration"), "{error}");
    let error = with_file("[politeness]\ndelay = \"5\"\n").unwrap_err();
    assert_eq!(error, "FILE:2: politeness.delay: \"5\" has no unit; write \"5s\" for seconds, or \"5ms\"");
    let error = with_file("[politeness]\ndelay = \n").unwrap_err();
    assert!(error.starts_with("FILE:2: "), "{error}");
    let error = with_file("fetch = 3\n").unwrap_err();
    assert_eq!(error, "FILE:1: fetch: is a section, not a value");
    let error = with_file("[crawl]\ninclude = [\"(\"]\n").unwrap_err();
    assert!(error.starts_with("FILE:2: crawl.include: \"(\": regex parse error"), "{error}");
}

#[test]
fn a_wrong_value_is_told_with_the_right_one() {
    for (line, told) in [
        ("politeness.delay = \"0.2\"", "has no unit; write \"0.2s\" for seconds"),
        ("recrawl.min_age = \"1d\"", "the largest unit is the hour; write \"24h\""),
        ("recrawl.min_age = \"2 weeks\"", "the largest unit is the hour; write \"336h\""),
        ("politeness.delay = \"1.2.3\"", "is not a duration"),
        ("crawl.include = [\"*.html\"]", "not a glob: write .* for any characters"),
        (
            "fetch.strategy = \"browser\"",
            "is not one of auto, static, mobile, amp, chrome; did you mean \"chrome\"?",
        ),
        ("fetch.proxy = \"10.0.0.1:3128\"", "such as http://proxy.example:3128"),
        ("fetch.resolve = [\"a.test=10.0.0.1\"]", "\"a.test=10.0.0.1\": not HOST:PORT:ADDRESS"),
    ] {
        let error = with_file(line).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn all_errors_are_reported_at_once_with_their_lines() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text =
        "[fetch]\nretries = \"many\"\nconcurency = 3\nmax_outage = \"2s\"\n[crawl]\nlimit = 0\n[fetsh]\n";
    std::fs::write(file.path(), text).unwrap();
    let env = [("CRAWL_POLITENESS_DELAI", "1s"), ("CRAWL_FETCH_BACKOFF", "soon")];
    let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let flags = vec![
        Override { flag: "--scope", key: "crawl.scope", value: "moon".into() },
        Override { flag: "--depth", key: "crawl.depth", value: 3.into() },
    ];
    let errors = load(Some(file.path()), env, flags).unwrap_err();
    let told = errors.to_string().replace(&file.path().display().to_string(), "FILE");
    let begins = [
        "FILE:2: fetch.retries: invalid type: string \"many\"",
        "FILE:3: fetch.concurency: unknown key; did you mean \"concurrency\"?",
        "FILE:6: crawl.limit: must be at least 1",
        "FILE:7: fetsh: unknown section; did you mean \"fetch\"?",
        "CRAWL_FETCH_BACKOFF: fetch.backoff: \"soon\" is not a duration",
        "environment: CRAWL_POLITENESS_DELAI: unknown variable",
        "--scope: crawl.scope: ",
    ];
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), begins.len(), "{told}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\nis not\n{begin}");
    }
}

#[test]
fn errors_of_site_tables_have_their_own_line_and_key() {
    let text = "[[site]]\nmatch = \"a.test\"\ndepht = 1\n\n[[site]]\nmatch = \"b.test\"\nlimt = 3\ndelay = \"soon\"\n\n[[site]]\n\
                depth = 1\n";
    let told = with_file(text).unwrap_err();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "FILE:3: site.depht: unknown key; did you mean \"depth\"?");
    assert_eq!(lines[1], "FILE:7: site.limt: unknown key; did you mean \"limit\"?");
    assert!(lines[2].starts_with("FILE:8: site.delay: \"soon\" is not a duration"), "{told}");
    assert!(lines[3].starts_with("FILE:10: site: match is missing") && lines.len() == 4, "{told}");
    with_file("[[site]]\nmatch = \"a.test\"\ndepth = 1\n[site.tags]\nset = \"news\"\n").unwrap();
}

#[test]
fn keys_of_other_sections_and_programs_are_named() {
    for (text, meant) in [
        ("[crawl]\nmax_depth = 2\n", Some("depth")),
        ("[output]\npath = \"a.jsonl\"\n", Some("append")),
        ("[crawl]\nconcurrency = 2\n", Some("fetch.concurrency")),
        ("[crawl]\nqqqqq = 2\n", None),
    ] {
        let told = with_file(text).unwrap_err();
        let guess = told.split_once("did you mean \"").map(|(_, rest)| rest.trim_end_matches("\"?"));
        assert_eq!(guess, meant, "{told}");
    }
}

#[test]
fn patterns_that_match_no_url_are_refused() {
    for bad in ["^/docs/", "^www.a.test", "^docs"] {
        let told = with_file(&format!("[crawl]\nexclude = [\"{bad}\"]\n")).unwrap_err();
        assert!(told.starts_with(&format!("FILE:2: crawl.exclude: \"{bad}\" matches no URL")), "{told}");
    }
    let told = with_file("[[site]]\nmatch = \"a.test\"\ninclude = [\"^/docs/\"]\n").unwrap_err();
    assert!(told.starts_with("FILE:3: site.include: \"^/docs/\" matches no URL"), "{told}");
    assert!(told.ends_with("write \"^https?://[^/]+/docs/\""), "{told}");
    for good in [
        "^https?://[^/]+/docs/",
        "^h.+",
        "^(https://a|http://b)",
        "^.*docs",
        "^s?h",
        "^w*https://",
        "^x{0}http",
        "^/a/|/b/",
        "/docs/",
        "(?i)^HTTPS://",
    ] {
        with_file(&format!("[crawl]\ninclude = [\"{good}\"]\n")).unwrap();
    }
}

#[test]
fn minimum_age_above_the_maximum_is_refused() {
    let told = with_file("[recrawl]\nmin_age = \"20h\"\nmax_age = \"1h\"\n").unwrap_err();
    assert!(
        told.starts_with(
            "FILE:3: recrawl.max_age: \"1h\" is less than recrawl.min_age, \"20h\" (FILE:2): raise"
        ),
        "{told}"
    );
    let told = with_file("[[site]]\nmatch = \"a.test\"\nmin_age = \"2h\"\nmax_age = \"1h\"\n").unwrap_err();
    assert!(told.starts_with("FILE:1: site: max_age is less than min_age: lower min_age"), "{told}");
    with_file("[recrawl]\nmode = \"changed\"\nmin_age = \"20h\"\nmax_age = \"1h\"\n").unwrap();
    let flag = |flag, key, value: &str| Override { flag, key, value: value.into() };
    let ages = vec![flag("--min-age", "recrawl.min_age", "2h"), flag("--max-age", "recrawl.max_age", "1h")];
    let told = load(None, std::iter::empty(), ages).unwrap_err().to_string();
    assert!(
        told.starts_with(
            "--max-age: recrawl.max_age: \"1h\" is less than recrawl.min_age, \"2h\" (--min-age)"
        ),
        "{told}"
    );
}

#[test]
fn default_age_follows_a_given_one() {
    let hours = |hours: u64| Duration::from_secs(3_600 * hours);
    for (key, value, ages) in
        [("max_age", 1, (1, 1)), ("min_age", 800, (800, 800)), ("max_age", 21, (20, 21))]
    {
        let recrawl = with_file(&format!("[recrawl]\n{key} = \"{value}h\"\n")).unwrap().recrawl;
        assert_eq!((recrawl.min_age, recrawl.max_age), (hours(ages.0), hours(ages.1)), "{key} = {value}h");
    }
    with_file("[[site]]\nmatch = \"a.test\"\nmax_age = \"1h\"\n").unwrap();
}

#[test]
fn environment_errors_name_the_variable() {
    let set = |k: &str, v: &str| load(None, [(k.to_owned(), v.to_owned())].into_iter(), vec![]).map(drop);
    assert_eq!(
        set("CRAWL_POLITENESS_DELAI", "1s").unwrap_err().to_string(),
        "environment: CRAWL_POLITENESS_DELAI: unknown variable; did you mean \"CRAWL_POLITENESS_DELAY\"?"
    );
    let error = set("CRAWL_DELAY", "9s").unwrap_err().to_string();
    assert!(error.ends_with("did you mean \"CRAWL_POLITENESS_DELAY\"?"), "the section is missing: {error}");
    let error = set("CRAWL_FETCH_RETRIES", "many").unwrap_err().to_string();
    assert!(error.starts_with("CRAWL_FETCH_RETRIES: fetch.retries: invalid type: string"), "{error}");
    set("CRAWL_TRAPS_CALENDAR_YEARS", "unlimited").unwrap();
    set("CRAWL_TRAPS_CALENDAR_YEARS", "[1, 2]").unwrap();
    let error = set("CRAWL_POLITENESS_ADDRESS_SHARE", "1.5").unwrap_err().to_string();
    assert!(error.contains("1.5 is not between 0 and 1"), "{error}");
    set("CRAWL_FETCH_RESOLVE", "a.test:80:127.0.0.1,b.test:80:127.0.0.1").unwrap();
}

#[test]
fn politeness_settings_reach_the_gate_within_their_ranges() {
    let set = |key: &str, value: &str| {
        let name = format!("CRAWL_POLITENESS_{key}");
        load(None, [(name, value.to_owned())].into_iter(), vec![])
            .map(|config| config.politeness.settings())
            .map_err(|e| e.to_string())
    };
    let defaults = load(None, none(), vec![]).map(|c| c.politeness.settings()).unwrap();
    assert_eq!(defaults, crawl_fetch::PolitenessSettings::default());
    assert_eq!(set("MAX_RETRY_AFTER", "3s").unwrap().max_retry_after, Duration::from_secs(3));
    assert_eq!(set("MAX_SLOW_DELAY", "2s").unwrap().max_slow_delay, Duration::from_secs(2));
    assert_eq!(set("JITTER", "0").unwrap().jitter, 0.0);
    assert_eq!(set("HOST_CONCURRENCY", "2").unwrap().host_concurrency, 2);
    assert_eq!(set("ADDRESS_SHARE", "0").unwrap().address_share, 0.0);
    assert_eq!(set("DELAY", "3s").unwrap().delay, Duration::from_secs(3));
    assert_eq!(set("MAX_CRAWL_DELAY", "3s").unwrap().max_crawl_delay, Duration::from_secs(3));
    assert_eq!(set("BREAK_FOR", "1s").unwrap().break_for, Duration::from_secs(1));
    assert_eq!(set("BREAK_TRIES", "0").unwrap().break_tries, 0);
    for (key, bad, why) in [
        ("MAX_RETRY_AFTER", "25h", "at most \"24h\""),
        ("BREAK_FOR", "25h", "at most \"24h\""),
        ("MAX_SLOW_DELAY", "-1s", "negative"),
        ("JITTER", "1.1", "between 0 and 1"),
        ("ADDRESS_SHARE", "-0.1", "between 0 and 1"),
        ("HOST_CONCURRENCY", "0", "at least 1"),
        ("DELAY", "25h", "at most \"24h\""),
        ("BREAK_TRIES", "-1", "invalid value"),
    ] {
        let error = set(key, bad).unwrap_err();
        assert!(error.contains(why), "{key}: {error}");
    }
}

#[test]
fn excessive_numbers_are_refused_with_their_key() {
    for key in [
        "fetch.concurrency",
        "politeness.host_concurrency",
        "chrome.tabs",
        "extract.threads",
        "dedup.shards",
        "serve.connections",
        "serve.analyses",
        "output.batch",
    ] {
        let (section, name) = key.split_once('.').unwrap();
        let error = with_file(&format!("[{section}]\n{name} = 1000000000\n")).unwrap_err();
        assert!(error.starts_with(&format!("FILE:2: {key}: must be at most ")), "{error}");
    }
    assert_eq!(with_file("[extract]\nthreads = 0\n").unwrap().extract.threads, 0);
    assert!(with_file("[dedup]\nshards = 0\n").unwrap_err().contains("must be at least 1"));
}

#[test]
fn many_errors_are_counted() {
    let keys: Vec<String> = (0..20_000).map(|n| format!("k{n} = {n}\n")).collect();
    let text = format!("[fetch]\n{}", keys.concat());
    let began = std::time::Instant::now();
    let error = with_file(&text).unwrap_err();
    assert!(error.starts_with("FILE:2: fetch.k0: unknown key"), "{error}");
    assert_eq!(error.lines().count(), 21);
    assert!(error.ends_with("\n19980 more errors in the settings"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let error = with_file(&format!("[politeness]\ndelay = \"{}\"\n", "x".repeat(100_000))).unwrap_err();
    assert!(error.starts_with("FILE:2: politeness.delay: ") && error.len() < 2_000, "{}", error.len());
    let error = with_file(&"é".repeat(5 << 20)).unwrap_err();
    assert_eq!(error, "FILE: is larger than 4 MiB, too large for a settings file");
}

thread_local! {
    /// Number of times that this thread has read tables of sites.
    static SITE_READS: Cell<usize> = const { Cell::new(0) };
}

/// Counts a reading of settings that have tables of sites.
pub(super) fn note_read(table: &Table) {
    if table.contains_key(SITES) {
        SITE_READS.set(SITE_READS.get() + 1);
    }
}

/// Each key that is set is checked, and tables of sites have expressions that take long to read.
#[test]
fn keys_behind_many_sites_do_not_read_the_sites_again() {
    let text = "[[site]]\nmatch = \"h.example\"\n[fetch]\nretries = 3\nbackoff = \"2s\"\nconcurrency = 16\n";
    let config = with_file(text).unwrap();
    assert_eq!((config.site.len(), config.fetch.retries), (1, 3));
    assert_eq!(SITE_READS.get(), 2, "once for their faults, once for the result");
}
