//! Processes and profiles of browsers: their ends, their replacement and their errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use crawl_chrome::{ChromeSettings, RenderError, RenderPhase, Renderer};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use support::{
    PATIENCE, Server, TEXT, block_on, pages, patient, processes_of, render, renderer, script, settings,
};

/// Waits until all browser processes have died of their signal.
fn gone(profiles: &Path) {
    let start = Instant::now();
    while !processes_of(profiles).is_empty() {
        assert!(start.elapsed() < PATIENCE, "{:?}", processes_of(profiles));
        std::thread::yield_now();
    }
}

/// Waits until the server has had this many requests with this path prefix.
async fn asked(server: &Server, path: &str, times: usize) {
    let start = Instant::now();
    while server.hits().iter().filter(|hit| hit.starts_with(path)).count() < times {
        assert!(start.elapsed() < PATIENCE, "{:?}", server.hits());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
#[ignore = "needs Chromium"]
fn downloads_timeouts_and_network_failures_are_typed_errors() {
    let (renderer, profiles) = renderer(patient);
    let mut served = pages(&[]);
    served.insert(
        "/file",
        ("Content-Type: application/octet-stream\r\nContent-Disposition: attachment\r\n", "x".into()),
    );
    let server = Server::start("127.0.0.1", served);
    let file = render(&renderer, &server.url("/file")).unwrap_err();
    assert_eq!(file, RenderError::Download);
    let limit = Duration::from_secs(2);
    let (hasty, _profiles) = self::renderer(|settings| settings.budgets.navigate = limit);
    let never = render(&hasty, &server.url("/never")).unwrap_err();
    assert_eq!(never, RenderError::Timeout { phase: RenderPhase::Navigate, limit });
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("http://{free}/").parse().unwrap();
    let closed = render(&renderer, &nobody).unwrap_err();
    assert!(matches!(closed, RenderError::Network(_)), "{closed}");
    let scheme = render(&renderer, &"chrome://crash".parse().unwrap()).unwrap_err();
    assert!(matches!(scheme, RenderError::Url(_)), "{scheme}");
    let missing =
        Renderer::new(ChromeSettings { path: Some("/nowhere/chrome".into()), ..ChromeSettings::default() });
    assert_eq!(
        render(&missing, &server.url("/")).unwrap_err(),
        RenderError::Missing("/nowhere/chrome".into())
    );
    drop(renderer);
    gone(profiles.path());
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 0, "a profile was left");
}

#[test]
#[ignore = "needs Chromium"]
fn crashed_tabs_and_killed_browsers_are_replaced() {
    let (renderer, profiles) = renderer(|settings| {
        patient(settings);
        settings.tabs = 2;
    });
    let good = script(&format!("setTimeout(() => {{ app.textContent = '{TEXT}' }}, 150)"));
    let waits = script("setInterval(() => app.append('x'), 10); setInterval(() => fetch('/runs'), 40)");
    let server = Server::start("127.0.0.1", pages(&[("/good", good), ("/waits", waits)]));
    let kill = |kind: &str| {
        let pids = processes_of(profiles.path()).into_iter().filter(|pid| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if kind.is_empty() { !line.contains("--type=") } else { line.contains(kind) }
        });
        let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
        assert!(!pids.is_empty(), "nothing to kill");
        std::process::Command::new("kill").arg("-9").args(pids).status().unwrap();
    };
    block_on(async {
        assert!(renderer.render(&server.url("/good")).await.is_ok());
        let url = server.url("/waits");
        let (crashed, ()) = tokio::join!(renderer.render(&url), async {
            // not at once: a new process for the browser's next tab would be killed too
            asked(&server, "/runs", 20).await;
            kill("--type=renderer");
        });
        assert_eq!(crashed.unwrap_err(), RenderError::Crashed);
        assert!(renderer.render(&server.url("/good")).await.unwrap().html.contains(TEXT));
        assert_eq!(renderer.stats().browsers, 1);

        let urls: Vec<_> = (0..20).map(|n| server.url(&format!("/good?{n}"))).collect();
        let all = futures::future::join_all(urls.iter().map(|url| renderer.render(url)));
        let (results, ()) = tokio::join!(all, async {
            asked(&server, "/good?", 6).await;
            kill("");
        });
        assert_eq!(results.len(), 20);
        let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert!(
            failed.iter().all(|e| matches!(e, RenderError::BrowserLost(_) | RenderError::Crashed)),
            "{failed:?}"
        );
        assert!((1..=2).contains(&failed.len()), "the pages of two tabs were lost at most: {failed:?}");
        assert_eq!(renderer.stats().browsers, 2);
    });
}

#[test]
#[ignore = "needs Chromium"]
fn browsers_are_recycled_after_their_pages() {
    let (renderer, profiles) = renderer(|settings| {
        patient(settings);
        settings.recycle_pages = 3;
    });
    let server =
        Server::start("127.0.0.1", pages(&[("/good", script(&format!("app.textContent = '{TEXT}'")))]));
    for _ in 0..7 {
        assert!(render(&renderer, &server.url("/good")).unwrap().html.contains(TEXT));
    }
    assert_eq!((renderer.stats().browsers, renderer.stats().pages), (3, 7));
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
}

/// Parent that the next test kills; not a test of its own.
#[test]
#[ignore = "is a process of no_process_outlives_a_killed_parent"]
fn parent_that_is_killed() {
    let Ok(profiles) = std::env::var("CRAWL_CHROME_TEST_PARENT") else { return };
    let keep = tempfile::tempdir().unwrap();
    let mut settings = settings(&keep);
    settings.profiles = Some(profiles.into());
    let server = Server::start("127.0.0.1", pages(&[("/good", script("1"))]));
    let renderer = Renderer::new(settings);
    render(&renderer, &server.url("/good")).unwrap();
    println!("rendered");
    std::thread::park();
}

#[test]
#[ignore = "needs Chromium"]
fn no_process_outlives_a_killed_parent() {
    use std::io::{BufRead, BufReader};
    let profiles = tempfile::tempdir().unwrap();
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "parent_that_is_killed", "--nocapture"])
        .env("CRAWL_CHROME_TEST_PARENT", profiles.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(parent.stdout.take().unwrap());
    assert!(out.lines().map_while(Result::ok).any(|line| line.contains("rendered")));
    let pid = parent.id();
    assert!(processes_of(profiles.path()).into_iter().any(|p| p != pid), "there is no browser");
    parent.kill().unwrap();
    parent.wait().unwrap();
    gone(profiles.path());
    // the profile remains, and the next start removes it
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
    let mut next = settings(&profiles);
    next.profiles = Some(profiles.path().to_owned());
    let server = Server::start("127.0.0.1", pages(&[("/good", script("1"))]));
    let renderer = Renderer::new(next);
    render(&renderer, &server.url("/good")).unwrap();
    assert_eq!(std::fs::read_dir(profiles.path()).unwrap().count(), 1);
}
