//! Dates of publication in the data that scripts of a page hold.

use super::{Order, Sources, dates, published::day};
use crate::{dom::Tag, text};
use memchr::memmem;

/// The date of publication in scripts and in attributes with data, if all of them name one day.
///
/// Data with several days speaks of other pages too.
pub(super) fn published(s: &Sources<'_>, order: Order) -> Option<String> {
    let dom = &s.page.dom;
    let mut found: Option<String> = None;
    let mut left = MAX_BYTES;
    let mut is_one_day = |data: &str| {
        let data = text::head(data, left);
        left -= data.len();
        dates_in(s, data, order).into_iter().all(|date| {
            let first = found.get_or_insert_with(|| date.clone());
            day(first) == day(&date)
        })
    };
    let is_one = (0..dom.len()).all(|id| match dom.tag(id) {
        Tag::Script => is_one_day(&dom.raw_text(id)),
        Tag::Text => true,
        _ => dom.attrs(id).filter(|(_, value)| is_data(value)).all(|(_, value)| is_one_day(value)),
    });
    found.filter(|_| is_one)
}

/// The dates behind keys for a publication: `"published_at":"2026-03-05"`, also with escaped quotation marks.
fn dates_in(s: &Sources<'_>, data: &str, order: Order) -> Vec<String> {
    let rules = &s.page.rules.dates;
    let at_value = |at: usize| {
        let value = text::head(&data[at + 1..], MAX_VALUE).split(['"', '\\']).next()?;
        let key = data[..at].trim_end_matches('\\').trim_end().strip_suffix([':', '='])?;
        let key = key.trim_end().trim_end_matches(['"', '\'', '\\']);
        let name = key.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        rules.script_keys.iter().any(|known| known == name).then(|| dates::parse(rules, value, order))?
    };
    memmem::find_iter(data.as_bytes(), CENTURY).filter_map(at_value).collect()
}

/// Start of a date in quotation marks.
const CENTURY: &str = "\"20";

/// An attribute that holds an object.
fn is_data(value: &str) -> bool {
    value.len() >= MIN_DATA && value.starts_with('{')
}

/// Scripts and attributes of a page beyond this many bytes are not looked at.
const MAX_BYTES: usize = 4 << 20;
/// A shorter attribute is no data.
const MIN_DATA: usize = 40;
/// A longer value is no date.
const MAX_VALUE: usize = 64;
