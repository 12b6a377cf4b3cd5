//! Addresses of pages, as users write them.

use crawl_model::{hide_userinfo, strip_userinfo};
use url::{ParseError, Url};

/// Reads the address of a page, whose user name and password are dropped.
///
/// # Errors
/// As [`whole_url`].
pub fn page_url(text: &str) -> Result<Url, String> {
    let mut url = whole_url(text)?;
    strip_userinfo(&mut url);
    Ok(url)
}

/// Reads a URL of any scheme.
///
/// # Errors
/// When the text is no URL, with the advice to write a scheme if that is all it lacks.
pub fn whole_url(text: &str) -> Result<Url, String> {
    if let Some(advice) = without_scheme(text) {
        return Err(advice);
    }
    Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => "no address of a page, which begins with https://".to_owned(),
        error => error.to_string(),
    })
}

/// Returns the advice for an address that lacks its scheme alone, as `localhost:8080/a`; none for other texts.
fn without_scheme(text: &str) -> Option<String> {
    let rest = text.strip_prefix("//").unwrap_or(text);
    let is_without = match Url::parse(text) {
        // the name of the host was read as a scheme
        Ok(url) => url.cannot_be_a_base() && (url.scheme() == "localhost" || url.scheme().contains('.')),
        Err(error) => error == ParseError::RelativeUrlWithoutBase,
    };
    if !is_without || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        return None;
    }
    let secure = Url::parse(&format!("https://{rest}")).ok()?;
    let is_local = secure.port().is_some() || secure.host_str() == Some("localhost");
    let url = if is_local { Url::parse(&format!("http://{rest}")).ok()? } else { secure };
    Some(format!("no scheme; write {}", hide_userinfo(url.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_without_a_scheme_is_refused_with_advice() {
        for (text, whole) in [
            ("localhost:8080/a", "http://localhost:8080/a"),
            ("localhost/a", "http://localhost/a"),
            ("a.example:8080", "http://a.example:8080/"),
            ("127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
            ("a.example/b", "https://a.example/b"),
            ("//a.example/b", "https://a.example/b"),
        ] {
            assert_eq!(page_url(text).unwrap_err(), format!("no scheme; write {whole}"));
            assert!(page_url(whole).is_ok());
        }
        for text in ["/a/b", ""] {
            assert!(page_url(text).unwrap_err().contains("begins with https://"), "{text}");
        }
        for text in ["about:blank", "doc:123", "urn:uuid:6e8bc430", "data:text/html,a"] {
            assert_eq!(page_url(text).unwrap().as_str(), text);
        }
        assert_eq!(page_url("https://u:p@a.example/").unwrap().as_str(), "https://a.example/");
    }
}
