//! Dates that a reader sees.

use super::{
    DateRules, MAX_SHORT, Order, Sources,
    changed::{change_line, is_about_change},
    dates, near,
    published::day,
};
use crate::{
    dom::Tag,
    page::Page,
    rules::{KnownNames, Part, Prefixes, Roles, behind},
    text,
};
use html5ever::{LocalName, local_name};

/// Date in the first line near the heading that holds one, unless the line is about a change or a person.
pub(super) fn near_heading(s: &Sources<'_>, order: Order) -> Option<String> {
    s.near().iter().find_map(|line| dated_line(s, line, order))
}

/// Date in the first lines of a page without headings, if all have one day, since a list's dates belong to
/// other pages.
pub(super) fn without_heading(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let lines = near::first_lines(s.page)?;
    let is_date = |line: &&String| line.contains(':') || dates::is_date_line(rules, &line.to_lowercase());
    let mut dates = lines.iter().filter(is_date).filter_map(|line| dated_line(s, line, order));
    let first = dates.next()?;
    dates.all(|other| day(&other) == day(&first)).then_some(first)
}

/// Date in a line, unless the line is about a change or the day on which a person joined.
fn dated_line(s: &Sources<'_>, line: &str, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let date = dates::parse(rules, line, order)?;
    (!is_about_change(rules, &line.to_lowercase()) && !is_about_member(rules, line)).then_some(date)
}

/// Returns true if a word for joining begins the line or precedes its date.
pub(super) fn is_about_member(rules: &DateRules, line: &str) -> bool {
    let lower = line.to_lowercase();
    let line = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    // "Registered nurse, 5 March": the word between belongs to no date.
    let is_of_date = |word: &str| {
        word.chars().count() <= MAX_PREPOSITION || rules.is_month(word) || rules.is_weekday(word)
    };
    let is_label = |behind: &str| {
        let before_date = behind.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
        before_date.split(|c: char| !c.is_alphabetic()).all(is_of_date)
    };
    let behind = |at: usize| rules.member_words.rest_of_lower(&line[at..]);
    word_starts(line).any(|at| behind(at).is_some_and(|behind| at == 0 || is_label(behind)))
}

/// Maximum characters of a word between a label and a date.
const MAX_PREPOSITION: usize = 3;

/// Date in a short line, or a part of one, that begins with one of the words and is accepted. On request, a
/// date beside the text is the last choice.
pub(super) fn labelled(
    s: &Sources<'_>,
    words: &Prefixes,
    accept: &dyn Fn(&str) -> bool,
    beside: bool,
    order: Order,
) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let dated = |line: &str| {
        let line = line.trim_start_matches(['[', '(']);
        let named = words.may_begin(line) && words.begin_lower(&line.to_lowercase());
        (named && accept(line)).then(|| dates::parse(&page.rules.dates, line, order))?
    };
    // "Published", with the date in the next cell or element.
    let behind_label = |id: u32| {
        if page.chars(id) > MAX_DATE {
            return None;
        }
        let from = id.saturating_sub(LABEL_STEPS).max(page.body);
        let is_text = |id: &u32| dom.tag(*id) == Tag::Text && page.is_visible(*id) && page.chars(*id) > 0;
        let label = (from..id).rev().find(is_text).filter(|label| page.chars(*label) <= MAX_DATE)?;
        let label = dom.text(label).trim();
        let is_label = |word: &str| {
            let rest = behind(label, word.trim_end_matches(':'));
            rest.is_some_and(|rest| rest.trim_matches([':', '：', ' ']).is_empty())
        };
        words
            .candidates(label)
            .any(is_label)
            .then(|| dated(&text::fold(&format!("{label} {}", dom.text(id)))))?
    };
    let mut other = None;
    let is_short = |id: &&u32| page.chars(**id) <= MAX_LABELLED && has_digits(dom.text(**id));
    let found = s.with_digit().iter().filter(is_short).find_map(|&id| {
        let whole = || {
            let block = dom.ancestors(id).find(|up| dom.tag(*up).is_block())?;
            let chars = page.chars(block);
            // a block that equals the text was checked before
            let is_line = chars <= MAX_LABELLED && chars > page.chars(id);
            is_line.then(|| dated(&text::fold(&page.visible_text(block))))?
        };
        let own = dom.text(id);
        let begins = words.may_begin(own.trim_start().trim_start_matches(['[', '(']));
        let own = begins.then(|| dated(&text::fold(own))).flatten();
        let found = own.or_else(whole).or_else(|| behind_label(id))?;
        if !near::is_elsewhere(page, id) {
            return Some(found);
        }
        if beside && other.is_none() && !belongs_to_other_pages(page, id) {
            other = Some(found);
        }
        None
    });
    found.or(other)
}

/// Maximum characters of a bare date, or of its label.
pub(super) const MAX_DATE: u32 = 40;

/// Nodes before a date that are searched for its label.
pub(super) const LABEL_STEPS: u32 = 10;

/// Maximum characters of a line with only a date.
pub(super) const MAX_LABELLED: u32 = 60;

/// Date in a line that begins with an author, if all such lines have one day: those of a board belong to its
/// threads.
pub(super) fn in_byline(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let is_byline = |line: &str| names_author(rules, line);
    let found = labelled(s, &rules.byline_words, &is_byline, true, order)?;
    let is_other = |line: &str| {
        let is_other_day =
            || dates::parse(rules, line, order).is_some_and(|other| day(&other) != day(&found));
        is_byline(line) && is_other_day()
    };
    labelled(s, &rules.byline_words, &is_other, true, order).is_none().then_some(found)
}

/// Returns true if a capitalized word other than a month or a weekday follows a word such as "by", before the
/// first digit.
fn names_author(rules: &DateRules, line: &str) -> bool {
    let (_, rest) = rules.byline_words.matches(line).next().unwrap_or_default();
    let before_date = rest.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    before_date.split(|c: char| !c.is_alphabetic()).any(|word| {
        let is_capital = word.chars().next().is_some_and(|c| !c.is_lowercase());
        let lower = word.to_lowercase();
        is_capital && !rules.is_month(&lower) && !rules.is_weekday(&lower)
    })
}

/// Returns true if the element is among comments, teasers of other pages or menus; elements beside the text
/// may belong to it.
fn belongs_to_other_pages(page: &Page<'_>, id: u32) -> bool {
    near::is_inside_role(
        page,
        id,
        Roles::COMMENTS.and(Roles::RELATED).and(Roles::NAVIGATION).and(Roles::ADVERTISEMENT),
    )
}

/// Day of all visible `time` elements, if it is the same.
pub(super) fn only_time(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let times = dom.find_all(page.within_body(), Tag::Time).filter(|id| page.is_visible(*id)).take(MAX_TIMES);
    let mut dates = times.filter_map(|id| Some((id, stamp(s, id, order)?)));
    let (first, date) = dates.next()?;
    let is_own = !belongs_to_other_pages(page, first) && change_line(page, first).is_none();
    (is_own && dates.all(|(_, other)| day(&other) == day(&date))).then_some(date)
}

/// Maximum `time` elements; a page with more lists other pages.
const MAX_TIMES: usize = 20;

/// Date at the start of one of the first paragraphs after the heading: "5 March 2024. The ferry …".
pub(super) fn dateline(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let behind = dom.end(page.heading?)..dom.end(page.body);
    let is_text = |id: &u32| dom.tag(*id) == Tag::P && page.amount(*id).chars > 0 && page.is_visible(*id);
    let mut paragraphs = behind.filter(is_text).take(DATELINES);
    paragraphs.find_map(|id| {
        let date = dates::leading(&page.rules.dates, &text::fold(&page.visible_text(id)), order)?;
        (!near::is_elsewhere(page, id)).then_some(date)
    })
}

/// Paragraphs that may begin with the date.
const DATELINES: usize = 3;

/// Date in a sentence such as "This entry was posted on Monday, March 4th, 2024", which blogs put after a
/// text.
pub(super) fn sentence(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let rules = &page.rules.dates;
    let may_begin = |id: &u32| {
        (MIN_SENTENCE..=MAX_SHORT).contains(&page.chars(*id))
            && rules.published_sentences.may_begin(text::trim_start(dom.text(*id)))
    };
    s.with_digit().iter().copied().filter(may_begin).find_map(|id| {
        let line = text::fold(dom.text(id));
        let begins = rules.published_sentences.begin_lower(&line.to_lowercase());
        begins.then(|| dates::parse(rules, &line, order))?
    })
}

/// Minimum characters of a sentence.
const MIN_SENTENCE: u32 = 24;

/// Date of a `time` element, or of one with `itemprop`: from its attribute, else its text.
pub(super) fn stamp(s: &Sources<'_>, id: u32, order: Order) -> Option<String> {
    let (page, rules) = (s.page, &s.page.rules.dates);
    let attribute = |name| page.dom.attr(id, &name);
    let stamp = attribute(local_name!("datetime")).or_else(|| attribute(local_name!("content")));
    stamp.and_then(|stamp| dates::parse(rules, stamp, order)).or_else(|| {
        // An unclosed element holds the rest of the page.
        let short = page.amount(id).chars <= MAX_STAMP;
        short.then(|| dates::parse(rules, &text::fold(&page.visible_text(id)), order)).flatten()
    })
}

/// Maximum characters of an element's text with only a date.
const MAX_STAMP: u32 = 200;

/// Date of a thread's first post, or of a comment's.
pub(super) fn posted(s: &Sources<'_>, thread: bool, order: Order) -> Option<String> {
    let (page, dom, rules) = (s.page, &s.page.dom, &s.page.rules.dates);
    let parse = |id: u32| dates::parse(rules, &text::fold(&page.visible_text(id)), order);
    let stamped = |id: u32| {
        let stamp = dom
            .attr(id, &local_name!("datetime"))
            .or_else(|| dom.attrs(id).find(|(name, _)| &***name == "ts").map(|(_, value)| value));
        stamp.and_then(|stamp| dates::parse(rules, stamp, order)).or_else(|| parse(id))
    };
    // Some programs write the date after the name: "by Ada » 5 March 2024".
    let beside_author = || {
        let author = near::in_posts(s, Part::PostAuthor, thread).next()?;
        let line = dom.ancestors(author).find(|up| dom.tag(*up).is_block())?;
        [author, line].into_iter().filter(|id| page.amount(*id).chars <= MAX_AUTHOR_LINE).find_map(parse)
    };
    near::in_posts(s, Part::PostDate, thread).next().and_then(stamped).or_else(beside_author)
}

/// Maximum characters of a line with a name and a date. A longer one gives the start of a membership.
const MAX_AUTHOR_LINE: u32 = 80;

/// Returns true if the lower-case line has one of the words, at the start of a word: "date" is not found in
/// "updated".
pub(super) fn has_word(words: &Prefixes, line: &str) -> bool {
    word_starts(line).any(|at| words.begin_lower(&line[at..]))
}

/// Positions that no letter precedes.
fn word_starts(line: &str) -> impl Iterator<Item = usize> + '_ {
    let mut in_word = false;
    line.char_indices().filter_map(move |(at, c)| {
        let starts = !std::mem::replace(&mut in_word, c.is_alphabetic());
        starts.then_some(at)
    })
}

/// Visible date, and its element.
pub(super) fn visible(s: &Sources<'_>, order: Order) -> Option<(u32, String)> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let (mut fallback, mut known) = (None, KnownNames::default());
    let heading = page.heading.or_else(|| dom.find(page.within_body(), Tag::H2));
    for (id, is_time) in may_show_date(s) {
        if page.budget.is_over() {
            break;
        }
        let is_named = fallback.is_none() && is_named_as_date(page, id, &mut known);
        // Last, since it is expensive: it reads all ancestors of the element.
        if !is_time && !is_named || near::is_elsewhere(page, id) {
            continue;
        }
        if change_line(page, id).is_some() {
            continue;
        }
        if is_time {
            let found = stamp(s, id, order);
            if let Some(found) = found {
                return Some((id, found));
            }
        }
        if is_named {
            let mut date = dates::parse(rules, &text::fold(&page.visible_text(id)), order);
            // The current day may precede the heading.
            if date.is_some() && heading.is_some_and(|heading| id < heading) {
                date = near_heading(s, order).or(date);
            }
            fallback = date.map(|date| (id, date));
        }
    }
    fallback
}

/// Visible elements that may show the date of publication, in document order: time elements and properties,
/// marked as such, and short elements with a digit.
fn may_show_date(s: &Sources<'_>) -> Vec<(u32, bool)> {
    let (page, dom) = (s.page, &s.page.dom);
    let is_published = |id: &u32| {
        let name = dom.attr(*id, &local_name!("itemprop")).unwrap_or_default();
        name.eq_ignore_ascii_case("datePublished")
    };
    let marked = s.marks.itemprop.iter().copied().filter(is_published);
    let times = dom.find_all(page.within_body(), Tag::Time).chain(marked).map(|id| (id, true));
    let is_short = |up: &u32| *up >= page.body && page.chars(*up) <= MAX_NAMED;
    let around = |text: &u32| dom.ancestors(*text).take_while(is_short).map(|id| (id, false));
    let mut found: Vec<(u32, bool)> = times.chain(s.with_digit().iter().flat_map(around)).collect();
    found.retain(|(id, _)| page.within_body().contains(id) && page.is_visible(*id));
    // An element of both kinds stays as a time.
    found.sort_unstable_by_key(|(id, is_time)| (*id, !is_time));
    found.dedup_by_key(|(id, _)| *id);
    found
}

/// Returns true if the text may hold a date, which has at least day and year.
fn has_digits(text: &str) -> bool {
    // Without an early exit, the compiler compares many bytes at once.
    text.bytes().filter(u8::is_ascii_digit).count() >= 3
}

/// Returns true for a short element whose class or id is about a date.
fn is_named_as_date<'a>(page: &'a Page<'_>, id: u32, known: &mut KnownNames<'a>) -> bool {
    let mut named = |name: LocalName| {
        let names = page.dom.attr(id, &name).filter(|names| !names.is_empty());
        names.is_some_and(|names| known.roles(&page.rules.dates.names, names).has(Roles::META))
    };
    (1..=MAX_NAMED).contains(&page.chars(id)) && (named(local_name!("class")) || named(local_name!("id")))
}

/// Maximum characters of an element that is named as a date.
const MAX_NAMED: u32 = 60;
