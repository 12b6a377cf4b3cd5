//! Publication dates in a page's data, corrected by visible dates.

use super::{
    Order, Sources, changed, dates, near,
    published::{DAY, day, in_json, in_meta},
    shown::{self, LABEL_STEPS, MAX_DATE, MAX_LABELLED},
};
use crate::{dom::Tag, text};

/// Date of the meta elements, if JSON-LD has another day and the page shows that of the meta elements.
///
/// Consecutive days may be one day in two zones.
pub(super) fn shown_of_two(s: &Sources<'_>, order: Order) -> Option<String> {
    let (json, meta) = (in_json(s, order)?, in_meta(s, order)?);
    let apart = civil(&json)?.duration_since(civil(&meta)?).as_hours().abs();
    let shown = (apart > HOURS_OF_DAY).then(|| shown::near_heading(s, order))??;
    (day(&shown) == day(&meta)).then_some(meta)
}

const HOURS_OF_DAY: i64 = 24;

/// Day of a date, for calculations.
fn civil(date: &str) -> Option<jiff::civil::Date> {
    day(date).parse().ok()
}

/// An earlier visible date, if the only date in the data is in a meta element such as `date`.
///
/// Many programs write the last change to these elements.
pub(super) fn before_meta(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let named = |name: &'_ String| Some((name.clone(), s.metas.all(name).find_map(parse)?));
    let (name, stamped) = rules.published.iter().find_map(named)?;
    if !rules.published_or_modified.contains(&name) || in_json(s, order).is_some() {
        return None;
    }
    let line = |line: &String| {
        let lower = line.to_lowercase();
        let is_date = dates::is_date_line(rules, &lower) || dates::is_bare_date(rules, &lower);
        (is_date || shown::has_word(&rules.published_words, &lower)).then(|| parse(line))?
    };
    let marked = || shown::visible(s, order).filter(|(id, _)| is_near(s, *id)).map(|(_, date)| date);
    let shown = marked().or_else(|| s.near().iter().find_map(line))?;
    (day(&shown) < day(&stamped)).then_some(shown)
}

/// Returns true if the text of an element is most of a line near the heading, and no sentence.
fn is_near(s: &Sources<'_>, id: u32) -> bool {
    let text = text::fold(&s.page.visible_text(id));
    let is_most = |line: &String| {
        let beside = line.split_once(text.as_str()).map(|(before, behind)| before.len() + behind.len());
        beside.is_some_and(|beside| beside <= MAX_BESIDE) && !line.ends_with(['.', '!', '?', '…'])
    };
    !text.is_empty() && s.near().iter().any(is_most)
}

/// Maximum bytes of further text beside a date in a byline.
const MAX_BESIDE: usize = 60;

/// An earlier day beside the heading, if publication and change have the day on which a program built the
/// page.
pub(super) fn before_build(s: &Sources<'_>, stamped: &str, order: Order) -> Option<String> {
    let modified = changed::in_data(s, order)?.1;
    if day(&modified) != day(stamped) {
        return None;
    }
    // Equal times show that one build wrote both; an article that changed later that day was published on it. A time
    // in UTC may be a day after the visible one.
    let instant = |date: &str| date.parse::<jiff::Timestamp>().ok();
    // A change before the publication is invalid.
    let is_before = || instant(&modified).zip(instant(stamped)).is_some_and(|(change, built)| change < built);
    let in_one_go = modified.len().min(stamped.len()) == DAY || modified == stamped || is_before();
    let shown = shown::near_heading(s, order)?;
    let day_before =
        || stamped.ends_with('Z') && civil(&shown).and_then(|shown| shown.tomorrow().ok()) == civil(stamped);
    (day(&shown) < day(stamped) && (in_one_go || day_before())).then_some(shown)
}

/// An earlier day in a line on the publication, if the data gives the day of the last change as that of
/// publication.
pub(super) fn before_change(s: &Sources<'_>, stamped: &str, order: Order) -> Option<String> {
    let modified = changed::in_data(s, order)?.1;
    let is_late = day(stamped) >= day(&modified);
    is_late.then(|| line_on_publication(s, order))?.filter(|found| day(found) < day(stamped))
}

/// Date of the first short line that begins with a long word for publication.
fn line_on_publication(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom, rules) = (s.page, &s.page.dom, &s.page.rules.dates);
    let begins = |id: &u32| {
        let mut words = rules.published_words.matches(text::trim_start(dom.text(*id)));
        words.any(|(word, _)| word.len() > MIN_WORD)
    };
    s.short_texts(MIN_WORD as u32..=MAX_LABELLED).filter(begins).find_map(|id| {
        let parse = |text: &str| dates::parse(rules, &text::fold(text), order);
        let block = || {
            let block = dom.ancestors(id).find(|up| dom.tag(*up).is_block())?;
            (page.amount(block).chars <= MAX_LABELLED).then(|| parse(&page.visible_text(block)))?
        };
        let next = || {
            let mut texts =
                (id + 1..dom.end(page.body).min(id + LABEL_STEPS)).filter(|id| dom.tag(*id) == Tag::Text);
            let text = texts.find(|id| page.is_visible(*id) && page.amount(*id).chars > 0)?;
            (page.amount(text).chars <= MAX_DATE).then(|| parse(dom.text(text)))?
        };
        let found = parse(dom.text(id)).or_else(block).or_else(next)?;
        (!near::is_elsewhere(page, id)).then_some(found)
    })
}

/// Minimum bytes of such a word: "date" and "post" precede other dates as well.
const MIN_WORD: usize = 8;
