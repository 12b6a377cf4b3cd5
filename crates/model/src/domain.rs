//! Registrable domains.

/// Number of the Public Suffix List, which grows with its version: that of the crate `psl`, 2.1.247.
pub const SUFFIX_LIST: i64 = 2_0001_0247;

/// Registrable domain of a host name, by the Public Suffix List; `None` for a public suffix.
#[must_use]
pub fn registrable_domain(host: &str) -> Option<&str> {
    text(domain(host)?)
}

/// Registrable domain of a host name under a suffix of the Public Suffix List; `None` for other names.
#[must_use]
pub fn listed_domain(host: &str) -> Option<&str> {
    text(domain(host).filter(|domain| domain.suffix().is_known())?)
}

/// The only caller of the crate `psl`: each crate that calls its generic lookup would contain 650 kB of code.
#[inline(never)]
fn domain(host: &str) -> Option<psl::Domain<'_>> {
    psl::domain(host.as_bytes())
}

fn text(domain: psl::Domain<'_>) -> Option<&str> {
    std::str::from_utf8(domain.trim().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::{SUFFIX_LIST, listed_domain, registrable_domain};

    #[test]
    fn a_public_suffix_has_no_registrable_domain() {
        assert_eq!(registrable_domain("www.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable_domain("co.uk"), None);
    }

    #[test]
    fn listed_domain_needs_a_public_suffix() {
        assert_eq!(listed_domain("www.example.co.uk"), Some("example.co.uk"));
        assert_eq!(listed_domain("example.org."), Some("example.org"));
        for other in ["co.uk", "a.b.internal", "localhost", "127.0.0.1"] {
            assert_eq!(listed_domain(other), None, "{other}");
        }
    }

    #[test]
    fn suffix_list_version_matches_the_crate() {
        let lock = include_str!("../../../Cargo.lock");
        let (_, package) = lock.split_once("name = \"psl\"\nversion = \"").unwrap();
        let version = package.split('"').next().unwrap();
        let number =
            version.split('.').fold(0, |number, part| number * 10_000 + part.parse::<i64>().unwrap());
        assert_eq!(number, SUFFIX_LIST, "psl {version}");
    }
}
