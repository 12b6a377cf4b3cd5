//! Permitted activity of a page, judged by the requests that servers get. Without a browser each test prints
//! a line and is skipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test that uses them")]

mod support;

use base64::{Engine, prelude::BASE64_STANDARD};
use crawl_chrome::{Blocked, RenderError};
use sha2::{Digest, Sha256};
use std::{collections::HashMap, net::UdpSocket, time::Duration};
use support::{Server, TEXT, block_on, pages, patient, processes_of, render, renderer, script};

#[test]
#[ignore = "needs Chromium"]
fn browser_cannot_reach_private_addresses() {
    let canary = Server::start("127.66.0.1", pages(&[("/canary", String::new())]));
    let (renderer, _profiles) = renderer(|settings| {
        patient(settings);
        settings.blocked.images = false;
        settings.resolve = vec![format!("sly.test:{}:127.66.0.1", canary.port).parse().unwrap()];
    });
    let port = canary.port;
    let target = format!("http://127.66.0.1:{port}/canary");
    let ask = format!(
        "<img src={target}/img><iframe src={target}></iframe><iframe src=file:///etc/passwd></iframe><object data={target}></object>\
         <link rel=stylesheet href=http://sly.test:{port}/canary><link rel=preload as=fetch href={target}><script src={target}/js></script>\
         <video src={target}/v></video><script>\
         const done = t => {{ const p = document.createElement('p'); p.textContent = t; document.body.append(p) }};\
         const asked = (url, options) => fetch(url, options).then(() => done('leaked'), () => done('refused'));\
         asked('{target}'); asked('http://sly.test:{port}/canary', {{ mode: 'no-cors' }}); asked('/away', {{ mode: 'no-cors' }});\
         const x = new XMLHttpRequest; x.open('GET', '{target}'); x.onload = () => done('leaked'); x.onerror = () => done('refused'); x.send();\
         new WebSocket('ws://127.66.0.1:{port}/canary'); new EventSource('{target}'); navigator.sendBeacon('{target}');\
         new Worker(URL.createObjectURL(new Blob([`fetch('{target}', {{ mode: 'no-cors' }})`])));\
         new RTCPeerConnection({{ iceServers: [{{ urls: 'stun:127.66.0.1:{port}' }}] }}).createDataChannel('x')</script>"
    );
    let jump = format!("<script>location = '{target}'</script>");
    let mut served = pages(&[("/ask", ask), ("/jump", jump), ("/away", String::new())]);
    let away = format!("Location: {target}\r\n").leak();
    served.get_mut("/away").unwrap().0 = away;
    let server = Server::start("127.0.0.1", served);
    let page = render(&renderer, &server.url("/ask")).unwrap();
    let refused = page.html.matches("<p>refused</p>").count();
    assert!(refused == 4 && !page.html.contains("<p>leaked"), "{refused}: {}", page.html);
    assert!(!page.html.contains("root:"));
    let jumped = render(&renderer, &server.url("/jump"));
    assert!(jumped.as_ref().is_ok_and(|page| page.url.path() == "/jump") || jumped.is_err(), "{jumped:?}");
    assert!(render(&renderer, &server.url("/away")).is_err());
    let direct = render(&renderer, &canary.url("/canary")).unwrap_err();
    assert!(
        matches!(&direct, RenderError::AddressBlocked { address, .. } if address.to_string() == "127.66.0.1"),
        "{direct}"
    );
    assert_eq!(canary.hits(), Vec::<String>::new());
}

/// A page with a STUN server at a forbidden address sends it no packet, and learns no address.
#[test]
#[ignore = "needs Chromium"]
fn webrtc_sends_no_udp_packet() {
    let canary = UdpSocket::bind("127.66.0.2:0").unwrap();
    let stun = format!("stun:{}", canary.local_addr().unwrap());
    let (renderer, _profiles) = renderer(|_| {});
    let code = format!(
        "const c = new RTCPeerConnection({{ iceServers: [{{ urls: '{stun}' }}] }}); const found = [];\
         c.onicecandidate = e => {{ if (e.candidate) found.push(e.candidate.candidate); \
         else app.textContent = `${{found.length}} candidates: ${{found}}` }};\
         c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o))"
    );
    let server = Server::start("127.0.0.1", pages(&[("/page", script(&code))]));
    let page = render(&renderer, &server.url("/page")).unwrap();
    canary.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let received = canary.recv_from(&mut [0; 1500]);
    assert!(received.is_err(), "{received:?}");
    assert!(!page.html.contains(" udp "), "{}", page.html);
}

/// Local addresses of listening TCP sockets, by inode.
fn listening() -> HashMap<String, String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap());
    let fields = tables.iter().flat_map(|table| table.lines().skip(1)).map(|line| {
        let fields: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        fields
    });
    fields.filter(|fields| fields[3] == "0A").map(|fields| (fields[9].clone(), fields[1].clone())).collect()
}

/// The browser opens no port, and gets none of our variables except those that it needs.
#[test]
#[ignore = "needs Chromium"]
fn browser_opens_no_port_and_inherits_no_secret_variable() {
    // a variable of the test, as a secret would be one
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let (renderer, profiles) = renderer(|_| {});
    let server = Server::start("127.0.0.1", pages(&[("/page", "text".into())]));
    render(&renderer, &server.url("/page")).unwrap();
    let processes = processes_of(profiles.path());
    assert!(processes.len() > 2, "{processes:?}");
    let listening = listening();
    let own = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    assert!(own.filter_map(|fd| socket(&fd.path())).any(|inode| listening.contains_key(&inode)));
    for pid in processes {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let environment = String::from_utf8_lossy(&environment);
        assert!(!environment.contains("CARGO_MANIFEST_DIR"), "{pid}: {environment}");
        for fd in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
            let open = socket(&fd.path()).and_then(|inode| listening.get(&inode));
            assert_eq!(open, None, "{pid}");
        }
    }
}

/// With bubblewrap the browser sees no folder of the user: its root holds neither the home nor the folder of
/// the tests.
#[test]
#[ignore = "needs bubblewrap and Chromium"]
fn files_of_the_user_are_hidden_from_the_browser() {
    let (renderer, profiles) = renderer(|_| {});
    let server = Server::start("127.0.0.1", pages(&[("/page", "text".into())]));
    render(&renderer, &server.url("/page")).unwrap();
    let own = std::env::current_dir().unwrap();
    let profile = std::fs::read_dir(profiles.path()).unwrap().flatten().next().unwrap().path();
    let mut browsers = 0;
    for pid in processes_of(profiles.path()) {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if !String::from_utf8_lossy(&line).contains("--type=gpu-process") {
            continue;
        }
        browsers += 1;
        let root = std::path::PathBuf::from(format!("/proc/{pid}/root"));
        let seen = |path: &std::path::Path| root.join(path.strip_prefix("/").unwrap()).exists();
        assert!(seen("/usr".as_ref()) && seen(&profile), "{pid}");
        assert!(!seen(&own) && !seen("/home".as_ref()) && !seen("/root/.cargo".as_ref()), "{pid}");
    }
    assert!(browsers > 0);
}

/// Inode of a descriptor that is a socket.
fn socket(fd: &std::path::Path) -> Option<String> {
    let link = std::fs::read_link(fd).ok()?;
    Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
}

/// A page with every kind of resource that can be blocked, and the requests that a server gets with these
/// settings.
fn loads(blocked: Blocked) -> Vec<String> {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let page = format!(
        "<style>@font-face {{ font-family: F; src: url(/font.woff2) }} body {{ font-family: F; background: url(/back.png) }}</style>\
         <body>text<img src=/picture.png><video src=/film.mp4 preload=auto></video><audio src=/song.mp3 preload=auto></audio>\
         <script src=/code.js></script><script src=http://www.imrworldwide.com:{port}/track.js></script>"
    );
    let mut served = pages(&[("/page", page)]);
    served.insert(
        "/code.js",
        ("Content-Type: text/javascript\r\n", String::from("document.fonts.load('1em F')")),
    );
    let server = Server::start("127.0.0.1", served);
    let (renderer, _profiles) = renderer(|settings| {
        settings.blocked = blocked;
        let rule = format!("www.imrworldwide.com:{port}:127.0.0.1");
        settings.resolve = vec![rule.parse().unwrap()];
    });
    // the port of a tracker is another server's
    let tracker = Server::start_at("127.0.0.1", port, pages(&[("/track.js", String::new())]));
    let page = render(&renderer, &server.url("/page")).unwrap();
    assert!(page.html.contains("text"));
    let mut hits = server.hits();
    hits.extend(tracker.hits());
    hits.sort();
    hits.dedup();
    hits
}

#[test]
#[ignore = "needs Chromium"]
fn blocked_resource_types_are_not_requested() {
    let all = Blocked { images: true, media: true, fonts: true, trackers: true };
    let hits = loads(all);
    assert_eq!(hits, ["/code.js", "/page"]);
    let none = Blocked { images: false, media: false, fonts: false, trackers: false };
    let hits = loads(none);
    for path in ["/back.png", "/film.mp4", "/font.woff2", "/page", "/picture.png", "/song.mp3", "/track.js"] {
        assert!(hits.iter().any(|hit| hit == path), "{path}: {hits:?}");
    }
    let hits = loads(Blocked { images: true, ..none });
    assert!(
        !hits.iter().any(|hit| hit.ends_with(".png")) && hits.iter().any(|hit| hit == "/font.woff2"),
        "{hits:?}"
    );
}

#[test]
#[ignore = "needs Chromium"]
fn downloads_and_service_workers_are_blocked() {
    let (renderer, profiles) = renderer(|_| {});
    let code = format!(
        "const a = document.createElement('a'); a.href = '/file'; a.download = 'kept'; document.body.append(a); a.click();\
         const f = document.createElement('iframe'); f.src = '/file'; document.body.append(f);\
         const w = navigator.serviceWorker; if (w) w.register('/sw.js'); app.textContent = w ? 'workers' : '{TEXT}'"
    );
    let mut served = pages(&[("/page", script(&code)), ("/jump", script("location = '/file'"))]);
    let attachment =
        "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=kept\r\n";
    served.insert("/file", (attachment, "bytes that are kept nowhere".into()));
    served.insert("/sw.js", ("Content-Type: text/javascript\r\n", String::new()));
    let server = Server::start("127.0.0.1", served);
    let page = render(&renderer, &server.url("/page")).unwrap();
    assert!(page.html.contains(TEXT), "{}", page.html);
    let jump = render(&renderer, &server.url("/jump")).unwrap();
    assert_eq!(jump.url.path(), "/jump");
    assert!(!server.hits().iter().any(|hit| hit == "/sw.js"), "{:?}", server.hits());
    let mut folders = vec![profiles.path().to_owned(), std::env::current_dir().unwrap()];
    folders.extend(std::env::var_os("HOME").map(|home| std::path::Path::new(&home).join("Downloads")));
    for folder in folders {
        let kept = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let kept = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with("kept")).count();
        assert_eq!(kept, 0, "{}", folder.display());
    }
}

#[test]
#[ignore = "needs Chromium"]
fn self_signed_certificate_is_trusted_only_by_its_key() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(rustls::crypto::aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
    let page = script("fetch('/text').then(r => r.text()).then(t => { app.textContent = t })");
    let mut served = pages(&[("/page", page)]);
    served.insert("/text", ("Content-Type: text/plain\r\n", TEXT.into()));
    let server = Server::start_tls("127.0.0.1", served, config);
    let (strict, _profiles) = renderer(|_| {});
    let refused = render(&strict, &server.url("/page")).unwrap_err();
    assert!(matches!(&refused, RenderError::Navigation(reason) if reason.contains("CERT")), "{refused}");
    assert_eq!(server.hits(), Vec::<String>::new());
    let spki = rcgen::PublicKeyData::subject_public_key_info(&made.signing_key);
    let trusted = BASE64_STANDARD.encode(Sha256::digest(spki));
    let (trusting, _profiles) = renderer(|settings| settings.trusted_keys = vec![trusted]);
    let page = render(&trusting, &server.url("/page")).unwrap();
    assert!(page.html.contains(TEXT) && page.status == 200, "{}", page.html);
    assert_eq!(page.url, server.url("/page"));
}

#[test]
#[ignore = "needs Chromium"]
fn connections_go_through_the_upstream_proxy() {
    let site = Server::start("127.0.0.1", pages(&[("/page", String::new())]));
    // as a proxy, a server of ours gets the absolute URL
    let page = script(&format!("app.textContent = '{TEXT}'"));
    let proxy = Server::start("127.0.0.1", pages(&[("http://name.invalid/page", page)]));
    let (renderer, _profiles) = renderer(|settings| {
        settings.proxy = Some(proxy.url("/").into());
    });
    let page = render(&renderer, &"http://name.invalid/page".parse().unwrap()).unwrap();
    assert!(page.html.contains(TEXT) && page.url.as_str() == "http://name.invalid/page", "{page:?}");
    // a browser contacts its vendor several times in its first seconds
    std::thread::park_timeout(Duration::from_secs(4));
    // explicitly allowed networks are reached without the proxy
    assert_eq!(render(&renderer, &site.url("/page")).unwrap().status, 200);
    assert_eq!(
        (proxy.hits(), site.hits()),
        (vec!["http://name.invalid/page".to_owned()], vec!["/page".to_owned()])
    );
}

#[test]
#[ignore = "needs Chromium"]
fn browser_does_not_retry_failed_requests() {
    let (renderer, _profiles) = renderer(|settings| settings.tabs = 2);
    // idle for longer than the second after which Chromium would retry
    let slow = "setTimeout(() => setTimeout(() => app.textContent = 'came', 950), 950)";
    let server = Server::start("127.0.0.1", pages(&[("/slow", script(slow))]));
    let asked = || server.hits().iter().filter(|path| *path == "/cut").count();
    let (slow, cut) = (server.url("/slow"), server.url("/cut"));
    let lost = async {
        let lost = renderer.render(&cut).await;
        assert!(matches!(lost, Err(RenderError::Network(_))), "{lost:?}");
        asked()
    };
    let (shown, before) = block_on(async { futures::join!(renderer.render(&slow), lost) });
    assert!(shown.unwrap().html.contains("came"));
    assert!(before > 0);
    assert_eq!(asked(), before);
}
