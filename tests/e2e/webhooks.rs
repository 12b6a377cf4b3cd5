//! Webhooks: messages at the end of a run and on changes.

use crate::{
    database::Server as Database,
    run::{PATIENCE, Run, Sandbox, run},
    support::{made::Tree, server::Server},
};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    thread::{self, JoinHandle},
    time::Duration,
};

/// One message: its head and its body.
type Message = (Vec<String>, String);

/// A receiver of webhooks that answers each message with the next of these statuses, and ends after the last.
fn receiver(statuses: &'static [u16]) -> (String, JoinHandle<Vec<Message>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook/s3cret-path", listener.local_addr().unwrap());
    let take = move || {
        let mut messages = Vec::new();
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_owned());
            }
            let length = head.iter().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
            });
            let mut body = vec![0; length.unwrap()];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            messages.push((head, String::from_utf8(body).unwrap()));
        }
        messages
    };
    let thread = thread::Builder::new().name("receiver".into()).spawn(take).unwrap();
    (url, thread)
}

#[test]
fn webhooks_are_signed_and_tried_again() {
    let (server, sandbox) = (Server::start(0, Tree::of(3).handler()).unwrap(), Sandbox::new());
    let (url, received) = receiver(&[503, 204, 200]);
    sandbox.write("secret", "a-s3cret-of-more-than-16-bytes\n");
    sandbox.write("crawl.toml", format!("[notify]\nurl = \"{url}\"\nsecret_file = \"secret\"\n"));
    let flags = ["-o", "out.jsonl", "--config", "crawl.toml", "--log-level", "debug"];
    let done = run(&mut sandbox.crawl(&[server.url("/")], &flags)).expect(0);
    assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    let messages = received.join().unwrap();
    let header = |message: &Message, name: &str| {
        let begin = format!("{name}: ");
        message.0.iter().find_map(|line| line.strip_prefix(&begin).map(str::to_owned)).unwrap()
    };
    assert_eq!(
        header(&messages[0], "webhook-id"),
        header(&messages[1], "webhook-id"),
        "a retry has the same id"
    );
    assert_eq!(messages[0].1, messages[1].1);
    assert!(header(&messages[2], "webhook-signature").starts_with("v1,"));
    let ended: Value = serde_json::from_str(&messages[1].1).unwrap();
    assert_eq!((&ended["type"], &ended["data"]["exitCode"]), (&"run.ended".into(), &0.into()));
    assert_eq!(ended["data"]["totals"]["records"], sandbox.records("out.jsonl").len());
    let changes: Value = serde_json::from_str(&messages[2].1).unwrap();
    assert_eq!(changes["type"], "run.changes");
    assert_eq!(changes["data"]["new"].as_array().unwrap().len(), sandbox.records("out.jsonl").len());
}

#[test]
fn webhook_receiver_needs_https_and_a_secret() {
    let sandbox = Sandbox::new();
    for (settings, why) in [
        ("url = \"http://hooks.example/s3cret\"\nsecret_env = \"HOOK\"", "has to be https"),
        ("url = \"https://hooks.example/s3cret\"", "needs a secret"),
        ("url = \"https://hooks.example/s3cret\"\nsecret_env = \"NOT_SET\"", "is not set"),
        ("url = \"s3cret\"\nsecret_env = \"HOOK\"", "is no URL"),
    ] {
        sandbox.write("crawl.toml", format!("[notify]\n{settings}\n"));
        let mut crawl = sandbox.crawl(&["http://127.0.0.1:9/".into()], &["--config", "crawl.toml"]);
        let told = run(crawl.env("HOOK", "0123456789abcdef")).expect(2).stderr;
        assert!(told.contains(why) && !told.contains("s3cret"), "{settings}: {told}");
        assert!(!sandbox.path("state").exists(), "nothing was begun");
    }
}

/// The message of a run whose end is the given one.
fn only_end(received: JoinHandle<Vec<Message>>) -> Value {
    let ended: Value = serde_json::from_str(&received.join().unwrap()[0].1).unwrap();
    assert_eq!(ended["type"], "run.ended");
    ended["data"].clone()
}

#[test]
fn run_whose_project_cannot_be_opened_sends_its_end() {
    let sandbox = Sandbox::new();
    let (url, received) = receiver(&[204]);
    sandbox.write("secret", "a-s3cret-of-more-than-16-bytes\n");
    sandbox.write("crawl.toml", format!("[notify]\nurl = \"{url}\"\nsecret_file = \"secret\"\n"));
    let flags =
        ["-o", "out.jsonl", "--config", "crawl.toml", "--project", "p", "--database", "secret/p.sqlite"];
    let said = run(&mut sandbox.crawl(&["http://127.0.0.1:9/".into()], &flags)).expect(3).stderr;
    let end = only_end(received);
    assert_eq!((&end["exitCode"], &end["totals"]), (&3.into(), &Value::Null));
    assert!(said.contains(end["error"].as_str().unwrap()), "{end}: {said}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_whose_database_stays_away_sends_its_end() {
    let slow = Tree { delay: Duration::from_millis(100), ..Tree::of(60) };
    let (server, sandbox, mut database) =
        (Server::start(0, slow.handler()).unwrap(), Sandbox::new(), Database::start());
    let (url, received) = receiver(&[204]);
    sandbox.write("secret", "a-s3cret-of-more-than-16-bytes\n");
    sandbox.write("crawl.toml", format!("[notify]\nurl = \"{url}\"\nsecret_file = \"secret\"\n"));
    let store = database.text_url("crawl");
    let flags = ["-o", "out.jsonl", "--config", "crawl.toml", "--store", &store, "--crawl", "c"];
    let mut worker = sandbox.crawl(&[server.url("/")], &flags);
    let worker = Run::start(worker.env("CRAWL_FETCH_MAX_OUTAGE", "1s").env("CRAWL_NOTIFY_EVENTS", "end"));
    assert!(server.wait(PATIENCE, |requests| requests.len() > 5), "{}", worker.stderr_so_far());
    database.crash();
    let said = worker.wait().expect(3).stderr;
    let end = only_end(received);
    assert_eq!(end["exitCode"], 3);
    assert!(said.contains(end["error"].as_str().unwrap()), "{end}: {said}");
}
