//! Where the browser is, and the command line that it is started with.

use super::bubblewrap::Wrapper;
use crate::{error::RenderError, settings::ChromeSettings};
use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The variable by which its processes are found again.
pub(super) const VARIABLE: &str = "CRAWL_CHROME_PROFILE";
/// Longest path of the browser's temporary folder: it has a socket in `org.chromium.Chromium.XXXXXX/SingletonSocket`, whose
/// path may have 107 bytes.
const LONGEST_TEMPORARY: usize = 60;
/// Names under which the browser is installed, and a path. The shells come first: they are the same engine without the parts for a
/// person, and a page costs them half as much. Debian's has a script of its name in `PATH`, which stays between us and the browser: a
/// parent-death signal would end the script alone.
const NAMES: [&str; 7] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
];
/// Shell program that bounds the data segment, in KiB, and moves the connection from standard input to the descriptors 3 and 4,
/// where the browser looks for it.
const START: &str = r#"ulimit -d "$0" 2>/dev/null; exec "$@" 3<&0 4>&0 0</dev/null"#;
/// Memory that a process of the browser may reserve beyond that of a page: stacks of threads, and room for its heaps. An idle one
/// reserves 0.6 GB.
const RESERVED: u64 = 2 << 30;
/// Variables that the browser and the libraries under it read. It gets no others: they may hold secrets.
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
/// Switches that every browser is started with: nothing that it does of its own accord, nothing that leaves the proxy.
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
    // What did not come would be asked for again a second later, and again, whoever may have the next turn.
    "--disable-auto-reload",
    // Windows that nobody looks at run as fast as others.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // Two features at work for each navigation that a crawl has no use of: a page kept alive to go back to (memory), and a
    // new frame for each document. Pages are asked for as their URLs say (no try over TLS first).
    "--disable-features=BackForwardCache,RenderDocument,HttpsUpgrades,AvoidUnnecessaryBeforeUnloadCheckSync,PaintHolding,\
     Translate,MediaRouter,DialMediaRouteProvider,GlobalMediaControls,LensOverlay,OptimizationHints,\
     AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,\
     DestroyProfileOnBrowserClose,NetworkTimeServiceQuerying,AimEnabled,AimServerEligibilityEnabled,\
     AimServerRequestOnStartupEnabled,PreconnectToSearch,PreconnectToSearchNonGoogle,SearchNavigationPrefetch",
    // A whole browser asks its vendor for accounts and for push messages some seconds after its start. No switch turns this
    // off. Port 9 is one of those to which the browser refuses to connect.
    "--gaia-url=http://127.0.0.1:9/",
    "--gcm-checkin-url=http://127.0.0.1:9/",
    "--disable-back-forward-cache",
    // No window is opened by a page, whatever its script calls.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    // Each tab has its own proxy. Requests of the browser itself go to port 9, where nothing listens. Names are resolved by the proxy alone, and nothing is sent around it.
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    // The second name is that of older browsers.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=768",
];

/// The browser: the executable that is named, or the first that is found in `PATH`. A headless shell is preferred to a whole browser.
///
/// # Errors
/// [`RenderError::Missing`] where there is none.
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

/// The command line of a browser whose connection is standard input. `setpriv` (util-linux) sets the parent-death signal: the
/// kernel then ends the browser when the thread that started it is gone, however it went.
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
    // the folders `org.chromium.Chromium.*`, which a killed browser leaves, go with the profile
    if profile.as_os_str().len() <= LONGEST_TEMPORARY {
        command.env("TMPDIR", profile);
    }
    command.process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}
