//! Storage trait of fingerprints, learned strategies (lessons) and claims of contents.

use super::{LeaseRef, StoreError};
use crate::{ContentHash, HostKey, UrlKey};

/// State of hosts and claims of contents, kept across pages.
pub trait DomainStore: Send + Sync {
    /// The state of a host's fingerprint as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host's fingerprint from an earlier round, until this round saves one.
    ///
    /// # Errors
    /// When storage fails.
    fn load_earlier_host(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// The state of a host that is not settled, as last saved in this round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_unsettled(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves the state of a host that is not settled, or forgets it (`None`). It does not change the state of
    /// an earlier round. [`DomainStore::save_host`] and a new round forget it too.
    ///
    /// # Errors
    /// When storage fails.
    fn save_unsettled(&self, host: &HostKey, state: Option<&[u8]>) -> Result<(), StoreError>;

    /// Saves the state of a host's fingerprint.
    ///
    /// # Errors
    /// When storage fails.
    fn save_host(&self, host: &HostKey, state: &[u8]) -> Result<(), StoreError>;

    /// The strategies learned from pages of a host, as last saved in any round.
    ///
    /// # Errors
    /// When storage fails.
    fn load_lessons(&self, host: &HostKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves the strategies learned from pages of a host.
    ///
    /// # Errors
    /// When storage fails.
    fn save_lessons(&self, host: &HostKey, lessons: &[u8]) -> Result<(), StoreError>;

    /// Claims a content and returns the URL of its first claimant, in this round or in an earlier one that is kept.
    /// That is `claimant` if nobody claimed it before, or if `claimant` itself did before a crash. Atomic. A store of
    /// several workers claims nothing if the lease of the page has ended: another worker may fetch the page again.
    ///
    /// # Errors
    /// When storage fails.
    fn claim_content(
        &self,
        hash: &ContentHash,
        claimant: UrlKey,
        page: LeaseRef,
    ) -> Result<UrlKey, StoreError>;

    /// Withdraws a claim of [`DomainStore::claim_content`] whose claimant no longer has this content. `page` is the
    /// lease of the claimant, as in that call.
    ///
    /// # Errors
    /// When storage fails.
    fn release_content(&self, hash: &ContentHash, claimant: UrlKey, page: LeaseRef)
    -> Result<(), StoreError>;

    /// Returns true if a URL became a page in this round. It is held, is a record, or was a page before and
    /// is unchanged or rests.
    ///
    /// # Errors
    /// When storage fails.
    fn became_page(&self, url: UrlKey) -> Result<bool, StoreError>;
}
