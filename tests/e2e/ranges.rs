//! Ranges of the boilerplate spec, checked for every interface: configuration, environment, flags, REST, MCP.
//! They are defined in [`FingerprintSettings`], which this test uses too.

use crate::{
    mcp_client::Client,
    run::{self, Run, Sandbox, eventually, run},
};
use crawl_dedup::{FingerprintSettings, SettingRange};
use crawl_model::ProjectStore;
use crawl_store::SqliteProjects;
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

const TOKEN: &str = "a-token-for-one-test";

/// Interface that takes a value; returns its message if it refuses the value.
type Door<'a> = Box<dyn FnMut(&SettingRange, f64) -> Result<(), String> + 'a>;

/// Result of a run of the binary as a result of an interface.
fn taken(done: &run::Done) -> Result<(), String> {
    match done.code() {
        0 => Ok(()),
        2 => Err(done.stderr.clone()),
        code => panic!("{code}: {}", done.stderr),
    }
}

fn configuration<'a>(sandbox: &'a Sandbox, id: &'a str) -> Door<'a> {
    Box::new(move |range, value| {
        sandbox.write("crawl.toml", format!("[dedup]\n{} = {value}\n", range.name));
        taken(&run(sandbox.bare().args([
            "projects",
            "--config",
            "crawl.toml",
            "--database",
            "p.sqlite",
            "show",
            id,
        ])))
    })
}

fn environment(sandbox: &Sandbox) -> Door<'_> {
    Box::new(move |range, value| {
        let name = format!("CRAWL_DEDUP_{}", range.name.to_uppercase());
        taken(&run(sandbox.bare().args(["dedup", "in.jsonl"]).env(name, value.to_string())))
    })
}

fn flag<'a>(sandbox: &'a Sandbox, job: &'a [&'a str]) -> Door<'a> {
    Box::new(move |range, value| {
        let flag = format!("--{}={value}", range.name.replace('_', "-"));
        taken(&run(sandbox.bare().args(job).arg(flag)))
    })
}

fn rest<'a>(address: &'a str, id: &'a str) -> Door<'a> {
    Box::new(move |range, value| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!(
            "POST /api/v1/projects/{id}/analyze-boilerplate?{}={value} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             authorization: Bearer {TOKEN}\r\ncontent-length: 0\r\n\r\n",
            range.name
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        match head.split(' ').nth(1).unwrap() {
            "200" => Ok(()),
            "422" => {
                assert_eq!(body["errors"][0]["field"], range.name);
                Err(body["detail"].as_str().unwrap().to_owned())
            }
            _ => panic!("{answer}"),
        }
    })
}

fn agent<'a>(client: &'a mut Client, id: &'a str) -> Door<'a> {
    Box::new(move |range, value| {
        let whole = range.name != "threshold_pct";
        let number = if whole { json!(value as i64) } else { json!(value) };
        client.call("analyze_boilerplate", &json!({"project_id": id, range.name: number})).map(drop)
    })
}

#[test]
fn every_interface_has_the_same_ranges() {
    let sandbox = Sandbox::new();
    sandbox.write("in.jsonl", "{\"url\":\"https://a.example/\",\"content\":\"text\"}\n");
    let store = SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap();
    let id = store.create_project("p", 1).unwrap().unwrap().id.to_string();
    let mut serving = sandbox.bare();
    serving
        .args(["serve", "--listen", "127.0.0.1:0", "--database", "p.sqlite"])
        .env("CRAWL_SERVE_TOKEN", TOKEN);
    let mut server = Run::start(&mut serving);
    eventually("the server listens", || server.is_on() && server.stderr_so_far().contains("listening"));
    let address = server.stderr_so_far().split(['/', ',']).nth(2).unwrap().to_owned();
    let mut client = Client::start(&sandbox, &[]);
    let analyze = ["projects", "--database", "p.sqlite", "analyze", &id];
    let mut doors: Vec<(&str, Door<'_>)> = vec![
        ("configuration", configuration(&sandbox, &id)),
        ("environment", environment(&sandbox)),
        ("crawl dedup", flag(&sandbox, &["dedup", "in.jsonl"])),
        ("crawl projects analyze", flag(&sandbox, &analyze)),
        ("REST", rest(&address, &id)),
        ("MCP", agent(&mut client, &id)),
    ];
    for range in [
        FingerprintSettings::THRESHOLD_PCT,
        FingerprintSettings::MIN_PAGES,
        FingerprintSettings::MIN_BLOCK_CHARS,
    ] {
        let step = if range.name == "threshold_pct" { 0.01 } else { 1.0 };
        for (name, door) in &mut doors {
            for inside in [range.least, range.most] {
                door(&range, inside)
                    .unwrap_or_else(|e| panic!("{name} refuses {} = {inside}: {e}", range.name));
            }
            for outside in [range.least - step, range.most + step, -1.0] {
                let said = door(&range, outside)
                    .expect_err(&format!("{name} takes {} = {outside}", range.name))
                    .replace('-', "_");
                assert!(said.contains(range.name), "{name} does not name {}: {said}", range.name);
            }
        }
    }
}
