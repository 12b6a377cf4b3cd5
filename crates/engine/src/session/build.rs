//! Building the context of a run from its settings.

use crate::{
    async_store::AsyncStore,
    browser::Browser,
    config::{Config, ExtractSection, StrategyChoice},
    context::{Admission, Compute, Context, Control, OriginFiles, Reading, RecordTargets, StrategyParts},
    descriptors, duplicates,
    exit::{Exit, Failure},
    extractors::Extractors,
    feed_quota::FeedQuota,
    judge::QualityJudge,
    lease_fence::LeaseFence,
    lessons::{Lessons, REEXAMINE_PAGES, TRIAL_PAGES},
    links::LinkPolicy,
    network::Network,
    opt_outs::OptOutCache,
    outage::Outage,
    platform::Platform,
    recrawl::Recrawl,
    robots_cache::RobotsCache,
    rules_version,
    site_counts::SiteCounts,
    site_settings::SiteSettings,
    sitemap_quota::SitemapQuota,
    slow_lane::SlowLane,
    stats::Stats,
    traps::FullHosts,
};
use crawl_extract::{Options, Rules};
use crawl_fetch::{ByteBudget, Canonicalizer, Gate, HostAuth, HttpSettings, ScopeSet, Traps, UrlFilter};
use crawl_model::Store;
use std::sync::{Arc, Mutex, OnceLock};
use tokio_util::sync::CancellationToken;

/// Builds the parts that the stages share.
///
/// # Errors
/// When a setting cannot be used.
pub fn context(config: Config, store: Arc<dyn Store>) -> Result<Context, Failure> {
    context_on(&Platform::default(), config, store)
}

/// Builds the parts that the stages share, on a machine that may be simulated.
///
/// # Errors
/// When a setting cannot be used.
pub fn context_on(
    platform: &Platform,
    mut config: Config,
    store: Arc<dyn Store>,
) -> Result<Context, Failure> {
    let store = platform.store(store);
    store.bound_hosts(config.traps.host_bounds())?;
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let (http, browser_connections) = divide_descriptors(&mut config)?;
    warn_of_unsent(&http.auth);
    let product_token = product_token(&http.user_agent);
    let sites = Arc::new(SiteSettings::of_config(&config)?);
    let recrawl =
        Recrawl::new(&config, rules_version::of(&config), store.is_recrawl()?).with_sites(Arc::clone(&sites));
    let budget = ByteBudget::new(config.fetch.body_budget.as_u64());
    let rules = platform.rules(&config.extract)?;
    let browser = Browser::new(&config, &http, &rules, browser_connections);
    let client = platform.client(http, budget.clone()).map_err(|e| usage(&e))?;
    let politeness = config.politeness.settings();
    let shares_addresses = politeness.address_share > 0.0;
    let slow = SlowLane::new(config.fetch.concurrency, shares_addresses.then(|| client.address_book()));
    let gate = Gate::with_addresses(politeness, client.address_book());
    let by_site = Arc::clone(&sites);
    gate.set_delays(move |host| by_site.delay(host));
    let cancel = CancellationToken::new();
    let network = Network {
        client,
        gate,
        budget,
        slow,
        retry: config.fetch.retry_policy(),
        outage: Outage::new(config.fetch.max_outage),
        product_token,
    };
    let origins = OriginFiles {
        robots: RobotsCache::new(config.fetch.robots_max_age, config.fetch.backoff, &network.product_token),
        opt_outs: OptOutCache::default(),
    };
    let lessons = Lessons::new(TRIAL_PAGES, REEXAMINE_PAGES);
    let control = Control {
        requests: cancel.child_token(),
        cancel,
        skip_render: CancellationToken::new(),
        ending: OnceLock::new(),
        exit: OnceLock::new(),
        worker: format!("{}@{}", std::process::id(), crawl_model::now_ms()),
    };
    Ok(Context {
        reading: reading(platform, &config, rules, &network.product_token, Arc::clone(&sites))?,
        admission: admission(&config, sites)?,
        strategies: StrategyParts { browser, lessons },
        compute: compute(platform, &config, &store)?,
        records: RecordTargets { project: None, archive: None, leases: LeaseFence::default() },
        stats: Stats::default(),
        network,
        origins,
        recrawl,
        control,
        store,
        config,
    })
}

fn compute(platform: &Platform, config: &Config, store: &Arc<dyn Store>) -> Result<Compute, Failure> {
    let threading = platform.threading;
    let storage = AsyncStore::new(Arc::clone(store), threading)
        .map_err(|e| Failure::new(Exit::Internal, format!("the storage thread cannot be started: {e}")))?;
    Ok(Compute {
        cpu: platform.cpu(config.extract.threads)?,
        threading,
        storage: Arc::new(storage),
        channels: platform.channels,
    })
}

fn reading(
    platform: &Platform,
    config: &Config,
    rules: Arc<Rules>,
    product_token: &str,
    sites: Arc<SiteSettings>,
) -> Result<Reading, Failure> {
    let options = extraction(&config.extract, product_token).with_deadline(Some(platform.page_deadline));
    Ok(Reading {
        extractors: Extractors::new(config, rules, &options, sites)?,
        sites: SiteCounts::default(),
        quality: config.quality.enabled.then(|| QualityJudge::new(config)).transpose()?,
        sketcher: duplicates::sketcher(config)?,
    })
}

fn admission(config: &Config, sites: Arc<SiteSettings>) -> Result<Admission, Failure> {
    let traps = Arc::new(Traps::new(config.traps.settings(), i32::from(jiff::Zoned::now().year())));
    Ok(Admission {
        links: link_policy(config, &traps, &sites)?,
        sites,
        traps,
        full_hosts: FullHosts::default(),
        feeds: FeedQuota::new(config.crawl.feeds),
        sitemaps: SitemapQuota::new(config.crawl.sitemap_files, config.crawl.sitemap_hosts),
        scope_asked: Mutex::default(),
        nonce: crawl_model::random(),
    })
}

/// Warns of credentials that no page gets, such as expired cookies.
fn warn_of_unsent(auth: &[HostAuth]) {
    for auth in auth {
        if let Some(reason) = auth.unsent() {
            tracing::warn!("fetch.auth: {} gets no cookie: {reason}", auth.origin);
        }
    }
}

/// HTTP settings, bounded by the available file descriptors, and the maximum connections of the browser.
fn divide_descriptors(config: &mut Config) -> Result<(HttpSettings, usize), Failure> {
    let mut http = config.http_settings()?;
    let wanted = config.fetch.concurrency;
    let all_static = |choice: StrategyChoice| matches!(choice, StrategyChoice::Static);
    let is_static = all_static(config.fetch.strategy)
        && config.site.iter().filter_map(|site| site.strategy).all(all_static);
    let tabs = if is_static { 0 } else { config.chrome.tabs };
    let plan = descriptors::plan(wanted, tabs);
    (http.max_requests, http.max_connections) = (plan.requests, plan.connections);
    if plan.requests < wanted {
        tracing::warn!(
            "the limit of open files ({}) allows {} requests at a time, not {wanted} (fetch.concurrency); raise it with ulimit -n",
            descriptors::limit(),
            plan.requests
        );
        config.fetch.concurrency = plan.requests;
    }
    Ok((http, plan.browser))
}

/// The policy of links that are followed.
fn link_policy(
    config: &Config,
    traps: &Arc<Traps>,
    sites: &Arc<SiteSettings>,
) -> Result<LinkPolicy, Failure> {
    let crawl = &config.crawl;
    let filter = UrlFilter::new(crawl.url_filters, &crawl.include, &crawl.exclude)
        .map_err(|e| Failure::usage(e.to_string()))?;
    let (scope, depth) = (ScopeSet::new(crawl.scope), crawl.depth.or_max());
    Ok(LinkPolicy::new(Canonicalizer::default(), filter, scope, depth, Arc::clone(traps), Arc::clone(sites)))
}

/// The options of extraction.
fn extraction(settings: &ExtractSection, product_token: &str) -> Options {
    Options::default()
        .with_favor(settings.favor)
        .with_links(settings.links)
        .with_images(settings.images)
        .with_tables(settings.tables)
        .with_comments(settings.comments)
        .with_raw_metadata(settings.raw_metadata)
        .with_product_token(product_token.to_owned())
}

/// Product token for robots.txt: the user agent up to its first slash or space (RFC 9309 §2.2.1).
fn product_token(user_agent: &str) -> String {
    user_agent.split(['/', ' ']).next().unwrap_or(user_agent).to_owned()
}
