//! Supertrait of all storage traits.

use crate::{DomainStore, Frontier, RunStore, TextIndex};

/// A store that can hold a whole crawl.
pub trait Store: Frontier + DomainStore + RunStore + TextIndex {}

impl<T: Frontier + DomainStore + RunStore + TextIndex + ?Sized> Store for T {}
