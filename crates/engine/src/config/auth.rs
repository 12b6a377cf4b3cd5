//! Credentials of sites. No message about them repeats a secret.

use crawl_fetch::{Credential, HostAuth, cookies_of_file};
use crawl_model::{Origin, has_userinfo};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{fs, path::Path};
use toml::Value;
use url::Url;

/// Credentials for one origin. The secret is in a file or a variable.
#[derive(Clone)]
pub struct AuthEntry {
    /// The only destination of the credentials.
    origin: Origin,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Basic {
        user: String,
        password: SecretPlace,
    },
    Bearer(SecretPlace),
    Header {
        name: String,
        value: SecretPlace,
    },
    /// File of cookies in Netscape's format.
    Cookies(String),
}

/// Place of a secret. No message names it: it may be the secret itself, put there by mistake.
#[derive(Clone)]
enum SecretPlace {
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
    user: Option<String>,
    password_file: Option<String>,
    password_env: Option<String>,
    token_file: Option<String>,
    token_env: Option<String>,
    header: Option<String>,
    value_file: Option<String>,
    value_env: Option<String>,
    cookies_file: Option<String>,
}

impl std::fmt::Debug for AuthEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthEntry").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl TryFrom<AuthTable> for AuthEntry {
    type Error = String;

    fn try_from(table: AuthTable) -> Result<Self, String> {
        let origin = origin_of(&table.site)?;
        let kind = Kind::of(table, &origin)?;
        Ok(Self { origin, kind })
    }
}

/// Returns true for a path that is there, and is neither a file nor a folder.
pub(crate) fn is_pipe(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn origin_of(site: &str) -> Result<Origin, String> {
    let site = Url::parse(site).map_err(|_| "site is no URL, such as https://host")?;
    let origin = Origin::of(&site).ok_or("site is neither http nor https")?;
    if has_userinfo(&site) {
        return Err(format!("the site {origin} has a user name or a password: write them as separate keys"));
    }
    if site.path() != "/" || site.query().is_some() {
        return Err(format!("{origin} is followed by a path, but credentials apply to a whole site"));
    }
    Ok(origin)
}

impl Kind {
    fn of(table: AuthTable, origin: &Origin) -> Result<Self, String> {
        let needs = |what: &str| format!("{origin} needs either {what}_file or {what}_env");
        let password = place(table.password_file, table.password_env, &needs("password"));
        let token = place(table.token_file, table.token_env, &needs("token"));
        let value = place(table.value_file, table.value_env, &needs("value"));
        match (table.user, token, table.header, table.cookies_file) {
            (Some(user), Ok(None), None, None) if matches!(value, Ok(None)) => {
                if user.contains(':') {
                    return Err(format!(
                        "the user for {origin} has a colon, which basic authentication cannot send"
                    ));
                }
                Ok(Self::Basic { user, password: password?.ok_or_else(|| needs("password"))? })
            }
            (None, Ok(Some(token)), None, None) => Ok(Self::Bearer(token)),
            (None, Ok(None), Some(name), None) => {
                Ok(Self::Header { name, value: value?.ok_or_else(|| needs("value"))? })
            }
            (None, Ok(None), None, Some(file)) => Ok(Self::Cookies(file)),
            (_, Err(why), _, _) => Err(why),
            _ => Err(format!(
                "{origin} needs one kind of credentials: user and password_file, token_file, header and value_file, or cookies_file"
            )),
        }
    }
}

/// The place of a secret, if one is named.
fn place(file: Option<String>, variable: Option<String>, both: &str) -> Result<Option<SecretPlace>, String> {
    match (file, variable) {
        (None, None) => Ok(None),
        (Some(file), None) => Ok(Some(SecretPlace::File(file))),
        (None, Some(name)) => Ok(Some(SecretPlace::Variable(name))),
        (Some(_), Some(_)) => Err(both.to_owned()),
    }
}

impl SecretPlace {
    /// Reads the secret; `what` names it in messages and settings, as "password".
    fn read(&self, origin: &Origin, what: &str) -> Result<SecretString, String> {
        match self {
            Self::File(file) => fs::read_to_string(file)
                .map_err(|e| format!("the {what} for {origin}: the file of {what}_file cannot be read: {e}"))
                .map(|text| text.lines().next().unwrap_or_default().into()),
            Self::Variable(name) => std::env::var(name).map(SecretString::from).map_err(|_| {
                format!("the {what} for {origin}: the variable of {what}_env is not set, or not text")
            }),
        }
    }

    /// Calls [`Self::read`] for a secret that has at least one character.
    fn read_filled(&self, origin: &Origin, what: &str) -> Result<SecretString, String> {
        let secret = self.read(origin, what)?;
        if secret.expose_secret().trim().is_empty() {
            let place = match self {
                Self::File(_) => format!("first line of the file of {what}_file"),
                Self::Variable(_) => format!("variable of {what}_env"),
            };
            return Err(format!("the {what} for {origin}: the {place} is empty"));
        }
        Ok(secret)
    }
}

impl AuthEntry {
    /// The only destination of the credentials.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns true if the secret comes from a pipe, which can be read once.
    pub(crate) fn is_of_pipe(&self) -> bool {
        match &self.kind {
            Kind::Basic { password: place, .. } | Kind::Bearer(place) | Kind::Header { value: place, .. } => {
                matches!(place, SecretPlace::File(file) if is_pipe(file))
            }
            Kind::Cookies(file) => is_pipe(file),
        }
    }

    /// Reads the secret of the entry.
    pub(super) fn credentials(&self) -> Result<HostAuth, String> {
        let origin = &self.origin;
        let credential = match &self.kind {
            Kind::Basic { user, password } => {
                Credential::Basic { user: user.clone(), password: password.read(origin, "password")? }
            }
            Kind::Bearer(token) => Credential::Bearer(token.read_filled(origin, "token")?),
            Kind::Header { name, value } => {
                let value = value.read_filled(origin, "value")?;
                Credential::header(name, value.expose_secret()).map_err(|why| format!("{origin}: {why}"))?
            }
            Kind::Cookies(file) => {
                let text = fs::read_to_string(file).map_err(|e| {
                    format!("the cookies for {origin}: the file of cookies_file cannot be read: {e}")
                })?;
                Credential::Cookies(cookies_of_file(&text).map_err(|line| {
                    format!(
                        "the cookies for {origin}: line {line} of cookies_file is no cookie of seven fields with tabs between them (Netscape format)"
                    )
                })?)
            }
        };
        Ok(HostAuth { origin: origin.clone(), credential })
    }
}

/// A list of credentials.
pub(super) fn auth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AuthEntry>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else {
        return Err(D::Error::custom("expected a list of tables with site and credentials"));
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
