//! Path and command line of the browser.

use super::bubblewrap::Wrapper;
use crate::{error::RenderError, settings::ChromeSettings};
use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Environment variable that identifies the browser's processes.
pub(super) const VARIABLE: &str = "CRAWL_CHROME_PROFILE";
/// Longest path of the browser's temporary folder. It has a socket in
/// `org.chromium.Chromium.XXXXXX/SingletonSocket`, whose path is limited to 107 bytes.
const LONGEST_TEMPORARY: usize = 60;
/// Names of the browser's executable, and a path. Headless shells come first: they have the same engine
/// without user interface, and a page costs them half as much. Debian's package has a script in `PATH` that
/// stays as the browser's parent: a parent-death signal would end only the script.
const NAMES: [&str; 7] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
];
/// Shell program that bounds the data segment, in KiB. It moves the connection from standard input to
/// descriptors 3 and 4, as the browser expects.
const START: &str = r#"ulimit -d "$0" 2>/dev/null; exec "$@" 3<&0 4>&0 0</dev/null"#;
/// Address space that a browser process may reserve beyond that of a page: thread stacks and heap space. An
/// idle one reserves 0.6 GB.
const RESERVED: u64 = 2 << 30;
/// Environment variables that the browser and its libraries read. All others are removed, since they may hold
/// secrets.
const KEPT: [&str; 14] = [
    "CHROME_DEVEL_SANDBOX",
    "FONTCONFIG_FILE",
    "FONTCONFIG_PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LD_LIBRARY_PATH",
    "NSS_DEFAULT_DB_TYPE",
    "PATH",
    "TZ",
    "TZDIR",
];
/// Switches of every browser: no activity of its own, no traffic outside the proxy.
const SWITCHES: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--password-store=basic",
    "--mute-audio",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-domain-reliability",
    "--disable-hang-monitor",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--disable-dev-shm-usage",
    "--disable-search-engine-choice-screen",
    // A failed load would be repeated each second, possibly during another page's turn.
    "--disable-auto-reload",
    // Hidden windows run as fast as visible ones.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // Three features cost time per navigation and have no use in a crawl. They keep a page alive for going
    // back (memory), create a new frame for each document, and keep a process ready for the context that last
    // navigated: with several tabs, each navigation replaced that process. Pages are requested by their URLs'
    // scheme, without a first try over TLS.
    "--disable-features=BackForwardCache,RenderDocument,SpareRendererForSitePerProcess,HttpsUpgrades,AvoidUnnecessaryBeforeUnloadCheckSync,PaintHolding,\
     Translate,MediaRouter,DialMediaRouteProvider,GlobalMediaControls,LensOverlay,OptimizationHints,\
     AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,\
     DestroyProfileOnBrowserClose,NetworkTimeServiceQuerying,AimEnabled,AimServerEligibilityEnabled,\
     AimServerRequestOnStartupEnabled,PreconnectToSearch,PreconnectToSearchNonGoogle,SearchNavigationPrefetch",
    // Some seconds after its start a full browser contacts its vendor for accounts and push messages. No switch turns
    // this off. Chromium refuses to connect to port 9.
    "--gaia-url=http://127.0.0.1:9/",
    "--gcm-checkin-url=http://127.0.0.1:9/",
    "--disable-back-forward-cache",
    // No script of a page can open a window.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    // Each tab has its own proxy. Requests of the browser itself go to port 9, where nothing listens. Only
    // the proxy resolves names, and no traffic bypasses it.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    // The second name is for older browsers.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=768",
];

/// Finds the browser: the named executable, or the first one in `PATH`. A headless shell is preferred to a
/// full browser.
///
/// # Errors
/// [`RenderError::Missing`] if there is no browser.
pub fn find_browser(named: Option<&Path>) -> Result<PathBuf, RenderError> {
    match named {
        Some(path) if path.components().count() > 1 => path
            .is_file()
            .then(|| path.to_owned())
            .ok_or_else(|| RenderError::Missing(path.display().to_string())),
        Some(name) => in_path(&name.to_string_lossy())
            .ok_or_else(|| RenderError::Missing(format!("{} in PATH", name.display()))),
        None => NAMES
            .iter()
            .find_map(|name| in_path(name))
            .ok_or_else(|| RenderError::Missing(format!("{} in PATH", NAMES.join(", ")))),
    }
}

pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Command line of a browser whose connection is standard input. `setpriv` (util-linux) sets the parent-death
/// signal: the kernel then ends the browser when the thread that started it ends, for any reason.
pub(super) fn command(
    path: &Path,
    settings: &ChromeSettings,
    profile: &Path,
    wrapper: Option<&Wrapper>,
) -> Command {
    let mut words: Vec<OsString> = Vec::new();
    match in_path("setpriv") {
        Some(setpriv) => {
            words.push(setpriv.into());
            words.extend(["--pdeathsig", "KILL", "--"].map(Into::into));
        }
        None => tracing::warn!(
            "setpriv is missing: a browser may be left until the next start if the crawl is killed"
        ),
    }
    if let Some(wrapper) = wrapper {
        words.extend(wrapper.words(path, profile));
    }
    let data = settings.max_page_memory.saturating_add(RESERVED) >> 10;
    words.extend(["sh", "-c", START].map(Into::into));
    words.extend([data.to_string().into(), path.into()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.args(SWITCHES);
    command.arg(format!("--user-data-dir={}", profile.display()));
    let (width, height) = settings.screen();
    command.arg(format!("--window-size={width},{height}"));
    command.arg(format!("--screen-info={{{width}x{height}}}"));
    if settings.blocked.images {
        command.arg("--blink-settings=imagesEnabled=false");
    }
    if let Some(agent) = &settings.user_agent {
        command.arg(format!("--user-agent={agent}"));
    }
    if let Some(languages) = &settings.accept_language {
        command.arg(format!("--accept-lang={languages}"));
    }
    if !settings.trusted_keys.is_empty() {
        command.arg(format!("--ignore-certificate-errors-spki-list={}", settings.trusted_keys.join(",")));
    }
    if !settings.sandbox {
        command.args(["--no-sandbox", "--disable-setuid-sandbox"]);
    }
    command.arg("about:blank");
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(variable, profile);
    }
    command.env(VARIABLE, profile);
    // the folders `org.chromium.Chromium.*` of a killed browser are removed with the profile
    if profile.as_os_str().len() <= LONGEST_TEMPORARY {
        command.env("TMPDIR", profile);
    }
    command.process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}
