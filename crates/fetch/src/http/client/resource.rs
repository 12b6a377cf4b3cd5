//! Requests for files that are no pages: robots.txt, sitemaps, feeds, error pages.

use super::{HttpClient, compact, keep};
use crate::{
    budget::Admission,
    error::FetchError,
    http::{
        body::{Plan, Read, read},
        content::essence,
        exchange::Truncated,
        headers::{retry_after, target},
    },
};
use std::time::Duration;
use tokio::time::Instant;
use url::Url;

/// A response other than a page: robots.txt, a sitemap, a feed, an error page.
#[derive(Debug)]
pub struct Resource {
    /// HTTP status.
    pub status: u16,
    /// Target of a redirect; `None` for other statuses and invalid redirects.
    pub redirect: Option<Url>,
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
    /// Declared type without parameters.
    pub content_type: Option<String>,
    /// Decoded body of any status, up to the cap.
    pub body: Vec<u8>,
    /// True if the body was longer than the cap.
    pub truncated: bool,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// The body's share of the byte budget, if requested.
    pub admission: Option<Admission>,
}

impl HttpClient {
    /// Requests a small resource that is not a page: one hop, any status, any type, `cap` decoded bytes at
    /// most. Bypasses the byte budget, so that robots.txt never waits for pages.
    ///
    /// # Errors
    /// When there was no complete response. An error status is not an error here.
    pub async fn fetch_resource(&self, url: &Url, cap: u64) -> Result<Resource, FetchError> {
        self.resource(url, cap, false).await
    }

    /// Requests a resource as [`HttpClient::fetch_resource`] does, but of a page's size or larger. The body
    /// waits for the byte budget and counts in it until [`Resource::admission`] is dropped.
    ///
    /// # Errors
    /// When there was no complete response. An error status is not an error here.
    pub async fn fetch_large_resource(&self, url: &Url, cap: u64) -> Result<Resource, FetchError> {
        self.resource(url, cap, true).await
    }

    async fn resource(&self, url: &Url, cap: u64, budgeted: bool) -> Result<Resource, FetchError> {
        let _permit = self.permits.acquire().await;
        self.turn(url).await?;
        let deadline = Instant::now() + self.limits.total;
        let (response, mut draft) = self.send(url, self.plain.clone(), deadline).await?;
        let waiting = Instant::now();
        let mut admission = if budgeted { Some(self.budget.admit().await) } else { None };
        let deadline = deadline + waiting.elapsed();
        let status = response.status().as_u16();
        let headers = response.headers();
        let redirect = if (300..400).contains(&status) { target(url, headers).ok() } else { None };
        let (retry_after, content_type) = (retry_after(headers), essence(headers));
        let host = url.host_str().unwrap_or_default();
        let plan = Plan { host, cap, deadline, limits: self.limits, declared: None };
        let coded = draft.as_mut().map(|draft| &mut draft.coded);
        let (body, truncated, wire_bytes) = match read(response, &plan, admission.as_mut(), coded).await {
            Ok(Read::Body { bytes, truncated, wire_bytes }) => (compact(bytes), truncated, wire_bytes),
            Ok(Read::Unwanted { bytes, wire_bytes }) => (bytes, Some(Truncated::Unspecified), wire_bytes),
            // the status, with the target of a redirect, says all that a client has to know
            Err(error) if !(200..300).contains(&status) && !error.is_local() => {
                let truncated = Truncated::by(&error);
                self.avoid_http2_after(url, error);
                (Vec::new(), Some(truncated), 0)
            }
            Err(error) => {
                keep(draft, None, Some(Truncated::by(&error))).await;
                return Err(self.avoid_http2_after(url, error));
            }
        };
        if let Some(draft) = draft {
            // the copy serves only bodies without a content coding
            let plain = draft.coded.is_empty().then(|| body.clone().into());
            draft.finish(plain, truncated).await;
        }
        let truncated = truncated == Some(Truncated::Length);
        Ok(Resource { status, redirect, retry_after, content_type, body, truncated, wire_bytes, admission })
    }
}
