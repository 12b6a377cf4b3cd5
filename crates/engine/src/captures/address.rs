//! Addresses of files in a folder that mirrors a site.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};
use url::{Host, Url};

/// The address of a site whose folder has this name, as `wget --mirror` names it: a host, or `host:port`.
pub(super) fn of_host(name: &str) -> Option<Url> {
    let url = Url::parse(&format!("https://{name}/")).ok()?;
    let is_host = match url.host()? {
        Host::Domain(domain) => domain.contains('.') || url.port().is_some(),
        // a number is read as an address too
        Host::Ipv4(address) => name.starts_with(&address.to_string()),
        Host::Ipv6(_) => true,
    };
    (is_host && url.path() == "/" && url.query().is_none()).then_some(url)
}

/// The address of a file by its path below the folder of `base`, or below a folder that is named for its host. Bytes that
/// are no UTF-8 are percent-encoded.
pub(super) fn of_file(base: Option<&Url>, path: &Path) -> Option<Url> {
    let mut names: Vec<&OsStr> = path.iter().collect();
    let mut url = match base {
        Some(base) => base.clone(),
        None if names.len() > 1 => of_host(names.remove(0).to_str()?)?,
        None => return None,
    };
    let last = names.pop()?.as_bytes();
    let mut parts = last.splitn(2, |byte| *byte == b'?');
    let (file, query) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let query = String::from_utf8(query.to_vec()).unwrap_or_else(|_| encoded(query, u8::is_ascii));
    url.set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
    url.path_segments_mut().ok()?.pop_if_empty();
    // a folder's own page
    let file = if matches!(file, b"index.html" | b"index.htm") { b"" } else { file };
    for name in names.iter().map(|name| name.as_bytes()).chain([file]) {
        match std::str::from_utf8(name) {
            Ok(name) => drop(url.path_segments_mut().ok()?.push(name)),
            Err(_) => {
                let path = format!(
                    "{}/{}",
                    url.path().trim_end_matches('/'),
                    encoded(name, |byte| byte.is_ascii() && *byte != b'%')
                );
                url.set_path(&path);
            }
        }
    }
    Some(url)
}

/// Bytes of a URL with all others percent-encoded.
fn encoded(bytes: &[u8], is_kept: impl Fn(&u8) -> bool) -> String {
    let one = |byte: &u8| if is_kept(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_outside_utf_8_are_percent_encoded() {
        let base = Url::parse("https://docs.example.org/en/").unwrap();
        let at = |name: &[u8]| of_file(Some(&base), Path::new(OsStr::from_bytes(name))).unwrap().to_string();
        assert_eq!(at(b"caf\xe9.html"), "https://docs.example.org/en/caf%E9.html");
        assert_eq!(at(b"caf\xe9/index.html"), "https://docs.example.org/en/caf%E9/");
        assert_eq!(at(b"a?q=\xe9"), "https://docs.example.org/en/a?q=%E9");
    }

    #[test]
    fn mirror_files_map_to_the_urls_of_their_pages() {
        let base = Url::parse("https://docs.example.org/en/").unwrap();
        for (base, path, want) in [
            (Some(&base), "index.html", Some("https://docs.example.org/en/")),
            (Some(&base), "a/b c.html", Some("https://docs.example.org/en/a/b%20c.html")),
            (None, "www.example.org/a/index.html", Some("https://www.example.org/a/")),
            (None, "www.example.org/list?page=2", Some("https://www.example.org/list?page=2")),
            (None, "127.0.0.1:8080/a", Some("https://127.0.0.1:8080/a")),
            (None, "pages/a.html", None),
            (None, "2024/a.html", None),
            (None, "a.html", None),
        ] {
            let url = of_file(base, Path::new(path));
            assert_eq!(url.as_ref().map(Url::as_str), want, "{path}");
        }
    }
}
