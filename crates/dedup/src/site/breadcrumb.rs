//! Breadcrumb that ends with the page's title, which follows below again.

use super::{
    TITLE_BLOCKS,
    cleaner::{PageCleaner, Verdict},
    margin::pairs,
    words::{WordBuffers, words},
};
use crate::site::features::Zone;
use crawl_model::RemovalReason;

/// Separators of a breadcrumb.
const SEPARATORS: [char; 11] = ['/', '>', '›', '»', '→', '|', '▸', '❯', '⟩', '·', '\\'];
/// First words of a breadcrumb that other pages share; its middle parts differ by section.
const ROOT: usize = 2;

impl PageCleaner<'_> {
    /// Block with the title and the verdict, if a block is such a breadcrumb.
    pub(super) fn breadcrumb(&self, at: usize, least: f64) -> Option<(usize, Verdict)> {
        let read = self.read;
        if !self.is_full() || read.lines_of(at).len() != 1 || read.blocks[at].fenced || self.heading(at) {
            return None;
        }
        let line = read.text_of(at, &self.page);
        let below = at + 1..read.blocks.len().min(at + 1 + TITLE_BLOCKS);
        let (title, front) = below.filter(|at| read.lines_of(*at).len() == 1).find_map(|at| {
            let title = read.text_of(at, &self.page).trim_start_matches(['#', ' ']);
            let front = line.strip_suffix(title)?.trim_end();
            (!title.is_empty() && front.ends_with(SEPARATORS)).then_some((at, front))
        })?;
        let front = words(front, &mut WordBuffers::default());
        let root = front.get(..ROOT)?;
        let mut covered = [false; ROOT];
        let pages = pairs(self, (Zone::Head, least), root, &mut covered);
        covered[0].then_some((title, (RemovalReason::Pattern, pages)))
    }
}
