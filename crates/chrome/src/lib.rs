//! Pages as a headless browser shows them: a [`Renderer`] takes a URL and gives the HTML that scripts have made of it.
//!
//! Chromium is driven by the messages of the crate `headless_chrome` over a connection of our own: each tab has a thread of its
//! own, and [`Renderer::render`] is called from async code. Nothing starts before the first page is asked for.
//!
//! A page takes one navigation and one awaited call, in which a script inside the page (`js/`) waits for rest, dismisses consent,
//! scrolls, and hands the HTML over.
//!
//! Every connection of the browser goes through a filtering proxy on loopback that asks the address policy of the
//! crawl, and nothing of a browser outlives its [`Renderer`]: its processes are a group that is killed with it, die with
//! the thread that started them even if that is killed, and what is left all the same is found by the mark in
//! its profile directory at the next start.

mod browser;
mod cdp;
mod error;
mod keeper;
mod page;
mod process;
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
pub use settings::{Blocked, Budgets, ChromeSettings, ConsentRules};
