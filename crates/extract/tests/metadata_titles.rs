//! Titles of pages.

use crate::metadata::metadata;

fn title(head: &str, body: &str) -> String {
    let html =
        format!("<head>{head}</head><body>{body}<p>The ferry leaves at noon from the old harbour.</p>");
    metadata("http://holm.example/notes/a/b.html", &html).title.unwrap_or_default()
}

#[test]
fn heading_linked_to_the_start_page_is_the_site_name() {
    let body = "<h1><a href='/notes/'>Harbour notes of Holm</a></h1><h1>Ferry in winter</h1>";
    assert_eq!(title("<title>Ferry in winter — Harbour notes of Holm</title>", body), "Ferry in winter");
}

#[test]
fn kicker_and_subtitle_are_cut_from_the_heading() {
    let head = "<title>Ferry stops for the winter | Harbour Press</title><meta property=og:title content='Ferry stops for the winter'>";
    for heading in [
        "<h1><span>Timetables</span> Ferry stops for the winter</h1>",
        "<h1>Ferry stops for the winter<small>Islanders have to wait for spring</small></h1>",
    ] {
        assert_eq!(title(head, heading), "Ferry stops for the winter");
    }
    // Within a text it is part of the text.
    let longer = "Ferry stops for the winter, and islanders have to wait";
    assert_eq!(title(head, &format!("<h1>{longer}</h1>")), longer);
}

#[test]
fn longer_heading_is_not_taken_for_the_site_name() {
    let head = "<title>winter - How does the ferry cross the ice? - Ask Holm</title>";
    let body = "<h1>How does the ferry cross the ice?</h1><h1>Winter</h1><h1>Spring</h1>";
    assert_eq!(title(head, body), "How does the ferry cross the ice?");
}

#[test]
fn own_breadcrumb_is_not_the_site_name() {
    let head = "<title>The ferry: winter timetable | Holm port</title>";
    let body = "<a href='/notes/'>The ferry: winter timetable</a><h1>The ferry: winter timetable</h1><h1>Photographs of the ferry</h1>";
    assert_eq!(title(head, body), "The ferry: winter timetable");
}

#[test]
fn site_name_and_slogan_are_cut_off() {
    let head = "<title>The oldest ferry of them all : Port archive | All about boats | Since 2005</title>";
    let body = "<h1><a href='/'>Port archive</a></h1><h3>The oldest ferry of them all</h3>";
    assert_eq!(title(head, body), "The oldest ferry of them all");
}

#[test]
fn title_without_a_page_part_yields_to_the_heading() {
    assert_eq!(title("<title>| Harbour & Port Magazine</title>", "<h1>Timetables</h1>"), "Timetables");
}

#[test]
fn title_ending_with_a_separator_yields_to_the_heading() {
    assert_eq!(title("<title>Harbour Magazine -</title>", "<h1>Timetables</h1>"), "Timetables");
}

#[test]
fn bar_separates_page_title_from_site_names() {
    let of = |element: &str| title(&format!("<title>{element}</title>"), "<p>The ferry leaves at noon.");
    assert_eq!(of("Winter timetable | Boats and ferries | The north"), "Winter timetable");
    assert_eq!(of("The ferry - a history | Harbour and Port Society of Holm"), "The ferry - a history");
    // A site in front is shorter; a bar in brackets belongs to the name.
    let site_in_front = "Harbour Press | Last ferry before the winter leaves the island";
    assert_eq!(of(site_in_front), site_in_front);
    assert_eq!(of("Boat class (Ferries | Holm line) of two"), "Boat class (Ferries | Holm line) of two");
}

#[test]
fn url_path_selects_a_part_of_the_title() {
    let of = |path: &str, element: &str| {
        let html = format!("<title>{element}</title><body><p>The ferry leaves at noon.");
        metadata(&format!("http://holm.example{path}"), &html).title.unwrap_or_default()
    };
    let both = "Harbour Press | Last ferry before the winter leaves the island";
    assert_eq!(
        of("/2024/last-ferry-before-the-winter-leaves-the-island/", both),
        &both["Harbour Press | ".len()..]
    );
    assert_eq!(
        of("/news/in-the-news.html", "In the news - Ferries, boats, and more of the harbour"),
        "In the news"
    );
    // A model behind the name of its maker.
    assert_eq!(of("/ships/mk4", "Holm shipyards - MK4"), "Holm shipyards - MK4");
    assert_eq!(
        of("/timetable.php?day=4", "Timetable - the winter of all ferries"),
        "Timetable - the winter of all ferries"
    );
}

#[test]
fn heading_equal_to_the_domain_is_not_the_title() {
    let html = "<title>Ferries vs holm? What is faster in winter</title><body><h1>Holm</h1><p>The ferry leaves at noon.";
    let found = metadata("http://forum.holm.example/thread-7.html", html).title;
    assert_eq!(found.as_deref(), Some("Ferries vs holm? What is faster in winter"));
}

#[test]
fn comment_feed_of_a_page_gives_its_title() {
    let feed = |address: &str, title: &str| {
        format!(
            "<title>Holm harbour | Ferries for all</title><link rel=alternate type='application/rss+xml' title='{title}' href='{address}'>"
        )
    };
    let comments = feed("/notes/a/b.html/feed/", "Holm harbour » Ferry » winter Comments Feed");
    let line = "<div>Holm harbour</div><div>Ferry » winter</div><div>Ferry</div>";
    assert_eq!(title(&comments, line), "Ferry » winter");
    assert_eq!(title(&comments, "<h1>Latest news</h1><h2>Ferry » winter</h2>"), "Ferry » winter");
    assert_eq!(title(&comments, "<h3>Ferry » win…</h3><h3>Ferry » winter</h3>"), "Ferry » winter");
    // neither a line with more in the feed, nor one beside another heading
    assert_eq!(title(&comments, "<div>Ferry of the north</div>"), "Holm harbour");
    let longer = feed(
        "/notes/a/b.html/feed/",
        "Holm harbour » Ferry stops for the winter and for the whole spring Feed",
    );
    assert_eq!(title(&longer, "<div>Ferry</div>"), "Holm harbour");
    let of_the_site = feed("/feed/", "Holm harbour » Ferry » winter Comments Feed");
    assert_eq!(title(&of_the_site, line), "Holm harbour");
}

#[test]
fn heading_nearest_to_the_title_is_chosen() {
    let head = "<title>Same-day winter crossings on the ferry in Holm, South</title>";
    let body =
        "<h1>Winter crossings on the ferry in Holm and the South Isles</h1><h1>Winter crossings in Holm</h1>";
    assert_eq!(title(head, body), "Winter crossings on the ferry in Holm and the South Isles");
}

#[test]
fn start_page_title_keeps_the_site_name() {
    let of = |url: &str, title: &str| {
        let html = format!(
            "<title>{title}</title><body><h1>Boots for all weathers</h1><p>The ferry leaves at noon."
        );
        metadata(url, &html).title.unwrap_or_default()
    };
    let start = "https://www.holmharbour.example/";
    for title in
        ["Holm Harbour - Boots for all weathers", "Holm Harbour: Boots and ropes", "Home | Holm Harbour"]
    {
        assert_eq!(of(start, title), title);
    }
    // Elsewhere the name is no part of the title, and a name behind several words only says whose page it is.
    let page = "https://www.holmharbour.example/boots";
    for (url, title) in [
        (page, "Holm Harbour - Boots for all weathers"),
        (start, "Boots for all weathers | Holm Harbour"),
        ("https://www.holmharbour.example/?page=2", "Holm Harbour - Boots for all weathers"),
    ] {
        assert_eq!(of(url, title), "Boots for all weathers");
    }
    // Scripts without spaces have words too.
    let head = "<meta property=og:site_name content='例港'>";
    let title = "适合各种天气的靴子 | 例港";
    let html =
        format!("{head}<title>{title}</title><body><h1>适合各种天气的靴子</h1><p>渡轮中午从老港出发。</p>");
    assert_eq!(metadata(start, &html).title.unwrap_or_default(), "适合各种天气的靴子");
    let html = html.replace(title, "例港 - 适合各种天气的靴子");
    assert_eq!(metadata(start, &html).title.unwrap_or_default(), "例港 - 适合各种天气的靴子");
    // The rest of the title must be a word.
    assert_eq!(of(start, "Holm Harbour - "), "Boots for all weathers");
}

#[test]
fn icon_glyphs_are_cut_from_the_heading() {
    let head = "<title>Ferry in winter &mdash; Harbour notes 2.1</title>";
    let link = "<a class=headerlink href='#ferry'>\u{f0c1}</a>";
    assert_eq!(title(head, &format!("<h1>Ferry in winter{link}</h1>")), "Ferry in winter");
    assert_eq!(title(head, "<h1>\u{e80c} Ferry in winter\u{b6}</h1>"), "Ferry in winter");
    // A tag at the front belongs to the text.
    assert_eq!(title("", "<h1>#Ferry in winter</h1>"), "#Ferry in winter");
}

#[test]
fn lower_heading_matches_the_title_before_the_bracket() {
    let head = "<title>Winter (Harbour manual (version 7))</title>";
    assert_eq!(title(head, "<h2>3.1 Winter</h2>"), "3.1 Winter");
    // The name of a section, below the heading of the page.
    let whole = "Winter (Harbour manual (version 7))";
    assert_eq!(title(head, "<h2>Ferries, boats and their crews</h2><h3>Winter</h3>"), whole);
    assert_eq!(title(head, "<h2>Timetables of the ferry in summer and in winter</h2>"), whole);
    for longer in ["Ferries in winter", "See also: Winter"] {
        assert_eq!(title("<title>Winter (season)</title>", &format!("<h2>{longer}</h2>")), "Winter (season)");
    }
}

#[test]
fn no_title_is_cut_within_a_bracket() {
    let whole = "Harbour notes of the ferry (Index - A)";
    assert_eq!(title(&format!("<title>{whole}</title>"), ""), whole);
}

#[test]
fn generator_identifies_a_heading_that_is_not_h1() {
    let generator = "<meta name=generator content='Doxygen 1.9.4'>";
    let body = "<div class=headertitle><div class=title>Ferry Member List</div></div><div class=contents><p>Ferries.</p></div>";
    assert_eq!(title(&format!("{generator}<title>Harbour: Member List</title>"), body), "Ferry Member List");
    // Without the sign of the program it is any element.
    assert_eq!(title("<title>Harbour: Member List</title>", body), "Harbour: Member List");
}

#[test]
fn heading_of_a_wiki_page_is_its_title() {
    let body = "<header><h1 class=logo><a href='?id=start'>Harbour wiki</a></h1></header><main id=dokuwiki__content>\
        <div class=page><h1>Ferry on the lake</h1><p>The ferry leaves at noon.</p></div></main>";
    let head = "<meta name=generator content=DokuWiki><title>ferry_2 [Harbour wiki]</title>";
    assert_eq!(title(head, body), "Ferry on the lake");
    // Without the sign of the program the heading that the title element names is taken.
    assert_eq!(title("<title>ferry_2 [Harbour wiki]</title>", body), "Harbour wiki");
}

#[test]
fn sign_of_the_last_word_is_no_mark_of_a_link() {
    assert_eq!(title("<title>Learn C# - Harbour</title>", "<h1>Learn C#</h1>"), "Learn C#");
    assert_eq!(title("<title>Learn C - Harbour</title>", "<h1>Learn C<a href='#c'>#</a></h1>"), "Learn C");
    assert_eq!(title("<title>Learn C - Harbour</title>", "<h1>Learn C #</h1>"), "Learn C");
}
