//! Invisible text in a real browser: it is marked before the page is taken.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use support::{Server, pages, render, renderer};

/// Elements that hide the text FINDME, which replaces `{}`.
const HIDDEN: [&str; 25] = [
    "<style>.q{display:none}</style><p class=q>{}</p>",
    "<p style='opacity:0'>{}</p>",
    "<p style='visibility:hidden'>{}</p>",
    "<p style='font-size:1px'>{}</p>",
    "<p style='position:absolute;left:-9999px'>{}</p>",
    "<p style='text-indent:-9999px'>{}</p>",
    "<p style='position:absolute;clip:rect(0,0,0,0)'>{}</p>",
    "<p style='clip-path:inset(100%)'>{}</p>",
    "<p style='height:0;overflow:hidden'>{}</p>",
    "<p style='color:white'>{}</p>",
    "<div style='background:#000'><p style='color:#000'>{}</p></div>",
    "<p style='color:transparent'>{}</p>",
    "<p style='transform:scale(0)'>{}</p>",
    "<p style='content-visibility:hidden'>{}</p>",
    "<p style='zoom:.01'>{}</p>",
    "<p style='-webkit-text-security:disc'>{}</p>",
    "<p style='text-indent:100%;white-space:nowrap;overflow:hidden'>{}</p>",
    "<p style='clip-path:inset(0 0 100% 0)'>{}</p>",
    "<p style='mask:linear-gradient(transparent 0 0)'>{}</p>",
    "<p style='color:oklch(1 0 0)'>{}</p>",
    "<p style='color:lab(100% 0 0)'>{}</p>",
    "<p style='padding-top:20px;height:0;overflow:hidden'>{}</p>",
    "<div style='opacity:.2'><div style='opacity:.2'>{}</div></div>",
    "<div id=o>{}</div><script>o.style.display = 'none'</script>",
    "<div id=o>{}</div><script>document.styleSheets; const s = document.createElement('style'); s.textContent = '#o{font-size:0}'; document.head.append(s)</script>",
];

/// Elements whose text a reader can see or open.
const SHOWN: [&str; 14] = [
    "<p>{}</p>",
    "<div style='background:#111'><p style='color:#fff'>{}</p></div>",
    "<p style='background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent'>{}</p>",
    "<style>.o{visibility:hidden}.q{visibility:visible}</style><div class=o><p class=q>{}</p></div>",
    "<style>.o{font-size:0}.q{font-size:16px}</style><div class=o><p class=q>{}</p></div>",
    "<details><summary>More</summary><p>{}</p></details>",
    "<style>.slide{display:none}.slide:first-of-type{display:block}</style><div class=slide>a</div><div class=slide>{}</div>",
    "<style>.pane{display:none}.pane.active{display:block}</style><div class=pane>{}</div>",
    "<style>.q{opacity:0;animation:a 100s}@keyframes a{to{opacity:1}}</style><p class=q>{}</p>",
    "<p style='clip-path:inset(10% 0 60% 0)'>{}</p>",
    "<p style='padding-bottom:40px;height:0;overflow:hidden'>{}</p>",
    "<p style='color:oklch(.5 .2 20)'>{}</p>",
    "<div style='opacity:.5'><div style='opacity:.5'>{}</div></div>",
    "<p style='position:absolute;left:50%;transform:translate(-50%,0)'>{}</p>",
];

#[test]
#[ignore = "needs Chromium"]
fn invisible_elements_are_marked_as_hidden() {
    let (renderer, _profiles) = renderer(|_| {});
    for (snippets, is_marked) in [(&HIDDEN[..], true), (&SHOWN[..], false)] {
        for snippet in snippets {
            let body = format!("<body><p>A text that is seen.</p>{}", snippet.replace("{}", "FINDME in it"));
            let server = Server::start("127.0.0.1", pages(&[("/page", body)]));
            let page =
                render(&renderer, &server.url("/page")).unwrap_or_else(|error| panic!("{snippet}: {error}"));
            let marked = page.html.split("hidden=\"\"").skip(1).any(|behind| {
                behind.split_once('>').is_some_and(|(_, inside)| inside.trim_start().starts_with("FINDME"))
            });
            assert_eq!(marked, is_marked, "{snippet}: {}", page.html);
        }
    }
}
