//! Comparison of phase A with Python: the spec assumes Python, so its `re`, `str.strip` and `str.lower`
//! decide. Needs `python3` (standard library only); without it the test prints a message and passes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use crawl_dedup::{
    FingerprintSettings,
    fingerprint::{
        compute_domain_fingerprint, hash_block, hash_digits, split_into_blocks, strip_boilerplate,
    },
};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Reads {"pages","min_block_chars","min_pages","threshold_pct"} per line, and writes the spec's result.
const REFERENCE: &str = r"
import hashlib, json, re, sys
def norm(block): return re.sub(r'\s+', ' ', block).strip().lower()
def digits(block): return hashlib.sha256(norm(block).encode()).hexdigest()[:16]
def blocks(text, least):
    return [b.strip() for b in re.split(r'\n\s*\n', text) if len(b.strip()) >= least]
def cut(text, hashes, least):
    left, removed = [], 0
    for part in re.split(r'(\n\s*\n)', text):
        if len(part.strip()) >= least and digits(part) in hashes:
            removed += len(part.encode())
        else:
            left.append(part)
    return [re.sub(r'\n{3,}', '\n\n', ''.join(left)), removed]
for line in sys.stdin:
    q = json.loads(line)
    pages, least = q['pages'], q['min_block_chars']
    counts = {}
    for page in pages:
        for h in {digits(b) for b in blocks(page, least)}:
            counts[h] = counts.get(h, 0) + 1
    threshold = max(q['min_pages'], int(len(pages) * q['threshold_pct']))
    found = sorted(h for h, n in counts.items() if n >= threshold) if len(pages) >= q['min_pages'] else []
    print(json.dumps({
        'blocks': [blocks(page, least) for page in pages],
        'hashes': [[digits(b) for b in blocks(page, least)] for page in pages],
        'fingerprint': found,
        'stripped': [cut(page, set(found), least) for page in pages],
    }))
";

fn ours(pages: &[String], settings: &FingerprintSettings) -> Value {
    let least = settings.min_block_chars();
    let fingerprint = compute_domain_fingerprint(pages, settings).boilerplate_hashes;
    let hashes = fingerprint.iter().map(|h| u64::from_str_radix(h, 16).unwrap()).collect();
    let blocks: Vec<_> = pages.iter().map(|page| split_into_blocks(page, least)).collect();
    let digits =
        |blocks: &Vec<&str>| blocks.iter().map(|block| hash_digits(hash_block(block))).collect::<Vec<_>>();
    json!({
        "hashes": blocks.iter().map(digits).collect::<Vec<_>>(),
        "blocks": blocks,
        "fingerprint": fingerprint,
        "stripped": pages.iter().map(|page| strip_boilerplate(page, &hashes, least)).collect::<Vec<_>>(),
    })
}

/// xorshift64 (Marsaglia 2003), seeded.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn text(&mut self, alphabet: &[&str], pieces: usize) -> String {
        (0..self.below(pieces)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

/// Characters that could distinguish the two languages: all whitespace, and letters whose lower case is
/// longer, depends on its neighbours or is the same letter.
const ALPHABET: &[&str] = &[
    "\n",
    "\n",
    "\n\n",
    " ",
    "\t",
    "\r",
    "\r\n",
    "\u{b}",
    "\u{c}",
    "\u{1c}",
    "\u{1f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "word",
    "Another Word",
    "ΣΑΣ",
    "Σ",
    "İ",
    "ẞ",
    "Ǆ",
    "ß",
    "Ω",
    "é",
    "e\u{301}",
    ".",
    "'",
    "\u{10400}",
    "ﬀ",
    "𝔸",
    "中文字",
];

fn questions() -> Vec<(Vec<String>, FingerprintSettings)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut questions: Vec<_> = (0..300)
        .map(|_| {
            let pool: Vec<_> = (0..4).map(|_| format!("Shared{}", random.text(ALPHABET, 20))).collect();
            let parts: Vec<&str> = pool.iter().map(String::as_str).chain(["\n\n", "\n \n", "\n"]).collect();
            let pages = (0..random.below(9)).map(|_| random.text(&parts, 24)).collect();
            let pct = [0.1, 0.3, 0.5, 0.57, 0.7, 1.0][random.below(6)];
            (pages, FingerprintSettings::new(pct, 2 + random.below(4), 10).unwrap())
        })
        .collect();
    // every 16th character of the first plane, without blocks that still get case pairs, in which Unicode
    // versions differ
    let settled = |c: &char| !matches!(c, '\u{1c80}'..='\u{1c8f}' | '\u{a7c0}'..='\u{a7ff}');
    let all: Vec<char> = ('\0'..='\u{ffff}').filter(settled).collect();
    let sixteen = |chunk: &[char]| format!("sixteen letters {}", chunk.iter().collect::<String>());
    let pages = all.chunks(16).map(sixteen).collect();
    questions.push((pages, FingerprintSettings::new(0.7, 5, 10).unwrap()));
    questions
}

#[test]
#[ignore = "needs Python"]
fn fingerprints_equal_the_python_reference() {
    let python =
        Command::new("python3").args(["-c", REFERENCE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut python) = python else {
        panic!("there is no python3 to compare with");
    };
    let questions = questions();
    let mut stdin = python.stdin.take().unwrap();
    let lines: Vec<String> = questions
        .iter()
        .map(|(pages, s)| {
            let (pct, pages_needed, chars) = (s.threshold_pct(), s.min_pages(), s.min_block_chars());
            json!({"pages": pages, "threshold_pct": pct, "min_pages": pages_needed, "min_block_chars": chars})
                .to_string()
        })
        .collect();
    let asking = std::thread::Builder::new().spawn(move || {
        for line in lines {
            writeln!(stdin, "{line}").unwrap();
        }
    });
    let output = python.wait_with_output().unwrap();
    asking.unwrap().join().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), questions.len());
    let mut boilerplate = 0;
    for (answer, (pages, settings)) in answers.lines().zip(&questions) {
        let theirs: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(ours(pages, settings), theirs, "{pages:?}");
        boilerplate += theirs["fingerprint"].as_array().unwrap().len();
    }
    assert!(boilerplate > 50, "the questions have something to find: {boilerplate}");
}
