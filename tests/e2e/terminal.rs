//! Progress and records on one terminal. The terminal is a real one; its screen is that of the crate vt100.

use crate::{
    run::{PATIENCE, Run, Sandbox, eventually},
    support::{made::Tree, server::Server},
};
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::Stdio,
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Duration,
};

const COLUMNS: u16 = 60;
/// More rows than a run has lines: none scrolls away.
const ROWS: u16 = 600;

/// Pieces of output that wait for the test.
const PIECES: usize = 1024;

/// Output of a run on a terminal.
struct Shown {
    screen: vt100::Parser,
    /// Bytes as the program wrote them.
    raw: String,
    code: i32,
}

fn nonzero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap()
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Reads a terminal to its end, piece by piece. A terminal without a program is an error of input.
fn pieces(mut terminal: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(PIECES);
    thread::Builder::new()
        .spawn(move || {
            let mut piece = vec![0; 4096];
            while let Ok(read) = terminal.read(&mut piece) {
                if read == 0 || sender.send(piece[..read].to_vec()).is_err() {
                    break;
                }
            }
        })
        .unwrap();
    receiver
}

/// A terminal: the end of the user, and that of the program.
fn open_terminal() -> (OwnedFd, OwnedFd) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    tcsetwinsize(&terminal, size(COLUMNS)).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (terminal, slave.into())
}

/// Crawls 40 pages on a terminal, slowly enough for redraws between the records. The terminal becomes `narrower` once a third of them is shown.
fn crawl(term: &str, narrower: Option<u16>) -> Shown {
    let server =
        Server::start(0, Tree { delay: Duration::from_millis(60), ..Tree::of(40) }.handler()).unwrap();
    let sandbox = Sandbox::new();
    let (terminal, slave) = open_terminal();
    let mut command = sandbox.crawl(&[server.url("/")], &["--fields", "url", "--no-dedup"]);
    command.env("TERM", term);
    command.stdin(Stdio::null()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = command.spawn().unwrap();
    // the parent holds no end of the terminal but its own
    drop(command);
    let received = pieces(File::from(terminal.try_clone().unwrap()));
    let (mut screen, mut raw, mut narrower) =
        (vt100::Parser::new(nonzero(ROWS), nonzero(COLUMNS), 0), Vec::new(), narrower);
    while let Ok(piece) = received.recv_timeout(PATIENCE) {
        screen.process(&piece);
        raw.extend_from_slice(&piece);
        if screen.screen().contents().matches("http").count() > 13
            && let Some(columns) = narrower.take()
        {
            tcsetwinsize(&terminal, size(columns)).unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap();
    Shown { screen, raw: String::from_utf8_lossy(&raw).into_owned(), code }
}

/// URLs of the records on the screen.
fn urls(shown: &Shown) -> usize {
    let contents = shown.screen.screen().contents();
    contents.lines().filter(|line| line.starts_with(r#"{"url":"http"#) && line.ends_with(r#""}"#)).count()
}

#[test]
fn progress_bar_erases_no_record_on_the_terminal() {
    for narrower in [None, Some(30)] {
        let shown = crawl("xterm", narrower);
        let contents = shown.screen.screen().contents();
        assert_eq!(shown.code, 0, "{contents}");
        assert!(shown.raw.matches("00:00:0").count() > 4, "the bar was drawn: {contents}");
        assert_eq!(urls(&shown), 40, "narrower: {narrower:?}\n{contents}");
        assert!(!contents.contains("00:00:0"), "a bar was left:\n{contents}");
    }
}

#[test]
fn dumb_terminal_gets_plain_lines() {
    let shown = crawl("dumb", None);
    let contents = shown.screen.screen().contents();
    assert_eq!((shown.code, urls(&shown)), (0, 40), "{contents}");
    assert!(!shown.raw.contains('\u{1b}'), "{:?}", shown.raw);
}

#[test]
fn command_that_waits_for_a_terminal_says_so() {
    let sandbox = Sandbox::new();
    let commands: [(&[&str], usize); 3] = [
        (&["extract", "--format", "text"], 1),
        (&["check", "url"], 1),
        (&["extract", "--format", "text", "-"], 0),
    ];
    for (words, notes) in commands {
        let (terminal, slave) = open_terminal();
        let mut command = sandbox.bare();
        let running = Run::start(command.args(words).stdin(slave));
        drop(command);
        if notes > 0 {
            eventually("the command says what it waits for", || running.stderr_so_far().contains("Ctrl-D"));
        }
        File::from(terminal.try_clone().unwrap()).write_all(b"https://a.example/words\n\x04").unwrap();
        let done = running.wait().expect(0);
        assert!(done.stdout.contains("a.example/words"), "{words:?}: {}", done.stdout);
        assert_eq!(done.stderr.matches("Ctrl-D").count(), notes, "{}", done.stderr);
    }
}
