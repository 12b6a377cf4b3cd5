//! Runs the examples of `docs/rules.md`: writes its files, runs its commands, and compares their output.

use std::{fs, path::Path, process::Command};

/// Fenced blocks: the text after the fence, and the lines.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match (open, line.strip_prefix("```")) {
            (false, Some(info)) => {
                out.push((info.to_owned(), String::new()));
                open = true;
            }
            (true, Some(_)) => open = false,
            (true, None) => {
                let (_, body) = out.last_mut().unwrap();
                body.push_str(line);
                body.push('\n');
            }
            (false, None) => {}
        }
    }
    out
}

/// Runs `crawl …` in a directory; returns standard error, then standard output.
fn run(command: &str, dir: &Path) -> String {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("crawl"), "{command}");
    let output = Command::new(env!("CARGO_BIN_EXE_crawl")).args(words).current_dir(dir).output().unwrap();
    String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
}

/// Returns true if the lines are equal; a line `…` of the document matches any number of lines.
fn is_like(says: &str, said: &str) -> bool {
    let said: Vec<&str> = said.trim_end().lines().collect();
    let parts: Vec<&[&str]> = said.split(|line| *line == "…").collect();
    let says: Vec<&str> = says.trim_end().lines().collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return says == first;
    }
    if !says.starts_with(first) || !says.ends_with(last) || says.len() < first.len() + last.len() {
        return false;
    }
    let mut rest = &says[first.len()..says.len() - last.len()];
    parts[1..parts.len() - 1].iter().all(|part| {
        let at = rest.windows(part.len()).position(|window| window == *part);
        at.inspect(|at| rest = &rest[at + part.len()..]).is_some()
    })
}

#[test]
fn rule_examples_give_their_documented_output() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let text = fs::read_to_string(path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (mut files, mut commands, mut wrong) = (0, 0, Vec::new());
    for (info, body) in blocks(&text) {
        match info.split_once(' ') {
            Some((_, name)) => {
                let file = dir.path().join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, body).unwrap();
                files += 1;
            }
            None if info == "console" => {
                for example in body.split("$ ").filter(|part| !part.is_empty()) {
                    let (command, said) = example.split_once('\n').unwrap();
                    commands += 1;
                    let says = run(command, dir.path());
                    if !is_like(&says, said) {
                        wrong.push(format!("$ {command}\n{says}"));
                    }
                }
            }
            None => {}
        }
    }
    assert!(files >= 7 && commands >= 6, "{files} files, {commands} commands");
    assert!(wrong.is_empty(), "these commands say something else:\n{}", wrong.join("\n"));
}
