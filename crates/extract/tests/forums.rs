//! Posts of threads by the names and the data of known programs (`platforms.toml`).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn content(html: &str) -> String {
    let url = url::Url::parse("https://moor.example/forum/topic/12/ferry-timetable").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html")).content
}

const QUESTION: &str =
    "<p>Which ferry leaves for the northern island on Sundays, and does it take bicycles?</p>";
const ANSWER: &str = "<p>The one at ten, from the old quay. It takes forty bicycles, on the lower deck.</p>";

#[test]
fn remarks_on_questions_and_answers_are_not_posts() {
    let remark = "<li itemprop=comment itemscope itemtype='https://schema.org/Comment'><span itemprop=text>Did you ask \
        at the harbour office, which prints a new timetable each month, with all of its exceptions?</span></li>";
    let page = format!(
        "<body><h1>Ferry on Sundays</h1><div itemprop=mainEntity itemscope itemtype='https://schema.org/Question'>\
        <div itemprop=text>{QUESTION}</div><ul>{0}</ul><div itemprop=acceptedAnswer itemscope \
        itemtype='https://schema.org/Answer'><div itemprop=text>{ANSWER}</div><ul>{0}</ul></div></div>",
        remark.repeat(4)
    );
    let content = content(&page);
    assert!(content.contains("northern island") && content.contains("lower deck"), "{content}");
    assert!(!content.contains("harbour office"), "{content}");
}

#[test]
fn comments_of_a_thread_are_posts() {
    let reply = |n: u32| {
        format!(
            "<div itemprop=comment itemscope itemtype='https://schema.org/Comment'><div itemprop=text><p>Reply number {n} \
            says that the harbour office prints a new timetable each month.</p></div></div>"
        )
    };
    let page = format!(
        "<body><h1>Ferry on Sundays</h1><div itemscope itemtype='https://schema.org/DiscussionForumPosting'>\
        <div itemprop=text>{QUESTION}</div></div>{}{}",
        reply(1),
        reply(2)
    );
    let content = content(&page);
    for part in ["northern island", "Reply number 1", "Reply number 2"] {
        assert!(content.contains(part), "{part}: {content}");
    }
}

#[test]
fn the_opening_post_stands_outside_of_the_replies_of_bbpress() {
    let reply =
        "<div class='bbp-reply type-reply'><a class=bbp-author-name>Ada</a><div class=bbp-reply-content>";
    let page = format!(
        "<body><h1>Ferry on Sundays</h1><div id=bbpress-forums><ul id=bbp-topic-7-lead class=bbp-lead-topic><li>\
        <div class=bbp-topic-content>{QUESTION}</div></li></ul><ul class=forums><li class=bbp-body>\
        {reply}{ANSWER}</div></div>{reply}<p>Thank you, the quay was easy to find.</p></div></div></li></ul></div>"
    );
    let content = content(&page);
    for part in ["northern island", "lower deck", "easy to find"] {
        assert!(content.contains(part), "{part}: {content}");
    }
}

/// Three posts of a known program.
fn thread(posts: [&str; 3]) -> String {
    let post = |n: usize| {
        format!(
            "<div class='bbp-reply type-reply'><a class=bbp-author-name>Reader{n}</a>\
            <div class=bbp-reply-content><div>{}</div></div></div>",
            posts[n]
        )
    };
    let posts: String = (0..3).map(post).collect();
    content(&format!("<body><h1>Ferry on Sundays</h1><div id=bbpress-forums>{posts}</div>"))
}

#[test]
fn copied_post_is_removed() {
    let post = format!("{QUESTION}{ANSWER}");
    let copied = thread([&post, &post, "<p>Thank you, the quay was easy to find.</p>"]);
    assert_eq!(copied.matches("lower deck").count(), 1, "{copied}");
    assert!(!copied.contains("Reader1") && copied.contains("easy to find"), "{copied}");
    let short = thread([&post, "<p>Thank you, it was easy.</p>", "<p>Thank you, it was easy.</p>"]);
    assert_eq!(short.matches("it was easy").count(), 2, "two readers may say the same: {short}");
}

#[test]
fn quote_in_any_element_is_removed() {
    let post = format!("{QUESTION}{ANSWER}");
    for (open, close) in [
        ("<blockquote>", "</blockquote>"),
        ("<div class=shade>", "</div>"),
        ("<table><tr><td>", "</td></tr></table>"),
    ] {
        let reply = format!("{open}{post}{close}<p>Thank you, the quay was easy to find.</p>");
        let content = thread([&post, &reply, "<p>I take my bicycle along.</p>"]);
        assert_eq!(content.matches("lower deck").count(), 1, "{open}: {content}");
        assert!(content.contains("easy to find"), "{open}: {content}");
    }
    let changed = ANSWER.replace("forty", "fifty").replace("lower", "upper");
    let reply = format!("<div>{changed}</div><p>So it says.</p>");
    let content = thread([&post, &reply, "<p>I take my bicycle along.</p>"]);
    assert!(content.contains("fifty bicycles"), "another text: {content}");
}

/// Dates of posts recur behind the second post. The date of an article does not.
#[test]
fn dates_of_the_first_posts_stay() {
    let post = |n: u32, class: &str| {
        format!(
            "<div class=zz-msg><div class=zz-user>User{n}</div><div class={class}>{n} March 2026</div><div class=zz-body>Post \
            {n}: the rope of my dinghy lasted {n} years in salt water, so take the same if you can get it in your town.</div></div>"
        )
    };
    let page = |class: &str| {
        let posts: String = (1..6).map(|n| post(n, if n < 3 { class } else { "zz-date" })).collect();
        content(&format!("<body><main><h1>Which rope for a dinghy?</h1>{posts}</main>"))
    };
    let dates = |text: &str| (1..6).filter(|n| text.contains(&format!("{n} March 2026"))).count();
    assert_eq!(dates(&page("zz-date")), 5);
    assert_eq!(dates(&page("zz-posted")), 3, "{}", page("zz-posted"));
}
