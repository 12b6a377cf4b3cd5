//! Times of day with their zones.

use super::{
    DateRules, Order, Sources,
    changed::{change_line, is_about_change},
    dates::{Token, from_tokens, tokens},
    shown,
};
use crate::{dom::Tag, text};
use html5ever::local_name;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// Converts a stamp to the zone of the page, if the page shows another day for the same instant; else returns
/// it unchanged.
///
/// Programs stamp in UTC. Readers in another zone may see another day.
pub(super) fn in_zone_of_page(s: &Sources<'_>, stamp: String, order: Order) -> String {
    with_zone(s, &stamp, order).unwrap_or(stamp)
}

fn with_zone(s: &Sources<'_>, stamp: &str, order: Order) -> Option<String> {
    let instant: Timestamp = stamp.ends_with('Z').then(|| stamp.parse().ok())??;
    let utc = instant.to_zoned(TimeZone::UTC).datetime();
    let rules = &s.page.rules.dates;
    let offset = |line: &str| {
        let local = parse_time(rules, line, order)?;
        offset(utc, local)
    };
    let in_meta = || rules.published.iter().find_map(|name| s.metas.all(name).find_map(offset));
    let is_of_page =
        |line: &str| !is_about_change(rules, &line.to_lowercase()) && !shown::is_about_member(rules, line);
    let in_line = || s.near().iter().find_map(|line| offset(line).filter(|_| is_of_page(line)));
    let seconds = in_meta().or_else(|| in_times(s, &offset)).or_else(in_line)?;
    let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?);
    Some(instant.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

/// Offset by the text of a visible `time` element.
fn in_times(s: &Sources<'_>, offset: &dyn Fn(&str) -> Option<i32>) -> Option<i32> {
    let (page, dom) = (s.page, &s.page.dom);
    let stamped = |id: &u32| dom.attr(*id, &local_name!("datetime")).is_some();
    let mut times = dom
        .find_all(page.within_body(), Tag::Time)
        .filter(|id| page.is_visible(*id))
        .filter(stamped)
        .take(MAX_TIMES);
    times.find_map(|id| {
        let short = page.amount(id).chars <= MAX_CHARS;
        let found = short.then(|| offset(&text::fold(&page.visible_text(id))))??;
        change_line(page, id).is_none().then_some(found)
    })
}

/// A local time of day with its date in a text: "03-16-2014, 07:25 PM".
fn parse_time(rules: &DateRules, text: &str, order: Order) -> Option<DateTime> {
    let text = text.trim();
    if text.len() > MAX_TIME_LINE || !text.contains(':') {
        return None;
    }
    let tokens = tokens(text);
    let date = (0..tokens.len()).find_map(|at| from_tokens(rules, &tokens[at..], order))?;
    let (hour, minute, half) = (0..tokens.len()).find_map(|at| match &tokens[at..] {
        [Token::Number(hour, 1 | 2), Token::Sign(':'), Token::Number(minute, 2), rest @ ..] => {
            let mut words =
                rest.iter().filter(|token| !matches!(token, Token::Sign(':') | Token::Number(..)));
            let half = words.next().and_then(|token| match token {
                Token::Word(word) => {
                    word.chars().next().filter(|c| matches!(c, 'a' | 'p') && word.len() <= 2)
                }
                _ => None,
            });
            Some((*hour, *minute, half))
        }
        _ => None,
    })?;
    let hour = match half {
        Some('p') if hour < 12 => hour + 12,
        Some('a') if hour == 12 => 0,
        _ => hour,
    };
    let time = jiff::civil::Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0).ok()?;
    Some(date.to_datetime(time))
}

/// Maximum bytes of a line with only a date and a time.
const MAX_TIME_LINE: usize = 90;

/// Seconds between UTC and a local time of the same instant, if that is possible and the days differ.
fn offset(utc: DateTime, local: DateTime) -> Option<i32> {
    if utc.date() == local.date() {
        return None;
    }
    let minutes = |time: DateTime| {
        let days = time.date().duration_since(jiff::civil::date(2000, 1, 1)).as_hours() / 24;
        days * MINUTES_OF_DAY + i64::from(time.hour()) * 60 + i64::from(time.minute())
    };
    let apart = minutes(local) - minutes(utc);
    let is_zone =
        apart % MINUTES_OF_HOUR == 0 && (WEST..=EAST).contains(&apart) || BETWEEN_HOURS.contains(&apart);
    is_zone.then(|| i32::try_from(apart * 60).ok())?
}

const MINUTES_OF_DAY: i64 = 24 * 60;
const MINUTES_OF_HOUR: i64 = 60;
/// Zones with fractional hours: Newfoundland, Marquesas, Iran, Afghanistan, India, Nepal, Myanmar, Central
/// Australia, Chatham Islands (minutes).
const BETWEEN_HOURS: [i64; 12] = [-570, -210, -150, 210, 270, 330, 345, 390, 570, 630, 765, 825];
/// First and last zone of whole hours (minutes).
const WEST: i64 = -12 * 60;
const EAST: i64 = 14 * 60;
/// Elements that are looked at.
const MAX_TIMES: usize = 20;
/// Maximum characters of a text with only a date and a time.
const MAX_CHARS: u32 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_between_times_give_zone_offsets() {
        let at = |text: &str| text.parse::<DateTime>().unwrap();
        assert_eq!(offset(at("2019-10-18T22:04:00"), at("2019-10-19T00:04:00")), Some(7200));
        assert_eq!(offset(at("2014-03-17T00:25:01"), at("2014-03-16T19:25:00")), Some(-5 * 3600));
        assert_eq!(offset(at("2019-10-18T20:00:00"), at("2019-10-19T01:30:00")), Some(19_800), "India");
        assert_eq!(offset(at("2019-10-18T22:04:00"), at("2019-10-19T00:10:00")), None, "no zone");
        assert_eq!(
            offset(at("2019-10-18T22:00:00"), at("2019-10-19T05:30:00")),
            None,
            "no zone of half hours"
        );
        assert_eq!(offset(at("2019-10-18T22:00:00"), at("2019-10-19T00:15:00")), None, "no zone of quarters");
        assert_eq!(offset(at("2019-10-18T12:04:00"), at("2019-10-18T14:04:00")), None, "the same day");
        assert_eq!(offset(at("2019-10-18T22:04:00"), at("2019-10-20T00:04:00")), None, "too far");
    }
}
