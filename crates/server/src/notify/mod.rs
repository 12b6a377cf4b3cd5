//! Webhooks: signed messages about the end of a run and changed pages.
//!
//! Headers and signature are those of Standard Webhooks 1.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`).

mod message;
mod sign;

pub use message::{Changes, RunEnd, Totals};

use crawl_engine::{
    config::{Config, NotifyEvent},
    exit::Failure,
};
use crawl_fetch::{AddressPolicy, Poster};
use http::{HeaderMap, HeaderValue, header};
use sign::Secret;
use std::time::Duration;
use uuid::Uuid;

/// Pause before the first retry, doubled for each further one.
const BACKOFF: Duration = Duration::from_secs(1);

/// Receiver of the messages of a run.
pub struct Notifier {
    poster: Poster,
    secret: Secret,
    events: Vec<NotifyEvent>,
    retries: u32,
    user_agent: HeaderValue,
}

impl Notifier {
    /// The receiver of the settings, if they name one.
    ///
    /// # Errors
    /// When its URL is not secure, or its secret cannot be read.
    pub fn of(config: &Config) -> Result<Option<Self>, Failure> {
        let notify = &config.notify;
        let Some(url) = notify.url()? else { return Ok(None) };
        let secret = Secret::new(&notify.secret()?)
            .map_err(|why| Failure::usage(format!("notify.secret_file: {why}")))?;
        let mut settings = config.http_settings()?;
        settings.total_timeout = notify.timeout;
        settings.connect_timeout = notify.timeout;
        let user_agent =
            HeaderValue::from_str(&settings.user_agent).unwrap_or_else(|_| HeaderValue::from_static("crawl"));
        let addresses = AddressPolicy { allow_private: false, allow: notify.allow_addresses.clone() };
        let poster = Poster::new(url, &settings, addresses)
            .map_err(|error| Failure::usage(format!("notify.url: {error}")))?;
        let events = notify.events.clone();
        Ok(Some(Self { poster, secret, events, retries: notify.retries, user_agent }))
    }

    /// Sends the messages of a run that has ended. A message that cannot be delivered is a warning, since the run
    /// itself is complete.
    pub async fn run_ended(&self, end: &RunEnd) {
        if self.events.contains(&NotifyEvent::End) {
            self.deliver("run.ended", &end.ended_message()).await;
        }
        if self.events.contains(&NotifyEvent::Changes) && end.changes.any() {
            self.deliver("run.changes", &end.changes_message()).await;
        }
    }

    async fn deliver(&self, kind: &str, data: &serde_json::Value) {
        let id = format!("msg_{}", Uuid::new_v4().simple());
        let body = message::body(kind, data).into_bytes();
        let mut pause = BACKOFF;
        for attempt in 0..=self.retries {
            let why = match self.attempt(&id, &body).await {
                Ok(()) => return,
                Err(Undelivered { why, may_pass }) if !may_pass || attempt == self.retries => {
                    let receiver = self.poster.host();
                    tracing::warn!(receiver, message = kind, "the webhook did not take the message: {why}");
                    return;
                }
                Err(Undelivered { why, .. }) => why,
            };
            tracing::info!(
                receiver = self.poster.host(),
                "the webhook did not take the message: {why}; trying again"
            );
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn attempt(&self, id: &str, body: &[u8]) -> Result<(), Undelivered> {
        // each attempt has its own time, since receivers refuse old messages
        let at = (crawl_model::now_ms() / 1_000).to_string();
        let mut headers = HeaderMap::new();
        let texts = [
            ("webhook-id", id),
            ("webhook-timestamp", &at),
            ("webhook-signature", &self.secret.sign(id, &at, body)),
        ];
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        match self.poster.post(headers, body.to_vec()).await {
            Ok(200..=299) => Ok(()),
            Ok(status) => {
                let may_pass = matches!(status, 408 | 425 | 429 | 500..=599);
                Err(Undelivered { why: format!("it answered with status {status}"), may_pass })
            }
            Err(error) => Err(Undelivered { may_pass: error.is_transient(), why: error.to_string() }),
        }
    }
}

/// Reason why a message was not delivered.
struct Undelivered {
    why: String,
    /// True if another attempt may succeed.
    may_pass: bool,
}
