//! Processes are found, counted and ended; only those without an owner are removed.

use super::{
    Group, Process,
    bubblewrap::{self, Wrapper},
    command::{VARIABLE, command, find_browser, in_path},
    profile::{MARK, new_profile, reap, remove_profile},
};
use crate::{browser::Chrome, cdp, error::RenderError, settings::ChromeSettings};
use headless_chrome::protocol::cdp::Browser;
use rustix::process::Pid;
use std::{
    collections::HashSet,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

/// A process that sleeps in a group of its own, killed when dropped.
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

    /// Waits for its end and returns its exit status.
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
fn browsers_and_profiles_of_dead_owners_are_reaped() {
    let base = tempfile::tempdir().unwrap();
    let left = new_profile(base.path()).unwrap().keep();
    let mine = new_profile(base.path()).unwrap().keep();
    let other = base.path().join("crawl-chrome-unmarked");
    fs::create_dir(&other).unwrap();
    // a process id with another start time is another process
    fs::write(left.join(MARK), format!("{} 1", std::process::id())).unwrap();
    let (mut orphan, mut ours) = (Sleeper::start(Some(&left)), Sleeper::start(Some(&mine)));
    // a process that has just begun may not show its environment yet
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

/// A process that writes into the profile until it dies does not prevent the profile's removal.
#[test]
fn profile_is_removed_although_a_process_still_writes() {
    let base = tempfile::tempdir().unwrap();
    let profile = new_profile(base.path()).unwrap().keep();
    let mut command = Command::new("sh");
    let script = "while :; do mkdir -p a/b/c; : > a/b/c/$i; i=$((i + 1)); done";
    command.args(["-c", script]).current_dir(&profile).process_group(0);
    let mut writer = Sleeper(command.spawn().unwrap());
    until("it writes", || profile.join("a/b/c").exists());
    // only the group is waited for, until it is a zombie
    writer.group().end();
    remove_profile(&profile);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    assert!(!writer.ended().success());
}

#[test]
fn profile_is_readable_by_its_owner_only() {
    let base = tempfile::tempdir().unwrap();
    let profile = new_profile(base.path()).unwrap();
    assert_eq!(profile.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn temporary_files_of_the_browser_are_in_its_profile() {
    let variable = |profile: &Path| {
        let command = command(Path::new("/bin/true"), &ChromeSettings::default(), profile, None);
        command.get_envs().find(|(name, _)| *name == "TMPDIR").map(|(_, value)| value.unwrap().to_owned())
    };
    assert_eq!(variable(Path::new("/tmp/crawl-chrome-1")), Some("/tmp/crawl-chrome-1".into()));
    let long = format!("/tmp/{}/crawl-chrome-1", "x".repeat(60));
    assert_eq!(variable(Path::new(&long)), None, "its socket would have no room");
}

#[test]
fn group_memory_sums_its_processes() {
    let mut sleeper = Sleeper::start(None);
    let group = sleeper.group();
    assert!((1..1 << 30).contains(&group.memory()));
    group.kill();
    sleeper.ended();
    assert_eq!(group.memory(), 0);
}

/// Switches that a current full Chromium does not know, each with the browser that does.
const OF_OTHERS: [(&str, &str); 4] = [
    ("block-new-web-contents", "headless shell"),
    ("disable-crash-reporter", "headless shell"),
    ("disable-setuid-sandbox", "Chromium with a setuid sandbox"),
    ("force-webrtc-ip-handling-policy", "Chromium before `webrtc-ip-handling-policy`"),
];

/// The browser ignores unknown switches, so each is searched in its executable.
#[test]
#[ignore = "needs Chromium"]
fn the_browser_knows_every_switch() {
    let profiles = tempfile::tempdir().unwrap();
    let settings = ChromeSettings {
        sandbox: false,
        profiles: Some(profiles.path().into()),
        user_agent: Some("agent".into()),
        accept_language: Some("en".into()),
        trusted_keys: vec!["key".into()],
        ..ChromeSettings::default()
    };
    let command = command(Path::new("/bin/true"), &settings, profiles.path(), None);
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let own = arguments.iter().skip_while(|argument| *argument != "--headless");
    let names = own.filter_map(|argument| argument.strip_prefix("--")?.split('=').next());
    let names: HashSet<_> = names.collect();
    assert!(names.contains("proxy-server") && names.contains("user-agent"), "{names:?}");
    let (process, connection) = Process::start(&settings, true).unwrap();
    let session = cdp::connect(connection, 1 << 20).unwrap();
    session.call(Browser::GetVersion(None), Duration::from_secs(30)).unwrap();
    // other programs come before it
    let members = process.group().scan().read();
    let programs = members.iter().filter_map(|one| fs::read_link(format!("/proc/{}/exe", one.pid)).ok());
    let binary = programs.max_by_key(|path| path.metadata().map_or(0, |meta| meta.len())).unwrap();
    let knows = |name: &str| {
        let found = Command::new("grep").args(["-qawF", "-e", name]).arg(&binary).env("LC_ALL", "C").status();
        found.unwrap().success()
    };
    assert!(!knows("no-such-switch-of-any-browser"));
    let mut unknown: Vec<_> = names.into_iter().filter(|name| !knows(name)).collect();
    unknown.retain(|name| OF_OTHERS.iter().all(|(other, _)| other != name));
    assert_eq!(unknown, Vec::<&str>::new(), "unknown to {}", binary.display());
}

#[test]
fn launch_error_has_the_last_line_of_the_browser() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("browser");
    fs::write(&script, "#!/bin/sh\necho no display >&2\necho >&2\nexit 1\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let settings = ChromeSettings {
        path: Some(script.clone()),
        sandbox: false,
        profiles: Some(folder.path().into()),
        ..ChromeSettings::default()
    };
    let error = Chrome::start(&settings).err().unwrap();
    assert_eq!(error, RenderError::Launch { path: script.clone(), reason: "no display".into() });
    // it does not start without bubblewrap either
    assert_eq!(bubblewrap::find(&script), in_path("bwrap"));
    let left = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["browser"]);
}

/// A browser that fails by bubblewrap starts without it, and after two failures always. Other browsers still
/// start by it.
#[test]
#[ignore = "needs bubblewrap and Chromium"]
fn browser_that_fails_under_bubblewrap_starts_without_it() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [folder, hidden] = folders.each_ref().map(tempfile::TempDir::path);
    let script = folder.join("browser");
    let browser = find_browser(None).unwrap();
    let lines =
        format!("#!/bin/sh\nls '{}' || exit 1\nexec '{}' \"$@\"\n", hidden.display(), browser.display());
    fs::write(&script, lines).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let settings = ChromeSettings {
        path: Some(script.clone()),
        sandbox: false,
        profiles: Some(folder.into()),
        ..ChromeSettings::default()
    };
    for _ in 0..2 {
        assert!(bubblewrap::find(&script).is_some());
        assert!(Chrome::start(&settings).is_ok());
    }
    assert_eq!(bubblewrap::find(&script), None);
    assert!(bubblewrap::find(&browser).is_some());
}

/// Perl program in place of the browser. Each line `NAME NUMBER ARGUMENT …` that replaces `CALLS` is made as
/// a system call; it prints the error, or 0.
const CALLER: &str = r#"#!/usr/bin/env perl
my @told;
for my $line (split /\n/, q{CALLS}) {
    my ($name, @call) = map { /^-?\d+$/ ? $_ + 0 : $_ } split ' ', $line;
    my $child = fork // die;
    if (!$child) { $! = 0; exit(syscall(shift(@call), @call) == -1 ? $! + 0 : 0) }
    waitpid $child, 0;
    push @told, "$name=" . ($? & 127 ? 'signal ' . ($? & 127) : $? >> 8);
}
push @told, 'canary=' . (-e 'CANARY' ? 1 : 0), 'shadow=' . (-e '/etc/shadow' ? 1 : 0), 'parent=' . (-e '/proc/PARENT' ? 1 : 0);
open my $status, '<', '/proc/self/status';
push @told, map { /^(CapEff|NoNewPrivs|Seccomp):\s*(\S+)/ ? "$1=$2" : () } <$status>;
print STDERR join(', ', @told), "\n";
"#;

/// Output of [`CALLER`] in place of the browser.
fn called(calls: &[(&str, i64, &str)], canary: &Path, with_filter: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("browser");
    let lines: Vec<_> =
        calls.iter().map(|(name, call, arguments)| format!("{name} {call} {arguments}")).collect();
    let code = CALLER
        .replace("CALLS", &lines.join("\n"))
        .replace("CANARY", &canary.display().to_string())
        .replace("PARENT", &std::process::id().to_string());
    fs::write(&script, code).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let profile = new_profile(folder.path()).unwrap();
    let mut wrapper = Wrapper::new(in_path("bwrap").unwrap(), profile.path());
    if !with_filter {
        wrapper.remove_filter();
    }
    let settings = ChromeSettings { sandbox: false, ..ChromeSettings::default() };
    let mut command = command(&script, &settings, profile.path(), Some(&wrapper));
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    String::from_utf8(output.stderr).unwrap().trim().to_owned()
}

/// Calls that the kernel permits every user, so that a refusal comes from the filter.
#[test]
#[ignore = "needs bubblewrap and Perl"]
fn syscall_filter_denies_forbidden_calls() {
    let hidden = tempfile::NamedTempFile::new().unwrap();
    let denied = [
        ("attach", libc::SYS_ptrace, "16 2147483647 0 0"),
        ("read memory", libc::SYS_process_vm_readv, "1 0 0 0 0 0"),
        ("keys", libc::SYS_keyctl, "0 -3 0"),
        ("namespace", libc::SYS_setns, "-1 0"),
        ("ring", libc::SYS_io_uring_enter, "-1 0 0 0 0 0"),
        ("handle", libc::SYS_name_to_handle_at, "-1 0 0 0 0"),
        ("netlink", libc::SYS_socket, "16 3 0"),
        ("vsock", libc::SYS_socket, "40 1 0"),
        ("datagrams", libc::SYS_socket, "2 2 0"),
        ("datagrams of IPv6", libc::SYS_socket, "10 524290 0"),
        ("MPTCP", libc::SYS_socket, "2 1 262"),
        ("terminal", libc::SYS_ioctl, "0 21522 0"),
    ];
    let allowed = [
        ("TCP", libc::SYS_socket, "2 1 6"),
        ("local", libc::SYS_socket, "1 2 0"),
        ("id", libc::SYS_getpid, ""),
    ];
    let calls: Vec<_> = denied
        .into_iter()
        .chain(allowed)
        .map(|(name, call, arguments)| (name.replace(' ', "-"), call, arguments))
        .collect();
    let calls: Vec<_> =
        calls.iter().map(|(name, call, arguments)| (name.as_str(), *call, *arguments)).collect();
    let (filtered, free) = (called(&calls, hidden.path(), true), called(&calls, hidden.path(), false));
    let told = |output: &str, name: &str, value: &str| {
        output.split(", ").any(|part| part == format!("{name}={value}"))
    };
    for (at, (name, ..)) in calls.iter().enumerate() {
        let refused = told(&filtered, name, "1");
        assert_eq!(refused, at < denied.len(), "{name}: {filtered}");
        assert!(!told(&free, name, "1"), "{name}: {free}");
    }
    for (name, value) in [
        ("canary", "0"),
        ("shadow", "0"),
        ("parent", "0"),
        ("CapEff", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
    ] {
        assert!(told(&filtered, name, value), "{name}: {filtered}");
    }
}

/// A call of the x32 interface, with its second number, ends the process.
#[cfg(target_arch = "x86_64")]
#[test]
#[ignore = "needs bubblewrap and Perl"]
fn x32_system_calls_end_the_process() {
    let hidden = tempfile::NamedTempFile::new().unwrap();
    let calls = [("x32", 0x4000_0000 | libc::SYS_getpid, "")];
    let signal = format!("x32=signal {}", libc::SIGSYS);
    assert!(called(&calls, hidden.path(), true).contains(&signal));
    assert!(!called(&calls, hidden.path(), false).contains("signal"));
}
