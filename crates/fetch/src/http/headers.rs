//! Headers of requests, and headers of responses that decide the next request.

use super::{decode::ACCEPT_ENCODING, settings::HttpSettings};
use crate::{error::FetchError, url::DEFAULT_MAX_URL_LENGTH, user_agents};
use crawl_model::{CrawlRequest, Headers, HostKey, hide_userinfo, strip_userinfo, system_time};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING as ACCEPT_ENCODING_NAME, ACCEPT_LANGUAGE, AGE, DATE, HeaderMap, HeaderName,
    HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION, RETRY_AFTER, USER_AGENT,
};
use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};
use url::Url;

/// The URL as sent: http or https, without credentials, since a link must not make us send any.
pub(super) fn requestable(url: &Url) -> Result<Url, FetchError> {
    if HostKey::of(url).is_none() {
        return Err(FetchError::Url(format!("the scheme is {}", url.scheme())));
    }
    let mut url = url.clone();
    strip(&mut url);
    if url.as_str().len() > DEFAULT_MAX_URL_LENGTH {
        return Err(FetchError::Url(too_long()));
    }
    Ok(url)
}

fn too_long() -> String {
    format!("longer than {DEFAULT_MAX_URL_LENGTH} octets")
}

fn strip(url: &mut Url) {
    url.set_fragment(None);
    strip_userinfo(url);
}

/// Target of a redirect.
pub(super) fn target(base: &Url, headers: &HeaderMap) -> Result<Url, FetchError> {
    let location =
        headers.get(LOCATION).ok_or_else(|| FetchError::Redirect("there is no Location".into()))?;
    let location = octets(location.as_bytes());
    let location = location.trim();
    if location.is_empty() {
        return Err(FetchError::Redirect("Location is empty".into()));
    }
    let shown = || hide_userinfo(location).chars().take(200).collect::<String>();
    let long = || FetchError::Redirect(format!("Location \"{}…\": {}", shown(), too_long()));
    if location.len() > DEFAULT_MAX_URL_LENGTH {
        return Err(long());
    }
    let mut url =
        base.join(location).map_err(|e| FetchError::Redirect(format!("Location \"{}\": {e}", shown())))?;
    if HostKey::of(&url).is_none() {
        return Err(FetchError::Redirect(format!("Location \"{}\" is neither http nor https", shown())));
    }
    strip(&mut url);
    // percent-encoding can triple its length
    if url.as_str().len() > DEFAULT_MAX_URL_LENGTH { Err(long()) } else { Ok(url) }
}

/// Text of a URL in a header. Raw UTF-8 is common; the parser percent-encodes it. Octets of other charsets are
/// percent-encoded as they are, as browsers do.
fn octets(value: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(value) {
        return Cow::Borrowed(text);
    }
    let encoded = value.iter().map(|&byte| match byte {
        0..=0x7f => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    Cow::Owned(encoded.collect())
}

pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = |name: HeaderName| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    parse_retry_after(value(RETRY_AFTER)?, answered_at(value(DATE), value(AGE)))
}

/// Longest `Retry-After` that is accepted.
pub const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(366 * 86_400);

/// The time of an answer by the clock of its server: `Date`, and `Age` in a cache (RFC 9111 §4.2.3). `None` without a
/// date.
#[must_use]
pub fn answered_at(date: Option<&str>, age: Option<&str>) -> Option<SystemTime> {
    let date = httpdate::parse_http_date(date?.trim()).ok()?;
    let age = age.and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    date.checked_add(Duration::from_secs(age))
}

/// The pause of a `Retry-After`, in seconds or as a date (RFC 9110 §10.2.3). Past dates and pauses of more
/// than a year are ignored. A date counts from the time of the answer by the same clock, if that is known: this machine's
/// clock may be wrong.
#[must_use]
pub fn parse_retry_after(value: &str, answered: Option<SystemTime>) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = httpdate::parse_http_date(value).ok()?;
            until.duration_since(answered.unwrap_or_else(system_time)).ok()?
        }
    };
    (!wait.is_zero() && wait <= LONGEST_RETRY_AFTER).then_some(wait)
}

/// Headers of every request. `client` are those of the imitated client; the user's own come last.
pub(super) fn headers(settings: &HttpSettings, client: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut map = HeaderMap::new();
    let value = |v: &str| HeaderValue::from_str(v).map_err(|_| bad_header(v));
    map.insert(USER_AGENT, value(&settings.user_agent)?);
    map.insert(ACCEPT, value(user_agents::accept())?);
    map.insert(ACCEPT_ENCODING_NAME, HeaderValue::from_static(ACCEPT_ENCODING));
    if let Some(language) = &settings.accept_language {
        map.insert(ACCEPT_LANGUAGE, value(language)?);
    }
    for (name, text) in client {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad_header(name))?;
        map.insert(name, value(text)?);
    }
    for header in &settings.headers {
        map.insert(header.name.clone(), header.value.clone());
    }
    Ok(map)
}

fn bad_header(text: &str) -> FetchError {
    let name: String = text.chars().take(20).collect();
    FetchError::Protocol(format!("the configured header beginning with \"{name}\" is not valid in HTTP"))
}

pub(super) fn conditions(request: &CrawlRequest, headers: &mut HeaderMap) {
    let mut condition = |name: HeaderName, text: &Option<String>| {
        if let Some(value) = text.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
            headers.insert(name, value);
        }
    };
    condition(IF_NONE_MATCH, &request.etag);
    condition(IF_MODIFIED_SINCE, &request.last_modified);
}

pub(super) fn owned(headers: &HeaderMap) -> Headers {
    Headers(
        headers
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_of_a_pause_counts_from_the_date_of_its_answer() {
        let (answered, again) = ("Sat, 28 Nov 2026 21:00:00 GMT", "Sat, 28 Nov 2026 21:02:00 GMT");
        let pause =
            |date, age| parse_retry_after(again, answered_at(Some(date), age)).map(|pause| pause.as_secs());
        assert_eq!([pause(answered, None), pause(answered, Some("50"))], [Some(120), Some(70)]);
        let late = "Sat, 28 Nov 2026 22:00:00 GMT";
        assert_eq!([pause(again, None), pause(late, None), pause(answered, Some("999"))], [None; 3]);
        let soon = httpdate::fmt_http_date(system_time() + Duration::from_secs(60));
        for date in [None, Some("yesterday")] {
            let pause = parse_retry_after(&soon, answered_at(date, None));
            assert!(pause.is_some_and(|pause| pause.as_secs() > 50));
        }
    }
}
