//! Fetching robots.txt, hop by hop, every hop through the gate.

use super::policy::ROBOTS_MAX_BYTES;
use crate::{
    http::{HttpClient, now_ms},
    politeness::{Gate, HostSlot, SlotOutcome},
};
use crawl_model::{CachedRobots, HostKey, Origin};
use std::sync::Arc;
use url::Url;

/// Redirects that are followed for robots.txt (RFC 9309 §2.3.1.2).
const MAX_HOPS: usize = 5;

impl HttpClient {
    /// Fetches an origin's robots.txt. Every hop waits its turn at the gate, also at another host; `slot`, if given, is
    /// the turn of the first one. No failure: a host that does not answer is status 0, redirects without end or
    /// without aim keep their status.
    pub async fn fetch_robots(&self, gate: &Gate, origin: &Origin, slot: Option<HostSlot>) -> CachedRobots {
        let cached =
            |status, body: Vec<u8>| CachedRobots { status, body: Arc::from(body), fetched_at_ms: now_ms() };
        let Ok(mut url) = Url::parse(&format!("{origin}/robots.txt")) else { return cached(0, Vec::new()) };
        let (mut last, mut slot) = (0, slot);
        for _ in 0..=MAX_HOPS {
            let Some(host) = HostKey::of(&url) else { break };
            let slot = match slot.take() {
                Some(slot) => slot,
                None => gate.acquire(&host).await,
            };
            let answer = self.fetch_resource(&url, ROBOTS_MAX_BYTES).await;
            slot.finish(SlotOutcome::of_resource(&answer));
            match answer {
                Err(error) => {
                    tracing::debug!(%url, %error, "robots.txt could not be had");
                    // the redirect, not the origin, leads nowhere: §2.3.1.2 lets that count as unavailable
                    return cached(if last != 0 && !error.is_transient() { last } else { 0 }, Vec::new());
                }
                Ok(answer) => {
                    last = answer.status;
                    match answer.redirect {
                        Some(to) => url = to,
                        None if (200..300).contains(&last) => return cached(last, answer.body),
                        None => return cached(last, Vec::new()),
                    }
                }
            }
        }
        cached(last, Vec::new())
    }
}
