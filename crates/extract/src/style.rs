//! Values of style attributes.

/// Value of a property in a style.
pub(crate) fn value<'a>(style: &'a str, property: &str) -> Option<&'a str> {
    let mut rules = style.split(';').filter_map(|rule| rule.split_once(':'));
    let (_, value) = rules.find(|(name, _)| name.trim().eq_ignore_ascii_case(property))?;
    Some(value.trim().trim_end_matches("!important").trim_end())
}
