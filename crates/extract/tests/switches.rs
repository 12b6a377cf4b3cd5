//! Each option has its effect, and no other part of the result changes from run to run.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Favor, Format, Input, LinkStyle, Options, PageExtractor};
use crawl_model::{Extraction, Extractor, Warning};

const PARAGRAPH: &str = "<p>The old crane on the quay has lifted stone, herring and once a locomotive, and it is to be \
    <a href='/crane/history'>painted again</a> this summer, in the green that it had when it was built.</p>";

fn page() -> String {
    format!(
        "<html lang=en><head><title>The crane</title></head><body><article><h1>The crane</h1>{}\
         <p><img src='/crane.jpg' alt='The crane in 1911'></p>\
         <table><tr><th>Year</th><th>Load</th></tr><tr><td>1911</td><td>nine tons</td></tr></table></article>\
         <div class='comments'><h2>Comments</h2><p>My grandfather drove it, for thirty-one years and in every \
         weather, and never dropped a thing but his hat.</p></div></body></html>",
        PARAGRAPH.repeat(3)
    )
}

fn extract(html: &str, options: Options) -> Extraction {
    let url = url::Url::parse("https://harbour.example/crane/").unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html; charset=utf-8");
    PageExtractor::new(options).unwrap().extract(&input)
}

fn content(options: Options) -> String {
    extract(&page(), options).content
}

#[test]
fn line_numbers_and_toolbars_of_code_are_removed() {
    let row = |number: u32, code: &str| {
        format!("<div class=row><span class=n>{number}</span><div>{code}</div></div>")
    };
    for (inside, expected) in [
        ("<span class=x> 1</span>let a = 1;\n<span class=x> 2</span>let b = 2;\n".to_owned(), "```\nlet a = 1;\nlet b = 2;\n```"),
        (row(1, "src/") + &row(2, "docs/") + &row(3, "README"), "```\nsrc/\ndocs/\nREADME\n```"),
        ("<code class=language-bash><div class=top><span>bash</span><button>Copy</button></div>npm test\n</code>".to_owned(), "```bash\nnpm test\n```"),
        // Numbers that are the code.
        ("<span class=x>1</span>\n<span class=x>2</span>\n<span class=x>3</span>\n".to_owned(), "```\n1\n2\n3\n```"),
        ("[<span class=x>1</span>, <span class=x>2</span>]\n".to_owned(), "```\n[1, 2]\n```"),
    ] {
        let html = page().replace("<table>", &format!("<pre>{inside}</pre><table>"));
        let content = extract(&html, Options::default()).content;
        assert!(content.contains(expected), "{inside}: {content}");
    }
    let figure = "<figure class='highlight cpp'><table><tr><td class=gutter><pre>1</pre></td><td class=code>\
                  <pre>int x = 1;</pre></td></tr></table></figure>";
    let content =
        extract(&page().replace("<table>", &format!("{figure}<table>")), Options::default()).content;
    assert!(content.contains("```cpp\nint x = 1;\n```"), "{content}");
}

#[test]
fn highlighted_code_lines_stay_separate() {
    let code = "<span class=line><i>npm</i> create</span><span class=line>cd project</span>";
    for (lines, expected) in [
        (code.to_owned(), "```\nnpm create\ncd project\n```"),
        (code.replace("</span><", "</span>\n<"), "```\nnpm create\ncd project\n```"),
        ("<div>a<br></div><div>b</div>".to_owned(), "```\na\nb\n```"),
    ] {
        let html = format!(
            "<article><p>Make a new project and go there, as the first step of all.</p><pre>{lines}</pre></article>"
        );
        let extractor = PageExtractor::new(Options::default()).unwrap();
        let input = Input::new(html.as_bytes()).with_content_type("text/html");
        let content = extractor.extract(&input).content;
        assert!(content.contains(expected), "{content}");
    }
}

#[test]
fn code_table_rows_become_a_code_block() {
    let gist = |line: &str| {
        let line = if line.is_empty() { "\n" } else { line };
        format!("<tr><td class='blob-num js-line-number'></td><td class=blob-code>{line}</td></tr>\n")
    };
    let gitea =
        |line: &str| format!("<tr><td class=lines-num><i></i></td><td><code>{line}\n</code></td></tr>");
    let lines = |with: &dyn Fn(&str) -> String| {
        ["def top(xs):", "", "    if xs:", "        <b>return</b> xs[0]"].map(with).concat()
    };
    let columns = "<tr><td class=gutter><div>1</div><div>2</div></td><td class=code><div><div>def top(xs):</div>\
                   <div><code>    </code><code>return</code> xs[0]</div></div></td></tr>";
    let whole = "```\ndef top(xs):\n\n    if xs:\n        return xs[0]\n```";
    for (rows, expected) in [
        (lines(&gist), whole),
        (lines(&gitea), whole),
        (columns.to_owned(), "```\ndef top(xs):\n    return xs[0]\n```"),
        // Without the class the first column is data.
        (
            "<tr><td>1</td><td>one</td></tr><tr><td>2</td><td>two</td></tr>".to_owned(),
            "| 1 | one |\n| --- | --- |\n| 2 | two |",
        ),
    ] {
        let html = page().replace("<table>", &format!("<table>\n{rows}</table><table>"));
        let content = extract(&html, Options::default()).content;
        assert!(content.contains(expected), "{rows}: {content}");
    }
}

#[test]
fn links_are_kept_stripped_or_gathered() {
    let with = |links| content(Options::default().with_links(links));
    assert!(with(LinkStyle::Keep).contains("[painted again](https://harbour.example/crane/history)"));
    let stripped = with(LinkStyle::Strip);
    assert!(
        stripped.contains("to be painted again this summer")
            && !stripped.contains("](")
            && !stripped.contains("http")
    );
    let gathered = with(LinkStyle::Reference);
    assert!(gathered.contains("[painted again][1]"), "{gathered}");
    // three links to one URL are one reference
    assert!(gathered.ends_with("[1]: https://harbour.example/crane/history"), "{gathered}");
}

#[test]
fn options_switch_tables_images_and_comments() {
    let plain = content(Options::default());
    assert!(
        plain.contains("| 1911 | nine tons |")
            && !plain.contains("crane.jpg")
            && !plain.contains("grandfather")
    );
    let images = content(Options::default().with_images(true));
    assert!(images.contains("![The crane in 1911](https://harbour.example/crane.jpg)"), "{images}");
    let bare = content(Options::default().with_tables(false));
    assert!(!bare.contains("nine tons") && bare.contains("herring"), "{bare}");
    let talk = content(Options::default().with_comments(true));
    assert!(talk.contains("My grandfather drove it"), "{talk}");
}

#[test]
fn text_format_has_no_markdown_marks() {
    let text = content(Options::default().with_format(Format::Text).with_images(true));
    assert!(text.starts_with("The crane\n"), "{text}");
    assert!(text.contains("to be painted again this summer"), "{text}");
    for mark in ["#", "](", "|", "!["] {
        assert!(!text.contains(mark), "{mark} is in\n{text}");
    }
}

#[test]
fn recall_keeps_at_least_as_much_as_precision() {
    // A block of links with a few words between them: more than half of it leads elsewhere.
    let links = "<div><a href=/1>The great steam crane</a>, moved in 1955, <a href=/2>the old coal crane</a>, scrapped then, \
        <a href=/3>the crane of Vik</a>, which still lifts.</div>";
    let html = page().replace("<table>", &format!("{links}<table>"));
    let words = |favor| extract(&html, Options::default().with_favor(favor)).word_count;
    let (precision, balanced, recall) =
        (words(Favor::Precision), words(Favor::Balanced), words(Favor::Recall));
    assert!(precision <= balanced && balanced <= recall, "{precision} {balanced} {recall}");
    assert!(precision < recall, "{precision} {recall}: the trade trades something here");
}

#[test]
fn page_of_boilerplate_gives_no_text_and_a_warning() {
    let html = "<html><head><title>x</title></head><body><nav><a href=/>Home</a><a href=/b>More</a></nav>\
        <footer>All rights reserved</footer></body></html>";
    let page = extract(html, Options::default());
    assert_eq!((page.content.as_str(), page.extractor, page.word_count), ("", Extractor::None, 0));
    assert_eq!(page.warnings, [Warning::AllBoilerplate]);
}

#[test]
fn plain_text_is_recognised_with_and_without_its_type() {
    let text = "Wind: west,  5\r\n\r\n\r\n\r\nSea: rough   \r\nif a < b and c > d\r\n";
    let extractor = PageExtractor::new(Options::default()).unwrap();
    for content_type in [Some("text/plain"), Some("text/plain; charset=iso-8859-1"), None] {
        let page = extractor.extract(&Input::new(text.as_bytes()).with_content_type(content_type));
        assert_eq!(page.content, "Wind: west,  5\n\nSea: rough\nif a < b and c > d", "{content_type:?}");
        assert_eq!(page.extractor, Extractor::PlainText);
    }
}

#[test]
fn extraction_is_deterministic_across_runs_and_threads() {
    let extractor = PageExtractor::new(Options::default().with_images(true).with_comments(true)).unwrap();
    let html = page();
    let once = || {
        let page = extractor.extract(&Input::new(html.as_bytes()));
        serde_json::to_string(&page).unwrap()
    };
    let first = once();
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..5).map(|_| once()).collect::<Vec<_>>())).collect();
        for run in runs {
            assert!(run.join().unwrap().iter().all(|page| *page == first));
        }
    });
}
