//! User names and passwords in URLs, which are neither sent nor shown.

use std::borrow::Cow;
use url::Url;

/// Removes user name and password from a URL.
pub fn strip_userinfo(url: &mut Url) {
    if has_userinfo(url) {
        // these fail only for URLs without a host
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
}

/// Returns true if a URL has a user name or a password.
#[must_use]
pub fn has_userinfo(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Hides a possible user name and password of a URL in a message: `http://…@host/`. The URL may be malformed.
#[must_use]
pub fn hide_userinfo(text: &str) -> Cow<'_, str> {
    let Some(at) = text.rfind('@') else { return text.into() };
    if Url::parse(text).is_ok_and(|url| url.has_host() && !has_userinfo(&url)) {
        return text.into();
    }
    format!("{}…{}", scheme(text), &text[at..]).into()
}

/// Scheme of a URL with its slashes. Empty without slashes, since the text before the colon may be a user
/// name.
fn scheme(text: &str) -> &str {
    let Some(colon) = text.find(':') else { return "" };
    let is_name = text[..colon].bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let rest = &text[colon + 1..];
    let slashes = rest.len() - rest.trim_start_matches(['/', '\\']).len();
    if is_name && slashes > 0 { &text[..colon + 1 + slashes] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn possible_passwords_in_urls_are_hidden() {
        for (text, shown) in [
            ("http://u:s3cret@h/", "http://…@h/"),
            ("http://u:s3/cr@et@h/", "http://…@h/"),
            ("http://s3cret@h/x", "http://…@h/x"),
            ("ftp://u:s3cret@h/", "ftp://…@h/"),
            ("http:/u:s3cret@h/", "http:/…@h/"),
            ("http:\\\\u:s3cret@h/", "http:\\\\…@h/"),
            ("http://u:s3cret@[::zz]/", "http://…@[::zz]/"),
            ("http://u:s3cret@h:99999/", "http://…@h:99999/"),
            ("//u:s3cret@h/", "…@h/"),
            ("s3cret:x@h", "…@h"),
            ("u:s3cret@h/@", "…@"),
            ("http://h/", "http://h/"),
            ("http://h/@user?a=b@c", "http://h/@user?a=b@c"),
            ("no url", "no url"),
        ] {
            assert_eq!(hide_userinfo(text), shown);
        }
    }

    #[test]
    fn userinfo_is_stripped_from_urls() {
        for text in ["http://u:p@h/x", "http://u@h/x", "http://:p@h/x", "http://h/x"] {
            let mut url = Url::parse(text).unwrap();
            strip_userinfo(&mut url);
            assert_eq!((url.as_str(), has_userinfo(&url)), ("http://h/x", false));
        }
    }
}
