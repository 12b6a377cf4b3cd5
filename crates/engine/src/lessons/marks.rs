//! Signs of the framework that generated a page.

use crawl_model::PageSignals;
use serde::{Deserialize, Serialize};

/// Signs of the framework in a rendered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// A framework, or the element that one fills.
    pub app: bool,
    /// A script with a URL.
    pub scripts: bool,
}

impl Marks {
    /// All marks.
    pub(super) const ALL: Self = Self { app: true, scripts: true };

    pub(super) const fn and(self, other: Self) -> Self {
        Self { app: self.app && other.app, scripts: self.scripts && other.scripts }
    }

    pub(super) const fn has_all(self, of: Self) -> bool {
        (self.app || !of.app) && (self.scripts || !of.scripts)
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self::ALL
    }
}

impl From<&PageSignals> for Marks {
    fn from(signals: &PageSignals) -> Self {
        let app = signals.has_js_root || !signals.frameworks_detected.is_empty();
        Self { app, scripts: signals.external_scripts > 0 }
    }
}
