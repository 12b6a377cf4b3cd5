//! Everything a run takes from the machine, which a simulation replaces: the network, threads, storage and rules.
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
use std::{path::Path, sync::Arc};

/// A function that puts a store of a simulation in front of the one of the state directory.
pub type Wrap = Arc<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync>;

/// Machine of a run. The default is the real one.
#[derive(Clone, Default)]
pub struct Platform {
    /// The network; `None` for the real one.
    pub transport: Option<Arc<dyn Transport>>,
    /// Threads or tasks of the stages that compute or call into the store. [`Threading::Inline`] also extracts pages inline.
    pub threading: Threading,
    /// Rules of extraction that were loaded before; `None` loads those that the settings name.
    pub rules: Option<Arc<Rules>>,
    /// A layer between the run and its store.
    pub wrap: Option<Wrap>,
}

impl Platform {
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

    /// The rules of extraction: those that were loaded before, or those that the settings name.
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
