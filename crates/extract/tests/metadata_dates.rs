//! Publication dates, and titles that the URL decides: one cause per test, on our own pages.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageMetadata;

fn metadata(url: &str, head: &str, body: &str) -> PageMetadata {
    extracted(url, &format!("<html lang=en><head>{head}</head><body>{body}</body></html>"))
}

fn extracted(url: &str, html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let url = url::Url::parse(url).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    extractor.extract(&input).metadata
}

/// Publication date and its place on a page with a heading, followed by `behind`.
fn published(head: &str, behind: &str) -> (String, String) {
    let body = format!("<h1>Ferry in winter</h1>{behind}<p>{TEXT}</p>");
    let found = metadata("http://holm.example/notes/ferry.html", head, &body);
    (found.published.unwrap_or_default(), found.sources.published.unwrap_or_default())
}

fn pair(date: &str, place: &str) -> (String, String) {
    (date.to_owned(), place.to_owned())
}

const TEXT: &str = "The ferry leaves at noon from the old harbour, and the second boat follows an hour later. Those who miss both have to wait for the evening.";

#[test]
fn the_only_day_of_publication_in_scripts_dates_the_page() {
    let json = r#"<script type=application/json>{"props":{"publishedAt":"2026-03-05T10:00:00Z","updatedAt":"2026-04-01"}}</script>"#;
    assert_eq!(published("", json), pair("2026-03-05T10:00:00Z", "script"));
    let escaped = r#"<script>self.push([1,"{\"published_at\":\"2026-03-05\",\"id\":7}"])</script>"#;
    assert_eq!(published("", escaped), pair("2026-03-05", "script"));
    let attribute =
        "<div data-page='{&quot;article&quot;:{&quot;datePublished&quot;:&quot;2026-03-05&quot;}}'></div>";
    assert_eq!(published("", attribute), pair("2026-03-05", "script"));
    // Several days belong to several pages, and other keys have other meanings.
    let list = r#"<script>var all = [{"published_at":"2026-03-05"},{"published_at":"2026-03-06"}];</script>"#;
    assert_eq!(published("", list), pair("", ""));
    let other = r#"<script>var user = {"registered":"2026-03-05","unpublished_at":"2026-03-05"};</script>"#;
    assert_eq!(published("", other), pair("", ""));
    let image =
        r#"<script type=application/ld+json>{"@type":"ImageObject","datePublished":"2025-01-05"}</script>"#;
    assert_eq!(published("", image), pair("", ""), "not of the page");
    assert_eq!(published(image, json), pair("2026-03-05T10:00:00Z", "script"));
    let page = r#"<script type=application/ld+json>[{"@type":"Product","name":"Boat"},{"@type":"WebPage","datePublished":"2026-03-05"}]</script>"#;
    assert_eq!(published(page, ""), pair("2026-03-05", "script"));
    let long = format!("{json}<script>{}</script>", "0".repeat(4 << 20));
    assert_eq!(published("", &long), pair("", ""), "the rest is not read");
}

#[test]
fn timestamp_takes_the_pages_zone_if_the_day_differs() {
    let stamp = "<meta property=article:published_time content='2026-03-05T22:30:00Z'>";
    let shown = |line: &str| published(stamp, &format!("<p>{line}</p>")).0;
    assert_eq!(shown("6 March 2026, 00:30"), "2026-03-06T00:30:00+02:00");
    assert_eq!(shown("March 5, 2026, 5:30 pm"), "2026-03-05T22:30:00Z", "the same day");
    assert_eq!(shown("6 March 2026, 00:37"), "2026-03-05T22:30:00Z", "another instant");
    assert_eq!(shown("Updated 6 March 2026, 09:00"), "2026-03-05T22:30:00Z", "a change");
    assert_eq!(shown("Joined: 6 March 2026, 00:30"), "2026-03-05T22:30:00Z", "a person");
    let change = "<p>Updated <time datetime='2026-03-06T00:30:00+02:00'>6 March 2026, 00:30</time></p>";
    assert_eq!(published(stamp, change).0, "2026-03-05T22:30:00Z");
    let other = format!("{stamp}<meta name=date content='Fri, 06 Mar 2026 00:30:00 +0200'>");
    assert_eq!(published(&other, "").0, "2026-03-06T00:30:00+02:00");
    let time = "<time datetime='2026-03-05T22:30:00+00:00'>03-06-2026, 07:30 AM</time>";
    assert_eq!(published(stamp, time).0, "2026-03-06T07:30:00+09:00");
}

#[test]
fn ambiguous_meta_date_yields_to_an_earlier_page_date() {
    let head = "<meta name=date content='2026-03-12'>";
    assert_eq!(published(head, "<div>5 March 2026 - Ines Calloway</div>"), pair("2026-03-05", "text"));
    assert_eq!(published(head, "<time>14 March 2026</time>"), pair("2026-03-12", "meta"));
    let byline = "<p>By Ines Calloway <time datetime=2026-03-05>a week ago</time></p>";
    assert_eq!(published(head, byline), pair("2026-03-05", "text"));
    // A date in the text is not that of the text.
    for rest in ["the ferry sank.", "the ferry ran aground on the rocks of the outer harbour and sank there."]
    {
        let text = format!("<p>In <time datetime=1998-05-01>May 1998</time> {rest}</p>");
        assert_eq!(published(head, &text), pair("2026-03-12", "meta"), "{rest}");
    }
    let sure = "<meta property=article:published_time content='2026-03-12'>";
    assert_eq!(published(sure, "<div>5 March 2026</div>"), pair("2026-03-12", "meta"));
}

#[test]
fn shown_date_decides_between_conflicting_data() {
    let head = |json: &str| {
        format!(
            r#"<script type=application/ld+json>{{"@type":"Article","datePublished":"{json}"}}</script><meta property=article:published_time content="2026-03-12T10:00:00Z">"#
        )
    };
    assert_eq!(published(&head("2025-06-01"), "<p>12 March 2026</p>"), pair("2026-03-12T10:00:00Z", "meta"));
    assert_eq!(published(&head("2025-06-01"), "<p>1 June 2025</p>"), pair("2025-06-01", "json_ld"));
    // Consecutive days may be one day in two zones.
    assert_eq!(published(&head("2026-03-11"), "<p>12 March 2026</p>"), pair("2026-03-11", "json_ld"));
}

#[test]
fn modification_before_publication_marks_a_build_date() {
    let head = "<meta property=article:published_time content='2026-03-12T10:33:13Z'><meta property=article:modified_time content='2026-03-12T10:32:18Z'>";
    assert_eq!(published(head, "<p>9 March 2026</p>").0, "2026-03-09");
    let later = head.replace("10:32:18", "11:32:18");
    assert_eq!(published(&later, "<p>9 March 2026</p>").0, "2026-03-12T10:33:13Z");
}

#[test]
fn join_date_of_a_member_is_not_the_publication() {
    for line in ["Joined: 5 March 2026", "Registriert: 05.03.2026, 05:56", "Member since March 5, 2026"] {
        assert_eq!(published("", &format!("<p>{line}</p>")).0, "", "{line}");
    }
    let post = "<p>Joined: 5 March 2020</p><p>r23 » 9 March 2026, 05:42</p>";
    assert_eq!(published("", post).0, "2026-03-09");
    let trade = "<p>By Ada Byron, registered nurse, 5 March 2026</p>";
    assert_eq!(published("", trade).0, "2026-03-05");
    let beside = "<p>Ada Byron, registered on Monday, 5 March 2026</p>";
    assert_eq!(published("", beside).0, "");
}

#[test]
fn upload_of_a_video_does_not_date_an_article() {
    let video = r#"<script type=application/ld+json>{"@type":"VideoObject","name":"How ferries are built","uploadDate":"2026-02-01"}</script>"#;
    assert_eq!(published(video, ""), pair("2026-02-01", "json_ld"), "there is no other date");
    let article = format!("{video}<meta property=article:published_time content='2026-03-05'>");
    assert_eq!(published(&article, ""), pair("2026-03-05", "meta"));
    let page_of_video = format!("<title>How ferries are built - Holm</title>{article}");
    assert_eq!(published(&page_of_video, ""), pair("2026-02-01", "json_ld"));
}

#[test]
fn folder_of_the_share_image_dates_a_page_without_another_date() {
    let image = |path: &str| format!("<meta property=og:image content='/files/{path}/cover.png'>");
    assert_eq!(published(&image("2026/03/05"), ""), pair("2026-03-05", "meta"));
    for other in ["2026/03", "2026/03/7.jpg", "IMG-20260305.jpg"] {
        let head = format!("<meta property=og:image content='/files/{other}'>");
        assert_eq!(published(&head, ""), pair("", ""), "{other}");
    }
    assert_eq!(published(&image("2026/03/05"), "<p>9 March 2026</p>").0, "2026-03-09");
    let start = metadata("http://holm.example/", &image("2026/03/05"), "<h1>Ferry in winter</h1>");
    assert_eq!(start.published, None);
}

#[test]
fn months_are_recognised_in_twelve_more_languages() {
    for (language, months) in MONTHS {
        assert_eq!(months.split(' ').count(), 12, "{language}");
        for (number, month) in (1..).zip(months.split(' ')) {
            let html = format!("<html lang={language}><body><h1>Holm</h1><p>5 {month} 2026</p><p>{TEXT}</p>");
            let found = extracted("http://holm.example/a", &html).published.unwrap_or_default();
            assert_eq!(found, format!("2026-{number:02}-05"), "{month} in {language}");
        }
    }
}

/// The twelve months in dates, by language.
const MONTHS: [(&str, &str); 13] = [
    ("ar", "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"),
    ("he", "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר"),
    ("uk", "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня"),
    ("bg", "януари февруари март април май юни юли август септември октомври ноември декември"),
    (
        "hu",
        "január február március április május június július augusztus szeptember október november december",
    ),
    ("sk", "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra"),
    ("sl", "januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra"),
    (
        "hr",
        "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca",
    ),
    (
        "lt",
        "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio",
    ),
    ("lv", "janvārī februārī martā aprīlī maijā jūnijā jūlijā augustā septembrī oktobrī novembrī decembrī"),
    ("et", "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember"),
    (
        "ca",
        "de\u{a0}gener de\u{a0}febrer de\u{a0}març d'abril de\u{a0}maig de\u{a0}juny de\u{a0}juliol d'agost de\u{a0}setembre d'octubre de\u{a0}novembre de\u{a0}desembre",
    ),
    (
        "pl",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    ),
];

#[test]
fn current_date_above_yields_to_the_heading_line() {
    let menu = "<ul>".to_owned() + &"<li><a href=/a>Boats</a></li>".repeat(14) + "</ul>";
    let body = format!(
        "<div><span class=date>Fri, 6 Mar 2026</span></div>{menu}<h1>Ferry in winter</h1><p>Holm Press<br>5 March 2026, 22:11</p><p>{TEXT}</p>"
    );
    let found = metadata("http://holm.example/notes/ferry.html", "", &body);
    assert_eq!(found.published.as_deref(), Some("2026-03-05"));
}

#[test]
fn further_date_formats_are_recognised() {
    let footer = "<div class=asset-footer>By Ines Calloway on 5 March 2026, 11:51 | 0 comments</div>";
    let behind = format!("{}{footer}", format!("<p>{TEXT}</p>").repeat(30));
    assert_eq!(published("", &behind), pair("2026-03-05", "text"));
    let prose = |line: &str| format!("{}<div class=note>{line}</div>", format!("<p>{TEXT}</p>").repeat(30));
    for line in ["di 5 maart 2026, 11:51", "By March 5, 2026", "von Montag, 5. März 2026 an"] {
        assert_eq!(published("", &prose(line)), pair("", ""), "{line}");
    }
    assert_eq!(published("", &prose("Di Ines Calloway, 5 marzo 2026")), pair("2026-03-05", "text"));
    let threads = format!("{behind}<div>by Ada Holm on 7 March 2026, 10:02</div>");
    assert_eq!(published("", &threads), pair("", ""), "a list of threads");
    let prefixed = "<meta property='holm:published_time' content='2026-03-05'>";
    assert_eq!(published(prefixed, "").0, "2026-03-05");
    let url = metadata("http://holm.example/notes/29-10-2026", "", "<h1>Ferry in winter</h1>");
    assert_eq!(url.published.as_deref(), Some("2026-10-29"));
    let body = format!(
        "<table><tr><td><b>Ferry in winter</b></td></tr><tr><td>Holm ( 2026-03-05 09:20:26 )</td></tr></table><p>{TEXT}</p>"
    );
    assert_eq!(metadata("http://holm.example/a", "", &body).published.as_deref(), Some("2026-03-05"));
    let list = body.replace("<p>", "<div>2026-02-01 10:00</div><p>");
    assert_eq!(metadata("http://holm.example/a", "", &list).published, None, "a list of pages");
}

fn title(path: &str, head: &str, heading: &str) -> String {
    let body = format!("<h1>{heading}</h1><p>{TEXT}</p>");
    metadata(&format!("http://holm.example{path}"), head, &body).title.unwrap_or_default()
}

#[test]
fn url_decides_between_heading_and_data_title() {
    let head = "<title>No boats from November | Holm Press</title><meta property=og:title content='No boats from November'>";
    let heading = "Ferry stops for the winter";
    assert_eq!(title("/news/ferry-stops-for-the-winter", head, heading), heading);
    let other = "Boats from November? No boats!";
    assert_eq!(title("/news/no-boats-from-november-4711.html", head, heading), "No boats from November");
    assert_eq!(title("/news/4711", head, other), other, "the heading agrees with the data");
}

#[test]
fn heading_with_few_common_words_is_not_the_title() {
    let head = "<meta property=og:title content='All boats, harbours and lighthouses of the coast of Holm'>";
    assert_eq!(title("/a", head, "Holm today"), "All boats, harbours and lighthouses of the coast of Holm");
    let short = "<meta property=og:title content='Lighthouses of Holm'>";
    assert_eq!(title("/a", short, "Lighthouses today"), "Lighthouses today");
}

#[test]
fn kicker_separated_in_the_data_is_cut() {
    let heading = "<span>Papers on the net</span><span>Harbour accounts were copied</span>";
    for name in [
        "Papers on the net – Harbour accounts were copied",
        "Harbour accounts were copied - Papers on the net",
    ] {
        let head = format!("<meta property=og:title content='{name}'>");
        assert_eq!(title("/a", &head, heading), "Harbour accounts were copied", "{name}");
    }
    // A part after a longer text is a subtitle.
    let longer =
        "<span>What a ferry is and what it is not for the islanders</span> <span>Defining a good boat</span>";
    let head = "<meta property=og:title content='What a ferry is and what it is not for the islanders - Defining a good boat'>";
    assert_eq!(
        title("/a", head, longer),
        "What a ferry is and what it is not for the islanders Defining a good boat"
    );
}
