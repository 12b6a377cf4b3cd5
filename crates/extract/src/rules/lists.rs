//! Filter lists of consent banners in EasyList syntax, from the user.
//!
//! The format is that of Adblock Plus ("How to write filters"): element hiding rules (`##selector`,
//! `domain,~domain##selector`), their exceptions (`#@#`) and comments. Rules that need a browser (extended
//! and style rules, scriptlets, blocked requests) are counted and skipped. Nearly all generic rules are one
//! id or one class, which a hash table looks up; the others use [`SelectorSet`].

use super::selector::{Plain, Refusal, Selector, SelectorSet};
use crate::dom::Dom;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Counts of the lists' lines by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListReport {
    /// Hiding rules for all sites.
    pub generic: usize,
    /// Rules that are one id or one class.
    pub plain: usize,
    /// Hiding rules for some sites.
    pub specific: usize,
    /// Exceptions from hiding rules.
    pub exceptions: usize,
    /// Rules about requests, which hide nothing.
    pub network: usize,
    /// Rules that need a browser: extended selectors, styles, scriptlets.
    pub extended: usize,
    /// Hiding rules with an unsupported selector or domain.
    pub unsupported: usize,
    /// Invalid lines: file, line and problem. They are skipped, as in browsers.
    pub problems: Vec<String>,
}

impl fmt::Display for ListReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "generic rules: {} ({} of them one id or class), for named sites: {}, exceptions: {}; left aside: {} about \
             requests, {} that need a browser, {} with selectors that are not supported; faulty lines: {}",
            self.generic,
            self.plain,
            self.specific,
            self.exceptions,
            self.network,
            self.extended,
            self.unsupported,
            self.problems.len()
        )
    }
}

/// Position of a rule.
#[derive(Clone, Debug)]
struct RulePosition {
    list: u16,
    line: u32,
    selector: Box<str>,
}

/// Rules of all lists. A rule is identified by its index.
#[derive(Debug, Default)]
pub(crate) struct FilterLists {
    names: Vec<String>,
    places: Vec<RulePosition>,
    ids: FxHashMap<Box<str>, u32>,
    classes: FxHashMap<Box<str>, u32>,
    others: SelectorSet<u32>,
    /// Rules for a domain and its subdomains.
    specific: FxHashMap<Box<str>, Vec<u32>>,
    /// The selectors of those, by rule.
    selectors: FxHashMap<u32, Selector>,
    /// Rules that are disabled for a domain and its subdomains.
    off: FxHashMap<Box<str>, Vec<u32>>,
    /// Rules that hold nowhere.
    never: FxHashSet<u32>,
    report: ListReport,
}

impl FilterLists {
    /// Reads lists. Unreadable files are added to `problems`; invalid lines to the report.
    pub(super) fn load(paths: &[PathBuf], problems: &mut Vec<String>) -> Self {
        let mut reader = Reader::default();
        for path in paths {
            match std::fs::read(path) {
                Ok(bytes) => reader.read(path, &bytes),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        reader.finish()
    }

    /// Counts of the lists' lines by kind.
    pub(crate) const fn report(&self) -> &ListReport {
        &self.report
    }

    /// Rules for a page of this host.
    pub(crate) fn on(&self, host: &str) -> HostFilters<'_> {
        let mut here = Vec::new();
        let mut off: FxHashSet<u32> = self.never.clone();
        let mut domain = host.trim_end_matches('.');
        while !domain.is_empty() {
            here.extend(self.specific.get(domain).into_iter().flatten().copied());
            off.extend(self.off.get(domain).into_iter().flatten().copied());
            domain = domain.split_once('.').map_or("", |(_, above)| above);
        }
        here.retain(|rule| !off.contains(rule));
        HostFilters { lists: self, here, off }
    }

    /// List, line and selector of a rule, for messages.
    pub(crate) fn place(&self, rule: u32) -> String {
        let Some(place) = self.places.get(rule as usize) else { return String::new() };
        format!("{}:{}: ##{}", self.names[usize::from(place.list)], place.line, place.selector)
    }
}

/// Rules that apply to one page.
pub(crate) struct HostFilters<'a> {
    lists: &'a FilterLists,
    here: Vec<u32>,
    off: FxHashSet<u32>,
}

impl HostFilters<'_> {
    /// A rule that hides the element, given its id and class attributes.
    pub(crate) fn find(&self, dom: &Dom, element: u32, id: &str, class: &str) -> Option<u32> {
        let holds = |rule: &u32| self.off.is_empty() || !self.off.contains(rule);
        let lists = self.lists;
        if !id.is_empty()
            && let Some(rule) = lists.ids.get(id.trim()).copied().filter(holds)
        {
            return Some(rule);
        }
        if let Some(rule) =
            class.split_ascii_whitespace().find_map(|class| lists.classes.get(class).copied().filter(holds))
        {
            return Some(rule);
        }
        let mut found = None;
        lists.others.for_matches(dom, element, |rule| {
            if found.is_none() && holds(&rule) {
                found = Some(rule);
            }
        });
        let matches = |rule: &u32| lists.selectors.get(rule).is_some_and(|s| s.matches(dom, element));
        found.or_else(|| self.here.iter().copied().find(matches))
    }
}

/// Collects rules over all lists; an exception may precede its rule.
#[derive(Default)]
struct Reader {
    lists: FilterLists,
    by_selector: FxHashMap<Box<str>, Vec<u32>>,
    /// Domain (empty: everywhere) and selector.
    exceptions: Vec<(Box<str>, Box<str>)>,
}

/// Separator between domains and a selector.
enum Marker {
    Hide,
    Except,
    Extended,
}

impl Reader {
    fn read(&mut self, path: &Path, bytes: &[u8]) {
        let list = self.lists.names.len() as u16;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.lists.names.push(name);
        for (line, bytes) in (1u32..).zip(bytes.split(|byte| *byte == b'\n')) {
            let outcome = match std::str::from_utf8(bytes) {
                Ok(text) => self.line(text.trim(), list, line),
                Err(_) => Err(Refusal::Wrong("is not UTF-8".to_owned())),
            };
            match outcome {
                Ok(()) => {}
                Err(Refusal::Unsupported(_)) => self.lists.report.unsupported += 1,
                Err(Refusal::Wrong(problem)) => {
                    self.lists.report.problems.push(format!("{}:{line}: {problem}", path.display()));
                }
            }
        }
    }

    fn line(&mut self, text: &str, list: u16, line: u32) -> Result<(), Refusal> {
        if text.is_empty() || text.starts_with('!') || text.starts_with('[') && text.ends_with(']') {
            return Ok(());
        }
        let Some((domains, marker, selector)) = split(text) else {
            self.lists.report.network += 1;
            return Ok(());
        };
        // uBlock Origin's scriptlets, filters of the raw HTML and styles; ABP's actions
        let for_browsers =
            selector.starts_with("+js(") || selector.starts_with('^') || selector.ends_with('}');
        match marker {
            Marker::Extended => self.lists.report.extended += 1,
            _ if for_browsers || is_action(selector) => self.lists.report.extended += 1,
            Marker::Except => {
                self.lists.report.exceptions += 1;
                let domains = if domains.is_empty() { vec![""] } else { domains.split(',').collect() };
                for one in split_list(selector) {
                    self.exceptions
                        .extend(domains.iter().map(|d| (d.trim().to_lowercase().into(), one.into())));
                }
            }
            Marker::Hide if selector.is_empty() => {
                return Err(Refusal::Wrong("a selector is missing behind \"##\"".to_owned()));
            }
            Marker::Hide => {
                for one in split_list(selector) {
                    self.hide(domains, one, RulePosition { list, line, selector: one.into() })?;
                }
            }
        }
        Ok(())
    }

    fn hide(&mut self, domains: &str, text: &str, place: RulePosition) -> Result<(), Refusal> {
        let selector = Selector::parse(text)?;
        let rule = self.lists.places.len() as u32;
        let (excluded, included): (Vec<&str>, Vec<&str>) =
            domains.split(',').map(str::trim).filter(|d| !d.is_empty()).partition(|d| d.starts_with('~'));
        // Wildcards and patterns of domains are not supported; the other domains of the line are.
        let known: Vec<&str> = included.iter().copied().filter(|d| is_domain(d)).collect();
        if known.is_empty() && !included.is_empty() {
            return Err(Refusal::Unsupported(format!("the domain {} is not supported", included[0])));
        }
        if known.is_empty() {
            self.generic(&selector, text, rule, excluded.is_empty())?;
        } else {
            self.lists.report.specific += 1;
            self.lists.selectors.insert(rule, selector);
            for domain in known {
                self.lists.specific.entry(domain.to_lowercase().into()).or_default().push(rule);
            }
        }
        for domain in excluded {
            self.lists.off.entry(domain[1..].to_lowercase().into()).or_default().push(rule);
        }
        self.lists.places.push(place);
        self.by_selector.entry(text.into()).or_default().push(rule);
        Ok(())
    }

    /// Adds a rule for all sites. A rule with exceptions must not block another rule with the same selector, so it
    /// goes to a list.
    fn generic(&mut self, selector: &Selector, text: &str, rule: u32, always: bool) -> Result<(), Refusal> {
        match selector.plain().filter(|_| always) {
            Some(Plain::Id(id)) => {
                self.lists.ids.entry(id.into()).or_insert(rule);
                self.lists.report.plain += 1;
            }
            Some(Plain::Class(class)) => {
                self.lists.classes.entry(class.into()).or_insert(rule);
                self.lists.report.plain += 1;
            }
            None => self.lists.others.add(text, rule)?,
        }
        self.lists.report.generic += 1;
        Ok(())
    }

    fn finish(self) -> FilterLists {
        let Self { mut lists, by_selector, exceptions } = self;
        for (domain, selector) in exceptions {
            let rules = by_selector.get(&selector).into_iter().flatten();
            if domain.is_empty() {
                lists.never.extend(rules);
            } else {
                lists.off.entry(domain).or_default().extend(rules);
            }
        }
        lists
    }
}

/// Splits a line at its marker; `None` for rules about requests, which have none. Only domains precede a
/// marker.
fn split(text: &str) -> Option<(&str, Marker, &str)> {
    let (domains, rest) = text.split_at(text.find('#')?);
    let end = rest[1..].find('#')? + 1;
    let marker = match &rest[1..end] {
        "" => Marker::Hide,
        "@" => Marker::Except,
        "?" | "$" | "%" | "$?" | "@?" | "@$" | "@%" | "@$?" => Marker::Extended,
        _ => return None,
    };
    let in_domains = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | ',' | '*' | ' ');
    domains.chars().all(in_domains).then(|| (domains, marker, rest[end + 1..].trim()))
}

/// Returns true for a style or another action after the selector (uBlock Origin, AdGuard).
fn is_action(selector: &str) -> bool {
    [":style(", ":remove(", ":remove-attr(", ":remove-class("].iter().any(|action| selector.contains(action))
}

fn is_domain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

/// Selectors of a list, split at commas outside of brackets and quotes.
fn split_list(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dom::{Limits, parse};

    fn lists(text: &str) -> FilterLists {
        let mut reader = Reader::default();
        reader.read(Path::new("lists/own.txt"), text.as_bytes());
        reader.finish()
    }

    /// First words of the hidden elements.
    fn hidden(lists: &FilterLists, host: &str, html: &str) -> Vec<String> {
        let dom = parse(html, &Limits::default()).dom;
        let on = lists.on(host);
        let attr = |id, name| dom.attr(id, &name).unwrap_or_default();
        (1..dom.len())
            .filter(|id| {
                let (own, class) =
                    (attr(*id, html5ever::local_name!("id")), attr(*id, html5ever::local_name!("class")));
                on.find(&dom, *id, own, class).is_some()
            })
            .map(|id| dom.raw_text(id))
            .collect()
    }

    const PAGE: &str =
        "<div id=a>1</div><div class='x b'>2</div><p class=c>3</p><section><i class=d>4</i></section>";

    #[test]
    fn generic_rules_apply_everywhere_and_specific_rules_per_host() {
        let lists = lists(
            "[Adblock Plus 2.0]\n! a comment\n###a\n##.b\nshop.example##p.c\nother.example,~www.other.example##p.c\n\
             ~quiet.example##section > .d\n",
        );
        assert_eq!(hidden(&lists, "example.net", PAGE), ["1", "2", "4"]);
        assert_eq!(hidden(&lists, "www.shop.example", PAGE), ["1", "2", "3", "4"]);
        assert_eq!(hidden(&lists, "other.example", PAGE), ["1", "2", "3", "4"]);
        assert_eq!(hidden(&lists, "www.other.example", PAGE), ["1", "2", "4"]);
        assert_eq!(hidden(&lists, "quiet.example", PAGE), ["1", "2"]);
        assert_eq!(hidden(&lists, "notshop.example", PAGE), ["1", "2", "4"]);
    }

    #[test]
    fn exception_rules_apply_at_any_position() {
        let lists = lists("fine.example#@#.b\n##.b\n###a\n#@##a\nfine.example##.b,.c\n");
        assert_eq!(hidden(&lists, "example.net", PAGE), ["2"]);
        assert_eq!(hidden(&lists, "fine.example", PAGE), ["3"]);
    }

    #[test]
    fn unsupported_list_rules_are_counted_and_faults_reported() {
        let lists = lists(
            "||ads.example^\n@@||x.example^$generichide\n/banner#ad##.x\nexample.org#?#div:has(> p)\n\
             example.org##+js(set, a, 1)\n##body:style(overflow: auto)\n##div:has(p)\n##a + b\nshop.*##.q\n##\n##.a[\n##.ok\n",
        );
        let report = lists.report();
        assert_eq!((report.network, report.extended, report.unsupported), (3, 3, 3), "{report}");
        assert_eq!((report.generic, report.plain, report.specific), (1, 1, 0), "{report}");
        assert_eq!(
            report.problems,
            [
                "lists/own.txt:10: a selector is missing behind \"##\"",
                "lists/own.txt:11: a \"]\" is missing in the selector \".a[\""
            ]
        );
        assert_eq!(lists.place(0), "own.txt:12: ##.ok");
    }
}
