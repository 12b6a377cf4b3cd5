//! Detection of a redesigned site: comparison of a sample of pages with earlier counts of their host.

/// Comparison of the text that most pages of a sample share with earlier counts of their host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Novelty {
    /// Features of a page that most pages of the sample have.
    pub common: u64,
    /// Number of them that were rare before.
    pub unknown: u64,
}

impl Novelty {
    /// Returns true if most of the common features were rare before: the site has a new template.
    #[must_use]
    pub const fn is_redesign(self) -> bool {
        self.unknown * 2 > self.common
    }
}

impl std::ops::AddAssign for Novelty {
    fn add_assign(&mut self, page: Self) {
        self.common += page.common;
        self.unknown += page.unknown;
    }
}
