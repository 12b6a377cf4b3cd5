//! Numbers with their nouns.

/// A number with its noun, as `1 page` and `2 pages`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "page")), ["0 pages", "1 page", "2 pages"]);
    }
}
