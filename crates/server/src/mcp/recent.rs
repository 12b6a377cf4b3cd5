//! The last pages that were longer than the part of their answer, for their next parts.

use crawl_model::Record;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Pages that are kept.
const PAGES: usize = 4;
/// Bytes of a page that is kept, as JSON. A longer one is fetched again for each part.
const MAX_BYTES: usize = 8 << 20;

/// A call that a page was fetched for. Another call of the same URL may want the page in another project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The URL that the caller gave.
    pub url: String,
    /// The project that keeps the page.
    pub project: Option<String>,
    /// Its label within the project.
    pub group: Option<String>,
}

/// Records by their call, newest first.
#[derive(Clone, Default)]
pub struct RecentPages(Arc<Mutex<VecDeque<(Asked, Record)>>>);

impl RecentPages {
    /// Keeps a record, and drops the oldest ones.
    pub fn keep(&self, asked: &Asked, record: &Record) {
        self.forget(&asked.url);
        if serde_json::to_vec(record).is_ok_and(|json| json.len() <= MAX_BYTES) {
            let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pages.push_front((asked.clone(), record.clone()));
            pages.truncate(PAGES);
        }
    }

    /// Drops the records of a URL.
    pub fn forget(&self, url: &str) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(kept, _)| kept.url != url);
    }

    /// The record of a call, if it is kept.
    #[must_use]
    pub fn find(&self, asked: &Asked) -> Option<Record> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().find(|(kept, _)| kept == asked).map(|(_, record)| record.clone())
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

    fn asked(number: u32) -> Asked {
        Asked { url: format!("https://a.example/{number}"), project: None, group: None }
    }

    #[test]
    fn the_newest_pages_are_kept() {
        let recent = RecentPages::default();
        for number in 0..6 {
            recent.keep(&asked(number), &record("<p>old"));
        }
        recent.keep(&asked(5), &record("<p>new"));
        assert!(recent.find(&asked(1)).is_none());
        assert_eq!(recent.find(&asked(5)).unwrap().text, "<p>new");
        assert!(recent.find(&asked(2)).is_some());
    }

    #[test]
    fn pages_of_other_projects_and_long_pages_are_not_found() {
        let recent = RecentPages::default();
        recent.keep(&asked(1), &record("<p>text"));
        let of_project = Asked { project: Some("p".to_owned()), ..asked(1) };
        assert!(recent.find(&of_project).is_none());
        recent.keep(&of_project, &record("<p>text"));
        assert!(recent.find(&of_project).is_some() && recent.find(&asked(1)).is_none());
        recent.keep(&asked(2), &record(&"a".repeat(MAX_BYTES)));
        assert!(recent.find(&asked(2)).is_none());
    }
}
