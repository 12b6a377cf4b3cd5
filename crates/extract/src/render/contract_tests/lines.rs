//! Tests of words and lines that only blocks, styles or positions separate.

use super::*;
use crate::options::Format;

/// Plain text of a whole HTML fragment.
fn text_of_page(body: &str) -> String {
    let budget = Budget::unlimited();
    let parsed = dom::parse(&format!("<!doctype html><body>{body}</body>"), &Limits::default());
    let page = Page::new(parsed.dom, &RULES, None, &budget);
    let selection = Selection::new(&page, vec![page.body], vec![false; page.dom.len() as usize]);
    let options = Options::default().with_format(Format::Text);
    join(&pieces(&page, &selection, Style::of(&options)).0, &[])
}

#[test]
fn text_behind_a_block_is_no_part_of_its_last_word() {
    let rows = |cell: &str| format!("<table><tr><th>h<th>i<tr><td>{cell}<td>x</table>");
    for (cell, want) in [
        ("<div>alpha</div>beta", "alpha beta"),
        ("<p>one</p>two<ul><li>three<li>four</ul>five", "one two three four five"),
    ] {
        assert_markdown(&rows(cell), &format!("| h | i |\n| --- | --- |\n| {want} | x |"));
        assert_eq!(text_of_page(&rows(cell)), format!("h\ti\n{want}\tx"));
    }
    for (code, want) in [
        ("<div>one</div>two", "one\ntwo"),
        ("<div>one</div>\n<div>two</div>\nthree", "one\ntwo\nthree"),
        ("one<h3>two</h3>three <i>3</i>", "one\ntwo\nthree 3"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>e", "a\tb\nc\td\ne"),
    ] {
        assert_markdown(&format!("<pre>{code}</pre>"), &format!("```\n{want}\n```"));
        assert_eq!(text_of_page(&format!("<pre>{code}</pre>")), want);
    }
}

#[test]
fn inline_elements_that_a_style_shows_as_blocks_have_lines() {
    let html = "<p>a <span style='display:block'>alpha</span><b style='color:red; display: FLEX'>beta</b>c\
        <i style='display:inline-block'>d</i></p>";
    assert_markdown(html, "a  \nalpha  \n**beta**  \nc*d*");
    assert_eq!(text_of_page(html), "a\nalpha\nbeta\ncd");
    for (html, want) in [
        ("<p><span style='display:block; float:left; font-size:3em'>T</span>he harbour", "The harbour"),
        ("<h2><span style=display:block>One</span>Two</h2>", "## One Two"),
        (
            "<table><tr><th>a<th>b<tr><td><span style=display:block>1</span>2<td>3</table>",
            "| a | b |\n| --- | --- |\n| 1 2 | 3 |",
        ),
        ("<ul><li><a href=/x style=display:block>One</a>Two</ul>", "- [One](https://quay.test/x)  \n  Two"),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn parts_of_fractions_are_apart_in_plain_text() {
    for (html, want) in [
        ("<math><mfrac><mn>1</mn> <mn>2</mn></mfrac></math> l", "1/2 l"),
        ("1<sup>1</sup>⁄<sub>2</sub> cups, <sup>3</sup>/<sub>4</sub> l", "1 1⁄2 cups, 3/4 l"),
        ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac></math>", "(a+b)/c"),
        ("<math>(<mfrac linethickness=0><mi>n</mi><mi>k</mi></mfrac>)</math>", "(n k)"),
        ("10<sup>6</sup> m, x<sup>2</sup>/2", "106 m, x2/2"),
    ] {
        assert_eq!(text_of_page(html), want);
    }
}

#[test]
fn emphasis_begins_and_ends_at_words_of_any_script() {
    assert_markdown("a<b>\u{3000}漢字\u{3000}</b>b", "a\u{3000}**漢字**\u{3000}b");
    assert_markdown("<p><b>\u{3000}\u{3000}漢字</b></p><p>x<i>\u{2003}</i>y", "**漢字**\n\nx\u{2003}y");
}

#[test]
fn numbers_behind_text_between_items_begin_a_list() {
    assert_markdown("<ol><li>a<p>b</p></li><p>Note</p><li>c<li>d</ol>", "1. a\n\n   b\n\nNote\n\n2. c\n3. d");
    assert_markdown("<ul><li>a</ul><ul><li><hr>b</ul>", "- a\n\n* ___\n\n  b");
}

#[test]
fn list_directly_within_a_list_belongs_to_the_item_before_it() {
    assert_markdown(
        "<ol><li>a</li><li>b</li><ol><li>c</li><ul><li>d</li></ul></ol><li>e</li></ol>",
        "1. a\n2. b\n   1. c\n      - d\n3. e",
    );
    assert_markdown("<ul><ul><li>a</li></ul><li>b</li></ul>", "- a\n- b");
}
