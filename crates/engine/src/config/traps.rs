//! The section `[traps]`.

use super::values::{Limit, unlimited_size};
use crawl_fetch::TrapSettings;
use crawl_model::HostBounds;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Value;

/// The section `[traps]` of `config/crawl.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
#[expect(missing_docs, reason = "see config/crawl.toml")]
pub struct TrapsSection {
    pub calendar_years: CalendarYears,
    pub template_credit: Limit,
    pub hosts_per_domain: Limit,
    pub links_per_page: Limit,
    pub host_urls: Limit,
    #[serde(deserialize_with = "unlimited_size")]
    pub host_bytes: Option<bytesize::ByteSize>,
}

impl TrapsSection {
    /// Converts the section for the fetch crate.
    #[must_use]
    pub fn settings(&self) -> TrapSettings {
        let count = |limit: Limit| limit.0.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        TrapSettings {
            calendar_years: self.calendar_years.0,
            template_credit: self.template_credit.0.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            hosts_per_domain: count(self.hosts_per_domain),
            links_per_page: count(self.links_per_page),
            ..TrapSettings::default()
        }
    }

    /// Bounds of each host's URLs in the frontier.
    #[must_use]
    pub fn host_bounds(&self) -> HostBounds {
        HostBounds { urls: self.host_urls.0, bytes: self.host_bytes.map(|size| size.as_u64()) }
    }
}

/// Years before and after the present one; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarYears(pub Option<(u16, u16)>);

impl<'de> Deserialize<'de> for CalendarYears {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let years = |n: &Value| n.as_integer().and_then(|n| u16::try_from(n).ok());
        match &value {
            Value::String(word) if word == "unlimited" => Ok(Self(None)),
            Value::Array(pair) => match pair.as_slice() {
                [before, after] => years(before).zip(years(after)),
                _ => None,
            }
            .map(|pair| Self(Some(pair)))
            .ok_or_else(|| D::Error::custom("expected two numbers, the years before and after this one")),
            other => Err(D::Error::custom(format!("expected [before, after] or \"unlimited\", not {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_years_are_two_numbers_or_unlimited() {
        let of = |text: &str| toml::from_str::<std::collections::BTreeMap<String, CalendarYears>>(text);
        assert_eq!(of("v = [5, 2]").unwrap()["v"], CalendarYears(Some((5, 2))));
        assert_eq!(of("v = \"unlimited\"").unwrap()["v"], CalendarYears(None));
        for bad in ["v = [5]", "v = [-1, 2]", "v = 5", "v = \"5\""] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
