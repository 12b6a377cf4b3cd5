//! Map that is stored as a string of JSON. Records of version 1 have the map itself.

use serde::{Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Map(BTreeMap<String, f64>),
}

pub(crate) fn serialize<S: Serializer>(
    map: &BTreeMap<String, f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(map).map_err(S::Error::custom)?)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    match Stored::deserialize(deserializer)? {
        Stored::Text(text) => serde_json::from_str(&text).map_err(D::Error::custom),
        Stored::Map(map) => Ok(map),
    }
}

#[cfg(test)]
mod tests {
    use crate::Quality;

    #[test]
    fn scores_are_read_as_map_and_as_text() {
        let of = |scores: &str| {
            let text =
                format!(r#"{{"language":"en","words":1,"contentWords":1,"failed":[],"scores":{scores}}}"#);
            serde_json::from_str::<Quality>(&text).unwrap()
        };
        let (first, second) = (of(r#"{"c4.lines":0.5}"#), of(r#""{\"c4.lines\":0.5}""#));
        assert_eq!(first, second);
        assert_eq!(first.scores["c4.lines"], 0.5);
        assert_eq!(serde_json::to_value(&first).unwrap()["scores"], r#"{"c4.lines":0.5}"#);
    }
}
