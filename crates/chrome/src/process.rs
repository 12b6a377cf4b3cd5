//! The browser's processes: started so that they die with us, killed as a group, and reaped if they were left.

use crate::{error::RenderError, error::RenderPhase, settings::ChromeSettings};
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::Duration,
};
use tempfile::TempDir;

/// Names under which the browser is installed.
const NAMES: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chrome",
];
/// How a profile's directory is called.
const PREFIX: &str = "crawl-chrome-";
/// The file in it that says whose it is: process id and start time.
const MARK: &str = "crawl-owner";
/// The variable by which its processes are found again.
const VARIABLE: &str = "CRAWL_CHROME_PROFILE";
/// How long the browser has to say where it listens.
const START: Duration = Duration::from_secs(30);

/// Switches that every browser is started with: nothing that it does of its own accord, nothing that leaves the proxy.
const SWITCHES: &[&str] = &[
    "--headless",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
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
    "--disable-client-side-phishing-detection",
    "--disable-hang-monitor",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--disable-dev-shm-usage",
    "--disable-search-engine-choice-screen",
    // Windows that nobody looks at run as fast as others.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // Two features at work for each navigation that a crawl has no use of: a page kept alive to go back to (memory), and a
    // new frame for each document. Pages are asked for as their URLs say (no try over TLS first).
    "--disable-features=BackForwardCache,RenderDocument,HttpsUpgrades,AvoidUnnecessaryBeforeUnloadCheckSync,PaintHolding,\
     Translate,MediaRouter,DialMediaRouteProvider,GlobalMediaControls,LensOverlay,OptimizationHints,\
     AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,\
     DestroyProfileOnBrowserClose",
    "--disable-back-forward-cache",
    // No window is opened by a page, whatever its script calls.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    // Names are resolved by the proxy alone, and nothing is sent around it.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=768",
];

/// A process group that can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(Pid);

impl Group {
    pub(crate) fn kill(self) {
        // it may be gone already
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Bytes of memory that its processes hold and share with no file: anonymous and shared memory.
    pub(crate) fn memory(self) -> u64 {
        let own = self.0.as_raw_nonzero().get();
        let sum: u64 = processes()
            .filter(|pid| group_of(*pid) == Some(own))
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/status")).ok())
            .map(|status| status.lines().filter_map(kilobytes).sum::<u64>())
            .sum();
        sum << 10
    }
}

/// The amount of a line of `/proc/PID/status` that counts.
fn kilobytes(line: &str) -> Option<u64> {
    let amount = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
    amount.split_whitespace().next()?.parse().ok()
}

/// The browser: the executable that is named, or the first that is found in `PATH`.
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

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// A browser that runs. Dropped, its processes are dead and its profile is gone.
pub(crate) struct Process {
    child: Child,
    group: Group,
    /// Its address for whoever drives it.
    pub(crate) debug_url: String,
    profile: Option<TempDir>,
}

impl Process {
    /// Starts the browser behind the proxy. It dies with the calling thread.
    pub(crate) fn start(settings: &ChromeSettings, proxy: SocketAddr) -> Result<Self, RenderError> {
        let path = find_browser(settings.path.as_deref())?;
        if settings.sandbox && geteuid().is_root() {
            return Err(RenderError::Sandbox);
        }
        let failed = |reason: String| RenderError::Launch { path: path.clone(), reason };
        let base = settings.profiles.clone().unwrap_or_else(std::env::temp_dir);
        let profile = new_profile(&base).map_err(|error| failed(format!("no profile directory: {error}")))?;
        let mut command = command(&path, settings, proxy, profile.path());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let stderr = child.stderr.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(Group);
        let Some((stderr, group)) = stderr.zip(group) else {
            return Err(failed("it has no output".into()));
        };
        let mut process = Self { child, group, debug_url: String::new(), profile: Some(profile) };
        let said = listen(stderr).map_err(|error| failed(error.to_string()))?;
        process.debug_url = match said.recv_timeout(START) {
            Ok(Ok(url)) => url,
            Ok(Err(last_words)) => return Err(failed(last_words)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(RenderError::Timeout { phase: RenderPhase::Launch, limit: START });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(failed("it ended".into())),
        };
        Ok(process)
    }

    pub(crate) const fn group(&self) -> Group {
        self.group
    }

    /// Whether the browser still runs.
    pub(crate) fn is_alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // dead, it is a zombie until it is waited for
        stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with('Z'))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        let _ = self.child.wait();
        if let Some(profile) = self.profile.take() {
            let path = profile.path().to_owned();
            // a process of the group that has not quite died may still write: then the next start removes the rest
            if let Err(error) = profile.close() {
                tracing::debug!("the browser's profile {} is left for later: {error}", path.display());
            }
        }
    }
}

/// The command line. `setpriv` (util-linux) sets the parent-death signal; it is the kernel that then ends the browser
/// when the thread that started it is gone, however it went.
fn command(path: &Path, settings: &ChromeSettings, proxy: SocketAddr, profile: &Path) -> Command {
    let mut command = match in_path("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(path);
            command
        }
        None => {
            tracing::warn!(
                "setpriv is missing: a browser may be left until the next start if the crawl is killed"
            );
            Command::new(path)
        }
    };
    command.args(SWITCHES);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("--proxy-server=http://{proxy}"));
    command.arg(format!("--window-size={},{}", settings.viewport.0, settings.viewport.1));
    if settings.blocked.images {
        command.arg("--blink-settings=imagesEnabled=false");
    }
    if let Some(agent) = &settings.user_agent {
        command.arg(format!("--user-agent={agent}"));
    }
    if let Some(languages) = &settings.accept_language {
        command.arg(format!("--accept-lang={languages}"));
    }
    if !settings.sandbox {
        command.args(["--no-sandbox", "--disable-setuid-sandbox"]);
    }
    command.arg("about:blank");
    for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(variable, profile);
    }
    command.env(VARIABLE, profile);
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Reads what the browser says: the address at which it listens, or its last words. What it says later is let go.
fn listen(stderr: ChildStderr) -> std::io::Result<Receiver<Result<String, String>>> {
    let (tell, said) = sync_channel(1);
    let read = move || {
        let mut last = String::new();
        let mut lines = BufReader::new(stderr);
        let mut line = String::new();
        let found = loop {
            line.clear();
            match lines.by_ref().take(1 << 16).read_line(&mut line) {
                Ok(0) | Err(_) => break None,
                Ok(_) => {}
            }
            if let Some((_, url)) = line.split_once("DevTools listening on ") {
                break Some(url.trim().to_owned());
            }
            if !line.trim().is_empty() {
                last = line.trim().to_owned();
            }
        };
        let _ = tell.send(found.ok_or(last));
        // a full pipe would stop the browser
        let _ = std::io::copy(&mut lines, &mut std::io::sink());
    };
    std::thread::Builder::new().name("chrome-stderr".into()).spawn(read)?;
    Ok(said)
}

fn new_profile(base: &Path) -> std::io::Result<TempDir> {
    let profile = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base)?;
    let own = std::process::id();
    fs::write(profile.path().join(MARK), format!("{own} {}", start_time(own).unwrap_or_default()))?;
    // what the command line has no switch for
    let preferences = serde_json::json!({
        "download_restrictions": 3,
        // nothing is fetched on suspicion
        "net": {"network_prediction_options": 2},
        "profile": {"default_content_setting_values": {
            "automatic_downloads": 2, "geolocation": 2, "media_stream": 2, "notifications": 2, "popups": 2,
        }},
    });
    let default = profile.path().join("Default");
    fs::create_dir(&default)?;
    fs::write(default.join("Preferences"), preferences.to_string())?;
    Ok(profile)
}

fn processes() -> impl Iterator<Item = u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A field of `/proc/PID/stat`, counted from the one after the name (which may hold spaces and brackets).
fn stat_field(pid: u32, index: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(index)?.parse().ok()
}

fn group_of(pid: u32) -> Option<i32> {
    stat_field(pid, 2).and_then(|group| i32::try_from(group).ok())
}

/// When a process started, in ticks since boot: with the id it names a process for ever.
fn start_time(pid: u32) -> Option<u64> {
    stat_field(pid, 19)
}

/// Ends the browsers of crawls that were killed, and removes their profiles: directories of ours, marked with an owner
/// that is no more. Gives how many there were.
pub(crate) fn reap(base: &Path) -> usize {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .filter(|e| reap_one(&e.path()))
        .count()
}

fn reap_one(profile: &Path) -> bool {
    // the directory may be shared: only what is ours, and no links
    let own =
        fs::symlink_metadata(profile).is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
    let Some(mark) = own.then(|| fs::read_to_string(profile.join(MARK)).ok()).flatten() else {
        return false;
    };
    let mut parts = mark.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(started))) = (parts.next(), parts.next()) else {
        return false;
    };
    if u32::try_from(pid).is_ok_and(|pid| start_time(pid) == Some(started)) {
        return false;
    }
    let mut mark = format!("{VARIABLE}={}", profile.display()).into_bytes();
    mark.push(0);
    for pid in processes() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if !environment.windows(mark.len()).any(|part| part == mark) {
            continue;
        }
        if let Some(group) = group_of(pid).and_then(Pid::from_raw) {
            Group(group).kill();
        }
    }
    if let Err(error) = fs::remove_dir_all(profile) {
        tracing::debug!("the browser's profile {} is left for later: {error}", profile.display());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::ExitStatus, time::Instant};

    /// A process that sleeps in a group of its own; dropped, it is dead.
    struct Sleeper(Child);

    impl Sleeper {
        fn start(profile: Option<&Path>) -> Self {
            let mut command = Command::new("sleep");
            command.arg("600").envs(profile.map(|path| (VARIABLE, path))).process_group(0);
            Self(command.spawn().unwrap())
        }

        fn group(&self) -> Group {
            Group(Pid::from_raw(self.0.id() as i32).unwrap())
        }

        /// How it ended, once it has.
        fn ended(&mut self) -> ExitStatus {
            let mut status = None;
            until("it has ended", || {
                status = self.0.try_wait().unwrap();
                status.is_some()
            });
            status.unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(10), "not before long: {what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_named_browser_must_be_there() {
        let missing = find_browser(Some(Path::new("/nowhere/chromium"))).unwrap_err();
        assert_eq!(missing, RenderError::Missing("/nowhere/chromium".into()));
        assert!(find_browser(Some(Path::new("sh"))).unwrap().ends_with("sh"));
    }

    #[test]
    fn what_a_dead_owner_left_is_killed_and_removed_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let left = new_profile(base.path()).unwrap().keep();
        let mine = new_profile(base.path()).unwrap().keep();
        let other = base.path().join("crawl-chrome-unmarked");
        fs::create_dir(&other).unwrap();
        // a process id with another start time is another process
        fs::write(left.join(MARK), format!("{} 1", std::process::id())).unwrap();
        let (mut orphan, mut ours) = (Sleeper::start(Some(&left)), Sleeper::start(Some(&mine)));
        // a process that has only just begun may not show its environment yet
        let shows = |sleeper: &Sleeper| {
            fs::read_to_string(format!("/proc/{}/environ", sleeper.0.id()))
                .is_ok_and(|all| all.contains(VARIABLE))
        };
        until("both show their environment", || shows(&orphan) && shows(&ours));
        assert_eq!(reap(base.path()), 1);
        assert!(!orphan.ended().success());
        assert!(ours.0.try_wait().unwrap().is_none(), "the browser of a live owner was killed");
        assert!(!left.exists() && mine.exists() && other.exists());
    }

    #[test]
    fn memory_of_a_group_is_that_of_its_processes() {
        let mut sleeper = Sleeper::start(None);
        let group = sleeper.group();
        assert!((1..1 << 30).contains(&group.memory()));
        group.kill();
        sleeper.ended();
        assert_eq!(group.memory(), 0);
    }
}
