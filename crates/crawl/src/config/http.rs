//! The settings of the HTTP client that may hold secrets: no message about them repeats what was given.

use super::{ConfigError, FetchSection};
use crawl_fetch::{AddressPolicy, HostAuth, HttpSettings, ProxyChoice, RequestHeader};
use crawl_model::Origin;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::fs;
use toml::Value;
use url::Url;

/// Basic credentials for one origin. The password stands elsewhere, so that the settings can be shown to anybody.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthEntry {
    /// `https://host[:port]`, the only place they are sent to.
    pub site: Url,
    /// User name.
    pub user: String,
    /// File that holds the password in its first line; either this …
    pub password_file: Option<String>,
    /// … or the variable of the environment that holds it.
    pub password_env: Option<String>,
}

impl AuthEntry {
    fn credentials(&self) -> Result<HostAuth, String> {
        let site = &self.site;
        let origin = Origin::of(site).ok_or("a site is neither http nor https")?;
        if site.path() != "/" || site.query().is_some() {
            return Err(format!("{origin} is followed by a path, but credentials are for a whole site"));
        }
        let password = match (&self.password_file, &self.password_env) {
            (Some(file), None) => fs::read_to_string(file)
                .map_err(|e| format!("the password for {origin}: {file}: {e}"))
                .map(|text| text.lines().next().unwrap_or_default().to_owned())?,
            (None, Some(name)) => std::env::var(name).map_err(|_| {
                format!("the password for {origin}: the variable {name} is not set, or not text")
            })?,
            _ => return Err(format!("{origin} needs either password_file or password_env")),
        };
        if self.user.contains(':') {
            return Err(format!("the user for {origin} has a colon, which basic authentication cannot send"));
        }
        Ok(HostAuth { origin, user: self.user.clone(), password })
    }
}

/// A list of `Name: value`.
pub(super) fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RequestHeader>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else {
        return Err(D::Error::custom("expected a list of headers, each \"Name: value\""));
    };
    let read = |(index, item): (usize, &Value)| {
        let text = item.as_str().ok_or("is not text".to_owned());
        text.and_then(str::parse)
            .map_err(|why: String| D::Error::custom(format!("entry {}: {why}", index + 1)))
    };
    items.iter().enumerate().map(read).collect()
}

/// Nothing, `none`, or a URL, which may hold credentials.
pub(super) fn proxy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ProxyChoice, D::Error> {
    let value = Value::deserialize(deserializer)?;
    value.as_str().ok_or("is not text").and_then(str::parse).map_err(D::Error::custom)
}

impl FetchSection {
    /// As the fetch crate takes them. Files and variables that hold secrets are read here.
    ///
    /// # Errors
    /// When one of them cannot be.
    pub fn http_settings(&self) -> Result<HttpSettings, ConfigError> {
        let fail = |key: &str, problem: String| ConfigError {
            place: "settings".into(),
            key: key.to_owned(),
            problem,
            nearest: None,
        };
        let auth = self.auth.iter().map(AuthEntry::credentials).collect::<Result<_, _>>();
        let extra_roots = match self.ca_file.as_str() {
            "" => Vec::new(),
            file => fs::read(file).map_err(|e| fail("fetch.ca_file", format!("{file}: {e}")))?,
        };
        let idle = if self.keep_alive.is_zero() { 0 } else { self.keep_alive_per_host };
        let contact = Some(self.contact.as_str()).filter(|contact| !contact.is_empty());
        Ok(HttpSettings {
            user_agent: match self.user_agent.as_str() {
                "" => crawl_fetch::default_user_agent(contact),
                own => own.to_owned(),
            },
            connect_timeout: self.connect_timeout,
            read_timeout: self.read_timeout,
            total_timeout: self.total_timeout,
            min_rate_bytes: self.min_rate.as_u64(),
            max_body_bytes: self.max_body.as_u64(),
            resolve: self.resolve.clone(),
            addresses: AddressPolicy {
                allow_private: self.allow_private_addresses,
                allow: self.allow_addresses.clone(),
            },
            headers: self.headers.clone(),
            cookies: self.cookies,
            auth: auth.map_err(|problem| fail("fetch.auth", problem))?,
            proxy: self.proxy.clone(),
            extra_roots,
            pool_idle_per_host: idle.min(self.host_concurrency),
            pool_idle_timeout: self.keep_alive,
            ..HttpSettings::default()
        })
    }
}
