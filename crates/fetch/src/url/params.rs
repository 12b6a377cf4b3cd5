//! Query parameters: removal and order.

use super::percent;
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::borrow::Cow;

pub(super) const FILE: &str = "tracking_params.toml";
pub(super) const TEXT: &str = include_str!("../../../../config/rules/tracking_params.toml");

/// `config/rules/tracking_params.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParamFile {
    prefixes: Vec<String>,
    names: Vec<String>,
    session_hex_length: usize,
    session_value_length: usize,
    sessions: Vec<String>,
    path_parameters: Vec<String>,
}

/// Parameters that do not affect the page.
#[derive(Clone, Debug, Default)]
pub struct ParamRules {
    /// Lower case; a plain list, since there are few.
    prefixes: Vec<String>,
    names: FxHashSet<String>,
    sessions: FxHashSet<String>,
    session_hex_length: usize,
    session_value_length: usize,
    path_parameters: FxHashSet<String>,
}

impl ParamRules {
    /// The rules of `config/rules/tracking_params.toml`.
    #[must_use]
    pub fn embedded() -> Self {
        let file = super::param_rules();
        Self {
            prefixes: file.prefixes,
            names: file.names.into_iter().collect(),
            sessions: file.sessions.into_iter().collect(),
            session_hex_length: file.session_hex_length,
            session_value_length: file.session_value_length,
            path_parameters: file.path_parameters.into_iter().collect(),
        }
    }

    /// Rules that remove exactly these parameters, from the query and from path segments.
    #[must_use]
    pub fn of_names<S: AsRef<str>>(names: &[S]) -> Self {
        let names: FxHashSet<String> = names.iter().map(|name| name.as_ref().to_ascii_lowercase()).collect();
        Self { path_parameters: names.clone(), names, ..Self::default() }
    }

    fn removes(&self, name: &str, value: &str) -> bool {
        // names are short and mostly lower case
        let lower: Cow<'_, str> = if name.bytes().any(|b| b.is_ascii_uppercase()) {
            Cow::Owned(name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(name)
        };
        self.names.contains(&*lower)
            || self.prefixes.iter().any(|prefix| lower.starts_with(prefix.as_str()))
            || (self.sessions.contains(&*lower) && self.is_session(value))
    }

    fn is_session(&self, value: &str) -> bool {
        /// Minimum digits: words such as model names and years have fewer.
        const DIGITS: usize = 3;
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let hex = value.len() >= self.session_hex_length && value.bytes().all(|b| b.is_ascii_hexdigit());
        let mixed =
            value.len() >= self.session_value_length && value.bytes().all(|b| b.is_ascii_alphanumeric());
        digits >= DIGITS && (hex || mixed)
    }

    /// Canonical query; empty if no parameter remains.
    pub(super) fn canonical<'a>(&self, query: &'a str) -> Cow<'a, str> {
        let encoded = query.bytes().any(|b| b == b'%' || percent::must_encode(b));
        let normal: Cow<'a, str> = if encoded {
            let mut out = String::with_capacity(query.len() + 8);
            percent::normalize_into(query, &mut out);
            Cow::Owned(out)
        } else {
            Cow::Borrowed(query)
        };
        let split = |pair: &str| match pair.find('=') {
            Some(at) => (at, at + 1),
            None => (pair.len(), pair.len()),
        };
        let mut total = 0;
        let mut kept: Vec<(&str, &str)> = Vec::new();
        for pair in normal.split('&') {
            total += 1;
            let (name_end, value_start) = split(pair);
            let name = &pair[..name_end];
            if !name.is_empty() && !self.removes(name, &pair[value_start..]) {
                kept.push((name, pair));
            }
        }
        if kept.len() == total && kept.is_sorted_by(|a, b| a.0 <= b.0) {
            return normal;
        }
        // stable: the order of values under one name may matter
        kept.sort_by(|a, b| a.0.cmp(b.0));
        let pairs: Vec<&str> = kept.into_iter().map(|(_, pair)| pair).collect();
        Cow::Owned(pairs.join("&"))
    }

    /// The path without session parameters such as `;jsessionid=…`.
    pub(super) fn strip_path_parameters<'a>(&self, path: &'a str) -> Cow<'a, str> {
        if self.path_parameters.is_empty() || !path.contains(';') {
            return Cow::Borrowed(path);
        }
        let segment = |segment: &str| -> String {
            let mut parts = segment.split(';');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.filter(|part| !self.is_path_parameter(part)).fold(first, |mut out, part| {
                out.push(';');
                out.push_str(part);
                out
            })
        };
        Cow::Owned(path.split('/').map(segment).collect::<Vec<_>>().join("/"))
    }

    fn is_path_parameter(&self, part: &str) -> bool {
        let name = part.split('=').next().unwrap_or_default();
        self.path_parameters.contains(&name.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_rules_parse_and_are_lower_case() {
        let file: ParamFile = crate::rules::parse(FILE, TEXT).unwrap();
        let all = [&file.prefixes, &file.names, &file.sessions, &file.path_parameters];
        for name in all.into_iter().flatten() {
            assert_eq!(*name, name.to_ascii_lowercase());
        }
    }
}
