//! Addresses of files in a folder that mirrors a site.

use std::path::Path;
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

/// The address of a file by its path below the folder of `base`, or below a folder that is named for its host.
pub(super) fn of_file(base: Option<&Url>, path: &Path) -> Option<Url> {
    let names: Option<Vec<&str>> = path.iter().map(|name| name.to_str()).collect();
    let mut names = names?;
    let mut url = match base {
        Some(base) => base.clone(),
        None if names.len() > 1 => of_host(names.remove(0))?,
        None => return None,
    };
    let (file, query) = names.pop().map(|name| name.split_once('?').unwrap_or((name, "")))?;
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    // a folder's own page
    names.push(if matches!(file, "index.html" | "index.htm") { "" } else { file });
    url.path_segments_mut().ok()?.pop_if_empty().extend(names);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_mirror_have_the_addresses_of_their_pages() {
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
