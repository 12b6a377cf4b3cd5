//! `X-Robots-Tag`: directives of a response on indexing, following and machine learning.

use crawl_model::{Directives, Headers};

/// Directives with a value; a colon after any other word makes it the name of a crawler.
const VALUED: &[&str] = &["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Directives of all `X-Robots-Tag` fields that apply to everybody or to a product token.
#[must_use]
pub fn x_robots_tag(headers: &Headers, product_token: &str) -> Directives {
    headers
        .all("x-robots-tag")
        .map(|value| of_value(value, product_token))
        .fold(Directives::default(), Directives::and)
}

/// Directives of one field. A crawler's name applies until the next one.
fn of_value(value: &str, product_token: &str) -> Directives {
    let mut found = Directives::default();
    let mut ours = true;
    for item in value.split(',') {
        let mut item = item.trim();
        if let Some((name, rest)) = item.split_once(':') {
            let name = name.trim();
            if !VALUED.iter().any(|valued| name.eq_ignore_ascii_case(valued)) {
                ours = name == "*" || name.eq_ignore_ascii_case(product_token);
                item = rest.trim();
            }
        }
        if ours {
            found = found.and(directive(item));
        }
    }
    found
}

/// One directive of a robots tag; unknown ones have no effect.
#[must_use]
pub fn directive(word: &str) -> Directives {
    let mut found = Directives::default();
    match word.to_ascii_lowercase().as_str() {
        "none" => (found.noindex, found.nofollow) = (true, true),
        "noindex" => found.noindex = true,
        "nofollow" => found.nofollow = true,
        "noarchive" => found.noarchive = true,
        "noai" | "noimageai" => found.noai = true,
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> [bool; 4] {
        let headers = Headers(values.iter().map(|v| ("x-robots-tag".to_owned(), (*v).to_owned())).collect());
        let d = x_robots_tag(&headers, "crawl");
        [d.noindex, d.nofollow, d.noarchive, d.noai]
    }

    #[test]
    fn x_robots_directives_apply_for_all_and_our_token() {
        assert_eq!(of(&["otherbot: noindex", "none"]), [true, true, false, false]);
        assert_eq!(of(&["otherbot: noindex, nofollow"]), [false; 4]);
        assert_eq!(of(&["Crawl: NoIndex"]), [true, false, false, false]);
        assert_eq!(of(&["otherbot: none, crawl: noarchive, noai"]), [false, false, true, true]);
        assert_eq!(
            of(&["unavailable_after: 25 Jun 2030 15:00:00 PST", "nofollow"]),
            [false, true, false, false]
        );
        assert_eq!(of(&["max-snippet: 20, noimageai"]), [false, false, false, true]);
        assert_eq!(of(&[]), [false; 4]);
    }
}
