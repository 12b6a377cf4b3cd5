//! Conversion of the times of documents to RFC 3339 in UTC.

use jiff::{Timestamp, civil::DateTime, fmt::rfc2822, tz::TimeZone};

/// Converts a time to RFC 3339 in UTC, to the second (`2025-01-02T03:04:05Z`). Accepts RFC 3339 with any
/// offset, the same with a space or without a zone (then UTC), and dates. Accepts HTTP and e-mail dates, the
/// fourteen digits of a web archive, and numbers of seconds, milli-, micro- or nanoseconds since 1970. Any
/// other text is returned unchanged.
pub(crate) fn normalized(written: &str) -> String {
    match instant(written.trim()) {
        Some(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        None => written.to_owned(),
    }
}

fn instant(written: &str) -> Option<Timestamp> {
    if !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit()) {
        return of_digits(written);
    }
    if let Ok(time) = written.parse() {
        return Some(time);
    }
    // Parquet's readers, and Python, put a space before the zone
    let (time, zone) = written.rsplit_once(' ').unwrap_or((written, ""));
    let is_offset = zone.starts_with(['+', '-']) && zone.len() > 2;
    if is_offset && let Ok(time) = format!("{time}{zone}").parse() {
        return Some(time);
    }
    let civil = if matches!(zone, "UTC" | "GMT" | "Z") { time } else { written };
    let at_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    // a time with an unknown zone must not count as UTC
    let plain = civil.bytes().all(|byte| byte.is_ascii_digit() || b"-:.T ".contains(&byte));
    let read = civil.parse::<DateTime>().ok().filter(|_| plain).and_then(at_utc);
    read.or_else(|| rfc2822::DateTimeParser::new().parse_timestamp(written).ok())
}

fn of_digits(written: &str) -> Option<Timestamp> {
    let number = || written.parse::<i64>().ok();
    match written.len() {
        10 => Timestamp::from_second(number()?).ok(),
        13 => Timestamp::from_millisecond(number()?).ok(),
        // 20250102030405, as in the index of a web archive
        14 => {
            let part = |from: usize, to: usize| written.get(from..to).unwrap_or_default();
            let date = format!("{}-{}-{}", part(0, 4), part(4, 6), part(6, 8));
            format!("{date}T{}:{}:{}Z", part(8, 10), part(10, 12), part(12, 14)).parse().ok()
        }
        16 => Timestamp::from_microsecond(number()?).ok(),
        19 => Timestamp::from_nanosecond(i128::from(number()?)).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_all_formats_normalize_to_rfc_3339() {
        for written in [
            "2025-01-02T03:04:05Z",
            "2025-01-02T03:04:05.678901Z",
            "2025-01-02T05:04:05+02:00",
            "2025-01-02 03:04:05.678 +00:00",
            "2025-01-02 03:04:05+00:00",
            "2025-01-02 03:04:05",
            "2025-01-02 03:04:05 UTC",
            "2025-01-02T03:04:05",
            "20250102030405",
            "1735787045",
            "1735787045678",
            "1735787045678901",
            "1735787045678901234",
            "Thu, 02 Jan 2025 03:04:05 GMT",
            "Thu, 2 Jan 2025 05:04:05 +0200",
            " 2025-01-02T03:04:05Z ",
        ] {
            assert_eq!(normalized(written), "2025-01-02T03:04:05Z", "{written}");
        }
        assert_eq!(normalized("2025-01-02"), "2025-01-02T00:00:00Z");
        for other in ["", "yesterday", "2025", "20251302030405", "2025-01-02 03:04:05 CEST", "in 2025-01-02"]
        {
            assert_eq!(normalized(other), other);
        }
    }
}
