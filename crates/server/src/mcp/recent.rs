//! The last pages that were longer than the part of their answer, for their next parts.

use crawl_model::Record;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Pages that are kept.
const PAGES: usize = 4;

/// Records by the URL that the caller gave, newest first.
#[derive(Clone, Default)]
pub struct RecentPages(Arc<Mutex<VecDeque<(String, Record)>>>);

impl RecentPages {
    /// Keeps a record, and drops the oldest ones.
    pub fn keep(&self, url: &str, record: &Record) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(kept, _)| kept != url);
        pages.push_front((url.to_owned(), record.clone()));
        pages.truncate(PAGES);
    }

    /// The record of a URL, if it is kept.
    #[must_use]
    pub fn find(&self, url: &str) -> Option<Record> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().find(|(kept, _)| kept == url).map(|(_, record)| record.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl_engine::record::page_record;
    use crawl_extract::{Input, Options, PageExtractor};

    fn record(words: &str) -> Record {
        let extractor = PageExtractor::new(Options::default()).unwrap();
        page_record(extractor.extract(&Input::new(words.as_bytes())), words.to_owned(), None)
    }

    #[test]
    fn the_newest_pages_are_kept() {
        let recent = RecentPages::default();
        for number in 0..6 {
            recent.keep(&format!("https://a.example/{number}"), &record("<p>old"));
        }
        recent.keep("https://a.example/5", &record("<p>new"));
        assert!(recent.find("https://a.example/1").is_none());
        assert_eq!(recent.find("https://a.example/5").unwrap().text, "<p>new");
        assert!(recent.find("https://a.example/2").is_some());
    }
}
