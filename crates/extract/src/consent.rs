//! Consent banners whose names are made up (heuristics reference §4, keyword sweep).

use crate::{
    dom::Tag,
    page::{Gone, Page},
    rules::Roles,
    text,
};

impl Page<'_> {
    /// The guarded keyword sweep: widgets whose names are made up, told by a word of their name and a phrase of their
    /// text, unless they are long, most of the page, or (in) an article.
    pub(crate) fn sweep_consent(&mut self) -> bool {
        let sweep = &self.rules.consent.sweep;
        let total = self.amount(self.body).words;
        let limit = sweep.max_words.min((total as f32 * sweep.max_share) as u32);
        let mut changed = false;
        let mut id = self.body + 1;
        while id < self.dom.end(self.body) && !self.budget.is_over() {
            let at = id as usize;
            let candidate = self.gone[at] == Gone::No
                && self.roles[at].has(Roles::CONSENT)
                && !matches!(self.dom.tag(id), Tag::Text | Tag::Main | Tag::Article | Tag::A | Tag::Code);
            let words = if candidate { self.amount(id).words } else { 0 };
            if words > 0 && words <= limit && !self.in_article(id) {
                let text = text::fold_lower(&self.visible_text(id));
                if self.rules.sweep.is_match(&text) {
                    let end = self.dom.end(id);
                    self.gone[at..end as usize].fill(Gone::Consent);
                    changed = true;
                    id = end;
                    continue;
                }
            }
            id += 1;
        }
        changed
    }

    /// Inside of an article, or with one inside, or with a first heading: then it is no banner.
    fn in_article(&self, id: u32) -> bool {
        self.dom.ancestors(id).any(|up| self.dom.tag(up) == Tag::Article)
            || (id..self.dom.end(id))
                .any(|down| matches!(self.dom.tag(down), Tag::Article | Tag::H1 | Tag::Main))
    }
}
