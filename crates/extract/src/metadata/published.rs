//! Date of a page's publication.

use super::{
    Order, Sources, changed, clock, dates,
    headings::{CLEAR_AGREEMENT, shared},
    image, jsonld, scripts, shown,
    sources::{Field, Rule},
    stamped, title,
};
use crate::text;
use html5ever::local_name;
use url::Url;

/// Order of numeric dates by language: US English and few others write the month first.
pub(super) fn order_of(language: Option<&str>) -> Order {
    match language {
        None | Some("en" | "en-US" | "en-PH") => Order::MonthFirst,
        Some(language) if language.split('-').next() == Some("hr") => Order::Croatian,
        _ => Order::DayFirst,
    }
}

/// Returns true if a meta element, or `datePublished` of the page's JSON-LD, holds a date (heuristics
/// reference §1).
pub(super) fn is_declared(s: &Sources<'_>, order: Order) -> bool {
    let rules = &s.page.rules.dates;
    let is_date = |text: &str| dates::parse(rules, text, order).is_some();
    let in_json = || s.main.and_then(|main| jsonld::text(main.get("datePublished")?)).is_some_and(is_date);
    let mut names = rules.published.iter().chain(&rules.modified);
    names.any(|name| s.metas.all(name).any(is_date)) || in_json()
}

/// Date of publication: from JSON-LD, meta elements, `time`, elements named like dates, the URL, lines of
/// text, data in scripts, the share image.
pub(super) fn published(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let in_data = || in_json(s, order).or_else(|| in_meta(s, order));
    let in_url = || s.page.url.and_then(|url| dates::from_path(url.path()));
    let (rule, found) = super::first(&[
        (Rule::ShownOfTwo, &|| stamped::shown_of_two(s, order)),
        (Rule::BeforeMeta, &|| stamped::before_meta(s, order)),
        (Rule::BeforeBuild, &|| stamped::before_build(s, &in_data()?, order)),
        (Rule::BeforeChange, &|| stamped::before_change(s, &in_data()?, order)),
        (Rule::JsonLd, &|| in_json(s, order)),
        (Rule::Meta, &|| in_meta(s, order)),
        (Rule::Rdfa, &|| in_rdfa(s, order)),
        (Rule::JsonLd, &|| uploaded(s, order)),
        (Rule::ThreadDate, &|| shown::posted(s, true, order)),
        (Rule::MarkedDate, &|| Some(shown::visible(s, order)?.1)),
        (Rule::Url, &in_url),
        (Rule::DateLine, &|| shown::near_heading(s, order).or_else(|| shown::without_heading(s, order))),
        (Rule::Dateline, &|| shown::dateline(s, order)),
        (Rule::LabelledDate, &|| shown::labelled(s, &rules.published_words, &|_| true, true, order)),
        (Rule::DateSentence, &|| shown::sentence(s, order)),
        (Rule::PostDate, &|| shown::posted(s, false, order)),
        (Rule::BylineDate, &|| shown::in_byline(s, order)),
        (Rule::ScriptDate, &|| scripts::published(s, order)),
        (Rule::OnlyTime, &|| shown::only_time(s, order)),
        (Rule::OnlyChange, &|| changed::only_change(s, order)),
        (Rule::ShareImage, &|| of_share_image(s)),
    ])?;
    let places = [in_json(s, order), in_meta(s, order), in_url()];
    let same = places.iter().flatten().filter(|date| day(date) == day(&found)).count();
    let is_of_data = matches!(rule, Rule::JsonLd | Rule::Meta | Rule::Url | Rule::ShownOfTwo);
    s.note(Field::Published, rule, same > usize::from(is_of_data));
    Some(clock::in_zone_of_page(s, found, order))
}

/// Date of publication in the page's JSON-LD.
pub(super) fn in_json(s: &Sources<'_>, order: Order) -> Option<String> {
    let keys = ["datePublished", "dateCreated"];
    let parse = |text: &str| dates::parse(&s.page.rules.dates, text, order);
    let of_page = keys.iter().find_map(|key| jsonld::text(s.main?.get(*key)?).and_then(parse));
    of_page.or_else(|| uploaded(s, order).filter(|_| is_page_of_video(s)))
}

/// Date on which the video of the page's JSON-LD was uploaded.
fn uploaded(s: &Sources<'_>, order: Order) -> Option<String> {
    dates::parse(&s.page.rules.dates, jsonld::text(s.main?.get("uploadDate")?)?, order)
}

/// Returns true if the page has the title of its video. Another page may embed a video of another day.
fn is_page_of_video(s: &Sources<'_>) -> bool {
    let named = s.main.and_then(|main| jsonld::text(main.get("name")?));
    let titles = title::title_element(s).into_iter().chain(s.metas.get("og:title").map(str::to_owned));
    named.is_some_and(|name| titles.into_iter().any(|title| shared(name, &title) >= CLEAR_AGREEMENT))
}

/// Day in the folder of the image that the page shares (`/files/2016/05/04/cover.png`): content systems store an
/// upload in a folder of its day. A day in the name of a file may be that of a photograph or of a template. The image of
/// a start page is no evidence.
fn of_share_image(s: &Sources<'_>) -> Option<String> {
    s.page.url.filter(|url| url.path() != "/")?;
    let image = Url::parse(&image(s)?).ok()?;
    let (folder, _) = image.path().rsplit_once('/')?;
    dates::from_path(folder)
}

/// Date of publication in the first meta element that holds one; last, in one whose name has a prefix of the
/// site.
pub(super) fn in_meta(s: &Sources<'_>, order: Order) -> Option<String> {
    let rules = &s.page.rules.dates;
    let parse = |text: &str| dates::parse(rules, text, order);
    let prefixed = || {
        s.metas.list.iter().find_map(|(name, content)| {
            let (_, last) = name.rsplit_once([':', '.'])?;
            rules.published_suffixes.iter().any(|suffix| suffix == last).then(|| parse(content))?
        })
    };
    rules.published.iter().find_map(|name| s.metas.all(name).find_map(parse)).or_else(prefixed)
}

/// The day of a date.
pub(super) fn day(date: &str) -> &str {
    text::head(date, DAY)
}

/// Length of a date without a time of day.
pub(super) const DAY: usize = "2026-01-01".len();

/// Date of publication in an RDFa property of any element.
fn in_rdfa(s: &Sources<'_>, order: Order) -> Option<String> {
    let dom = &s.page.dom;
    let is_date = |name: &str| {
        let name = name.rsplit(':').next().unwrap_or(name);
        ["datePublished", "dateCreated", "created", "issued"].contains(&name)
    };
    let body = s.page.within_body();
    s.marks.property.iter().filter(|id| body.contains(id)).find_map(|&id| {
        let names = dom.attr(id, &local_name!("property"))?;
        let content = dom.attr(id, &local_name!("content"))?;
        names.split(' ').any(is_date).then(|| dates::parse(&s.page.rules.dates, content, order))?
    })
}
