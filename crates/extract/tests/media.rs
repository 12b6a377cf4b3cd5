//! Images, videos, sounds and players are data beside the text.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, LinkStyle, Options, PageExtractor};
use crawl_model::{Extraction, MediaKind};

const PROSE: &str = "<p>The old crane on the quay has lifted stone, herring and once a locomotive, and it is to be \
    painted again this summer, in the green that it had when it was built for the harbour.</p>";

fn extract(inside: &str) -> Extraction {
    let html = format!(
        "<html lang=en><head><title>The crane</title></head><body><nav><img src=/logo.png alt=Logo></nav>\
         <article><h1>The crane</h1>{PROSE}{inside}{PROSE}</article></body></html>"
    );
    let url = url::Url::parse("https://harbour.example/crane/").unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html; charset=utf-8");
    let options = Options::default().with_links(LinkStyle::Keep);
    PageExtractor::new(options).unwrap().extract(&input)
}

fn addresses(inside: &str) -> Vec<String> {
    extract(inside).media.into_iter().map(|media| media.src).collect()
}

#[test]
fn image_has_caption_size_and_largest_candidate() {
    let media = extract(
        "<figure><a href=/big><img src=/s.jpg srcset='/m.jpg 800w, /l.jpg 1600w' alt='The  crane' width=800 \
         height='600px'></a><figcaption>The crane in <i>1911</i></figcaption></figure>",
    )
    .media;
    let [image] = media.as_slice() else { panic!("{media:?}") };
    assert_eq!(image.kind, MediaKind::Image);
    assert_eq!(image.src, "https://harbour.example/l.jpg");
    assert_eq!(
        (image.alt.as_deref(), image.caption.as_deref()),
        (Some("The crane"), Some("The crane in 1911"))
    );
    assert_eq!((image.width, image.height), (Some(800), Some(600)));
}

#[test]
fn lazy_image_url_replaces_its_placeholder() {
    for lazy in [
        "<img src='data:image/gif;base64,R0' data-src=/a.jpg>",
        "<img src='data:image/svg+xml,%3Csvg/%3E' data-image-loader='https://harbour.example/a.jpg'>",
        "<img data-lazy-srcset='/b.jpg 1x, /a.jpg 2x'>",
        "<img src='data:image/gif;base64,R0' srcset='data:image/gif;base64,R0 1w, /a.jpg 800w'>",
        "<img src='data:image/gif;base64,R0'><noscript><img src=/a.jpg></noscript>",
        "<picture><source srcset='/a.jpg 900w'><img src='data:image/gif;base64,R0'></picture>",
    ] {
        assert_eq!(addresses(&format!("<p>{lazy}</p>")), ["https://harbour.example/a.jpg"], "{lazy}");
    }
}

#[test]
fn image_that_fades_in_is_not_a_beacon() {
    for image in [
        "<img src=/a.jpg style='opacity:0;transition:opacity 500ms'>",
        "<img src=/a.jpg style='opacity: 0; animation: appear 1s forwards'>",
        "<img src=/a.jpg style='opacity:0' class='photo lazyload'>",
        "<img src=/a.jpg style='opacity:0' class=js-fade-in>",
        "<img src=/a.jpg style='opacity:0' onload='this.style.opacity=1'>",
    ] {
        assert_eq!(addresses(&format!("<p>{image}</p>")), ["https://harbour.example/a.jpg"], "{image}");
    }
    for beacon in [
        "<img src=/a.jpg style='opacity:0'>",
        "<img src=/a.jpg style='opacity:0;transition:none' class=unfaded>",
        "<img src=/a.jpg style='display:none;transition:opacity 1s' class=lazy>",
        "<img src=/a.jpg style='width:1px;opacity:0;transition:opacity 1s'>",
    ] {
        assert_eq!(addresses(&format!("<p>{beacon}</p>")), [""; 0], "{beacon}");
    }
}

#[test]
fn custom_elements_of_players_are_media_without_text() {
    let fallback =
        "<a href='https://youtube.com/watch?v=abc'><span>Watch on YouTube: the crane in 1911</span></a>";
    for (element, address) in [
        ("lite-youtube videoid=abc", "https://www.youtube.com/watch?v=abc"),
        ("lite-vimeo videoid=12", "https://vimeo.com/12"),
        ("amp-youtube data-videoid=abc layout=responsive", "https://www.youtube.com/watch?v=abc"),
        ("amp-vimeo data-videoid=12", "https://vimeo.com/12"),
        ("amp-dailymotion data-videoid=x2", "https://www.dailymotion.com/video/x2"),
        ("amp-iframe src='https://www.youtube.com/embed/abc'", "https://www.youtube.com/watch?v=abc"),
        ("amp-video src=/crane.mp4", "https://harbour.example/crane.mp4"),
    ] {
        let name = element.split(' ').next().unwrap();
        let page = extract(&format!("<div><{element} playlabel='The crane'>{fallback}</{name}></div>"));
        let [media] = page.media.as_slice() else { panic!("{element}: {:?}", page.media) };
        assert_eq!((media.src.as_str(), media.alt.as_deref()), (address, Some("The crane")), "{element}");
        assert!(!page.content.contains("Watch on YouTube"), "{element}: {}", page.content);
    }
    let unnamed = extract(&format!("<lite-youtube>{fallback}</lite-youtube>"));
    assert_eq!(unnamed.media, []);
}

#[test]
fn player_that_waits_for_a_script_or_consent_is_listed() {
    for player in [
        "<iframe src='about:blank' data-lazy-src='https://www.youtube.com/embed/abc?rel=0'></iframe>",
        "<iframe src='data:text/plain;base64,' data-litespeed-src='https://www.youtube.com/embed/abc'></iframe>",
        "<iframe data-cookieblock-src='//www.youtube-nocookie.com/embed/abc' data-cookieconsent=marketing></iframe>",
        "<iframe src=/blank.html data-src-cmplz='https://www.youtube.com/embed/abc'></iframe>",
    ] {
        assert_eq!(
            addresses(&format!("<p>{player}</p>")),
            ["https://www.youtube.com/watch?v=abc"],
            "{player}"
        );
    }
    let list = "<iframe src='https://www.youtube.com/embed/videoseries?list=abc&amp;rel=0'></iframe>";
    assert_eq!(addresses(list), ["https://www.youtube.com/playlist?list=abc"]);
    let others = "<iframe src=about:blank data-title='https://www.youtube.com/' data-lazy-src=/ad></iframe>";
    assert_eq!(addresses(others), [""; 0]);
}

#[test]
fn video_has_its_poster_and_player_its_page() {
    let media = extract(
        "<video poster=/p.jpg title='Lifting'><source src=/v.mp4></video><audio src=/a.mp3></audio>\
         <iframe src='https://www.youtube-nocookie.com/embed/abc?rel=0' width=560 title='The film'></iframe>\
         <iframe src='https://ads.example/frame'></iframe>",
    )
    .media;
    let said: Vec<(MediaKind, &str)> = media.iter().map(|media| (media.kind, media.src.as_str())).collect();
    assert_eq!(
        said,
        [
            (MediaKind::Video, "https://harbour.example/v.mp4"),
            (MediaKind::Audio, "https://harbour.example/a.mp3"),
            (MediaKind::Embed, "https://www.youtube.com/watch?v=abc"),
        ]
    );
    assert_eq!(media[0].poster.as_deref(), Some("https://harbour.example/p.jpg"));
    assert_eq!((media[2].alt.as_deref(), media[2].width), (Some("The film"), Some(560)));
}

#[test]
fn icons_pixels_and_repeated_images_are_not_media() {
    let inside = "<p><img src=/icon.png width=16 height=16><img src=/pixel.gif width=1 height=1><img src=/a.jpg>\
                  <img src=/b1.gif style='width: 1px; height:1px'><img src=/b2.gif style='display:none'>\
                  <img src=/a.jpg></p>";
    assert_eq!(addresses(inside), ["https://harbour.example/a.jpg"]);
}

#[test]
fn avatars_and_logo_are_not_content_images() {
    let frame = "<p><a href=/><img src=/holm.svg></a> <img class='avatar avatar-96' src=/u7.png>
        <span class=account__avatar><img src=/u8.png></span> <img src=https://cdn.example/avatars/u9.png>
        <img src=https://secure.gravatar.com/ab12?s=96></p>";
    let content = "<p><img src=/avatar-film-poster.jpg> <a href=/film><img src=/film.jpg></a></p>
        <div class=avatar><p>An avatar in this sense is a figure that stands for somebody in a game.</p><img src=/figure.jpg></div>";
    let expected = ["/avatar-film-poster.jpg", "/film.jpg", "/figure.jpg"]
        .map(|path| format!("https://harbour.example{path}"));
    assert_eq!(addresses(&format!("{frame}{content}")), expected);
}

#[test]
fn notes_beside_a_paragraph_are_footnotes() {
    for note in [
        "<label for=sn class='margin-toggle sidenote-number'></label><input type=checkbox id=sn class=margin-toggle>\
         <span class=sidenote>It was sold in 1950.</span>",
        "<span class=inline-footnote>1<span class=footnoteContent style='display:none'>It was sold in 1950.</span></span>",
    ] {
        let content = extract(&format!("<p>It lifted nine tons.{note} Then it stood still.</p>")).content;
        assert!(content.contains("It lifted nine tons.[^1] Then"), "{content}");
        assert!(content.contains("\n[^1]: It was sold in 1950."), "{content}");
        assert_eq!(content.matches("1950").count(), 1, "{content}");
    }
}

#[test]
fn notes_outside_the_content_become_footnotes() {
    let html = format!(
        "<body><article><h1>The crane</h1>{PROSE}<p>It lifted nine tons<sup>1</sup>.</p>{PROSE}</article>\
         <footer><ol><li id=footnote-1>It was sold in 1950.</li></ol></footer></body>"
    );
    let input = Input::new(html.as_bytes()).with_content_type("text/html");
    let content = PageExtractor::new(Options::default()).unwrap().extract(&input).content;
    assert!(content.contains("nine tons[^1]."), "{content}");
    assert!(content.ends_with("[^1]: It was sold in 1950."), "{content}");
}

#[test]
fn label_with_several_targets_is_text_in_once_style() {
    let row = |place: &str| {
        format!("<p><a href='/{place}'>{place} crane</a> <a href='/{place}/last'>Last post</a></p>")
    };
    let html =
        format!("<body><article>{PROSE}{}{}{}{PROSE}</article></body>", row("old"), row("new"), row("tall"));
    let url = url::Url::parse("https://harbour.example/crane/").unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    let options = Options::default().with_links(LinkStyle::Once);
    let content = PageExtractor::new(options).unwrap().extract(&input).content;
    assert!(content.contains("[tall crane](https://harbour.example/tall) Last post"), "{content}");
}
