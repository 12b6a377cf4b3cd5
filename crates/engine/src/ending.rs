//! The end of a run.

use crate::bounds::Bound;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is pending and nothing leased.
    Drained,
    /// A bound was reached.
    Limit(Bound),
    /// Told to stop.
    Interrupted,
}
