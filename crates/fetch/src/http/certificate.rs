//! Words for a certificate that is refused.

use crate::error::AUTHORITY;
use crawl_model::rfc3339;
use rustls::{CertificateError as C, Error, pki_types::UnixTime};

/// Reason why a certificate is refused, with names and dates as people read them; `None` for other errors, whose words the
/// library has.
pub(super) fn reason(error: &Error) -> Option<String> {
    let Error::InvalidCertificate(error) = error else { return None };
    Some(match error {
        C::UnknownIssuer => "its certificate is signed by an authority that is not trusted".to_owned(),
        C::Expired => "its certificate has expired".to_owned(),
        C::ExpiredContext { not_after, .. } => format!("its certificate has expired on {}", day(*not_after)),
        C::NotValidYet => "its certificate is not valid yet".to_owned(),
        C::NotValidYetContext { not_before, .. } => {
            format!("its certificate is not valid before {}", day(*not_before))
        }
        C::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            "its certificate names no host".to_owned()
        }
        C::NotValidForNameContext { presented, .. } => {
            format!("its certificate is for {}", shown(presented))
        }
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            format!("{AUTHORITY} (CA:TRUE), often one signed by itself")
        }
        _ => return None,
    })
}

/// Maximum names of a certificate that a message lists.
const NAMES: usize = 3;

/// The first names, which the library wraps as `DnsName("a.test")`.
fn shown(names: &[String]) -> String {
    let name = |name: &String| {
        let bare = name.split_once('"').and_then(|(_, rest)| rest.split('"').next());
        bare.unwrap_or(name).chars().filter(char::is_ascii_graphic).take(100).collect::<String>()
    };
    let mut first: Vec<String> = names.iter().take(NAMES).map(name).collect();
    if names.len() > NAMES {
        first.push("others".to_owned());
    }
    first.join(", ")
}

fn day(time: UnixTime) -> String {
    let millis = i64::try_from(time.as_secs()).unwrap_or(i64::MAX).saturating_mul(1_000);
    rfc3339(millis).chars().take("2026-01-01".len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refused_certificates_have_names_and_dates() {
        let time = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expected = || "a.test".try_into().unwrap();
        let presented = |names: &[&str]| names.iter().map(|name| format!("DnsName(\"{name}\")")).collect();
        for (error, words) in [
            (C::UnknownIssuer, Some("its certificate is signed by an authority that is not trusted")),
            (
                C::ExpiredContext { time: time(1_700_000_000), not_after: time(1_609_459_200) },
                Some("its certificate has expired on 2021-01-01"),
            ),
            (
                C::NotValidYetContext { time: time(0), not_before: time(1_609_459_200) },
                Some("its certificate is not valid before 2021-01-01"),
            ),
            (
                C::NotValidForNameContext {
                    expected: expected(),
                    presented: presented(&["b.test", "*.c\u{1b}[1m.test"]),
                },
                Some("its certificate is for b.test, *.c[1m.test"),
            ),
            (
                C::NotValidForNameContext {
                    expected: expected(),
                    presented: presented(&["1", "2", "3", "4"]),
                },
                Some("its certificate is for 1, 2, 3, others"),
            ),
            (
                C::NotValidForNameContext { expected: expected(), presented: vec![] },
                Some("its certificate names no host"),
            ),
            (C::BadEncoding, None),
        ] {
            assert_eq!(reason(&Error::InvalidCertificate(error)).as_deref(), words);
        }
        assert_eq!(reason(&Error::DecryptError), None);
    }
}
