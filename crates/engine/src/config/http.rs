//! Settings of the HTTP client that may contain secrets. No message about them repeats a value.

use super::{Config, ConfigError, auth::AuthEntry};
use crawl_fetch::{AddressPolicy, HttpSettings, MAX_IDLE_PER_HOST, ProxyChoice, RequestHeader};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::fs;
use toml::Value;
use url::Url;

/// A text that is sent as a header, or as a part of one.
pub(super) fn header_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.contains(char::is_control) {
        return Err(D::Error::custom("must be one line without control characters: it is sent as a header"));
    }
    if let Some(found) = text.chars().find(|c| !c.is_ascii()) {
        return Err(D::Error::custom(format!(
            "has the character \"{found}\", but a header is sent in ASCII: write it without accents"
        )));
    }
    Ok(text)
}

/// A product token as of RFC 9309: letters, `_` and `-`; or nothing.
pub(super) fn product<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_') {
        return Ok(text);
    }
    Err(D::Error::custom(format!("\"{text}\" is no product token: robots.txt knows letters, - and _ in it")))
}

/// A page for site owners: an http or https URL, or nothing.
pub(super) fn info_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = header_text(deserializer)?;
    let is_web = Url::parse(&text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if text.is_empty() || is_web {
        Ok(text)
    } else {
        Err(D::Error::custom(format!("\"{text}\" is no URL of a page")))
    }
}

/// A text that cannot be printed.
pub(super) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text.into()),
        _ => Err(D::Error::custom("is not text")),
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

/// Proxy: empty, `none`, or a URL, which may hold credentials.
pub(super) fn proxy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ProxyChoice, D::Error> {
    let value = Value::deserialize(deserializer)?;
    value.as_str().ok_or("is not text").and_then(str::parse).map_err(D::Error::custom)
}

impl Config {
    /// Converts the settings of requests for the fetch crate. Files and variables that hold secrets are read here.
    ///
    /// # Errors
    /// When one of them cannot be.
    pub fn http_settings(&self) -> Result<HttpSettings, ConfigError> {
        let fetch = &self.fetch;
        let fail = |key: &str, problem: String| ConfigError {
            place: "settings".into(),
            key: key.to_owned(),
            problem,
            nearest: None,
        };
        let auth = fetch.auth.iter().map(AuthEntry::credentials).collect::<Result<_, _>>();
        let extra_roots = match fetch.ca_file.as_str() {
            "" => Vec::new(),
            file => match fs::read(file) {
                Ok(pem) if memchr::memmem::find(&pem, b"-----BEGIN CERTIFICATE-----").is_some() => pem,
                Ok(_) => {
                    return Err(fail("fetch.ca_file", format!("{file}: no certificate in PEM format in it")));
                }
                Err(e) => return Err(fail("fetch.ca_file", format!("{file}: {e}"))),
            },
        };
        Ok(HttpSettings {
            user_agent: match fetch.user_agent.as_str() {
                "" => crawl_fetch::default_user_agent(&fetch.product, &fetch.info_url, &fetch.contact),
                own => own.to_owned(),
            },
            connect_timeout: fetch.connect_timeout,
            read_timeout: fetch.read_timeout,
            total_timeout: fetch.total_timeout,
            max_body_bytes: fetch.max_body.as_u64(),
            resolve: fetch.resolve.clone(),
            addresses: AddressPolicy {
                allow_private: fetch.allow_private_addresses,
                allow: fetch.allow_addresses.clone(),
            },
            headers: fetch.headers.clone(),
            cookies: fetch.cookies,
            auth: auth.map_err(|problem| fail("fetch.auth", problem))?,
            proxy: fetch.proxy.clone(),
            extra_roots,
            pool_idle_per_host: MAX_IDLE_PER_HOST.min(self.politeness.host_concurrency),
            ..HttpSettings::default()
        })
    }
}
