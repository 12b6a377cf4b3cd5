//! Fetching of pages and the decisions before it: plain HTTP, robots.txt, politeness, canonical URLs, URL
//! filters, scope, classification.

mod address_book;
pub mod budget;
mod classify;
mod error;
mod escalation;
mod filter;
pub mod http;
mod optout;
mod politeness;
mod retry;
mod robots;
mod rules;
mod scope;
mod seeds;
mod sitemap;
mod soft404;
mod traps;
mod url;
mod user_agents;
mod xrobots;

pub use address_book::AddressBook;
pub use budget::ByteBudget;
pub use classify::{THRESHOLD_WORDS, classify, needs_js};
pub use error::{FetchError, LocalResource, Phase, refused_address};
pub use escalation::{outweighs, strategies_in_order};
pub use filter::{FilterDecision, FilterError, FilterRules, UrlFilter};
pub use http::{
    AddressPolicy, AddressTurns, Answer, Attributed, Credential, Exchange, Fetched, FileCookie, HostAuth,
    HttpClient, HttpSettings, LONGEST_RETRY_AFTER, MAX_IDLE_PER_HOST, MAX_IDLE_TIME, MIN_RATE_BYTES, Poster,
    ProxyChoice, ProxyUrl, Recorded, Recorder, RequestHeader, ResolveRule, Resource, SkipKind, SlowWatch,
    Transport, Truncated, Turn, Waiting, answered_at, cookies_of_file, decode_body, foreign_format,
    is_public, known_format, parse_retry_after,
};
pub use optout::{
    AI_TXT_PATH, OPT_OUT_MAX_BYTES, OptOut, OptOutFile, OriginOptOuts, TDMREP_PATH, tdm_header,
};
pub use politeness::{Answers, Gate, GateRefusal, HostSlot, PolitenessSettings, SlotOutcome};
pub use retry::{RetryCause, RetryPolicy};
pub use robots::{ROBOTS_MAX_BYTES, RobotsPolicy, RobotsTxt, RobotsVerdict, RuleSet};
pub use scope::{Scope, ScopeSet, domain};
pub use seeds::{Seed, parse_seed_line};
pub use sitemap::{
    MAX_SITEMAP_BYTES, Sitemap, SitemapEntry, SitemapError, SitemapKind, SitemapLimits, parse_sitemap,
    parse_sitemap_until, unpack_sitemap,
};
pub use soft404::{ErrorPage, probe_url, says_not_found};
pub use traps::{POOR_WORDS, PageWorth, Trap, TrapSettings, Traps, same_page, url_pattern};
pub use url::{Canonicalizer, DEFAULT_MAX_URL_LENGTH, IdnForm, ParamRules, UrlRefusal};
pub use user_agents::{browser_user_agent, default_user_agent, product_token};
pub use xrobots::{directive, x_robots_tag};
