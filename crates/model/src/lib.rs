//! Types that flow through the crawler, and the traits of storage.
//!
//! Everything here is plain data: owned, `Send`, serialisable where it is stored. No I/O, no regular
//! expressions, no defaults. [`now_ms`] is the one clock. The crates `fetch`, `extract`, `dedup` and `store`
//! know only this crate; `crawl` alone knows all of them.
//!
//! A page has these types, in order: [`CrawlRequest`] → [`FetchedPage`] → [`ExtractedPage`] → [`CleanPage`] →
//! [`Record`].

mod attempt;
mod block;
mod blocking;
mod boilerplate;
mod clean_page;
mod clock;
mod discovery;
mod domain;
mod extracted;
mod failed;
mod history;
mod json_text;
mod keys;
mod language;
mod link;
mod media;
mod metadata;
mod names;
mod new_url;
mod page;
mod projects;
mod quality;
mod record;
#[cfg(test)]
mod record_doc;
mod request;
mod signals;
mod storage;
mod store;
mod strategy;
mod texts;
mod userinfo;

pub use attempt::Attempt;
pub use block::Block;
pub use blocking::{AsyncMark, assert_may_block, mark_async, mark_async_thread};
pub use boilerplate::{BoilerplateInfo, BoilerplateStatus, RemovalReason, RemovedSpan};
pub use clean_page::{Change, CleanPage, Duplicate};
pub use clock::{Simulation, SimulationGuard, instant, now_ms, random, rfc3339, simulate, system_time};
pub use discovery::Discovery;
pub use domain::{SUFFIX_LIST, listed_domain, registrable_domain};
pub use extracted::{ExtractedPage, Extraction, Extractor, KeptBody, Prose, Warning};
pub use failed::{FailedPage, Stage};
pub use history::{Before, KnownUrl, Outcome, PageHistory, Visits};
pub use keys::{
    BodyHash, ContentHash, HostKey, LeaseToken, Origin, RequestId, RulesVersion, TextHash, UrlKey,
};
pub use language::{declared_language, is_detected, language_code, short_language};
pub use link::{Directives, Link, LinkKind};
pub use media::{Media, MediaKind};
pub use metadata::{
    AuthorUrl, BySite, Confidence, HiddenText, Hreflang, MetadataConfidence, MetadataSources, PageMetadata,
};
pub use names::ParseNameError;
pub use new_url::NewUrl;
pub use page::{Body, BodyGuard, FetchedPage, Headers, Timings};
pub use projects::{
    Analysis, AnalysisPage, DomainBoilerplate, DomainFindings, DomainPages, NewSource, Project, ProjectId,
    ProjectStore, Source, SourceQuery,
};
pub use quality::{LanguageSource, Quality};
pub use record::{Record, RecordMetadata, SCHEMA_VERSION};
pub use request::CrawlRequest;
pub use signals::{Classification, ClassificationRule, PageSignals, PageType};
pub use storage::{
    CachedRobots, DomainStore, Enqueued, Frontier, FrontierCounts, HeldPage, HostBound, HostBounds, HostLoad,
    LeaseClock, LeasePermit, LeaseRef, OutputMark, Quota, ReadyHost, Refused, RunStore, Settlement,
    StoreError,
};
pub use store::Store;
pub use strategy::{Lane, Strategy};
pub use texts::{KnownText, NewText, Sketch, TextIndex};
pub use userinfo::{has_userinfo, hide_userinfo, strip_userinfo};
