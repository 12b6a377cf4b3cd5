//! The end of a run.

use crate::bounds::Bound;

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The frontier is empty: no URL is pending or leased.
    Drained,
    /// A bound was reached.
    Limit(Bound),
    /// Told to stop.
    Interrupted,
}
