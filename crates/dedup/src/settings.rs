//! Settings of a fingerprint and their ranges.

/// Settings of a fingerprint (boilerplate spec, phase D). Values are always within the spec's ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FingerprintSettings {
    threshold_pct: f64,
    min_pages: usize,
    min_block_chars: usize,
}

/// Range of a setting. The spec states the ranges for configuration, flags, REST and MCP; all of them check
/// here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingRange {
    /// Name of the setting in the configuration.
    pub name: &'static str,
    /// Least value that is allowed.
    pub least: f64,
    /// Greatest value that is allowed.
    pub most: f64,
}

impl SettingRange {
    /// Checks a value.
    ///
    /// # Errors
    /// When the value is out of range.
    pub fn check(&self, given: f64) -> Result<(), SettingsError> {
        let Self { name, least, most } = *self;
        if (least..=most).contains(&given) { Ok(()) } else { Err(SettingsError { name, given, least, most }) }
    }
}

/// Error of a setting that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {given}, but has to be from {least} to {most}")]
pub struct SettingsError {
    /// Name of the setting in the configuration.
    pub name: &'static str,
    /// Given value.
    pub given: f64,
    /// Least value that is allowed.
    pub least: f64,
    /// Greatest value that is allowed.
    pub most: f64,
}

impl FingerprintSettings {
    /// Minimum share of the pages with a block.
    pub const THRESHOLD_PCT: SettingRange = SettingRange { name: "threshold_pct", least: 0.1, most: 1.0 };
    /// Pages needed before anything is judged.
    pub const MIN_PAGES: SettingRange = SettingRange { name: "min_pages", least: 2.0, most: 100.0 };
    /// Characters that a block must have.
    pub const MIN_BLOCK_CHARS: SettingRange =
        SettingRange { name: "min_block_chars", least: 10.0, most: 500.0 };

    /// Creates settings within [`THRESHOLD_PCT`](Self::THRESHOLD_PCT), [`MIN_PAGES`](Self::MIN_PAGES) and
    /// [`MIN_BLOCK_CHARS`](Self::MIN_BLOCK_CHARS).
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn new(threshold_pct: f64, min_pages: usize, min_block_chars: usize) -> Result<Self, SettingsError> {
        // beyond 2^52 the conversion rounds, far out of every range
        Self::THRESHOLD_PCT.check(threshold_pct)?;
        Self::MIN_PAGES.check(min_pages as f64)?;
        Self::MIN_BLOCK_CHARS.check(min_block_chars as f64)?;
        Ok(Self { threshold_pct, min_pages, min_block_chars })
    }

    /// Minimum share of the pages with a boilerplate block.
    #[must_use]
    pub const fn threshold_pct(&self) -> f64 {
        self.threshold_pct
    }

    /// Pages needed before anything is judged.
    #[must_use]
    pub const fn min_pages(&self) -> usize {
        self.min_pages
    }

    /// Minimum characters of a block.
    #[must_use]
    pub const fn min_block_chars(&self) -> usize {
        self.min_block_chars
    }

    /// Warning for a domain with fewer than `min_pages` pages; `None` if it is judged.
    #[must_use]
    pub fn too_few(&self, pages: u64) -> Option<String> {
        let least = self.min_pages as u64;
        (pages < least).then(|| format!("{pages} pages, fewer than min_pages ({least}): not judged"))
    }

    /// Minimum pages of a boilerplate block among `pages`: `max(min_pages, int(pages * threshold_pct))`.
    #[must_use]
    pub fn threshold(&self, pages: u64) -> u64 {
        // cut off as Python's int() does
        (self.min_pages as u64).max((pages as f64 * self.threshold_pct) as u64)
    }
}

impl Default for FingerprintSettings {
    /// The spec's defaults: 70 % of the pages, five pages, 50 characters.
    fn default() -> Self {
        Self { threshold_pct: 0.7, min_pages: 5, min_block_chars: 50 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_ranges_follow_the_specification() {
        for (pct, pages, chars) in [(0.1, 2, 10), (1.0, 100, 500), (0.7, 5, 50)] {
            assert!(FingerprintSettings::new(pct, pages, chars).is_ok());
        }
        let named = |pct, pages, chars| FingerprintSettings::new(pct, pages, chars).unwrap_err().name;
        assert_eq!(named(0.09, 5, 50), "threshold_pct");
        assert_eq!(named(1.01, 5, 50), "threshold_pct");
        assert_eq!(named(f64::NAN, 5, 50), "threshold_pct");
        assert_eq!(named(0.7, 1, 50), "min_pages");
        assert_eq!(named(0.7, 101, 50), "min_pages");
        assert_eq!(named(0.7, 5, 9), "min_block_chars");
        assert_eq!(named(0.7, 5, 501), "min_block_chars");
        assert_eq!(
            FingerprintSettings::new(2.0, 5, 50).unwrap_err().to_string(),
            "threshold_pct is 2, but has to be from 0.1 to 1"
        );
    }

    #[test]
    fn threshold_is_rounded_down() {
        let settings = FingerprintSettings::default();
        let thresholds = [0, 5, 7, 8, 9, 10, 100, 101].map(|pages| settings.threshold(pages));
        assert_eq!(thresholds, [5, 5, 5, 5, 6, 7, 70, 70]);
        // 29 * 0.7 is 20.299…, 0.57 * 100 is 56.999…: the same doubles as in Python
        assert_eq!(FingerprintSettings::new(0.57, 2, 50).unwrap().threshold(100), 56);
    }
}
