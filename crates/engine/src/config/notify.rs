//! The section `[notify]`: a receiver of messages, and its secret.

use super::{
    ConfigError,
    http::secret,
    values::{duration, networks},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::time::Duration;
use url::Url;

/// Events that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotifyEvent {
    /// The end of a run.
    End,
    /// New, changed and gone pages of a run.
    Changes,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "see config/crawl.toml")]
#[non_exhaustive]
pub struct NotifySection {
    #[serde(deserialize_with = "secret")]
    url: SecretString,
    pub events: Vec<NotifyEvent>,
    secret_file: String,
    secret_env: String,
    #[serde(deserialize_with = "networks")]
    pub allow_addresses: Vec<ipnet::IpNet>,
    pub retries: u32,
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
}

impl NotifySection {
    /// The receiver, if one is named. No message repeats its URL, whose path may be a secret.
    ///
    /// # Errors
    /// When the setting is no URL.
    pub fn url(&self) -> Result<Option<Url>, ConfigError> {
        match self.url.expose_secret() {
            "" => Ok(None),
            url => Url::parse(url).map(Some).map_err(|e| fault("notify.url", format!("is no URL: {e}"))),
        }
    }

    /// The secret of the signatures.
    ///
    /// # Errors
    /// When neither or both of its places are named, or the place cannot be read.
    pub fn secret(&self) -> Result<SecretString, ConfigError> {
        match (self.secret_file.as_str(), self.secret_env.as_str()) {
            (file, "") if !file.is_empty() => std::fs::read_to_string(file)
                .map(SecretString::from)
                .map_err(|e| fault("notify.secret_file", format!("cannot be read: {e}"))),
            ("", name) if !name.is_empty() => std::env::var(name).map(SecretString::from).map_err(|_| {
                fault("notify.secret_env", format!("the variable {name} is not set, or not text"))
            }),
            _ => {
                let why =
                    "a receiver needs a secret for signatures: name notify.secret_file or notify.secret_env";
                Err(fault("notify.secret_file", why.into()))
            }
        }
    }
}

fn fault(key: &str, problem: String) -> ConfigError {
    ConfigError { place: "settings".into(), key: key.to_owned(), problem, nearest: None }
}
