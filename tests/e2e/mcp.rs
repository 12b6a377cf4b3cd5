//! Tools for agents, from a client's view on standard input and output.

use crate::{
    mcp_client::Client,
    run::{Sandbox, eventually},
    scripted::{SHELL, common},
    support::{
        made::page,
        server::{Request, Response, Server},
    },
};
use crawl_dedup::FingerprintSettings;
use crawl_model::ProjectStore;
use crawl_store::SqliteProjects;
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs::DirEntry,
    path::Path,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

const QUICK: [(&str, &str); 3] = [
    ("CRAWL_FETCH_ALLOW_ADDRESSES", "127.0.0.0/8"),
    ("CRAWL_POLITENESS_DELAY", "0s"),
    ("CRAWL_FETCH_BACKOFF", "20ms"),
];

fn site(request: &Request) -> Response {
    match request.path() {
        "/robots.txt" => Response::new(200, "text/plain", "User-agent: *\nDisallow: /secret\n"),
        "/old" => Response::redirect(301, "/sheet"),
        "/sheet" | "/secret" => Response::html(page("the sheet", &["/next".into()])),
        "/slow" => Response::html(page("slow", &[])).after(Duration::from_millis(300)),
        "/stuck" => Response::html(page("stuck", &[])).after(Duration::from_secs(60)),
        _ => Response::status(404),
    }
}

fn store(sandbox: &Sandbox) -> SqliteProjects {
    SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap()
}

fn refused(client: &mut Client, tool: &str, arguments: &Value, words: &[&str]) {
    let said = client.call(tool, arguments).err().unwrap_or_else(|| panic!("{tool} takes {arguments}"));
    assert!(words.iter().all(|word| said.contains(word)), "{tool} {arguments}: {words:?} not in {said:?}");
}

#[test]
fn tool_schemas_state_the_ranges() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox, &[]);
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let mut names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "analyze_boilerplate",
            "boilerplate_stats",
            "crawl_url",
            "extract_page",
            "get_source",
            "list_projects"
        ]
    );
    for tool in tools {
        assert!(tool["description"].as_str().unwrap().len() > 40, "{tool}");
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
            (&json!("object"), &json!("object"))
        );
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        for (name, field) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "{} does not explain {name}", tool["name"]);
        }
    }
    let analyze = tools.iter().find(|t| t["name"] == "analyze_boilerplate").unwrap();
    for range in [
        FingerprintSettings::THRESHOLD_PCT,
        FingerprintSettings::MIN_PAGES,
        FingerprintSettings::MIN_BLOCK_CHARS,
    ] {
        let field = &analyze["inputSchema"]["properties"][range.name];
        let bound = |key: &str| field[key].as_f64().unwrap();
        assert_eq!((bound("minimum"), bound("maximum")), (range.least, range.most), "{}", range.name);
    }
    assert_eq!(analyze["inputSchema"]["required"], json!(["project_id"]));
    client.close();
}

#[test]
fn mcp_tools_fetch_store_analyse_and_read_a_page() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let id = store(&sandbox).create_project("sheets", 1).unwrap().unwrap().id;
    let mut client = Client::start(&sandbox, &QUICK);
    let listed = client.call("list_projects", &json!({})).unwrap();
    assert_eq!((&listed["projects"][0]["name"], &listed["next"]), (&json!("sheets"), &Value::Null));
    let asked = json!({"url": server.url("/old"), "project_id": "sheets", "source_group": "agent"});
    let told = client.call("crawl_url", &asked).unwrap();
    assert_eq!(told["url"], server.url("/sheet"), "a redirect is followed");
    assert!(told["text"].as_str().unwrap().contains("first paragraph of its own"), "{told}");
    assert_eq!((&told["metadata"]["statusCode"], &told["next_offset"]), (&json!(200), &Value::Null));
    let asked = json!({"project_id": id.to_string(), "source": told["id"], "max_chars": 20});
    let part = client.call("get_source", &asked).unwrap();
    assert_eq!((part["text"].as_str().unwrap().chars().count(), &part["next_offset"]), (20, &json!(20)));
    assert_eq!(part["total_chars"], told["total_chars"]);
    let by_url = json!({"project_id": "sheets", "source": server.url("/sheet#part"), "offset": 20});
    let rest = client.call("get_source", &by_url).unwrap();
    let whole = format!("{}{}", part["text"].as_str().unwrap(), rest["text"].as_str().unwrap());
    assert_eq!(told["text"], whole);
    let done = client.call("analyze_boilerplate", &json!({"project_id": "sheets"})).unwrap();
    assert_eq!(
        (&done["domains_analyzed"], &done["total_pages_cleaned"]),
        (&json!(1), &json!(0)),
        "too few pages"
    );
    let stats = client.call("boilerplate_stats", &json!({"project_id": "sheets"})).unwrap();
    assert_eq!(
        (&stats["domains"][0]["pages_analyzed"], &stats["project_id"]),
        (&json!(1), &json!(id.to_string()))
    );
    assert_eq!(store(&sandbox).project(id).unwrap().unwrap().sources, 1);
    client.close();
}

#[test]
fn mcp_fetch_obeys_robots_txt_and_address_policy() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    // robots.txt is obeyed under any configuration of crawls
    let ignoring = [QUICK[0], QUICK[1], QUICK[2], ("CRAWL_CRAWL_OBEY_ROBOTS", "false")];
    let mut client = Client::start(&sandbox, &ignoring);
    let url = |path: &str| json!({"url": server.url(path)});
    refused(&mut client, "crawl_url", &url("/secret"), &["robots"]);
    refused(&mut client, "crawl_url", &url("/missing"), &["404"]);
    assert!(!server.targets().contains(&"/secret".to_owned()));
    for (address, word) in
        [("ftp://a.example/", "http"), ("/sheet", "url"), ("http://10.0.0.1/", "not a public address")]
    {
        refused(&mut client, "crawl_url", &json!({ "url": address }), &[word]);
    }
    refused(
        &mut client,
        "crawl_url",
        &json!({"url": server.url("/sheet"), "project_id": "nobody"}),
        &["no project"],
    );
    refused(
        &mut client,
        "crawl_url",
        &json!({"url": server.url("/sheet"), "source_group": "g"}),
        &["project_id"],
    );
    let text = client.call("crawl_url", &url("/sheet")).unwrap();
    assert!(text["total_chars"].as_u64() > Some(100));
    client.close();
    // loopback is not public either, unless the configuration allows it
    let mut client = Client::start(&sandbox, &[]);
    // the server has no flag for it
    refused(&mut client, "crawl_url", &url("/sheet"), &["not a public address", "fetch.allow_addresses"]);
}

#[test]
fn mcp_fetches_of_one_host_keep_its_delay() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let mut client = Client::start(&sandbox, &[QUICK[0], ("CRAWL_POLITENESS_DELAY", "400ms")]);
    for _ in 0..2 {
        client.call("crawl_url", &json!({"url": server.url("/sheet")})).unwrap();
    }
    let asked = server.requests();
    assert_eq!(asked.iter().filter(|r| r.target == "/robots.txt").count(), 1, "it is remembered");
    let gaps: Vec<Duration> = asked.windows(2).map(|two| two[1].at.duration_since(two[0].at)).collect();
    assert!(gaps.iter().all(|gap| *gap >= Duration::from_millis(390)), "{gaps:?}");
}

/// The next part of a long page comes from memory. Empty metadata is no part of an answer.
#[test]
fn parts_of_a_fetched_page_need_one_fetch() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let mut client = Client::start(&sandbox, &QUICK);
    let url = server.url("/sheet");
    let whole = client.call("crawl_url", &json!({ "url": url })).unwrap();
    assert!(whole["metadata"].as_object().unwrap().values().all(|v| !v.is_null() && *v != json!([])));
    let fetches = || server.targets().iter().filter(|target| *target == "/sheet").count();
    let (before, mut text, mut offset) = (fetches(), String::new(), json!(0));
    while !offset.is_null() {
        let asked = json!({"url": url, "max_chars": 100, "offset": offset});
        let part = client.call("crawl_url", &asked).unwrap();
        text += part["text"].as_str().unwrap();
        offset = part["next_offset"].clone();
    }
    assert_eq!(whole["text"], text);
    assert_eq!(fetches(), before + 1);
    client.close();
}

/// The memory answers for the same call only: never past a project, and never with a page as it was before.
#[test]
fn parts_from_memory_are_of_the_same_call() {
    let visits = AtomicUsize::new(0);
    let (server, sandbox) = (
        Server::start(0, move |request: &Request| match request.path() {
            "/page" if visits.fetch_add(1, Ordering::SeqCst) == 0 => {
                Response::html(page("the old sheet", &[]))
            }
            "/page" => Response::html("<title>New</title><main><h1>New</h1><p>A few new words.</p></main>"),
            _ => Response::status(404),
        })
        .unwrap(),
        Sandbox::new(),
    );
    let mut client = Client::start(&sandbox, &QUICK);
    let url = server.url("/page");
    let first = client.call("crawl_url", &json!({ "url": url, "max_chars": 50 })).unwrap();
    assert_eq!(first["next_offset"], 50);
    let unknown = json!({ "url": url, "offset": 50, "project_id": "nowhere" });
    assert!(client.call("crawl_url", &unknown).is_err());
    let group = json!({ "url": url, "offset": 50, "source_group": "g" });
    assert!(client.call("crawl_url", &group).unwrap_err().contains("needs a project_id"));
    let fresh = client.call("crawl_url", &json!({ "url": url })).unwrap();
    assert!(fresh["text"].as_str().unwrap().contains("A few new words"), "{fresh}");
    let rest = client.call("crawl_url", &json!({ "url": url, "offset": 5 })).unwrap();
    assert_eq!(rest["total_chars"], fresh["total_chars"]);
    client.close();
}

/// A cancelled call frees its place for the next page. Neither it nor the end of the input waits for the host.
#[test]
fn a_cancelled_fetch_makes_room_for_the_next() {
    let (server, sandbox) = (Server::start(0, site).unwrap(), Sandbox::new());
    let other = Server::start(0, site).unwrap();
    let mut client = Client::start(&sandbox, &QUICK);
    let stuck = json!({"name": "crawl_url", "arguments": {"url": server.url("/stuck")}});
    client.send(&json!({"jsonrpc": "2.0", "id": "stuck", "method": "tools/call", "params": stuck}));
    eventually("the page is requested", || server.targets().contains(&"/stuck".to_owned()));
    let cancel = json!({"requestId": "stuck"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}));
    // the page of `/stuck` comes after 60 s
    let start = std::time::Instant::now();
    client.call("crawl_url", &json!({"url": other.url("/sheet")})).unwrap();
    client.close();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn invalid_tool_arguments_are_named() {
    let sandbox = Sandbox::new();
    store(&sandbox).create_project("p", 1).unwrap();
    let mut client = Client::start(&sandbox, &[]);
    refused(&mut client, "analyze_boilerplate", &json!({}), &["project_id"]);
    refused(
        &mut client,
        "analyze_boilerplate",
        &json!({"project_id": "p", "min_pages": "x"}),
        &["min_pages", "string"],
    );
    refused(&mut client, "boilerplate_stats", &json!({"project_id": "nobody"}), &["no project \"nobody\""]);
    refused(
        &mut client,
        "get_source",
        &json!({"project_id": "p", "source": "https://a.example/"}),
        &["no source"],
    );
    refused(
        &mut client,
        "get_source",
        &json!({"project_id": "p", "source": "x", "max_chars": 0}),
        &["max_chars"],
    );
    refused(&mut client, "extract_page", &json!({"html": "<p>x", "colour": "red"}), &["colour"]);
    refused(&mut client, "extract_page", &json!({"html": "<p>x", "url": "nowhere"}), &["url"]);
    refused(&mut client, "list_projects", &json!({"after": -1}), &["after"]);
    refused(&mut client, "no_such_tool", &json!({}), &["not found"]);
    // and it continues
    let html = format!(
        "<html lang=en><title>T</title><main><h1>T</h1><p>{}</p></main>",
        "Words of a page. ".repeat(30)
    );
    let told = client.call("extract_page", &json!({"html": html, "format": "text"})).unwrap();
    assert!(told["text"].as_str().unwrap().contains("Words of a page."));
    let other = client.call("extract_page", &json!({"html": "<p>Words of another page."})).unwrap();
    assert_ne!(told["id"], other["id"], "pages without a URL have ids of their own");
    client.close();
}

/// Command lines of browser processes with profiles in a folder.
fn processes(folder: &Path) -> Vec<String> {
    let mark = format!("CRAWL_CHROME_PROFILE={}", folder.display()).into_bytes();
    let text = |entry: &DirEntry, file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = entries.filter(|entry| text(entry, "environ").windows(mark.len()).any(|part| part == mark));
    marked.map(|entry| String::from_utf8_lossy(&text(&entry, "cmdline")).into_owned()).collect()
}

/// Profiles and other files in a folder.
fn files(folder: &Path) -> Vec<OsString> {
    std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect()
}

/// A browser that renders a page ends with it: no process and no profile stays.
#[test]
#[ignore = "needs Chromium"]
fn browser_of_an_mcp_fetch_leaves_no_process_or_profile() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let folder = temporary.clone();
    let (counts, counted) = mpsc::sync_channel(10);
    let shell = move |request: &Request| match request.path() {
        path if path.starts_with("/app/") => Response::html(SHELL),
        path if path.starts_with("/api/") => {
            // the programs that start a browser have its arguments, too
            let browsers = processes(&folder).into_iter().filter(|line| {
                let program = line.split('\0').next().unwrap_or_default();
                line.contains("--remote-debugging-pipe") && !program.ends_with("bwrap")
            });
            counts.send((browsers.count(), files(&folder).len())).unwrap();
            common(request)
        }
        _ => common(request),
    };
    let server = Server::start(0, shell).unwrap();
    let own = [
        ("TMPDIR", temporary.to_str().unwrap()),
        ("CRAWL_CHROME_SANDBOX", "false"),
        ("CRAWL_CHROME_SETTLE", "30s"),
    ];
    let mut client = Client::start(&sandbox, &[&QUICK[..], &own[..]].concat());
    for n in 1..=5 {
        let told = client.call("crawl_url", &json!({"url": server.url(&format!("/app/{n}"))})).unwrap();
        assert!(told["text"].as_str().unwrap().contains("Entry 7 of"), "{told}");
        assert_eq!(counted.recv_timeout(Duration::from_secs(1)), Ok((1, 1)), "page {n}");
        assert_eq!(files(&temporary), Vec::<OsString>::new(), "after page {n}");
        eventually("the browser is gone", || processes(&temporary).is_empty());
    }
    client.close();
    assert_eq!(files(&temporary), Vec::<OsString>::new());
}
