//! Registrable domains.

/// Registrable domain of a host name, by the Public Suffix List; `None` for a public suffix.
///
/// The generic lookup of the crate `psl` has 650 kB for each crate that calls it, so this is the one caller.
#[must_use]
#[inline(never)]
pub fn registrable_domain(host: &str) -> Option<&str> {
    psl::domain_str(host)
}

#[cfg(test)]
mod tests {
    use super::registrable_domain;

    #[test]
    fn a_public_suffix_has_no_registrable_domain() {
        assert_eq!(registrable_domain("www.example.co.uk"), Some("example.co.uk"));
        assert_eq!(registrable_domain("co.uk"), None);
    }
}
