//! A minimal MCP client: one JSON object per line to standard input, and one back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails the test that uses it")]
#![allow(dead_code, reason = "every test file uses a part of the module")]

use super::run::Sandbox;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

pub struct Client {
    child: Child,
    answers: BufReader<ChildStdout>,
    calls: u64,
}

impl Client {
    /// Starts `crawl mcp` over the database `p.sqlite` of a sandbox and sends the handshake.
    pub fn start(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Self {
        let mut command: Command = sandbox.bare();
        command.args(["mcp", "--database", "p.sqlite"]).envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, answers, calls: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = client.request("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "crawl", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub fn send(&mut self, message: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Answer to a request; every line on standard output must be a message.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the server has gone");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Result of a tool, or its error message.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        if let Some(error) = answer.get("error") {
            return Err(error["message"].as_str().unwrap().to_owned());
        }
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == true {
            return Err(text);
        }
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), result["structuredContent"]);
        Ok(result["structuredContent"].clone())
    }

    /// Closes standard input; the server must exit with 0.
    pub fn close(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
