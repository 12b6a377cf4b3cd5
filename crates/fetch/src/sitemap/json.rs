//! JSON Feed, versions 1 and 1.1 (<https://www.jsonfeed.org/version/1.1/>), read item by item: memory for one URL and one date.
//! Older items behind `next_url` are not read.

use super::{Collected, MAX_DATE, SitemapError, SitemapKind};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

pub(super) const VERSIONS: &str = "https://jsonfeed.org/version/";

/// Reads a file that begins with `{`. The second value is true if it is damaged.
pub(super) fn parse(text: &str, collected: &mut Collected<'_>) -> Result<(SitemapKind, bool), SitemapError> {
    let mut version = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let read = json.deserialize_map(Feed { collected, version: &mut version });
    let reason = match (version, read) {
        (Some(version), read) if version.starts_with(VERSIONS) => {
            return Ok((SitemapKind::Json, read.is_err()));
        }
        (None, Err(error)) => error.to_string(),
        _ => "its version belongs to another format".to_owned(),
    };
    collected.entries.clear();
    Err(SitemapError::Unknown(format!("it is no JSON Feed: {reason}")))
}

struct Feed<'a, 'c> {
    collected: &'a mut Collected<'c>,
    version: &'a mut Option<String>,
}

impl<'de> Visitor<'de> for Feed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a feed")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text>()? {
            match key.0.as_deref() {
                Some("version") => *self.version = Some(map.next_value::<Text>()?.0.unwrap_or_default()),
                Some("items") => map.next_value_seed(Items(self.collected))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Items<'a, 'c>(&'a mut Collected<'c>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, items: D) -> Result<(), D::Error> {
        items.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the items of a feed")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Item>()? {
            if self.0.full || (self.0.stop)() {
                self.0.full = true;
                // the version may follow the items
                while items.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            if let Some(url) = item.url {
                self.0.push(&url, item.modified.or(item.published).filter(|date| date.len() <= MAX_DATE));
            }
        }
        Ok(())
    }
}

/// Methods for values of unexpected types, which are passed over.
macro_rules! pass_over_others {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }

        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
            while values.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// An item; empty for other values.
#[derive(Default)]
struct Item {
    url: Option<String>,
    modified: Option<String>,
    published: Option<String>,
}

struct ItemVisitor;

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(ItemVisitor)
    }
}

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    pass_over_others!();

    fn visit_str<E: Error>(self, _: &str) -> Result<Item, E> {
        Ok(Item::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut item = Item::default();
        while let Some(key) = map.next_key::<Text>()? {
            match key.0.as_deref() {
                Some("url") => item.url = map.next_value::<Text>()?.0,
                Some("date_modified") => item.modified = map.next_value::<Text>()?.0,
                Some("date_published") => item.published = map.next_value::<Text>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(item)
    }
}

/// A text of moderate length; `None` for other values.
#[derive(Default)]
struct Text(Option<String>);

/// Maximum bytes of a text: more than any crawled URL.
const MAX_TEXT: usize = 16 * 1024;

struct TextVisitor;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(TextVisitor)
    }
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    pass_over_others!();

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text((text.len() <= MAX_TEXT).then(|| text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}
