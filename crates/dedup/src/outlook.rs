//! The counts of a host as they may be after its next pages.

use crate::FingerprintSettings;

/// Width of the interval of a share, in standard deviations of a binomial distribution.
const DEVIATIONS: f64 = 1.0;
/// Pages that must have a piece of evidence before more of them are expected: what one page says alone is its own.
const EXPECTED_FROM: u64 = 2;

/// The counts by which a page is judged: as they are, or at either end of the range in which they are likely to be after the
/// next pages.
///
/// The range of a share is its Wilson score interval (Wilson 1927), which is sound for few pages and for shares near 0 and 1. A
/// page whose judgement is the same at both ends keeps it when further pages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// The counts as they are.
    Now,
    /// The least share of the pages that is likely.
    Least,
    /// The greatest share of the pages that is likely.
    Greatest,
}

impl Outlook {
    /// Returns the share of `of` pages on which something stands that stands on `share` of them so far.
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

    /// Returns true if so many pages are enough for evidence.
    pub(crate) const fn is_enough(self, pages: u64, settings: &FingerprintSettings) -> bool {
        let least = match self {
            Self::Now | Self::Least => settings.min_pages() as u64,
            Self::Greatest => EXPECTED_FROM,
        };
        pages >= least
    }

    /// Returns true if a block on so many pages of `of` is boilerplate by the specification.
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
    fn a_range_holds_the_share_and_narrows_with_the_pages() {
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
    fn a_block_that_may_become_boilerplate_is_told_from_one_that_is_sure() {
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
