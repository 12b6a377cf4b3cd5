//! The text that is stored of a cleaned page: the one way from a fingerprint's judgement to it, for crawls, `crawl dedup` and
//! analyses of projects.

use crawl_dedup::Cleaned;
use crawl_extract::PageExtractor;
use crawl_model::{BoilerplateInfo, BoilerplateStatus, Extractor};
use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};

/// Returns the cleaned text of a page and how it was cleaned. The last pass follows unless cleaning is off.
/// `chosen_by` is the extractor of the page's text.
#[must_use]
pub fn stored(
    extractor: &PageExtractor,
    cleaned: Cleaned,
    chosen_by: Option<Extractor>,
) -> (String, BoilerplateInfo) {
    let (text, boilerplate) = cleaned.into_record();
    let text = match boilerplate.status {
        BoilerplateStatus::Off => text,
        _ => extractor.last_pass(text, chosen_by),
    };
    (text, boilerplate)
}

/// The extractor of a name as records write it; none for an unknown one.
#[must_use]
pub fn extractor_named(name: Option<&str>) -> Option<Extractor> {
    let name: value::StrDeserializer<'_, value::Error> = name?.into_deserializer();
    Extractor::deserialize(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extractors_parse_from_their_record_names() {
        assert_eq!(extractor_named(Some("page_type")), Some(Extractor::Platform));
        assert_eq!(extractor_named(Some("plain_text")), Some(Extractor::PlainText));
        assert_eq!([extractor_named(Some("forum")), extractor_named(None)], [None, None]);
    }
}
