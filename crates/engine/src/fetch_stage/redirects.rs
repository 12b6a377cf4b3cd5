//! Redirects of pages.

use super::{Answer, MAX_REDIRECTS, Visit};
use crate::{context::Context, links::new_url, stage_error::StageError};
use crawl_fetch::{SkipKind, same_page};
use crawl_model::{Discovery, HostKey, NewUrl, Outcome, Stage, StoreError};
use std::sync::Arc;
use url::Url;

impl Visit<'_> {
    /// Handles a redirect of the URL; `None` if the target is the same page under another URL, to be fetched
    /// now.
    pub(super) async fn redirected(&mut self, to: Url, status: u16) -> Result<Option<Answer>, StageError> {
        let context = self.context;
        let canonical = context.admission.links.canonical(&to);
        let from = self.request.url.as_str().to_owned();
        if self.request.redirects.len() >= MAX_REDIRECTS {
            let message = format!("more than {MAX_REDIRECTS} redirects; the last one led to {to}");
            return Ok(Some(self.fail(Stage::Fetch, "too_many_redirects", Some(status), message)));
        }
        if context.admission.links.canonicalizer().is_too_long(&canonical) {
            let message = "a redirect leads to a URL that is longer than the limit".to_owned();
            return Ok(Some(self.fail(Stage::Fetch, "bad_redirect", Some(status), message)));
        }
        let requested = context.admission.links.canonical(&self.request.url);
        if canonical == requested
            && to.as_str() != from
            && !self.request.redirects.iter().any(|u| u == to.as_str())
        {
            self.request.redirects.push(from);
            self.request.url = to;
            return Ok(None);
        }
        let back = canonical == requested || self.request.redirects.iter().any(|u| u == canonical.as_str());
        if back && self.may_answer_now(&canonical) {
            self.request.redirects.push(from);
            self.request.url = to;
            return Ok(None);
        }
        if same_page(&self.request.url, &to) {
            // the target is a URL of its own, which pays when it is fetched
            self.charge.refund();
        }
        if back {
            let message = format!("a redirect leads back to {to}; the page may need cookies");
            return Ok(Some(self.fail(Stage::Fetch, "redirect_loop", Some(status), message)));
        }
        let Some(host) = HostKey::of(&canonical) else {
            return Ok(Some(self.end(Outcome::Skipped, "redirect_to_other_scheme", Some(status))));
        };
        if self.request.discovery.is_seed() {
            self.extend_scope(&canonical).await?;
        }
        // the target of a seed's redirect counts as a seed
        if !self.request.discovery.is_seed() && !context.admission.links.admits(&canonical) {
            return Ok(Some(self.end(Outcome::Skipped, "redirect_out_of_scope", Some(status))));
        }
        let discovery = if self.request.discovery.is_seed() { Discovery::Seed } else { Discovery::Redirect };
        if let Some(trap) = context.admission.links.trap(&canonical).filter(|_| discovery != Discovery::Seed)
        {
            let message = format!("a redirect to {canonical}: {trap}");
            return Ok(Some(self.fail(Stage::Fetch, trap.kind(), Some(status), message)));
        }
        let mut target = new_url(canonical, host, self.request.depth, discovery);
        target.redirects.clone_from(&self.request.redirects);
        target.redirects.push(from);
        let is_asked = discovery == Discovery::Seed && context.recrawl.revisits_seeds();
        self.enqueue(target, is_asked).await?;
        Ok(Some(self.end(Outcome::Redirected, "redirected", Some(status))))
    }

    /// URL to which the `Refresh` header of an answer without a body leads. There is no page, so it is a redirect.
    pub(super) fn refreshed(&self, kind: SkipKind, header: &str) -> Option<Url> {
        if kind != SkipKind::NoContent {
            return None;
        }
        let mut url = self.request.url.join(crawl_extract::refresh_target(header)?).ok()?;
        url.set_fragment(None);
        // a page that loads itself again leads nowhere
        let links = &self.context.admission.links;
        let is_other =
            HostKey::of(&url).is_some() && links.canonical(&url) != links.canonical(&self.request.url);
        is_other.then_some(url)
    }

    /// Takes the host of a URL that a seed leads to into the scope.
    pub(super) async fn extend_scope(&self, url: &Url) -> Result<(), StoreError> {
        let url = url.clone();
        self.in_storage(move |context| context.extend_scope(&url)).await
    }

    /// Adds a URL to the frontier; with `is_asked`, a known URL is visited again in this round.
    pub(super) async fn enqueue(&self, url: NewUrl, is_asked: bool) -> Result<(), StoreError> {
        let source = self.request.id;
        let add = move |context: &Arc<Context>| {
            let store = &context.store;
            if is_asked { store.revisit(&[url]) } else { store.enqueue_found_on(&[url], source) }
        };
        self.in_storage(add).await.map(drop)
    }

    /// Returns true if a page that a redirect leads back to may answer otherwise than the first time. Consent
    /// pages and sessions send a client without a cookie away and back. Only on the same host, whose
    /// robots.txt has allowed it before, and once.
    fn may_answer_now(&self, canonical: &Url) -> bool {
        let requested = &self.request.url;
        let trail = self.request.redirects.iter().map(String::as_str).chain([requested.as_str()]);
        self.context.config.fetch.cookies
            && HostKey::of(canonical) == HostKey::of(requested)
            && trail.filter(|url| *url == canonical.as_str()).count() < 2
    }
}
