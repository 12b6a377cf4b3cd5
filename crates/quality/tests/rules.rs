//! Each rule at its threshold: a text that just passes, and one that just fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_quality::{Checker, Reason, RuleSet, Settings};
use support::{checker, defaults, failed, value};

fn words(count: usize) -> Vec<String> {
    // letters alone, all different, and no stop words
    (0..count)
        .map(|n| {
            format!("zq{}", n.to_string().bytes().map(|b| char::from(b'a' + b - b'0')).collect::<String>())
        })
        .collect()
}

fn is_broken(checker: &Checker, text: &str, rule: &str) -> bool {
    failed(checker, &checker.assess(text, "en")).iter().any(|name| name == rule)
}

/// The value of a rule is as expected on either side of its threshold, and only the second text breaks it.
fn at_threshold(checker: &Checker, rule: &str, kept: (&str, f64), broken: (&str, f64)) {
    for ((text, expected), breaks) in [(kept, false), (broken, true)] {
        let assessment = checker.assess(text, "en");
        let found = value(checker, &assessment, rule).unwrap();
        assert!((found - expected).abs() < 1e-9, "{rule}: {found} is not {expected}");
        assert_eq!(is_broken(checker, text, rule), breaks, "{rule} with {found}");
    }
}

#[test]
fn word_repetition_limit_is_a_fifth_of_content_words() {
    let checker = checker(|_| ());
    // "the" is a stop word and does not count; the neighbours of "stain" are always the same
    let text = |stains: usize, others: usize| {
        format!("{}{}", "the stain remover zebra ".repeat(stains), words(others - 2 * stains).join(" "))
    };
    // content words: 20 stains, 40 of their neighbours, and others
    at_threshold(&checker, "text.word_repetition_ratio", (&text(20, 80), 0.2), (&text(20, 79), 20.0 / 99.0));
}

#[test]
fn term_repetition_limit_is_two_fifths() {
    let checker = checker(|_| ());
    let text = |terms: usize, others: usize| {
        let others = words(others);
        let mut all: Vec<&str> = others.iter().map(String::as_str).collect();
        // between ever different words
        (0..terms).for_each(|n| all.insert(2 * n, "stain"));
        all.join(" ")
    };
    let kept = checker.assess(&text(40, 60), "en");
    assert_eq!((kept.reason, kept.failed.len()), (Some(Reason::Term), failed(&checker, &kept).len()));
    at_threshold(&checker, "text.word_repetition_ratio", (&text(40, 60), 0.4), (&text(41, 60), 41.0 / 101.0));
}

#[test]
fn too_few_content_words_are_a_ratio_of_zero() {
    let checker = checker(|s| s.text.min_words = 0);
    let few = checker.assess("stain stain stain stain and the", "en");
    assert_eq!((few.content_words, few.words, few.reason), (4, 6, Some(Reason::TooFewContentWords)));
    assert_eq!(value(&checker, &few, "text.word_repetition_ratio"), Some(0.0));
    assert_eq!(checker.quality(&few).reason.as_deref(), Some("too_few_content_words"));
    let enough = checker.assess("stain stain stain stain stain and the", "en");
    assert_eq!(value(&checker, &enough, "text.word_repetition_ratio"), Some(1.0));
    assert_eq!(enough.reason, None);
}

#[test]
fn stop_words_follow_the_language() {
    let checker = checker(|_| ());
    let text = "der Hafen und die Fähre und der Wind und das Meer";
    assert_eq!(checker.assess(text, "de").content_words, 4);
    assert_eq!(checker.assess(text, "de-AT").content_words, 4);
    assert_eq!(checker.assess(text, "und").content_words, 11);
}

#[test]
fn short_texts_are_marked_and_skipped() {
    let checker = checker(|_| ());
    let text = |n: usize| "stain ".repeat(n);
    let short = checker.assess(&text(49), "en");
    assert!(short.short && !checker.fails(&short, &[RuleSet::Text]));
    assert_eq!(value(&checker, &short, "text.word_repetition_ratio"), Some(1.0));
    assert_eq!(checker.quality(&short).skipped.as_deref(), Some("short_text"));
    assert!(checker.fails(&checker.assess(&text(50), "en"), &[RuleSet::Text]));
}

#[test]
fn character_and_passage_repetition_have_thresholds() {
    let checker = checker(|s| s.text.min_words = 0);
    let text = |run: usize| format!("{} {}", "-".repeat(run), "ab".repeat(40));
    at_threshold(&checker, "text.char_repetition_ratio", (&text(20), 0.2), (&text(21), 21.0 / 101.0));
    let checker = support::checker(|s| s.text.min_words = 0);
    // ten words, repeated, and distinct words
    let text = |times: usize, others: usize| {
        format!("{}{}", "a b c d e f g h i j ".repeat(times), words(others).join(" "))
    };
    at_threshold(&checker, "text.ngram_repetition", (&text(4, 0), 0.75), (&text(5, 0), 0.8));
}

#[test]
fn boilerplate_is_excluded_on_request() {
    let text = format!("{}{}", "Accept cookies\n".repeat(60), words(100).join(" "));
    let ratio = |remove: bool| {
        let checker = checker(|s| s.remove_boilerplate = remove);
        let assessment = checker.assess(&text, "en");
        value(&checker, &assessment, "text.word_repetition_ratio").unwrap()
    };
    assert!((ratio(false) - 60.0 / 220.0).abs() < 1e-9, "{}", ratio(false));
    assert!((ratio(true) - 0.01).abs() < 1e-9, "{}", ratio(true));
}

#[test]
fn duplicate_lines_and_paragraphs_have_thresholds() {
    let checker = checker(|_| ());
    let lines = |again: usize, all: usize| {
        let mut lines = words(all - again);
        lines.extend(std::iter::repeat_n(lines[0].clone(), again));
        lines
    };
    let (kept, broken) = (lines(3, 10), lines(4, 10));
    let of = |lines: &[String], gap: &str| lines.join(gap);
    at_threshold(
        &checker,
        "gopher_repetition.dup_line_frac",
        (&of(&kept, "\n"), 0.3),
        (&of(&broken, "\n"), 0.4),
    );
    at_threshold(
        &checker,
        "gopher_repetition.dup_para_frac",
        (&of(&kept, "\n\n"), 0.3),
        (&of(&broken, "\n\n"), 0.4),
    );
    // ten repeated characters, of 50 and of 49
    let text = |gap: &str, all: usize| {
        let rest = "x".repeat(all - 20 - 2 * gap.len());
        format!("abcdefghij{gap}{rest}{gap}abcdefghij")
    };
    for (rule, gap) in [("dup_line_char_frac", "\n"), ("dup_para_char_frac", "\n\n")] {
        let rule = format!("gopher_repetition.{rule}");
        at_threshold(&checker, &rule, (&text(gap, 50), 0.2), (&text(gap, 49), 10.0 / 49.0));
    }
}

#[test]
fn duplicate_n_grams_have_thresholds() {
    for (n, most) in &defaults().gopher_repetition.dup_n_grams {
        let checker = checker(|_| ());
        let run: Vec<String> = words(*n);
        let chars: usize = run.iter().map(String::len).sum();
        let text = |length: usize| {
            let all = format!("{} {} ", run.join(" "), run.join(" "));
            format!("{all}{}", "z".repeat(length - all.len()))
        };
        // the shortest text in which the second run is within its share
        let kept = (1..10_000).find(|length| to_f64(chars) / to_f64(*length) <= *most).unwrap();
        let share = |length: usize| to_f64(chars) / to_f64(length);
        let rule = format!("gopher_repetition.duplicated_{n}_n_grams");
        at_threshold(&checker, &rule, (&text(kept), share(kept)), (&text(kept - 1), share(kept - 1)));
    }
}

#[test]
fn most_frequent_n_gram_has_a_threshold() {
    for (n, most) in defaults().gopher_repetition.top_n_grams {
        let checker = checker(|_| ());
        let run = vec!["ab"; n].join(" ");
        // twice, with other words between and after: the run has 3n − 1 characters
        let text = |length: usize| {
            let all = format!("{run} c {run} ");
            format!("{all}{}", "z".repeat(length - all.len()))
        };
        let share = |length: usize| to_f64(2 * run.len()) / to_f64(length);
        let kept = (1..10_000).find(|length| share(*length) <= most).unwrap();
        let rule = format!("gopher_repetition.top_{n}_gram");
        at_threshold(&checker, &rule, (&text(kept), share(kept)), (&text(kept - 1), share(kept - 1)));
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn to_f64(n: usize) -> f64 {
    n as f64
}

#[test]
fn gopher_counts_words_and_symbols() {
    let checker = checker(|s| s.gopher_quality.max_doc_words = 100);
    let text = |n: usize| words(n).join(" ");
    at_threshold(&checker, "gopher_quality.short_doc", (&text(50), 50.0), (&text(49), 49.0));
    at_threshold(&checker, "gopher_quality.long_doc", (&text(100), 100.0), (&text(101), 101.0));
    // punctuation marks are no words here
    let marks = format!("{} . , !", text(49));
    assert!(is_broken(&checker, &marks, "gopher_quality.short_doc"));
    let sizes = |sizes: &[usize]| sizes.iter().map(|n| "x".repeat(*n)).collect::<Vec<_>>().join(" ");
    at_threshold(
        &checker,
        "gopher_quality.below_avg_threshold",
        (&sizes(&[2, 4]), 3.0),
        (&sizes(&[2, 3]), 2.5),
    );
    at_threshold(
        &checker,
        "gopher_quality.above_avg_threshold",
        (&sizes(&[9, 11]), 10.0),
        (&sizes(&[10, 11]), 10.5),
    );
    // ten and nine other words, and the sign, which is a word too
    let sign = |sign: &str, n: usize| format!("{} {sign}", words(n).join(" "));
    at_threshold(
        &checker,
        "gopher_quality.too_many_hashes",
        (&sign("#", 9), 0.1),
        (&sign("#", 8), 1.0 / 9.0),
    );
    at_threshold(
        &checker,
        "gopher_quality.too_many_ellipsis",
        (&sign("…", 9), 0.1),
        (&sign("…", 8), 1.0 / 9.0),
    );
    let lettered = |with: usize, without: usize| format!("{}{}", "ab ".repeat(with), "12 ".repeat(without));
    at_threshold(
        &checker,
        "gopher_quality.below_alpha_threshold",
        (&lettered(8, 2), 0.8),
        (&lettered(7, 2), 7.0 / 9.0),
    );
}

#[test]
fn gopher_checks_lines_and_stop_words() {
    let checker = checker(|_| ());
    let lines = |marked: usize, all: usize, line: &str| {
        let mut text = format!("{line}\n").repeat(marked);
        text.push_str(&"a line\n".repeat(all - marked));
        text
    };
    for line in ["- item", "  • item"] {
        let rule = "gopher_quality.too_many_bullets";
        at_threshold(&checker, rule, (&lines(9, 10, line), 0.9), (&lines(10, 10, line), 1.0));
    }
    for line in ["cut off...", "cut off… "] {
        let rule = "gopher_quality.too_many_end_ellipsis";
        at_threshold(&checker, rule, (&lines(3, 10, line), 0.3), (&lines(4, 10, line), 0.4));
    }
    let rule = "gopher_quality.enough_stop_words";
    at_threshold(&checker, rule, ("the sea of glass", 2.0), ("the sea, the sea", 1.0));
    // other languages have their own; one without a list has no value
    let german = checker.assess("das Meer und der Wind", "de");
    assert_eq!(value(&checker, &german, rule), Some(3.0));
    assert_eq!(value(&checker, &checker.assess("the sea", "und"), rule), None);
}

const SENTENCES: &str = "One sentence here. Two sentences here. Three sentences here. Four sentences here.";

#[test]
fn c4_keeps_lines_and_counts_their_sentences() {
    let checker = checker(|_| ());
    let text = |more: &str| format!("{SENTENCES}\n{more}");
    let few = |more: &str| is_broken(&checker, &text(more), "c4.too_few_sentences");
    let kept = |more: &str| checker.c4_lines(&text(more)).len() == 2;
    for line in [
        "Five words stand in it.",
        "A question that ends?",
        "He said \"so it is\"",
        "With a citation.[12]",
        "edited it was. [citation needed].",
        "with [edit] marks it ends!",
    ] {
        assert!(!few(line) && kept(line), "{line}");
    }
    for line in [
        "No mark at the end",
        "It is cut off...",
        "Two words.",
        "Please enable JavaScript to go on.",
        "We have a Privacy Policy for you.",
        "This site uses cookies, as you know.",
        "",
    ] {
        assert!(few(line) && !kept(line), "{line}");
    }
    let long = |n: usize| format!("A word {} is long.", "x".repeat(n));
    assert!(!few(&long(1000)) && few(&long(1001)));
    let assessment = checker.assess(&text("No mark at the end"), "en");
    assert_eq!(value(&checker, &assessment, "c4.too_few_sentences"), Some(4.0));
    assert_eq!(value(&checker, &assessment, "c4.no_terminal_punc"), Some(0.5));
    assert_eq!(value(&checker, &assessment, "c4.line_kept"), Some(0.5));
}

#[test]
fn c4_reports_templates_and_code_in_text_order() {
    let checker = checker(|_| ());
    let of = |text: &str| {
        let mut all = failed(&checker, &checker.assess(text, "en"));
        all.retain(|name| name.starts_with("c4."));
        all
    };
    let lorem = "Here Lorem Ipsum stands for words.";
    let code = "It ends with return { this.";
    assert_eq!(of(&format!("{SENTENCES}\nFive more words are here.")), [""; 0]);
    assert_eq!(
        of(&format!("{SENTENCES}\n{lorem}\n{code}")),
        ["c4.lorem_ipsum", "c4.curly_bracket", "c4.too_few_sentences"]
    );
    assert_eq!(
        of(&format!("{SENTENCES}\n{code}\n{lorem}")),
        ["c4.curly_bracket", "c4.lorem_ipsum", "c4.too_few_sentences"]
    );
    // a dropped line is not searched
    assert_eq!(of(&format!("{SENTENCES}\nFive more words are here.\nreturn {{ this }}")), [""; 0]);
}

#[test]
fn fineweb_checks_lines() {
    let checker = checker(|_| ());
    let text = |marked: usize, all: usize, line: &str, other: &str| {
        let lines = words(all).into_iter().enumerate();
        let of = |(n, word): (usize, String)| format!("{word} {}", if n < marked { line } else { other });
        lines.map(of).collect::<Vec<_>>().join("\n")
    };
    let (ended, open) = ("is where this line comes to its end.", "is where this line has no end");
    let rule = "fineweb.line_punct_ratio";
    at_threshold(&checker, rule, (&text(12, 100, ended, open), 0.12), (&text(11, 100, ended, open), 0.11));
    let rule = "fineweb.short_line_ratio";
    at_threshold(
        &checker,
        rule,
        (&text(67, 100, "short", ended), 0.67),
        (&text(68, 100, "short", ended), 0.68),
    );
    // 30 characters are short, 31 are not
    let short = |n: usize| is_broken(&checker, &format!("{}.", "x".repeat(n - 1)), rule);
    assert!(short(30) && !short(31));
    let again = |rest: usize| format!("abcd\nabcd\n{}", "x".repeat(rest));
    let rule = "fineweb.char_dup_ratio";
    at_threshold(&checker, rule, (&again(392), 0.01), (&again(391), 4.0 / 399.0));
    // line feeds per word: 3 of 10, then 3 of 9
    let feeds = |n: usize| format!("a\nb\nc\n{}", words(n - 3).join(" "));
    at_threshold(&checker, "fineweb.list_ratio", (&feeds(10), 0.3), (&feeds(9), 3.0 / 9.0));
    let empty = checker.assess(" \n ", "en");
    assert_eq!(value(&checker, &empty, "fineweb.line_punct_ratio"), None);
}

#[test]
fn only_selected_rule_sets_are_reported() {
    let checker = checker(|s| s.sets = vec![RuleSet::C4]);
    assert!(checker.rules().iter().all(|rule| rule.set == RuleSet::C4));
    let quality = checker.quality(&checker.assess("A word.", "en"));
    assert_eq!(quality.failed, ["c4.too_few_sentences"]);
    assert!(quality.scores.keys().all(|name| name.starts_with("c4.")));
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |change: fn(&mut Settings)| {
        let mut settings = defaults();
        change(&mut settings);
        settings.check().map_err(|e| e.to_string()).unwrap_err()
    };
    assert_eq!(
        refused(|s| s.text.max_word_repetition_ratio = 1.5),
        "quality.text.max_word_repetition_ratio is 1.5: it must be 0 to 1"
    );
    assert!(refused(|s| s.text.ngram_words = 0).contains("1 to 100"));
    assert!(refused(|s| s.gopher_repetition.top_n_grams = vec![(0, 0.1)]).contains("top_n_grams"));
    assert!(refused(|s| s.fineweb.new_line_ratio = f64::NAN).contains("new_line_ratio"));
}
