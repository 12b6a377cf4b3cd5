//! Lines of a seed file.

use crawl_model::{HostKey, has_userinfo};
use url::Url;

/// Start URL of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The URL, not yet canonicalised.
    pub url: Url,
    /// True if the seed had no scheme: the URL is https, and http is the fallback.
    pub bare: bool,
}

/// Message for a seed with a user name or a password.
const NO_CREDENTIALS: &str = "credentials in URLs are not allowed; name the site and the user in fetch.auth";

/// Parses one line that is neither empty nor a comment.
///
/// # Errors
/// A message that explains why the line is no seed. It repeats no possible user name or password.
pub fn parse_seed_line(line: &str) -> Result<Seed, String> {
    let line = line.trim();
    check_escapes(line)?;
    check_single(line)?;
    let (text, bare) = match line.split_once("://") {
        Some((scheme, _)) if is_scheme(scheme) => (line.to_owned(), false),
        _ => {
            check_marks(line)?;
            let rest = line.strip_prefix("//").unwrap_or(line);
            check_bare(rest)?;
            (format!("https://{rest}"), true)
        }
    };
    let url = Url::parse(&text).map_err(|error| format!("not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the scheme {} is not fetched, only http and https are", url.scheme()));
    }
    if HostKey::of(&url).is_none() {
        return Err("there is no host".into());
    }
    if has_userinfo(&url) {
        return Err(NO_CREDENTIALS.into());
    }
    if line.contains(char::is_whitespace) {
        return Err("more words after the URL: write one URL per line, and a space in a URL as %20".into());
    }
    Ok(Seed { url, bare })
}

/// Refuses several URLs with a comma or a semicolon between them.
fn check_single(line: &str) -> Result<(), String> {
    let path = line.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let ends = [",http://", ",https://", ";http://", ";https://"];
    if ends.iter().any(|end| path.contains(end)) {
        return Err("several URLs: write one URL per line".into());
    }
    Ok(())
}

/// Refuses a URL with quotes, brackets or a list mark around it, as in Markdown, CSV or source text.
fn check_marks(line: &str) -> Result<(), String> {
    const MARKS: [char; 7] = ['<', '"', '\'', '(', '-', '*', '`'];
    let Some((before, _)) = line.split_once("://") else { return Ok(()) };
    let (first, rest) = before.split_once(char::is_whitespace).unwrap_or((before, ""));
    let is_mark = !rest.is_empty() && !first.contains(char::is_alphabetic);
    let is_marked = line.starts_with(MARKS) || is_mark || before.contains("](") || before.contains('"');
    if is_marked && before.to_ascii_lowercase().trim_end_matches('s').ends_with("http") {
        return Err("write the URL alone, without quotes, brackets or list marks".into());
    }
    Ok(())
}

/// Refuses the escapes of other formats: with them the URL would silently be another one. A backslash before the query is a slash;
/// in the query it stays.
fn check_escapes(line: &str) -> Result<(), String> {
    let path = line.split(['?', '#']).next().unwrap_or_default();
    if path.contains('\\') {
        let remedy = "write _ instead of \\_ (Markdown), / instead of \\/ (JSON), or %5C for the character";
        return Err(format!("a backslash in a URL counts as a slash: {remedy}"));
    }
    if line.contains("&amp;") {
        return Err("&amp; in a URL is an escape of HTML: write &".into());
    }
    Ok(())
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Checks that a line without a scheme looks like a host: a dot, a port, or the name localhost.
fn check_bare(text: &str) -> Result<(), String> {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let is_mail = host.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("mailto"));
    if host.contains('@') && !is_mail {
        return Err(NO_CREDENTIALS.into());
    }
    if host.starts_with('[') || host.eq_ignore_ascii_case("localhost") {
        return Ok(());
    }
    if let Some((name, port)) = host.split_once(':') {
        if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(());
        }
        if ["http", "https"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return Err(format!("write two slashes after the scheme: {name}://"));
        }
        return Err(format!("the scheme {name} is not fetched, only http and https are"));
    }
    // IDNA treats the ideographic full stop as a dot
    if host.trim_end_matches('.').contains(['.', '。']) {
        return Ok(());
    }
    if host.is_empty() {
        return Err("there is no host".into());
    }
    if host.contains(|c: char| c.is_whitespace() || c.is_ascii_punctuation() && !matches!(c, '-' | '_')) {
        return Err("neither a URL nor a host".into());
    }
    Err(format!("\"{host}\" is no host name: there is no dot in it (write http://{host}/ if it is one)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_lines_parse_with_and_without_scheme() {
        for (line, url, bare) in [
            ("http://a.test/x", "http://a.test/x", false),
            ("  HTTPS://A.test ", "https://a.test/", false),
            ("a.test", "https://a.test/", true),
            ("a.test:8080/x?y", "https://a.test:8080/x?y", true),
            ("//a.test/x", "https://a.test/x", true),
            ("localhost:3000", "https://localhost:3000/", true),
            ("localhost", "https://localhost/", true),
            ("127.0.0.1:80/x", "https://127.0.0.1:80/x", true),
            ("[::1]:80", "https://[::1]:80/", true),
            ("bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4", true),
            ("a.test/?u=http://b.test/", "https://a.test/?u=http://b.test/", true),
            ("http://intranet/", "http://intranet/", false),
            ("https://a.test/s?q=C:\\x", "https://a.test/s?q=C:\\x", false),
        ] {
            let seed = parse_seed_line(line).unwrap();
            assert_eq!((seed.url.as_str(), seed.bare), (url, bare), "{line}");
        }
    }

    #[test]
    fn seed_errors_state_the_reason() {
        for (line, hint) in [
            ("ftp://a.test/", "ftp"),
            ("mailto:a@b.c", "mailto"),
            ("javascript:alert(1)", "javascript"),
            ("http://", "not a URL"),
            ("http://[x/", "not a URL"),
            ("no url at all", "neither a URL nor a host"),
            ("<html>", "neither a URL nor a host"),
            ("/path", "no host"),
            ("word", "dot"),
            ("https://u:p@a.test/", "credentials"),
            ("a b.test", "not a URL"),
            ("https://a.test/ depth=2", "more words after"),
            ("a.test/x depth=2", "more words after"),
            ("https://a.test/x\thttps://b.test/", "more words after"),
            ("s3cret:p@a.test", "credentials"),
            ("s3cret@a.test/", "credentials"),
            ("//u:s3cret@a.test/", "credentials"),
            ("http://u:s3cret@a.test:99999/", "not a URL"),
            ("<http://a.test/>", "write the URL alone"),
            ("\"https://a.test/\"", "write the URL alone"),
            ("[\"https://a.test/\"]", "write the URL alone"),
            ("- https://a.test/", "write the URL alone"),
            ("1. https://a.test/", "write the URL alone"),
            ("a.test/x https://b.test/", "more words after"),
            ("[Pears](http://a.test/)", "write the URL alone"),
            ("http://a.test/Pears\\_(fruit)", "write _ instead of \\_"),
            ("http:\\/\\/a.test\\/x", "/ instead of \\/"),
            ("a.test/x?a=1&amp;b=2", "write &"),
            ("http://a.test/1,http://a.test/2", "one URL per line"),
            ("http:/a.test/", "two slashes after the scheme: http://"),
        ] {
            let error = parse_seed_line(line).unwrap_err();
            assert!(error.contains(hint) && !error.contains("s3cret"), "{line}: {error}");
        }
    }
}
