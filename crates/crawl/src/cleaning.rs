//! The text that is stored of a cleaned page: the one way from a fingerprint's judgement to it, for crawls, `crawl dedup` and
//! analyses of projects.

use crate::{config::ExtractSection, exit::Failure, page_rules};
use crawl_dedup::Cleaned;
use crawl_extract::{Options, PageExtractor};
use crawl_model::{BoilerplateInfo, BoilerplateStatus, Extractor};
use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};
use std::path::Path;

/// Returns what is left of a page and how it was cleaned. The last pass follows unless cleaning is off. `chosen_by` is the
/// extractor that the page's text is of.
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

/// The extractor for the last pass, with the rules that the settings name.
///
/// # Errors
/// Names every fault of the rules.
pub fn last_pass_extractor(settings: &ExtractSection) -> Result<PageExtractor, Failure> {
    let overlay = Some(settings.rules.as_str()).filter(|dir| !dir.is_empty()).map(Path::new);
    let rules = page_rules::load(overlay, &[], |line| tracing::warn!("{line}"))?;
    Ok(PageExtractor::from_rules(rules, Options::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extractors_are_known_by_the_names_of_records() {
        assert_eq!(extractor_named(Some("page_type")), Some(Extractor::PageType));
        assert_eq!(extractor_named(Some("plain_text")), Some(Extractor::PlainText));
        assert_eq!([extractor_named(Some("forum")), extractor_named(None)], [None, None]);
    }
}
