//! Flags of other crawlers and extractors. The error for such a flag names the flag of `crawl` with the same purpose.

use clap::{
    Command, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use crawl_engine::config::is_misspelled;
use std::ffi::OsString;

/// Flags that neither a crawl nor `crawl extract` has.
const FOR_BOTH: &[(&[&str], &str)] = &[
    (&["language", "lang", "target-language"], "records have metadata.language: filter the output by it"),
    (
        &["timeout", "connect-timeout", "read-timeout", "retries", "tries", "max-retries"],
        "time limits and retries are settings of [fetch]: crawl config --default > crawl.toml, then --config crawl.toml",
    ),
    (
        &["user", "auth", "basic-auth", "token", "cookie", "cookie-file", "load-cookies"],
        "credentials and cookies of a site are entries of fetch.auth in --config FILE (docs/commands.md)",
    ),
    (&["verbose", "v", "debug"], "a crawl with --log-level info names each failed URL"),
    (
        &["insecure", "k", "no-check-certificate", "no-verify", "verify"],
        "certificates are always checked; name an authority of your own as fetch.ca_file in --config FILE",
    ),
];

/// Flags of crawls.
const FOR_CRAWLS: &[(&[&str], &str)] = &[
    (&["max-depth", "level", "depth-limit"], "--depth N limits the links from the nearest seed"),
    (&["max-pages", "max-urls", "max-results"], "--limit N stops after N records"),
    (
        &["rate-limit", "crawl-delay", "download-delay", "wait", "throttle"],
        "--delay TIME is the least time between two requests to one host",
    ),
    (
        &["threads", "jobs", "workers", "parallel", "concurrent-requests"],
        "-c N bounds requests in flight over all hosts, --host-concurrency N those to one host",
    ),
    (&["resume", "continue"], "the same command again resumes; it needs no flag"),
    (
        &["dry-run", "simulate", "test"],
        "crawl config with the same flags prints the settings; --limit 20 -o try.jsonl tries them",
    ),
    (
        &["tag", "tags", "label", "labels"],
        "tags of a site are keys of its [[site]] table or its seed line (docs/commands.md)",
    ),
    (&["restart", "force", "clean"], "--fresh forgets the saved state and starts over"),
    (
        &["format", "output-format", "json", "jsonl", "markdown", "csv", "parquet"],
        "the name of the output selects its format: -o pages.jsonl, -o pages.parquet, -o pages/ (Markdown)",
    ),
    (
        &["allowed-domains", "domains", "domain", "allow-subdomains", "include-subdomains", "span-hosts"],
        "--scope subdomains, domain or any follows links to other hosts; --include REGEX limits them",
    ),
    (&["no-robots", "robots"], "robots.txt is obeyed; --ignore-robots is for sites of your own"),
    (
        &["sitemap", "sitemaps"],
        "the sitemaps of robots.txt are read; --depth 1 fetches their pages and follows no further links",
    ),
];

/// Flags of `crawl extract`.
const FOR_EXTRACT: &[(&[&str], &str)] = &[
    (
        &["o", "O", "output", "output-file", "output-dir", "out", "outdir"],
        "the result goes to standard output: crawl extract … > FILE",
    ),
    (
        &["threads", "jobs", "workers", "parallel"],
        "all cores are used; RAYON_NUM_THREADS=N bounds the threads",
    ),
    (
        &[
            "header",
            "user-agent",
            "contact",
            "cookies",
            "proxy",
            "strategy",
            "delay",
            "depth",
            "allow-private-addresses",
        ],
        "a crawl has this flag: crawl URL --depth 0; with crawl extract it may be a setting of --config FILE",
    ),
    (
        &["ignore-robots", "no-robots", "robots"],
        "crawl extract always obeys robots.txt; only a crawl, of a site of your own, takes --ignore-robots",
    ),
    (&["precision"], "--favor precision"),
    (&["recall"], "--favor recall"),
    (&["include-links", "no-links"], "--links keep, once, strip or reference"),
    (&["include-comments"], "--comments keeps the comments below an article"),
    (&["include-images"], "--images keeps images"),
    (&["with-metadata", "json", "markdown", "output-format"], "--format json, markdown or text"),
];

/// Advice for a second word of `crawl site`, such as a name after `--html`.
const ONE_SITE_INPUT: &str =
    "crawl site reads one input, and --html writes to standard output: crawl site INPUT --html > FILE";

/// Replaces clap's tip by our flag of the same purpose. For a flag of no table, clap's tip stays if it names a similar flag. The usage
/// line is removed: it shows flags that nobody has typed.
pub(super) fn explain(mut error: Error, arguments: &[OsString], command: &Command) -> Error {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given.clone(),
        _ => return error,
    };
    error.remove(ContextKind::Usage);
    let job =
        arguments.get(1).and_then(|job| job.to_str()).filter(|job| command.find_subcommand(job).is_some());
    let (of_job, of_both) = match job {
        None | Some("retry-errors") => (FOR_CRAWLS, FOR_BOTH),
        Some("extract") => (FOR_EXTRACT, FOR_BOTH),
        Some(_) => Default::default(),
    };
    let name = given.split('=').next().unwrap_or_default().trim_start_matches('-');
    let mut known = of_job.iter().chain(of_both);
    let is_second_input = job == Some("site") && !given.starts_with('-');
    let tip = match is_second_input {
        true => Some(ONE_SITE_INPUT),
        false => known.find(|(names, _)| names.contains(&name)).map(|(_, tip)| *tip),
    };
    let tip = tip.map(StyledStr::from);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        return error;
    }
    let is_near = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => is_misspelled(name, flag.trim_start_matches('-')),
        _ => false,
    };
    if !is_near {
        // a wrong guess, or the advice to pass an unknown flag as a value
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn message(words: &[&str]) -> String {
        let words: Vec<OsString> = ["crawl"].iter().chain(words).map(OsString::from).collect();
        Cli::parse_from(&words).unwrap_err().to_string()
    }

    #[test]
    fn flags_of_other_tools_name_ours() {
        for (words, tip) in [
            (&["a.example", "--max-depth", "3"][..], "--depth N"),
            (&["a.example", "--allowed-domains=b.example"], "--scope subdomains"),
            (&["a.example", "--resume"], "the same command again"),
            (&["a.example", "--dry-run"], "crawl config"),
            (&["a.example", "--tags", "a=b"], "[[site]]"),
            (&["a.example", "-v"], "--log-level info"),
            (&["retry-errors", "a.example", "--crawl-delay", "1s"], "--delay TIME"),
            (&["extract", "a.html", "-o", "b.json"], "crawl extract … > FILE"),
            (&["extract", "https://a.example/", "--header", "a: b"], "--config FILE"),
            (&["extract", "a.html", "--timeout", "3"], "[fetch]"),
            (&["site", "pages/", "--html", "site.html"], "crawl site INPUT --html > FILE"),
        ] {
            let told = message(words);
            assert!(
                told.contains(tip) && told.starts_with("error: unexpected argument"),
                "{words:?}: {told}"
            );
            assert!(!told.contains("similar argument") && !told.contains("as a value"), "{words:?}: {told}");
        }
    }

    #[test]
    fn similar_flags_are_still_named() {
        assert!(message(&["a.example", "--concurency", "3"]).contains("'--concurrency'"));
        for words in [
            &["a.example", "--zzz"][..],
            &["a.example", "--included"],
            &["status", "a.example", "-o", "x"],
            &["duplicates", "a.jsonl", "--explain"],
        ] {
            let told = message(words);
            assert!(told.starts_with("error: unexpected argument"), "{told}");
            assert!(!told.contains("as a value") && !told.contains("Usage"), "{told}");
        }
        assert!(!message(&["a.example", "--zzz"]).contains("tip"));
        assert!(message(&["a.example", "--insecure"]).contains("fetch.ca_file"));
    }

    /// A hint of a failure names a flag of the command, or a setting.
    #[test]
    fn hints_of_a_single_page_name_flags_of_extract() {
        const NOT_OF_VISITS: [&str; 2] = ["ai_optout_unknown", "duplicate"];
        let command = <Cli as clap::CommandFactory>::command();
        let extract = command.find_subcommand("extract").unwrap();
        let rows =
            include_str!("../../../../docs/errors.md").lines().filter_map(|line| line.strip_prefix("| `"));
        let mut flags = 0;
        for (kind, row) in rows.filter_map(|row| row.split_once('`')) {
            let hint = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap().replace('`', "");
            let hint = crawl_engine::visit::hint_for(kind, &hint);
            if NOT_OF_VISITS.contains(&kind) || hint.contains("only a crawl") {
                continue;
            }
            for flag in hint.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
                let flag = flag.trim_end_matches([',', ';', '.', ')']);
                let is_ours = extract.get_arguments().any(|argument| argument.get_long() == Some(flag));
                assert!(is_ours || flag == "headless", "{kind}: {hint}");
                flags += 1;
            }
        }
        assert!(flags > 3, "{flags}");
    }

    /// A flag that is added later leaves the tables.
    #[test]
    fn no_table_has_a_flag_of_ours() {
        let command = <Cli as clap::CommandFactory>::command();
        let extract = command.find_subcommand("extract").unwrap();
        for (command, tables) in [(&command, [FOR_CRAWLS, FOR_BOTH]), (extract, [FOR_EXTRACT, FOR_BOTH])] {
            let ours = |name: &&str| command.get_arguments().any(|flag| flag.get_long() == Some(name));
            let both = tables.iter().flat_map(|table| table.iter()).flat_map(|(names, _)| names.iter());
            assert_eq!(both.copied().filter(ours).collect::<Vec<_>>(), Vec::<&str>::new());
        }
    }
}
