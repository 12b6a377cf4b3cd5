//! Names of notes and outputs that belong to one worker: two workers may write files of the same path on different
//! machines. All other notes belong to the crawl.

use std::borrow::Cow;

/// Beginnings of the names of a worker's notes: about its outputs, its error log, its archive and its hosts.
const OWN: &[&str] = &[
    "open:",
    "round:",
    "stale:",
    "file:",
    "part:",
    "damage",
    "archive",
    "retry_after",
    "joined",
    "error_log:",
];

/// The stored name of a note.
pub(super) fn note(worker: i32, name: &str) -> Cow<'_, str> {
    if OWN.iter().any(|own| name.starts_with(own)) {
        return Cow::Owned(format!("{}{name}", prefix(worker)));
    }
    Cow::Borrowed(name)
}

/// The stored name of an output.
pub(super) fn output(worker: i32, name: &str) -> String {
    format!("{}{name}", prefix(worker))
}

/// The name of a note or an output without its worker.
pub(super) fn plain(worker: i32, stored: &str) -> Option<&str> {
    stored.strip_prefix(&prefix(worker))
}

fn prefix(worker: i32) -> String {
    format!("worker {worker} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_marks_are_prefixed_by_their_worker() {
        assert_eq!(note(7, "open:/out.jsonl"), "worker 7 open:/out.jsonl");
        assert_eq!(note(7, "ended"), "ended");
        assert_eq!(plain(7, &output(7, "/out.jsonl")), Some("/out.jsonl"));
        assert_eq!(plain(1, &output(17, "/out.jsonl")), None);
    }
}
