//! Likely ranges of a host's counts after its next pages, for the early release of held pages.

use crate::FingerprintSettings;

/// Width of a share's interval, in standard deviations of a binomial distribution.
const DEVIATIONS: f64 = 1.0;
/// Minimum pages with a feature before further ones are expected: the text of a single page is its own.
const EXPECTED_FROM: u64 = 2;

/// Counts used for a decision: the current ones, or either end of their likely range after further pages.
///
/// The range of a share is its Wilson score interval (Wilson 1927), which is sound for few pages and for shares near
/// 0 and 1. A page with the same result at both ends is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// The counts as they are.
    Now,
    /// The lowest likely share of the pages.
    Least,
    /// The highest likely share of the pages.
    Greatest,
}

impl Outlook {
    /// Likely share of a feature that is on `share` of the `of` pages so far.
    pub(crate) fn share(self, share: f64, of: f64) -> f64 {
        let side = match self {
            Self::Now => return share,
            Self::Least => -1.0,
            Self::Greatest => 1.0,
        };
        let z2 = DEVIATIONS * DEVIATIONS;
        let middle = share + z2 / (2.0 * of);
        let half = DEVIATIONS * (share * (1.0 - share) / of + z2 / (4.0 * of * of)).max(0.0).sqrt();
        (middle + side * half) / (1.0 + z2 / of)
    }

    /// Returns true if this many pages are enough evidence.
    pub(crate) const fn is_enough(self, pages: u64, settings: &FingerprintSettings) -> bool {
        let least = match self {
            Self::Now | Self::Least => settings.min_pages() as u64,
            Self::Greatest => EXPECTED_FROM,
        };
        pages >= least
    }

    /// Returns true if a block on `pages` of `of` pages is boilerplate by the specification.
    pub(crate) fn is_over_threshold(self, pages: u64, of: u64, settings: &FingerprintSettings) -> bool {
        match self {
            Self::Now => pages >= settings.threshold(of),
            _ => {
                self.is_enough(pages, settings)
                    && self.share(pages as f64 / of as f64, of as f64) >= settings.threshold_pct()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_range_holds_the_share_and_narrows() {
        for of in [5.0, 20.0, 200.0] {
            for share in [0.0, 0.2, 0.7, 1.0] {
                let (least, greatest) = (Outlook::Least.share(share, of), Outlook::Greatest.share(share, of));
                assert!(0.0 <= least + 1e-9 && least <= share + 1e-9);
                assert!(share <= greatest + 1e-9 && greatest <= 1.0 + 1e-9);
                assert!(greatest - least <= 1.0 / f64::sqrt(of), "{share} of {of}");
            }
        }
        assert!((Outlook::Least.share(1.0, 5.0) - 5.0 / 6.0).abs() < 1e-9);
        assert!((Outlook::Now.share(0.3, 5.0) - 0.3).abs() < f64::EPSILON);
    }

    #[test]
    fn outlook_separates_possible_from_certain_boilerplate() {
        let settings = FingerprintSettings::default();
        let judged = |pages, of| {
            [Outlook::Least, Outlook::Now, Outlook::Greatest]
                .map(|outlook| outlook.is_over_threshold(pages, of, &settings))
        };
        assert_eq!(judged(5, 5), [true, true, true]);
        assert_eq!(judged(1, 5), [false, false, false]);
        assert_eq!(judged(4, 5), [false, false, true]);
        assert_eq!(judged(5, 7), [false, true, true]);
        assert_eq!(judged(30, 100), [false, false, false]);
    }
}
