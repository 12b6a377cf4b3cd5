//! The rules that hold for an element, and which of them wins.

use super::{
    colour::{self, Colour},
    property::{self, Property, SLOTS, Slot, Value},
    selector::{self, Key, List, Tree},
    sheet::{Declaration, NO_LAYER, Sheets},
};
use crate::{
    budget::Budget,
    dom::{Dom, Tag},
};
use html5ever::local_name;
use rustc_hash::FxHashMap;
use std::{cell::OnceCell, rc::Rc};

/// Backgrounds of a page that colours of texts are compared with.
const MAX_GROUNDS: usize = 64;

/// The style of a page.
pub(super) struct Cascade<'a> {
    pub(super) dom: &'a Dom,
    pub(super) tree: Tree<'a>,
    pub(super) sheets: Sheets<'a>,
    /// There are style sheets that are not part of the page.
    pub(super) has_external: bool,
    hiding: Index<'a>,
    all: OnceCell<Index<'a>>,
    /// Elements whose attributes can hide, in order.
    by_attributes: Vec<u32>,
    pub(super) budget: &'a Budget,
}

/// Selectors by the names that an element has to have.
pub(super) struct Index<'a> {
    /// The list, the place in it, and the rule.
    entries: Vec<(List<'a>, u32, u32)>,
    by_id: FxHashMap<String, Vec<u32>>,
    by_class: FxHashMap<String, Vec<u32>>,
    by_tag: FxHashMap<String, Vec<u32>>,
    others: Vec<u32>,
}

/// Origin of the value of a slot: the selector's place in the index of all rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Selector(u32),
    Attribute,
}

/// The winning values of an element.
pub(super) struct Computed<'a> {
    won: [Option<(u128, Value<'a>, Origin)>; SLOTS],
}

impl<'a> Computed<'a> {
    /// The value of a slot, if any rule sets it.
    pub(super) fn get(&self, slot: Slot) -> Option<Value<'a>> {
        self.won[slot as usize].map(|(_, value, _)| value)
    }

    /// Returns true if the slot hides, alone or with others.
    pub(super) fn hides(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|value| property::is_hiding(slot, value))
    }

    /// Returns true if the value of the slot is the one that counts for it, where that alone hides nothing.
    pub(super) fn is_set(&self, slot: Slot) -> bool {
        self.get(slot) == Some(Value::Hides)
    }

    pub(super) fn origin(&self, slot: Slot) -> Option<Origin> {
        self.won[slot as usize].map(|(_, _, origin)| origin)
    }

    fn challenge(&mut self, slot: Slot, weight: u128, value: Value<'a>, origin: Origin) {
        let won = &mut self.won[slot as usize];
        if won.is_none_or(|(best, _, _)| weight >= best) {
            *won = Some((weight, value, origin));
        }
    }
}

impl<'a> Cascade<'a> {
    pub(super) fn new(dom: &'a Dom, mut sheets: Sheets<'a>, has_external: bool, budget: &'a Budget) -> Self {
        let grounds = if has_external { Vec::new() } else { grounds(dom, &sheets) };
        mark_lost_colours(&mut sheets, &grounds);
        let by_attributes: Vec<u32> = (1..dom.len())
            .take_while(|_| !budget.is_over())
            .filter(|id| dom.tag(*id) != Tag::Text && hides_by_attributes(dom, *id, has_external, &grounds))
            .collect();
        let hiding =
            Index::new(&sheets, budget, |rule| sheets.rules[rule].hides && !sheets.rules[rule].is_elsewhere);
        Self {
            dom,
            tree: Tree::new(dom),
            sheets,
            has_external,
            hiding,
            all: OnceCell::new(),
            by_attributes,
            budget,
        }
    }

    /// Returns true if any rule or attribute can hide.
    pub(super) fn can_hide(&self) -> bool {
        !self.hiding.entries.is_empty() || !self.by_attributes.is_empty()
    }

    /// Returns true if a rule that can hide matches the element, or an attribute of it can hide.
    pub(super) fn is_suspect(&self, element: u32) -> bool {
        self.by_attributes.binary_search(&element).is_ok()
            || self
                .hiding
                .any(self.dom, element, |entry| self.tree.matches(self.hiding.selector(entry), element))
    }

    /// All rules.
    pub(super) fn all(&self) -> &Index<'a> {
        self.all.get_or_init(|| {
            Index::new(&self.sheets, self.budget, |rule| !self.sheets.rules[rule].declarations.is_empty())
        })
    }

    /// The declarations of a rule.
    pub(super) fn declarations(&self, rule: u32) -> &[Declaration<'a>] {
        let range = &self.sheets.rules[rule as usize].declarations;
        self.sheets.declarations.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// The values that win for an element.
    pub(super) fn compute(&self, element: u32) -> Computed<'a> {
        let mut computed = Computed { won: [None; SLOTS] };
        self.presentational(element, &mut computed);
        let all = self.all();
        all.any(self.dom, element, |entry| {
            let (_, _, rule) = all.entries[entry as usize];
            let is_elsewhere = self.sheets.rules[rule as usize].is_elsewhere;
            let selector = all.selector(entry);
            if !is_elsewhere && self.tree.matches(selector, element) {
                let layer = self.sheets.rules[rule as usize].layer;
                for declaration in self.declarations(rule) {
                    let weight = |important| weight(important, false, layer, selector.specificity, rule + 1);
                    apply(declaration, weight, Origin::Selector(entry), &mut computed);
                }
            }
            false
        });
        if let Some(style) = self.dom.attr(element, &local_name!("style")) {
            for declaration in Sheets::inline(style) {
                let weight = |important| weight(important, true, NO_LAYER, 0, 0);
                apply(&declaration, weight, Origin::Attribute, &mut computed);
            }
        }
        computed
    }

    /// Attributes that stand for a style; every rule wins over them.
    fn presentational(&self, element: u32, computed: &mut Computed<'a>) {
        for (name, value) in self.dom.attrs(element) {
            let slot = match *name {
                local_name!("color") if self.dom.tag(element) == Tag::Font => Slot::Colour,
                local_name!("text") if self.dom.tag(element) == Tag::Body => Slot::Colour,
                local_name!("bgcolor") => Slot::Ground,
                _ => continue,
            };
            if let Some(colour) = colour::of_attribute(value) {
                computed.challenge(slot, 0, Value::Colour(colour), Origin::Attribute);
            }
        }
    }
}

fn apply<'a>(
    declaration: &Declaration<'a>,
    weight: impl Fn(bool) -> u128,
    origin: Origin,
    computed: &mut Computed<'a>,
) {
    let (value, important) = property::importance(declaration.value);
    let weight = weight(important);
    declaration.property.read(value, &mut |slot, value| computed.challenge(slot, weight, value, origin));
}

/// The rank of a declaration: importance, attributes, layers, specificity, order.
fn weight(important: bool, is_attribute: bool, layer: u16, specificity: u32, order: u32) -> u128 {
    // among important declarations the first layer wins
    let layer = if important { NO_LAYER - layer } else { layer };
    u128::from(important) << 97
        | u128::from(is_attribute) << 96
        | u128::from(layer) << 80
        | u128::from(specificity) << 40
        | u128::from(order)
}

impl<'a> Index<'a> {
    fn new(sheets: &Sheets<'a>, budget: &Budget, is_wanted: impl Fn(usize) -> bool) -> Self {
        let mut index = Self {
            entries: Vec::new(),
            by_id: FxHashMap::default(),
            by_class: FxHashMap::default(),
            by_tag: FxHashMap::default(),
            others: Vec::new(),
        };
        let mut lists: FxHashMap<u32, Option<List<'a>>> = FxHashMap::default();
        for rule in (0..sheets.rules.len()).filter(|rule| is_wanted(*rule)) {
            if budget.is_over() {
                break;
            }
            if let Some(list) = list_of(sheets, rule as u32, &mut lists) {
                index.add(&list, rule as u32);
            }
        }
        index
    }

    fn add(&mut self, list: &List<'a>, rule: u32) {
        for (at, selector) in list.iter().enumerate() {
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

    pub(super) fn selector(&self, entry: u32) -> &selector::Selector<'a> {
        let (list, at, _) = &self.entries[entry as usize];
        &list[*at as usize]
    }

    pub(super) fn rule(&self, entry: u32) -> u32 {
        self.entries[entry as usize].2
    }

    /// Returns true if the test holds for a selector that names the element.
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

/// The selectors of a rule, with those of the rules around it.
fn list_of<'a>(
    sheets: &Sheets<'a>,
    rule: u32,
    known: &mut FxHashMap<u32, Option<List<'a>>>,
) -> Option<List<'a>> {
    if let Some(list) = known.get(&rule) {
        return list.clone();
    }
    let around = match sheets.rules[rule as usize].parent {
        // blocks are nested to a bound
        Some(parent) => Some(list_of(sheets, parent, known)?),
        None => None,
    };
    let list = selector::parse(sheets.rules[rule as usize].prelude, around.as_ref());
    known.insert(rule, list.clone());
    list
}

/// The backgrounds of a page: white, and what rules and attributes set.
fn grounds(dom: &Dom, sheets: &Sheets<'_>) -> Vec<Colour> {
    let mut grounds = vec![Colour::WHITE];
    let mut add = |colour: Option<Colour>| {
        if let Some(colour) = colour.filter(|colour| colour.is_opaque())
            && grounds.len() < MAX_GROUNDS
            && !grounds.contains(&colour)
        {
            grounds.push(colour);
        }
    };
    for declaration in &sheets.declarations {
        add(ground_of(declaration));
    }
    for id in (1..dom.len()).filter(|id| dom.tag(*id) != Tag::Text) {
        for (name, value) in dom.attrs(id) {
            match *name {
                local_name!("bgcolor") => add(colour::of_attribute(value)),
                local_name!("style") if value.contains("background") => {
                    Sheets::inline(value).for_each(|declaration| add(ground_of(&declaration)));
                }
                _ => {}
            }
        }
    }
    grounds
}

fn ground_of(declaration: &Declaration<'_>) -> Option<Colour> {
    match declaration.property {
        Property::Background | Property::Ground => colour::find(property::importance(declaration.value).0),
        _ => None,
    }
}

/// Marks the rules with a colour in which a text may be lost: on one of the backgrounds, or on that of the same rule.
fn mark_lost_colours(sheets: &mut Sheets<'_>, grounds: &[Colour]) {
    for rule in &mut sheets.rules {
        let range = rule.declarations.start as usize..rule.declarations.end as usize;
        let Some(declarations) = sheets.declarations.get_mut(range) else { continue };
        rule.hides |= mark_lost(declarations, grounds);
    }
}

/// Marks the colours among declarations. Returns true if there are any.
fn mark_lost(declarations: &mut [Declaration<'_>], grounds: &[Colour]) -> bool {
    if !declarations.iter().any(|one| one.property == Property::Colour) {
        return false;
    }
    let own: Vec<Colour> = declarations.iter().filter_map(ground_of).collect();
    let mut is_any = false;
    for declaration in declarations.iter_mut().filter(|one| one.property == Property::Colour) {
        let colour = colour::parse(property::importance(declaration.value).0);
        let is_lost =
            colour.is_some_and(|colour| grounds.iter().chain(&own).any(|ground| colour.is_lost_on(*ground)));
        declaration.hides |= is_lost;
        is_any |= is_lost;
    }
    is_any
}

/// Returns true if an attribute of the element can hide.
fn hides_by_attributes(dom: &Dom, id: u32, has_external: bool, grounds: &[Colour]) -> bool {
    dom.attrs(id).any(|(name, value)| match *name {
        local_name!("style") => {
            Sheets::inline(value).any(|declaration| declaration.hides)
                || value.contains("color") && {
                    let mut declarations: Vec<Declaration<'_>> = Sheets::inline(value).collect();
                    mark_lost(&mut declarations, grounds)
                }
        }
        local_name!("color") => {
            !has_external
                && dom.tag(id) == Tag::Font
                && colour::of_attribute(value)
                    .is_some_and(|colour| grounds.iter().any(|ground| colour.is_lost_on(*ground)))
        }
        _ => false,
    })
}
