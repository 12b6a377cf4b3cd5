//! Texts of invented pages.
#![allow(dead_code, reason = "each test uses a part of it")]

/// A number in letters, since digits are masked.
pub fn name(n: usize) -> String {
    n.to_string().bytes().map(|digit| char::from(digit - b'0' + b'q')).collect()
}

/// A paragraph that no other page has.
pub fn own(n: usize) -> String {
    let n = name(n);
    format!(
        "The keeper{n} wrote on the first leaf{n} and then told at length{n}, over many words{n}, how the old house{n} came to stand \
         where{n} nobody had expected it, what was paid{n} for it, and who carried{n} it home again."
    )
}
