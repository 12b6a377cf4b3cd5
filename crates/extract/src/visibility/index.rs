//! Rules by the names that their elements must have.

use super::{
    selector::{self, Key, List},
    sheet::{Rule, Sheets},
};
use crate::{budget::Budget, dom::Dom};
use html5ever::local_name;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Maximum selectors in an index. A prelude with many selectors costs one entry per selector and inner block.
const MAX_ENTRIES: usize = 50_000;

/// Lists by their preludes and outer rules. Blocks of one rule share its prelude.
type Lists<'a> = FxHashMap<(*const u8, usize, Option<u32>), Option<List<'a>>>;

/// Selectors by the names that an element must have.
#[derive(Default)]
pub(super) struct Index<'a> {
    /// List, position in it, and rule.
    pub(super) entries: Vec<(List<'a>, u32, u32)>,
    by_id: FxHashMap<String, Vec<u32>>,
    by_class: FxHashMap<String, Vec<u32>>,
    by_tag: FxHashMap<String, Vec<u32>>,
    others: Vec<u32>,
}

impl<'a> Index<'a> {
    pub(super) fn new(
        sheets: &Sheets<'a>,
        budget: &Budget,
        is_wanted: impl Fn(&Rule<'a>) -> bool,
        may_match: impl Fn(&selector::Selector<'a>) -> bool,
    ) -> Self {
        let mut index = Self::default();
        let mut lists = Lists::default();
        let is_wanted = |rule: &Rule<'a>| rule.may_match && is_wanted(rule);
        for rule in (0..sheets.rules.len()).filter(|rule| is_wanted(&sheets.rules[*rule])) {
            if budget.is_over() || index.entries.len() > MAX_ENTRIES {
                break;
            }
            if let Some(list) = list_of(sheets, rule as u32, &mut lists) {
                index.add(&list, rule as u32, &may_match);
            }
        }
        index
    }

    fn add(&mut self, list: &List<'a>, rule: u32, may_match: impl Fn(&selector::Selector<'a>) -> bool) {
        for (at, selector) in list.iter().enumerate().filter(|(_, selector)| may_match(selector)) {
            let entry = self.entries.len() as u32;
            self.entries.push((Rc::clone(list), at as u32, rule));
            match selector.key() {
                Key::Id(id) => self.by_id.entry(id.to_owned()).or_default().push(entry),
                Key::Class(class) => self.by_class.entry(class.to_owned()).or_default().push(entry),
                Key::Tag(tag) => self.by_tag.entry(tag.to_owned()).or_default().push(entry),
                Key::Any => self.others.push(entry),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn selector(&self, entry: u32) -> &selector::Selector<'a> {
        let (list, at, _) = &self.entries[entry as usize];
        &list[*at as usize]
    }

    pub(super) fn rule(&self, entry: u32) -> u32 {
        self.entries[entry as usize].2
    }

    /// Returns true if a selector that names the element passes the test.
    pub(super) fn any(&self, dom: &Dom, element: u32, mut test: impl FnMut(u32) -> bool) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        let mut check =
            |list: Option<&Vec<u32>>| list.is_some_and(|list| list.iter().any(|entry| test(*entry)));
        if !self.by_tag.is_empty() && check(self.by_tag.get(dom.name(element))) {
            return true;
        }
        for (name, value) in dom.attrs(element) {
            let found = match *name {
                local_name!("id") if !self.by_id.is_empty() => check(self.by_id.get(value)),
                local_name!("class") if !self.by_class.is_empty() => {
                    value.split_ascii_whitespace().any(|class| check(self.by_class.get(class)))
                }
                _ => false,
            };
            if found {
                return true;
            }
        }
        check(Some(&self.others))
    }
}

/// Selectors of a rule, combined with those of its outer rules.
fn list_of<'a>(sheets: &Sheets<'a>, rule: u32, known: &mut Lists<'a>) -> Option<List<'a>> {
    let Rule { prelude, parent, .. } = sheets.rules[rule as usize];
    let key = (prelude.as_ptr(), prelude.len(), parent);
    if let Some(list) = known.get(&key) {
        return list.clone();
    }
    let around = match parent {
        // blocks are nested to a bound
        Some(parent) => Some(list_of(sheets, parent, known)?),
        None => None,
    };
    let list = selector::parse(prelude, around.as_ref());
    known.insert(key, list.clone());
    list
}
