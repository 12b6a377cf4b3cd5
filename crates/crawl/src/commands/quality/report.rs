//! `crawl quality --html`: an HTML report that contains its data and loads no other file.

use super::{
    Judged,
    distribution::{Shown, domain},
};
use crawl_corpus::Page;
use crawl_engine::exit::Failure;
use serde::Serialize;

/// Documents that are listed: of those that --drop would leave out, and of others that fail a rule.
const FAILING: usize = 1000;
const OTHERS: usize = 500;

/// Characters of a title.
const TITLE: usize = 200;

const PAGE: &str = include_str!("report.html");

/// Documents that fail, the first ones.
#[derive(Default)]
pub(super) struct Report {
    listed: Vec<Listed>,
    failing: usize,
}

/// A document that fails.
#[derive(Serialize)]
struct Listed {
    id: String,
    url: String,
    domain: String,
    title: String,
    words: usize,
    language: String,
    /// Fails a set that was asked for.
    fails: bool,
    /// Rules that it fails, by their places, with its values.
    failed: Vec<(usize, f64)>,
}

#[derive(Serialize)]
struct Data<'a> {
    distribution: Shown<'a>,
    listed: &'a [Listed],
    caps: [usize; 2],
}

impl Report {
    pub fn add(&mut self, judged: &Judged, fails: bool) {
        let Judged { document, assessment, .. } = judged;
        let others = self.listed.len() - self.failing;
        let full = if fails { self.failing >= FAILING } else { others >= OTHERS };
        if assessment.failed.is_empty() || full {
            return;
        }
        self.failing += usize::from(fails);
        let Page { id, url, title, .. } = document;
        let value = |at: &usize| Some((*at, assessment.values.get(*at).copied().flatten()?));
        self.listed.push(Listed {
            id: id.clone(),
            domain: domain(url),
            url: url.clone(),
            title: title.chars().take(TITLE).collect(),
            words: assessment.words,
            language: assessment.language.clone(),
            fails,
            failed: assessment.failed.iter().filter_map(value).collect(),
        });
    }

    /// Writes the page, with the distribution of the same run.
    pub fn write(&self, distribution: Shown<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let data = Data { distribution, listed: &self.listed, caps: [FAILING, OTHERS] };
        Ok(crawl_corpus::fill_page(PAGE, &data, out)?)
    }
}
