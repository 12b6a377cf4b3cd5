//! Fetching of robots.txt; every hop passes the gate.

use super::policy::ROBOTS_MAX_BYTES;
use crate::{
    error::{FetchError, Phase},
    http::HttpClient,
    politeness::{Gate, GateRefusal, HostSlot, SlotOutcome},
};
use crawl_model::{CachedRobots, HostKey, Origin, now_ms};
use std::{sync::Arc, time::Duration};
use url::Url;

/// Maximum redirects of robots.txt (RFC 9309 §2.3.1.2).
const MAX_HOPS: usize = 5;
/// Maximum wait of a hop for its turn, since the fetching task holds a slot that other hosts could use.
const MAX_TURN: Duration = Duration::from_secs(10);

impl HttpClient {
    /// Fetches an origin's robots.txt. Every hop waits for its turn at the gate, also at another host; `slot`, if
    /// given, is the first turn. After endless or invalid redirects the status of the last one is kept.
    ///
    /// # Errors
    /// When the host did not answer, or the host of a hop has no turn soon. [`CachedRobots`] with status 0
    /// represents that.
    pub async fn fetch_robots(
        &self,
        gate: &Gate,
        origin: &Origin,
        slot: Option<HostSlot>,
    ) -> Result<CachedRobots, FetchError> {
        let cached = |status, body: Vec<u8>| {
            Ok(CachedRobots { status, body: Arc::from(body), fetched_at_ms: now_ms() })
        };
        let mut url =
            Url::parse(&format!("{origin}/robots.txt")).map_err(|e| FetchError::Url(e.to_string()))?;
        let (mut last, mut slot) = (0, slot);
        for _ in 0..=MAX_HOPS {
            let Some(host) = HostKey::of(&url) else { break };
            let slot = match slot.take() {
                Some(slot) => slot,
                None => {
                    if gate.needs_address(&host) {
                        // the request reports the same error
                        let _ = self.locate(&url).await;
                    }
                    let turn = gate.acquire_within(&host, MAX_TURN).await;
                    turn.map_err(|not_yet| no_turn(gate, &host, not_yet))?
                }
            };
            let answer = self.fetch_resource(&url, ROBOTS_MAX_BYTES).await;
            slot.finish(SlotOutcome::of_resource(&answer));
            match answer {
                Err(error) => {
                    tracing::debug!(%url, %error, "robots.txt could not be fetched");
                    // the redirect, not the origin, is unreachable: §2.3.1.2 lets that count as unavailable
                    // a name that does not exist is a network error too: §2.3.1.4
                    let is_network = error.is_transient() || matches!(error, FetchError::Dns { .. });
                    return if last != 0 && !is_network { cached(last, Vec::new()) } else { Err(error) };
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

/// Error of a hop without a turn. The robots.txt stays unknown and is retried as if its host were down.
fn no_turn(gate: &Gate, host: &HostKey, not_yet: GateRefusal) -> FetchError {
    tracing::debug!(%host, ?not_yet, "robots.txt redirects to a host that allows no request now");
    if not_yet.dead {
        let reason = match gate.blocked_until(host) {
            Some(_) => "its Retry-After is longer than a run waits",
            None => "it repeatedly did not answer",
        };
        FetchError::Connect { host: host.to_string(), reason: reason.to_owned(), proxy: false }
    } else {
        FetchError::Timeout { phase: Phase::Turn, limit: MAX_TURN }
    }
}
