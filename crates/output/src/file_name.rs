//! The file of a page: a path like that of its URL, always within the folder.

use unicode_normalization::is_nfc;
use url::Url;

/// Bytes of one name, of a whole path, and names in it; file systems take more, archives and other systems do not.
const NAME: usize = 100;
const PATH: usize = 400;
const NAMES: usize = 12;
/// Names of devices, with any extension (Windows).
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Beginnings of the names of devices that a digit ends.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];
/// Digits of the id that distinguish pages with the same name.
const ID_DIGITS: usize = 16;

/// The path of a page relative to the folder, with `/` between names: `a.test/docs/pears.md` for
/// `https://a.test/docs/pears`, `index.md` for a URL that ends in a slash. The name of the host contains
/// another port, as in `a.test+8080`; 80 too, so that http and https differ.
///
/// If a part of the URL was left out or replaced, e.g. its query, `~` and a part of the record's `id` follow.
/// Other names have no `~`, so no two URLs have the same path. The same holds for a file system without case:
/// a name with a capital has the part of the `id` as well. So has a name that is not NFC or names a device of
/// Windows.
pub(super) fn page_path(url: &str, id: &str) -> String {
    path(url, id, true)
}

/// The path that an earlier version gave the page, if that was another one.
pub(super) fn earlier_path(url: &str, id: &str) -> Option<String> {
    Some(path(url, id, false)).filter(|earlier| *earlier != page_path(url, id))
}

fn path(url: &str, id: &str, portable: bool) -> String {
    let mut name = Name { text: String::new(), exact: true, portable };
    let Ok(url) = Url::parse(url) else {
        return format!("other/page~{}.md", tag(id));
    };
    name.exact &= url.query().is_none() && url.scheme().len() >= 4;
    let host = match (url.scheme(), url.port()) {
        ("https", None) => url.host_str().unwrap_or_default().to_owned(),
        (scheme, port) => {
            let default = if scheme == "http" { 80 } else { 0 };
            // the name of https on a port could be that of http on the same port
            name.exact &= scheme == "http";
            format!("{}+{}", url.host_str().unwrap_or_default(), port.unwrap_or(default))
        }
    };
    name.folder(&host);
    let segments: Vec<&str> = url.path().split('/').skip(1).collect();
    let (last, folders) = segments.split_last().unwrap_or((&"", &[]));
    name.exact &= folders.len() <= NAMES;
    for folder in folders.iter().take(NAMES) {
        if name.text.len() < PATH {
            name.folder(&decoded(folder));
        } else {
            name.exact = false;
        }
    }
    let page = match *last {
        "" => "index".to_owned(),
        last => {
            let page = name.clean(&decoded(last));
            // the folder uses that name itself
            name.exact &= page != "index";
            page
        }
    };
    let tag = if name.exact { String::new() } else { format!("~{}", tag(id)) };
    format!("{}{page}{tag}.md", name.text)
}

fn tag(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(ID_DIGITS).collect()
}

struct Name {
    /// The folders so far, each with a trailing slash.
    text: String,
    /// True if no other URL can have the same name.
    exact: bool,
    /// True if all names must be valid and distinct on every file system.
    portable: bool,
}

impl Name {
    fn folder(&mut self, segment: &str) {
        let mut clean = self.clean(segment);
        if clean.ends_with(".md") {
            // a page may have this file name
            clean.push('~');
            self.exact = false;
        }
        self.text.push_str(&clean);
        self.text.push('/');
    }

    /// Replaces characters that a file system, a shell or another system could misinterpret.
    fn clean(&mut self, segment: &str) -> String {
        let mut out = String::new();
        for c in segment.chars() {
            if out.len() + c.len_utf8() > NAME {
                self.exact = false;
                break;
            }
            if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | '+' | '=' | '@' | '(' | ')') {
                out.push(c);
            } else {
                self.exact = false;
                out.push('-');
            }
        }
        // hidden files, `..`, options of commands, and what Windows drops from the end
        let shown = out.trim_start_matches(['.', '-']).trim_end_matches('.');
        if shown.len() < out.len() || shown.is_empty() {
            self.exact = false;
            out = format!("_{shown}");
        }
        if self.portable {
            self.exact &= out.chars().all(has_one_case) && is_nfc(&out);
            if is_device(&out) {
                self.exact = false;
                out.insert(0, '_');
            }
        }
        out
    }
}

/// Returns true for a small letter, and for a character without case.
fn has_one_case(c: char) -> bool {
    c.is_ascii_lowercase() || c.to_uppercase().flat_map(char::to_lowercase).eq([c])
}

/// Returns true for a name that Windows takes for a device.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let is_number = |text: &str| {
        matches!(text.as_bytes(), [b'0'..=b'9']) || matches!(text, "\u{b9}" | "\u{b2}" | "\u{b3}")
    };
    DEVICES.contains(&stem.as_str())
        || NUMBERED_DEVICES.iter().any(|device| stem.strip_prefix(device).is_some_and(is_number))
}

/// A segment without its percent-encoding, where that was UTF-8.
fn decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let code = digits.filter(|_| byte == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        out.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| segment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn of(url: &str) -> String {
        page_path(url, ID)
    }

    #[test]
    fn file_paths_resemble_their_urls() {
        let tagged = |name: &str| name.replace('~', "~0123456789abcdef");
        for (url, want) in [
            ("https://a.test/", "a.test/index.md"),
            ("http://a.test/", "a.test+80/index.md"),
            ("http://127.0.0.1:8080/x", "127.0.0.1+8080/x.md"),
            ("https://127.0.0.1:8080/x", "127.0.0.1+8080/x~.md"),
            ("https://a.test/docs/pears", "a.test/docs/pears.md"),
            ("https://a.test/docs/pears/", "a.test/docs/pears/index.md"),
            ("https://a.test/docs/pears.html", "a.test/docs/pears.html.md"),
            ("https://a.test/%C3%84pfel", "a.test/Äpfel~.md"),
            ("https://a.test/%C3%A4pfel", "a.test/äpfel.md"),
            ("https://a.test/Docs/pears", "a.test/Docs/pears~.md"),
            ("https://a.test/con", "a.test/_con~.md"),
            ("https://a.test/aux.txt/nul.tar.gz", "a.test/_aux.txt/_nul.tar.gz~.md"),
            ("https://a.test/com1/com10/lpt%C2%B9", "a.test/_com1/com10/_lpt¹~.md"),
            ("https://con.test/console", "_con.test/console~.md"),
            ("https://a.test/x%20", "a.test/x-~.md"),
            ("https://a.test/%E9", "a.test/_E9~.md"),
            ("https://a.test/list?page=2", "a.test/list~.md"),
            ("https://a.test/docs/index", "a.test/docs/index~.md"),
            ("https://a.test/a%2f..%2f..%2fetc/passwd", "a.test/a-..-..-etc/passwd~.md"),
            ("https://a.test/..%2f..", "a.test/_~.md"),
            ("https://a.test/.git/config", "a.test/_git/config~.md"),
            ("https://a.test/-rf", "a.test/_rf~.md"),
            ("https://a.test//x", "a.test/_/x~.md"),
            ("https://a.test/pears.md/x", "a.test/pears.md~/x~.md"),
            ("https://a.test/a~b", "a.test/a-b~.md"),
            ("https://a.test/a%00b", "a.test/a-b~.md"),
            ("nonsense", "other/page~.md"),
        ] {
            let want = if want.contains(".md~/") {
                want.replace("~.md", "~0123456789abcdef.md")
            } else {
                tagged(want)
            };
            assert_eq!(of(url), want, "{url}");
        }
        let long = format!("https://a.test/{}/{}", "x".repeat(300), "y/".repeat(50));
        assert!(of(&long).len() < PATH + NAME + 40 && of(&long).ends_with("~0123456789abcdef.md"));
    }

    fn urls() -> impl Strategy<Value = String> {
        let path = "(/|[.]{1,3}|%2[eEfF]|%5c|%00|~|[a-c]|[A-C]|index|Index|con|aux[.]txt|[.]md|é|%C3%A9|%E9|[?]|=|:|\\\\| ){0,12}";
        ("https?://(a[.]test|a[.]test:8080|\\[::1\\]|xn--bcher-kva[.]test)", path)
            .prop_map(|(host, path)| format!("{host}/{path}"))
    }

    #[test]
    fn earlier_paths_differ_from_current_paths() {
        assert_eq!(earlier_path("https://a.test/docs/pears", ID), None);
        assert_eq!(earlier_path("https://a.test/Docs/pears", ID).as_deref(), Some("a.test/Docs/pears.md"));
        assert_eq!(earlier_path("https://a.test/con", ID).as_deref(), Some("a.test/con.md"));
        assert_eq!(earlier_path("https://a.test/Docs?x", ID), None);
    }

    proptest! {
        #[test]
        fn file_paths_stay_inside_the_folder(url in urls()) {
            let path = of(&url);
            prop_assert!(path.len() < 1000);
            for part in Path::new(&path).components() {
                prop_assert!(matches!(part, Component::Normal(_)), "{url}: {path}");
            }
            for name in path.split('/') {
                prop_assert!(!name.is_empty() && !name.starts_with('.') && name.len() <= 160, "{url}: {path}");
                prop_assert!(!name.contains(['\\', '\0', ':', '\n']), "{url}: {path}");
            }
        }

        #[test]
        fn different_urls_have_different_paths(a in urls(), b in urls()) {
            let parse = |url: &str| Url::parse(url).map(|mut url| { url.set_fragment(None); url.to_string() });
            let (Ok(a), Ok(b)) = (parse(&a), parse(&b)) else { return Ok(()) };
            // the canonical form: equal escapes are written in one way
            let one = |url: &str| url.replace("%c3", "%C3").replace("%2e", "%2E").replace("%2f", "%2F").replace("%5c", "%5C");
            let (a, b) = (one(&a), one(&b));
            if a != b {
                let path = |url: &str| page_path(url, &crawl_model::UrlKey::of(url).to_string()).to_lowercase();
                prop_assert_ne!(path(&a), path(&b), "{} {}", a, b);
            }
        }
    }
}
