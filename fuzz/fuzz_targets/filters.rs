//! Filter lists in EasyList syntax.
#![no_main]

use crawl_extract::{Input, LinkStyle, ListReport, Options, PageExtractor, Rules};
use crawl_fuzz::{PAGE, Scratch, in_linear_time, only_words_of_the_page};
use libfuzzer_sys::fuzz_target;
use std::{
    cell::RefCell,
    sync::{Arc, LazyLock},
};
use url::Url;

static LIST: LazyLock<Scratch> = LazyLock::new(|| Scratch::new("txt"));
static ADDRESS: LazyLock<Url> = LazyLock::new(|| Url::parse("https://www.h.test/a").expect("a URL"));

thread_local! {
    /// Built-in rules, which take longer to parse than a list.
    static RULES: RefCell<Option<Rules>> =
        RefCell::new(Some(Rules::embedded().expect("the built-in rules are right")));
}

/// Content of the page, and report of the list.
fn apply(list: &[u8]) -> (String, ListReport) {
    let paths = [LIST.write(list).clone()];
    let rules = RULES.take().expect("the rules were put back");
    let rules =
        in_linear_time(list.len(), || rules.with_consent_lists(&paths)).expect("the list can be read");
    let report = rules.list_report().expect("there is a list").clone();
    let rules = Arc::new(rules);
    let input =
        Input::new(PAGE.as_bytes()).with_url(&ADDRESS).with_content_type("text/html; charset=utf-8");
    let options = Options::default().with_links(LinkStyle::Strip);
    let extractor = PageExtractor::from_rules(Arc::clone(&rules), options);
    let found = in_linear_time(list.len() + PAGE.len(), || extractor.extract(&input));
    drop(extractor);
    RULES.set(Arc::into_inner(rules));
    (found.content, report)
}

fuzz_target!(|data: &[u8]| {
    let (content, report) = apply(data);
    // a list only removes text
    only_words_of_the_page(&content);
    // a line has at most one rule per selector
    let rules = report.generic + report.specific + report.exceptions;
    let lines = report.network + report.extended + report.unsupported + report.problems.len();
    assert!(rules <= data.len() && lines <= data.split(|byte| *byte == b'\n').count(), "{report:?}");
    assert!(report.plain <= report.generic, "{report:?}");
    assert_eq!((content, report), apply(data));
});
