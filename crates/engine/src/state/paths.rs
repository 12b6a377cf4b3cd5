//! Paths of state directories without a given name.

use crate::{exit::Failure, seeds};
use crawl_model::{UrlKey, has_userinfo, hide_userinfo};
use crawl_output::absolute;
use std::path::{Path, PathBuf};
use url::Url;

/// The directory for seeds where none was named: one for each seed file, or for each URL given instead of one, under
/// `$XDG_STATE_HOME/crawl`. Several files and URLs have one together, in any order. Seeds from standard input share
/// one for each working directory.
///
/// # Errors
/// When neither `XDG_STATE_HOME` nor a home directory is known.
pub fn default_dir(seeds: &[PathBuf]) -> Result<PathBuf, Failure> {
    let base = base()?;
    let mut named = seeds.iter().map(|seed| stem_and_identity(seed)).collect::<Result<Vec<_>, _>>()?;
    named.sort();
    named.dedup();
    let stem = if let [(stem, _)] = named.as_slice() { stem.clone() } else { "seeds".to_owned() };
    let identities: Vec<String> = named.into_iter().map(|(_, identity)| identity).collect();
    let hash = UrlKey::of(&identities.join("\n")).to_string();
    Ok(base.join(format!("{stem}-{}", &hash[..8])))
}

/// The name of a seed for people, and its identity.
fn stem_and_identity(seed: &Path) -> Result<(String, String), Failure> {
    let url = seeds::as_url(seed).map(|text| match text.contains("://") {
        true => Url::parse(text),
        false => Url::parse(&format!("https://{text}")),
    });
    Ok(match url {
        Some(Ok(url)) if has_userinfo(&url) => {
            return Err(Failure::usage(format!(
                "--seed {}: credentials in URLs are not allowed",
                hide_userinfo(url.as_str())
            )));
        }
        Some(Ok(url)) => (url.host_str().unwrap_or_default().to_owned(), url.to_string()),
        _ => {
            let seed = if seed.as_os_str() == "-" { absolute(Path::new("stdin")) } else { absolute(seed) };
            let stem = seed
                .file_stem()
                .map_or_else(String::new, |s| hide_userinfo(&s.to_string_lossy()).into_owned());
            (stem, seed.to_string_lossy().into_owned())
        }
    })
}

/// Parent of state directories without a given name: `$XDG_STATE_HOME/crawl`.
///
/// # Errors
/// When neither `XDG_STATE_HOME` nor a home directory is known.
pub fn base() -> Result<PathBuf, Failure> {
    std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/state")))
        .map(|base| base.join("crawl"))
        .ok_or_else(|| Failure::usage("no home directory is known: name a state directory with --state-dir"))
}
