//! User agents of the crawler: `config/rules/user_agents.toml`.

use serde::Deserialize;
use std::sync::LazyLock;

const FILE: &str = "user_agents.toml";
const TEXT: &str = include_str!("../../../config/rules/user_agents.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    crawler: Crawler,
    mobile: Mobile,
    browser: Browser,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crawler {
    product: String,
    user_agent: String,
    user_agent_with_contact: String,
    accept: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mobile {
    headers: Vec<(String, String)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Browser {
    user_agent: String,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| crate::rules::embedded(FILE, TEXT));

/// Product token that robots.txt groups and `X-Robots-Tag` headers match.
#[must_use]
pub fn product_token() -> &'static str {
    &RULES.crawler.product
}

/// The `User-Agent` of the crawler. An empty product is [`product_token`]. A page for site owners and a contact of the
/// operator follow in brackets, unless they are empty.
#[must_use]
pub fn default_user_agent(product: &str, info_url: &str, contact: &str) -> String {
    let rules = &RULES.crawler;
    let parts: Vec<&str> = [info_url, contact].into_iter().filter(|part| !part.is_empty()).collect();
    let form = if parts.is_empty() { &rules.user_agent } else { &rules.user_agent_with_contact };
    form.replace("{product}", if product.is_empty() { &rules.product } else { product })
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{contact}", &parts.join("; "))
}

/// The `User-Agent` of the browser, which includes `crawler`, our own.
#[must_use]
pub fn browser_user_agent(crawler: &str) -> String {
    RULES.browser.user_agent.replace("{crawler}", crawler)
}

/// `Accept` of the plain strategy.
pub(crate) fn accept() -> &'static str {
    &RULES.crawler.accept
}

/// Headers of a real mobile client, names in lower case; the user agent includes `crawler`.
pub(crate) fn mobile_headers(crawler: &str) -> Vec<(String, String)> {
    RULES.mobile.headers.iter().map(|(n, v)| (n.clone(), v.replace("{crawler}", crawler))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agent_begins_with_the_product_token() {
        crate::rules::parse::<Rules>(FILE, TEXT).unwrap();
        let plain = default_user_agent("", "", "");
        assert!(plain.starts_with(&format!("{}/", product_token())) && !plain.contains('{'), "{plain}");
        let contact = default_user_agent("", "https://example.org/bot", "");
        assert!(contact.ends_with("(+https://example.org/bot)"), "{contact}");
        let both = default_user_agent("Gull", "https://example.org/bot", "me@example.org");
        assert_eq!(
            both,
            format!("Gull/{} (+https://example.org/bot; me@example.org)", env!("CARGO_PKG_VERSION"))
        );
        let mobile = mobile_headers("crawl/9");
        assert!(
            mobile.iter().any(|(n, v)| n == "user-agent" && v.contains("Mobile") && v.contains("crawl/9"))
        );
        let browser = browser_user_agent("crawl/9");
        assert!(browser.contains("Chrome/") && browser.contains("crawl/9") && !browser.contains("Headless"));
        assert!(crate::rules::parse::<Rules>("x.toml", "[crawler]\nnew = 1").unwrap_err().contains("x.toml"));
    }
}
