//! Limits of the values of rules.

/// Limit of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Upper bound.
    AtMost(f64),
    /// Lower bound.
    AtLeast(f64),
    /// No limit: the value is for information.
    None,
}

impl Limit {
    /// Returns true if a value breaks the limit.
    #[must_use]
    pub fn is_broken_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value > most,
            Self::AtLeast(least) => value < least,
            Self::None => false,
        }
    }
}

/// Names with their limits.
pub(crate) fn named<const N: usize>(all: [(&str, Limit); N]) -> Vec<(String, Limit)> {
    all.map(|(name, limit)| (name.to_owned(), limit)).into()
}
