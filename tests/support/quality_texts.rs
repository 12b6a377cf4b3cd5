//! Texts of tests of quality: a good one, and one for each cause of a failure.

use super::run::Sandbox;
use serde_json::{Value, json};

pub const GOOD: &str = "The harbour master keeps a lantern at the end of the pier, so that boats which come in late find their way past \
    the rocks. Every morning the fishermen bring crates of mackerel, herring and crab. Children wait for what falls from them. \
    In winter nobody comes before nine. On market days the square is full by seven, and the baker sells out before eight.";

pub fn good(n: usize) -> Value {
    json!({"id": format!("good-{n}"), "url": format!("https://a.test/{n}"), "text": GOOD, "extra": {"kept": [1.50, null]}})
}

pub fn document(id: &str, text: &str) -> Value {
    json!({"id": id, "url": format!("https://b.test/{id}"), "text": text, "metadata": {"title": id, "language": "en"}})
}

/// The same five words, forty times.
pub fn spam() -> String {
    "buy cheap stain remover now ".repeat(40)
}

/// One word between ever different others.
pub fn terms() -> String {
    let others = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec \
        romeo sierra tango uniform victor whiskey xray yankee zulu red green blue yellow black white";
    others.split_whitespace().map(|word| format!("stain {word} ")).collect()
}

/// A text within the frame of a page.
pub fn framed() -> String {
    format!("{GOOD}\n{}", "Subscribe to our newsletter\nFollow us\nShare this\n".repeat(60))
}

/// One text of each kind: a good one, one that fails for each cause, and a short one.
pub fn mixed(sandbox: &Sandbox) {
    let all = [
        good(1),
        document("spam", &spam()),
        document("terms", &terms()),
        document("framed", &framed()),
        document("short", "Nothing here. Nothing at all."),
    ];
    sandbox.write("in.jsonl", all.map(|one| format!("{one}\n")).concat());
}
