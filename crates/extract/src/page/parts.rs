//! Named parts of the programs that write documentation.

use super::Page;
use crate::rules::Part;

impl Page<'_> {
    /// Returns true if the page has a sign of a documentation generator, or the generator needs none.
    pub(crate) fn is_signed(&self, platform: u16) -> bool {
        self.rules.platforms.documentation[platform as usize].sign.is_empty()
            || self.parts.iter().any(|(part, index, _)| *part == Part::DocSign && *index == platform)
    }

    /// Visible elements that a recognised generator writes as the heading of the page instead of an h1.
    pub(crate) fn documentation_titles(&self) -> Vec<u32> {
        let named = self.parts.iter().filter(|(part, platform, _)| {
            // Few pages have such elements, so the search for a sign is rare.
            *part == Part::DocTitle && self.is_signed(*platform)
        });
        named.map(|(_, _, id)| *id).filter(|id| self.is_visible(*id)).collect()
    }
}
