//! Types that flow through the crawler, and the traits of storage.
//!
//! Everything here is plain data: owned, `Send`, serialisable where it is stored. No I/O, no regular
//! expressions, no defaults. [`now_ms`] is the one clock. The crates `fetch`, `extract`, `dedup` and `store`
//! know only this crate; `crawl` alone knows all of them.
//!
//! One page takes these shapes on its way: [`CrawlRequest`] → [`FetchedPage`] → [`ExtractedPage`] →
//! [`CleanPage`] → [`Record`].

mod blocking;
mod clock;
mod domain;
mod extracted;
mod history;
mod keys;
mod language;
mod page;
mod projects;
mod record;
#[cfg(test)]
mod record_doc;
mod request;
mod signals;
mod storage;
mod store;
mod texts;
mod userinfo;

pub use blocking::{AsyncMark, assert_may_block, mark_async, mark_async_thread};
pub use clock::{Simulation, SimulationGuard, instant, now_ms, random, rfc3339, simulate, system_time};
pub use domain::registrable_domain;
pub use extracted::{
    AuthorUrl, Block, BySite, Confidence, Directives, ExtractedPage, Extraction, Extractor, HiddenText,
    Hreflang, KeptBody, Link, LinkKind, Media, MediaKind, MetadataConfidence, MetadataSources, PageMetadata,
    Prose, Warning,
};
pub use history::{Before, KnownUrl, PageHistory, Visits};
pub use keys::{BodyHash, ContentHash, HostKey, LeaseToken, Origin, RequestId, RulesVersion, UrlKey};
pub use language::{declared_language, is_detected, language_code, short_language};
pub use page::{Body, BodyGuard, FetchedPage, Headers, Timings};
pub use projects::{
    Analysis, AnalysisPage, DomainBoilerplate, DomainFindings, DomainPages, NewSource, Project, ProjectId,
    ProjectStore, Source, SourceQuery,
};
pub use record::{
    Attempt, BoilerplateInfo, BoilerplateStatus, Change, CleanPage, Duplicate, FailedPage, LanguageSource,
    Quality, Record, RecordMetadata, RemovalReason, RemovedSpan, SCHEMA_VERSION, Stage,
};
pub use request::{CrawlRequest, Discovery, Lane, ParseNameError, Strategy};
pub use signals::{Classification, ClassificationRule, PageSignals, PageType};
pub use storage::{
    CachedRobots, DomainStore, Enqueued, Frontier, FrontierCounts, HeldPage, HostBound, HostBounds, HostLoad,
    LeaseRef, NewUrl, Outcome, OutputMark, ReadyHost, Refused, RunStore, Settlement, StoreError,
};
pub use store::Store;
pub use texts::{KnownText, NewText, Sketch, TextIndex};
pub use userinfo::{has_userinfo, hide_userinfo, strip_userinfo};
