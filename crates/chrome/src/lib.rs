//! Rendering of pages in a headless browser: a [`Renderer`] takes a URL and returns the HTML after scripts
//! have run.
//!
//! Chromium is driven by the messages of the crate `headless_chrome` over our own connection. Each tab has a
//! thread, and async code calls [`Renderer::render`]. The first page starts the browser.
//!
//! A page takes one navigation and one awaited call. In it, a script inside the page (`js/`) waits until the
//! page settles, dismisses consent, scrolls, and returns the HTML.
//!
//! Every connection of the browser passes a filtering proxy on loopback that applies the crawl's address
//! policy. No process of a browser outlives its [`Renderer`]. Its processes are a group that is killed with
//! it, and die with the thread that started them even if that is killed. The next start finds any remaining
//! ones by the mark in their profile directory.

mod browser;
mod cdp;
mod error;
mod page;
mod process;
mod process_watchdog;
mod proxy;
mod renderer;
mod rules;
mod script;
mod seen;
mod settings;
mod tab;
mod watch;

pub use error::{RenderError, RenderPhase};
pub use page::{Rendered, Timings};
pub use process::find_browser;
pub use renderer::{Renderer, RendererStats};
pub use settings::{Blocked, Budgets, CONSENT_TIME, ChromeSettings, ConsentRules, SCROLL_STEPS, SCROLL_TIME};
