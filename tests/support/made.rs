//! Sites made on the fly.

use super::server::{Request, Response};
use std::time::Duration;

/// A small page with links; each block of its text differs by title.
pub fn page(title: &str, links: &[String]) -> String {
    let items: String = links.iter().map(|l| format!("<li><a href=\"{l}\">on to {l}</a></li>")).collect();
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head><body><main><h1>{title}</h1>\
         <p>This is {title}, which has a first paragraph of its own that no other page of this site repeats word for word.</p>\
         <p>What {title} has to say fills a second paragraph, so that there is something here worth taking out of the markup.</p>\
         <ul>{items}</ul></main></body></html>"
    )
}

/// A binary tree of `pages` pages: `/` and `/p/N.html`, where page N links to 2N and 2N+1.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// Number of pages.
    pub pages: usize,
    /// Delay of each answer.
    pub delay: Duration,
    /// Words of filler on each page, to enlarge outputs.
    pub filler: usize,
}

impl Tree {
    /// Without delay and filler.
    pub const fn of(pages: usize) -> Self {
        Self { pages, delay: Duration::ZERO, filler: 0 }
    }

    /// The target of a page.
    pub fn target(n: usize) -> String {
        if n == 1 { "/".into() } else { format!("/p/{n}.html") }
    }

    /// Targets of all pages.
    pub fn targets(self) -> Vec<String> {
        (1..=self.pages).map(Self::target).collect()
    }

    /// The answer to a request.
    pub fn answer(self, request: &Request) -> Response {
        let n = match request.path() {
            "/" => Some(1),
            path => {
                path.strip_prefix("/p/").and_then(|p| p.strip_suffix(".html")).and_then(|p| p.parse().ok())
            }
        };
        let Some(n) = n.filter(|n| (1..=self.pages).contains(n)) else { return Response::status(404) };
        let links: Vec<String> =
            [2 * n, 2 * n + 1].into_iter().filter(|m| *m <= self.pages).map(Self::target).collect();
        let mut html = page(&format!("page number {n}"), &links);
        if self.filler > 0 {
            let words: String =
                (0..self.filler).map(|i| format!("word{} ", (i * 31 + n * 17) % 9973)).collect();
            html = html.replace("<ul>", &format!("<p>{words}</p><ul>"));
        }
        Response::html(html).after(self.delay)
    }

    /// Handler of the tree.
    pub fn handler(self) -> impl Fn(&Request) -> Response + Send + Sync + 'static {
        move |request| self.answer(request)
    }
}
