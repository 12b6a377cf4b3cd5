//! Traits of a storage engine for states of crawls.

use crate::upkeep::{CheckReport, RepairReport, Upkeep};
use crawl_model::{Store, StoreError};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The state of a crawl: [`Store`] and [`Upkeep`].
pub trait StateStore: Store + Upkeep {}

impl<T: Store + Upkeep> StateStore for T {}

/// A storage engine. A state is in a directory, or at a URL with the scheme of an engine.
pub(crate) trait Engine: Sync {
    /// Returns true if the engine stores states at this path.
    fn takes(&self, place: &Path) -> bool;

    /// See [`open`](crate::state::open).
    fn open(&self, place: &Path) -> Result<Arc<dyn StateStore>, StoreError>;

    /// See [`open_read_only`](crate::state::open_read_only).
    fn open_read_only(&self, place: &Path) -> Result<Arc<dyn StateStore>, StoreError>;

    /// See [`exists`](crate::state::exists).
    fn exists(&self, place: &Path) -> bool;

    /// See [`remove`](crate::state::remove).
    fn remove(&self, place: &Path) -> Result<(), StoreError>;

    /// See [`log`](crate::state::log).
    fn log(&self, place: &Path) -> PathBuf;

    /// See [`damage_of_log`](crate::state::damage_of_log).
    fn damage_of_log(&self, place: &Path) -> io::Result<Option<u64>>;

    /// See [`check`](crate::state::check).
    fn check(&self, place: &Path) -> Result<CheckReport, StoreError>;

    /// See [`repair`](crate::state::repair).
    fn repair(&self, place: &Path) -> Result<RepairReport, StoreError>;
}
