//! Messages to `crawl mcp`: the first byte selects a tool with the rest as its arguments, or the rest as
//! lines of messages.
#![no_main]

use crawl_engine::{config, project_access};
use crawl_server::mcp::Tools;
use crawl_store::MemoryProjects;
use libfuzzer_sys::fuzz_target;
use rmcp::ServiceExt;
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::{Builder, Runtime},
};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// Tools without network use.
const TOOLS: [&str; 5] =
    ["list_projects", "boilerplate_stats", "analyze_boilerplate", "get_source", "extract_page"];

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

static SERVER: LazyLock<Tools> = LazyLock::new(|| {
    // no request leaves: no proxy listens at this port, so robots.txt is unreachable
    let settings = "[fetch]\nproxy = \"http://127.0.0.1:1\"\nretries = 0\nstrategy = \"static\"\n";
    let file = std::env::temp_dir().join(format!("settings-{}.toml", std::process::id()));
    std::fs::write(&file, settings).expect("the folder for temporary files can be written");
    let config = config::load(Some(&file), std::iter::empty(), Vec::new()).expect("the settings are right");
    let store = Arc::new(MemoryProjects::new());
    let projects = project_access::projects(store, &config).expect("the rules are right");
    projects.create("fuzz").expect("a project in memory");
    Tools::new(projects, config).expect("the rules are right")
});

/// Answers to lines, each of them a message.
async fn talk(lines: &[u8]) -> Vec<Value> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let (mut answers, mut messages) = tokio::io::split(ours);
    let serving = async {
        if let Ok(service) = SERVER.clone().serve((read, write)).await {
            let _ = service.waiting().await;
        }
    };
    let sending = async {
        // the server may end before it has read all messages
        let _ = messages.write_all(HELLO.as_bytes()).await;
        let _ = messages.write_all(lines).await;
        let _ = messages.shutdown().await;
    };
    let reading = async {
        let mut text = Vec::new();
        answers.read_to_end(&mut text).await.expect("memory can be read");
        text
    };
    let (_, _, text) = tokio::join!(serving, sending, reading);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("an answer is a line of JSON")).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let mut lines = Vec::new();
    let tool = TOOLS.get(usize::from(*choice) % (TOOLS.len() + 1));
    if let Some(tool) = tool {
        lines.extend_from_slice(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":""#);
        lines.extend_from_slice(tool.as_bytes());
        lines.extend_from_slice(br#"","arguments":"#);
        lines.extend(rest.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
        lines.extend_from_slice(b"}}\n");
    } else {
        lines.extend_from_slice(rest);
        lines.push(b'\n');
    }
    // pages of the web are outside of this target
    if rest.windows(5).any(|word| word == b"crawl") || rest.contains(&b'\\') && tool.is_none() {
        return;
    }
    let answers = RUNTIME.block_on(talk(&lines));
    for answer in &answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert!(!answer.to_string().contains("internal error"), "{answer}");
    }
    if tool.is_some() && serde_json::from_slice::<Value>(rest).is_ok_and(|arguments| arguments.is_object()) {
        assert!(answers.iter().any(|answer| answer["id"] == 1), "no answer: {answers:?}");
    }
});
