//! All of storage as one trait object.

use crawl_model::{DomainStore, Frontier, RunStore};

/// A store that can hold a whole crawl.
pub trait Store: Frontier + DomainStore + RunStore {}

impl<T: Frontier + DomainStore + RunStore> Store for T {}
