//! The settings of the HTTP client that may hold secrets: no message about them repeats what was given.

use super::{Config, ConfigError};
use crawl_fetch::{AddressPolicy, HostAuth, HttpSettings, MAX_IDLE_PER_HOST, ProxyChoice, RequestHeader};
use crawl_model::{Origin, has_userinfo};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::fs;
use toml::Value;
use url::Url;

/// Basic credentials for one origin. The password stands elsewhere.
#[derive(Clone)]
pub struct AuthEntry {
    /// The only place that they are sent to.
    origin: Origin,
    user: String,
    password: PasswordPlace,
}

/// Place of a password. No message names it: it may be the password itself, put there by mistake.
#[derive(Clone)]
enum PasswordPlace {
    /// File that holds it in its first line.
    File(String),
    /// Variable of the environment.
    Variable(String),
}

/// An [`AuthEntry`] as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthTable {
    /// `https://host[:port]`.
    site: String,
    user: String,
    password_file: Option<String>,
    password_env: Option<String>,
}

impl std::fmt::Debug for AuthEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthEntry").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl TryFrom<AuthTable> for AuthEntry {
    type Error = String;

    fn try_from(table: AuthTable) -> Result<Self, String> {
        let site = Url::parse(&table.site).map_err(|_| "site is no URL, such as https://host")?;
        let origin = Origin::of(&site).ok_or("site is neither http nor https")?;
        if has_userinfo(&site) {
            return Err(format!("the site {origin} has a user name or a password: write them apart"));
        }
        if site.path() != "/" || site.query().is_some() {
            return Err(format!("{origin} is followed by a path, but credentials are for a whole site"));
        }
        if table.user.contains(':') {
            return Err(format!("the user for {origin} has a colon, which basic authentication cannot send"));
        }
        let password = match (table.password_file, table.password_env) {
            (Some(file), None) => PasswordPlace::File(file),
            (None, Some(name)) => PasswordPlace::Variable(name),
            _ => return Err(format!("{origin} needs either password_file or password_env")),
        };
        Ok(Self { origin, user: table.user, password })
    }
}

impl AuthEntry {
    fn credentials(&self) -> Result<HostAuth, String> {
        let origin = &self.origin;
        let password = match &self.password {
            PasswordPlace::File(file) => fs::read_to_string(file)
                .map_err(|e| {
                    format!("the password for {origin}: the file of password_file cannot be read: {e}")
                })
                .map(|text| text.lines().next().unwrap_or_default().to_owned())?,
            PasswordPlace::Variable(name) => std::env::var(name).map_err(|_| {
                format!("the password for {origin}: the variable of password_env is not set, or not text")
            })?,
        };
        Ok(HostAuth { origin: origin.clone(), user: self.user.clone(), password: password.into() })
    }
}

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

/// A list of credentials.
pub(super) fn auth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AuthEntry>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else {
        return Err(D::Error::custom(
            "expected a list of tables with site, user, and password_file or password_env",
        ));
    };
    let read = |(index, item): (usize, Value)| {
        let entry = AuthTable::deserialize(item).map_err(|error| without_values(error.message()));
        entry
            .and_then(AuthEntry::try_from)
            .map_err(|why| D::Error::custom(format!("entry {}: {why}", index + 1)))
    };
    items.into_iter().enumerate().map(read).collect()
}

/// The message of a parser about a table, if it repeats no value of it.
fn without_values(message: &str) -> String {
    let names_keys_alone = ["unknown field", "missing field"].iter().any(|start| message.starts_with(start));
    if names_keys_alone {
        return message.lines().next().unwrap_or_default().to_owned();
    }
    "expected a table of texts: site, user, and password_file or password_env".into()
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
            file => fs::read(file).map_err(|e| fail("fetch.ca_file", format!("{file}: {e}")))?,
        };
        let contact = Some(fetch.contact.as_str()).filter(|contact| !contact.is_empty());
        Ok(HttpSettings {
            user_agent: match fetch.user_agent.as_str() {
                "" => crawl_fetch::default_user_agent(contact),
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
