//! Parts of a run that a simulation replaces: the network, threads, storage and rules.
//! Bounds that no setting changes are here too if a test needs smaller ones.
//!
//! The clock and random numbers are replaced by [`crawl_model::simulate`].

use crate::{
    config::ExtractSection,
    cpu::CpuPool,
    exit::{Exit, Failure},
    page_rules,
    threads::Threading,
};
use crawl_extract::Rules;
use crawl_fetch::{ByteBudget, FetchError, HttpClient, HttpSettings, Transport};
use crawl_model::Store;
use std::{path::Path, sync::Arc, time::Duration};

/// A function that puts a store of a simulation in front of the one of the state directory.
pub type Wrap = Arc<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync>;

/// Time limit of extracting one page. No known page needs more. A page that does is written without content
/// and with the warning `deadline_exceeded`, and the thread continues.
pub const PAGE_DEADLINE: Duration = Duration::from_secs(5);

/// Pages that may wait between two stages. The defaults keep every stage busy; larger channels only hold more
/// pages in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelSizes {
    /// Pages that are fetched and not yet parsed. Each holds its body.
    pub fetched: usize,
    /// Pages of one shard that are extracted and not yet cleaned.
    pub extracted: usize,
    /// Pages that are cleaned and not yet written.
    pub cleaned: usize,
}

impl Default for ChannelSizes {
    fn default() -> Self {
        Self { fetched: 8, extracted: 16, cleaned: 64 }
    }
}

impl ChannelSizes {
    /// Sizes of the channels for fetched, extracted and cleaned pages.
    #[must_use]
    pub const fn new(fetched: usize, extracted: usize, cleaned: usize) -> Self {
        Self { fetched, extracted, cleaned }
    }
}

/// Machine of a run. The default is the real one.
#[derive(Clone)]
#[non_exhaustive]
pub struct Platform {
    /// The network; `None` for the real one.
    pub transport: Option<Arc<dyn Transport>>,
    /// Threads or tasks of the stages that compute or call into the store. [`Threading::Inline`] also extracts pages inline.
    pub threading: Threading,
    /// Rules of extraction that were loaded before; `None` loads those that the settings name.
    pub rules: Option<Arc<Rules>>,
    /// A layer between the run and its store.
    pub wrap: Option<Wrap>,
    /// Sizes of the channels between the stages.
    pub channels: ChannelSizes,
    /// Time limit of extracting one page.
    pub page_deadline: Duration,
}

impl Default for Platform {
    fn default() -> Self {
        Self {
            transport: None,
            threading: Threading::default(),
            rules: None,
            wrap: None,
            channels: ChannelSizes::default(),
            page_deadline: PAGE_DEADLINE,
        }
    }
}

impl Platform {
    /// Sends requests over another network.
    #[must_use]
    pub fn with_transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Runs the stages as tasks or as threads.
    #[must_use]
    pub const fn with_threading(mut self, threading: Threading) -> Self {
        self.threading = threading;
        self
    }

    /// Extracts by rules that were loaded before.
    #[must_use]
    pub fn with_rules(mut self, rules: Arc<Rules>) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Puts a layer between the run and its store.
    #[must_use]
    pub fn with_wrap(mut self, wrap: Wrap) -> Self {
        self.wrap = Some(wrap);
        self
    }

    /// Sets the sizes of the channels between the stages.
    #[must_use]
    pub const fn with_channels(mut self, channels: ChannelSizes) -> Self {
        self.channels = channels;
        self
    }

    /// Sets the time limit of extracting one page.
    #[must_use]
    pub const fn with_page_deadline(mut self, deadline: Duration) -> Self {
        self.page_deadline = deadline;
        self
    }

    pub(crate) fn client(
        &self,
        settings: HttpSettings,
        budget: ByteBudget,
    ) -> Result<HttpClient, FetchError> {
        match &self.transport {
            Some(transport) => HttpClient::over(Arc::clone(transport), settings, budget),
            None => HttpClient::new(settings, budget),
        }
    }

    pub(crate) fn cpu(&self, threads: usize) -> Result<CpuPool, Failure> {
        match self.threading {
            Threading::Inline => Ok(CpuPool::inline()),
            Threading::Threads => {
                CpuPool::new(threads).map_err(|e| Failure::new(Exit::Internal, e.to_string()))
            }
        }
    }

    /// The rules of extraction: the preloaded rules, or those that the settings name.
    pub(crate) fn rules(&self, settings: &ExtractSection) -> Result<Arc<Rules>, Failure> {
        if let Some(rules) = &self.rules {
            return Ok(Arc::clone(rules));
        }
        let overlay = Some(settings.rules.as_str()).filter(|dir| !dir.is_empty()).map(Path::new);
        Ok(Arc::new(page_rules::load(overlay, &settings.consent_lists, |line| tracing::warn!("{line}"))?))
    }

    pub(crate) fn store(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        match &self.wrap {
            Some(wrap) => wrap(store),
            None => store,
        }
    }
}
