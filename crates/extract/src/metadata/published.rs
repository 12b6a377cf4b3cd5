//! When a page was published and last changed.

use super::{
    Order, Sources, bylines, dates, jsonld, near,
    sources::{Field, Rule},
};
use crate::{
    dom::Tag,
    page::Page,
    rules::{KnownNames, Part, Roles},
    text,
};
use html5ever::{LocalName, local_name};

/// Only US English and a few others write the month first.
pub(super) fn order_of(language: Option<&str>) -> Order {
    match language {
        None | Some("en" | "en-US" | "en-PH") => Order::MonthFirst,
        _ => Order::DayFirst,
    }
}

/// Returns true if a meta element holds a date, or `datePublished` of the page's JSON-LD does (heuristics reference §1).
pub(super) fn is_declared(s: &Sources<'_>, order: Order) -> bool {
    let rules = &s.page.rules.dates;
    let is_date = |text: &str| dates::parse(rules, text, order).is_some();
    let in_json = || s.main.and_then(|main| jsonld::text(main.get("datePublished")?)).is_some_and(is_date);
    let mut names = rules.published.iter().chain(&rules.modified);
    names.any(|name| s.metas.all(name).any(is_date)) || in_json()
}

/// The date of publication: JSON-LD, meta elements, `time`, elements named like dates, the URL.
pub(super) fn published(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = || {
        let keys = ["datePublished", "dateCreated", "uploadDate"];
        s.main.and_then(|main| keys.iter().find_map(|key| jsonld::text(main.get(*key)?).and_then(parse)))
    };
    let in_meta = || rules.published.iter().find_map(|name| s.metas.all(name).find_map(parse));
    let in_url = || s.page.url.and_then(|url| dates::from_path(url.path()));
    let (rule, found) = super::first(&[
        (Rule::BeforeBuild, &|| before_build(s, &in_json().or_else(in_meta)?, order)),
        (Rule::BeforeChange, &|| before_change(s, &in_json().or_else(in_meta)?, order)),
        (Rule::JsonLd, &in_json),
        (Rule::Meta, &in_meta),
        (Rule::Rdfa, &|| in_rdfa(s, order)),
        (Rule::ThreadDate, &|| posted(s, true, order)),
        (Rule::MarkedDate, &|| visible(s, order)),
        (Rule::Url, &in_url),
        (Rule::DateLine, &|| s.near().iter().find_map(|line| dated_line(s, line, order))),
        (Rule::Dateline, &|| dateline(s, order)),
        (Rule::LabelledDate, &|| labelled(s, &rules.published_words, &|_| true, true, order)),
        (Rule::DateSentence, &|| sentence(s, order)),
        (Rule::PostDate, &|| posted(s, false, order)),
        (Rule::OnlyTime, &|| only_time(s, order)),
        (Rule::OnlyChange, &|| changed(s, order)),
    ])?;
    let places = [in_json(), in_meta(), in_url()];
    let same =
        places.iter().flatten().filter(|date| text::head(date, DAY) == text::head(&found, DAY)).count();
    let is_of_data = matches!(rule, Rule::JsonLd | Rule::Meta | Rule::Url);
    s.note(Field::Published, rule, same > usize::from(is_of_data));
    Some(found)
}

/// Where a program stamps publication and change with the day on which it built the page, and the page itself shows
/// an earlier day beside its heading: that day.
fn before_build(s: &Sources<'_>, stamped: &str, order: Order) -> Option<String> {
    let day = |date: &str| text::head(date, DAY).to_owned();
    let modified = modified_in_data(s, order)?.1;
    if day(&modified) != day(stamped) {
        return None;
    }
    // Built in one go, both have one time; an article that was changed later on the day was published on it. A time in UTC
    // may fall on the day after the one that the page shows.
    let in_one_go = modified.len().min(stamped.len()) == DAY || modified == stamped;
    let shown = s.near().iter().find_map(|line| dated_line(s, line, order))?;
    let day_before = || {
        let date = |text: &str| day(text).parse::<jiff::civil::Date>().ok();
        stamped.ends_with('Z') && date(&shown).and_then(|shown| shown.tomorrow().ok()) == date(stamped)
    };
    (day(&shown) < day(stamped) && (in_one_go || day_before())).then_some(shown)
}

/// The length of a date without a time of day.
const DAY: usize = "2026-01-01".len();

/// The date of the last change, which the page shows or has in its data: this text is not older than that. A review says nothing
/// about the age of what was reviewed.
fn changed(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let is_newer = |line: &str| !has_word(&rules.reviewed_words, &line.to_lowercase());
    let near =
        || s.near().iter().filter(|line| is_newer(line)).find_map(|line| dates::parse(rules, line, order));
    shown_change(s, order, &is_newer).or_else(near).or_else(|| Some(modified_in_data(s, order)?.1))
}

/// A short line anywhere, or a part of one, that begins with one of the words, is accepted and holds a date; last, if wanted, one beside the
/// text.
fn labelled(
    s: &Sources<'_>,
    words: &[String],
    accept: &dyn Fn(&str) -> bool,
    beside: bool,
    order: Order,
) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let starts = starts(words);
    let may_begin = |line: &str| line.bytes().next().is_some_and(|byte| starts[usize::from(byte)]);
    let dated = |line: &str| {
        if !may_begin(line) {
            return None;
        }
        let lower = line.to_lowercase();
        let named = words.iter().any(|word| lower.starts_with(word.as_str()));
        (named && accept(line)).then(|| dates::parse(&page.rules.dates, line, order))?
    };
    // "Published", and the date in the next cell or element.
    let behind_label = |id: u32| {
        if page.amount(id).chars > MAX_DATE {
            return None;
        }
        let from = id.saturating_sub(LABEL_STEPS).max(page.body);
        let is_text =
            |id: &u32| dom.tag(*id) == Tag::Text && page.is_visible(*id) && page.amount(*id).chars > 0;
        let label = (from..id).rev().find(is_text).filter(|label| page.amount(*label).chars <= MAX_DATE)?;
        let label = dom.text(label).trim();
        if !may_begin(label) {
            return None;
        }
        let is_label = |word: &String| {
            let rest = bylines::behind(label, word.trim_end_matches(':'));
            rest.is_some_and(|rest| rest.trim_matches([':', '：', ' ']).is_empty())
        };
        words.iter().any(is_label).then(|| dated(&text::fold(&format!("{label} {}", dom.text(id)))))?
    };
    let mut other = None;
    let found = s.numbered().iter().find_map(|&id| {
        let whole = || {
            let block = dom.ancestors(id).find(|up| dom.tag(*up).is_block())?;
            let chars = page.amount(block).chars;
            // a block that holds no more than the text has been asked
            let is_line = chars <= MAX_LABELLED && chars > page.amount(id).chars;
            is_line.then(|| dated(&text::fold(&page.visible_text(block))))?
        };
        let found = dated(&text::fold(dom.text(id))).or_else(whole).or_else(|| behind_label(id))?;
        if !near::is_elsewhere(page, id) {
            return Some(found);
        }
        if beside && other.is_none() && !is_of_others(page, id) {
            other = Some(found);
        }
        None
    });
    found.or(other)
}

/// The element stands among comments, teasers of other pages or menus; what stands beside the text may speak of it.
fn is_of_others(page: &Page<'_>, id: u32) -> bool {
    near::stands_in(
        page,
        id,
        Roles::COMMENTS.and(Roles::RELATED).and(Roles::NAVIGATION).and(Roles::ADVERTISEMENT),
    )
}

/// The day that all visible `time` elements of the page name, if it is one.
fn only_time(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let is_time = |id: &u32| dom.tag(*id) == Tag::Time && page.is_visible(*id);
    let times = (page.body..dom.end(page.body)).filter(is_time).take(MAX_TIMES);
    let mut dates = times.filter_map(|id| Some((id, stamp(s, id, order)?)));
    let (first, date) = dates.next()?;
    let is_own = !is_of_others(page, first) && change_line(page, first).is_none();
    (is_own && dates.all(|(_, other)| text::head(&other, DAY) == text::head(&date, DAY))).then_some(date)
}

/// A page with more `time` elements is a list of other pages.
const MAX_TIMES: usize = 20;

/// Where the data gives the day of the last change as that of publication too, and a line says that the page was published
/// earlier: the day of the line.
fn before_change(s: &Sources<'_>, stamped: &str, order: Order) -> Option<String> {
    let modified = modified_in_data(s, order)?.1;
    let day = |date: &str| text::head(date, DAY).to_owned();
    let is_late = day(stamped) >= day(&modified);
    is_late.then(|| line_on_publication(s, order))?.filter(|found| day(found) < day(stamped))
}

/// The date of the first short line that begins with a long word for publication.
fn line_on_publication(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom, rules) = (s.page, &s.page.dom, &s.page.rules.dates);
    let words: Vec<&String> = rules.published_words.iter().filter(|word| word.len() > MIN_WORD).collect();
    let starts = starts(words.iter().copied());
    let first = |id: u32| dom.text(id).trim_start().bytes().next().unwrap_or_default();
    let may_begin = |id: &u32| {
        dom.tag(*id) == Tag::Text
            && starts[usize::from(first(*id))]
            && (MIN_WORD as u32..=MAX_LABELLED).contains(&page.amount(*id).chars)
            && {
                let text = dom.text(*id).trim_start();
                words.iter().any(|word| bylines::behind(text, word).is_some())
            }
    };
    (page.body..dom.end(page.body)).filter(may_begin).filter(|id| page.is_visible(*id)).find_map(|id| {
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

/// Shorter words stand in front of other dates as well (bytes): "date", "post".
const MIN_WORD: usize = 8;

/// A longer text is no bare date, and no label of one (characters).
const MAX_DATE: u32 = 40;

/// Nodes in front of a date in which its label is looked for.
const LABEL_STEPS: u32 = 10;

/// The date that one of the first paragraphs behind the heading begins with: "5 March 2024. The ferry …".
fn dateline(s: &Sources<'_>, order: Order) -> Option<String> {
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

/// The date in a sentence such as "This entry was posted on Monday, March 4th, 2024", which blogs put behind a text.
fn sentence(s: &Sources<'_>, order: Order) -> Option<String> {
    let (page, dom) = (s.page, &s.page.dom);
    let rules = &page.rules.dates;
    let starts = starts(&rules.published_sentences);
    let first = |id: u32| dom.text(id).trim_start().bytes().next().unwrap_or_default();
    let may_hold = |id: &u32| {
        dom.tag(*id) == Tag::Text
            && starts[usize::from(first(*id))]
            && (MIN_SENTENCE..=MAX_STAMP).contains(&page.amount(*id).chars)
            && dom.text(*id).bytes().any(|byte| byte.is_ascii_digit())
    };
    (page.body..dom.end(page.body)).filter(may_hold).find_map(|id| {
        let line = text::fold(dom.text(id));
        let lower = line.to_lowercase();
        let begins = rules.published_sentences.iter().any(|start| lower.starts_with(start.as_str()));
        (begins && page.is_visible(id)).then(|| dates::parse(rules, &line, order))?
    })
}

/// By first byte: one of the words may begin with it, in any case.
fn starts<'a>(words: impl IntoIterator<Item = &'a String>) -> [bool; 256] {
    let mut starts = [false; 256];
    for byte in words.into_iter().filter_map(|word| word.bytes().next()) {
        starts[usize::from(byte)] = true;
        starts[usize::from(byte.to_ascii_uppercase())] = true;
    }
    // Capitals of other scripts may differ in this byte.
    starts[0x80..].fill(true);
    starts
}

/// A shorter text is no sentence (characters).
const MIN_SENTENCE: u32 = 24;

/// A date of publication in an RDFa property of any element.
fn in_rdfa(s: &Sources<'_>, order: Order) -> Option<String> {
    let dom = &s.page.dom;
    let is_date = |name: &str| {
        let name = name.rsplit(':').next().unwrap_or(name);
        ["datePublished", "dateCreated", "created", "issued"].contains(&name)
    };
    (s.page.body..dom.end(s.page.body)).find_map(|id| {
        let names = dom.attr(id, &local_name!("property"))?;
        let content = dom.attr(id, &local_name!("content"))?;
        names.split(' ').any(is_date).then(|| dates::parse(&s.page.rules.dates, content, order))?
    })
}

/// The short visible texts that may hold a date: those with three digits, since of a date there are at least day and year.
pub(super) fn numbered(page: &Page<'_>) -> Vec<u32> {
    let dom = &page.dom;
    let may_hold_date = |id: &u32| {
        dom.tag(*id) == Tag::Text
            && page.is_visible(*id)
            && page.amount(*id).chars <= MAX_LABELLED
            && dom.text(*id).bytes().filter(u8::is_ascii_digit).take(3).count() == 3
    };
    (page.body..dom.end(page.body)).filter(may_hold_date).collect()
}

/// A longer line says more than a date (characters).
const MAX_LABELLED: u32 = 60;

/// The date of the last change: JSON-LD, meta elements, then what the page shows with a word for a change.
pub(super) fn modified(s: &Sources<'_>, order: Order) -> Option<String> {
    let shown = || Some((Rule::ShownChange, shown_change(s, order, &|_| true)?));
    let (rule, date) = modified_in_data(s, order).or_else(shown)?;
    s.note(Field::Modified, rule, false);
    Some(date)
}

/// The date of a `time` element or a short line that has a word for a change beside it, of the lines that are accepted.
fn shown_change(s: &Sources<'_>, order: Order, accept: &dyn Fn(&str) -> bool) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let is_change = |id: &u32| {
        dom.tag(*id) == Tag::Time
            && page.is_visible(*id)
            && change_line(page, *id).is_some_and(|line| accept(&line))
            && !near::is_elsewhere(page, *id)
    };
    let mut times = (page.body..dom.end(page.body)).take_while(|_| !page.budget.is_over()).filter(is_change);
    let is_line = |line: &&String| {
        line.chars().count() <= MAX_LABELLED as usize
            && speaks_of_change(rules, &line.to_lowercase())
            && accept(line)
    };
    let near = || s.near().iter().filter(is_line).find_map(|line| dates::parse(rules, line, order));
    let labelled = || labelled(s, &rules.modified_words, accept, false, order);
    times.find_map(|id| stamp(s, id, order)).or_else(labelled).or_else(near)
}

/// The text of the smallest short element around a date that has a word for a change in front of it, in lower case; none if it has
/// one for publication too, or if a smaller element has.
fn change_line(page: &Page<'_>, id: u32) -> Option<String> {
    let rules = &page.rules.dates;
    let around = std::iter::once(id).chain(page.dom.ancestors(id).take(LABEL_LEVELS));
    let is_line = |up: &u32| {
        *up > page.body && page.amount(*up).chars <= MAX_LABELLED && page.dom.end(*up) - *up <= LABEL_NODES
    };
    let mut lines = around.take_while(is_line).map(|up| text::fold(&page.visible_text(up)).to_lowercase());
    let line =
        lines.find(|line| has_word(&rules.modified_words, line) || has_word(&rules.published_words, line))?;
    // "3 December. Updated: 7 December" begins with the date of publication.
    let before = line.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
    (speaks_of_change(rules, &line) && has_word(&rules.modified_words, before)).then_some(line)
}

/// Elements around a date in which the word for it is looked for.
const LABEL_LEVELS: usize = 4;
/// An element with more nodes is no line.
const LABEL_NODES: u32 = 64;

/// The date of a `time` element, or of one with `itemprop`: its attribute, else its text.
fn stamp(s: &Sources<'_>, id: u32, order: Order) -> Option<String> {
    let (page, rules) = (s.page, &s.page.rules.dates);
    let attribute = |name| page.dom.attr(id, &name);
    let stamp = attribute(local_name!("datetime")).or_else(|| attribute(local_name!("content")));
    stamp.and_then(|stamp| dates::parse(rules, stamp, order)).or_else(|| {
        // An element that was never closed holds the rest of the page.
        let short = page.amount(id).chars <= MAX_STAMP;
        short.then(|| dates::parse(rules, &text::fold(&page.visible_text(id)), order)).flatten()
    })
}

/// The same, with where it stands.
fn modified_in_data(s: &Sources<'_>, order: Order) -> Option<(Rule, String)> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let in_json = s.main.and_then(|main| jsonld::text(main.get("dateModified")?).and_then(parse));
    let in_meta = || rules.modified.iter().find_map(|name| s.metas.all(name).find_map(parse));
    in_json.map(|date| (Rule::JsonLd, date)).or_else(|| Some((Rule::Meta, in_meta()?)))
}

/// The date of a thread's first post, or of a comment's.
fn posted(s: &Sources<'_>, thread: bool, order: Order) -> Option<String> {
    let (page, dom, rules) = (s.page, &s.page.dom, &s.page.rules.dates);
    let parse = |id: u32| dates::parse(rules, &text::fold(&page.visible_text(id)), order);
    let stamped = |id: u32| {
        let stamp = dom
            .attr(id, &local_name!("datetime"))
            .or_else(|| dom.attrs(id).find(|(name, _)| &***name == "ts").map(|(_, value)| value));
        stamp.and_then(|stamp| dates::parse(rules, stamp, order)).or_else(|| parse(id))
    };
    // Some programs write the date behind the name: "by Ada » 5 March 2024".
    let beside_author = || {
        let author = near::in_posts(s, Part::PostAuthor, thread).next()?;
        let line = dom.ancestors(author).find(|up| dom.tag(*up).is_block())?;
        [author, line].into_iter().filter(|id| page.amount(*id).chars <= MAX_AUTHOR_LINE).find_map(parse)
    };
    near::in_posts(s, Part::PostDate, thread).next().and_then(stamped).or_else(beside_author)
}

/// A longer line beside a name says more than when the post was written: since when the author is a member (characters).
const MAX_AUTHOR_LINE: u32 = 80;

/// The date in a line near the heading, unless the line speaks of a change.
fn dated_line(s: &Sources<'_>, line: &str, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let date = dates::parse(rules, line, order)?;
    (!speaks_of_change(rules, &line.to_lowercase())).then_some(date)
}

/// Text of an element for dates that is longer says more than a date (characters).
const MAX_STAMP: u32 = 200;

/// The line, in lower case, has a word for the last change and none for publication.
fn speaks_of_change(rules: &dates::DateRules, line: &str) -> bool {
    has_word(&rules.modified_words, line) && !has_word(&rules.published_words, line)
}

/// The line, in lower case, has one of the words, at the start of a word: "date" is not found in "updated".
fn has_word(words: &[String], line: &str) -> bool {
    let mut in_word = false;
    line.char_indices().any(|(at, c)| {
        let starts = !std::mem::replace(&mut in_word, c.is_alphabetic());
        starts && words.iter().any(|word| line[at..].starts_with(word.as_str()))
    })
}

/// A date that a reader sees.
fn visible(s: &Sources<'_>, order: Order) -> Option<String> {
    let page = s.page;
    let dom = &page.dom;
    let rules = &page.rules.dates;
    let (mut fallback, mut known) = (None, KnownNames::default());
    for id in page.body..dom.end(page.body) {
        if page.budget.is_over() {
            break;
        }
        let tag = dom.tag(id);
        if tag == Tag::Text || !page.is_visible(id) {
            continue;
        }
        let itemprop = dom.attr(id, &local_name!("itemprop")).unwrap_or_default();
        let is_time = tag == Tag::Time || itemprop.eq_ignore_ascii_case("datePublished");
        let is_named = fallback.is_none() && is_named_as_date(page, id, &mut known);
        // Last, since it is dear: all that stands above the element is looked at.
        if !is_time && !is_named || near::is_elsewhere(page, id) {
            continue;
        }
        if change_line(page, id).is_some() {
            continue;
        }
        if is_time {
            let found = stamp(s, id, order);
            if found.is_some() {
                return found;
            }
        }
        if is_named {
            fallback = dates::parse(rules, &text::fold(&page.visible_text(id)), order);
        }
    }
    fallback
}

/// A short element whose class or id speaks of a date.
fn is_named_as_date<'a>(page: &'a Page<'_>, id: u32, known: &mut KnownNames<'a>) -> bool {
    let mut named = |name: LocalName| {
        let names = page.dom.attr(id, &name).filter(|names| !names.is_empty());
        names.is_some_and(|names| known.roles(&page.rules.dates.names, names).has(Roles::META))
    };
    (1..=MAX_NAMED).contains(&page.amount(id).chars)
        && (named(local_name!("class")) || named(local_name!("id")))
}

/// Longer text of an element that is named as a date says more (characters).
const MAX_NAMED: u32 = 60;
