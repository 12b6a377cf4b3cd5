//! Cascade: the rules for an element, and the winning ones.

use super::{
    colour::{self, Colour},
    index::Index,
    names::Names,
    property::{self, COLOURS, Group, Property, SLOTS, Slot, Value},
    selector::{self, Tree},
    sheet::{self, Declaration, NO_LAYER, Rule, Sheets},
};
use crate::{
    budget::Budget,
    dom::{Dom, Tag},
};
use html5ever::local_name;
use rustc_hash::FxHashMap;
use std::cell::{Cell, LazyCell, OnceCell};

/// Maximum backgrounds of a page that are compared with text colours.
const MAX_GROUNDS: usize = 64;

/// The style of a page.
pub(super) struct Cascade<'a> {
    pub(super) dom: &'a Dom,
    pub(super) tree: Tree<'a>,
    pub(super) sheets: Sheets<'a>,
    /// True if the page has external style sheets.
    pub(super) has_external: bool,
    /// Backgrounds that may hide a text.
    grounds: Vec<Colour>,
    /// Properties that decide about hiding.
    wanted: Cell<Group>,
    /// Names of the elements whose values are computed. Without them each rule may match one.
    examined: OnceCell<Names>,
    all: OnceCell<Index<'a>>,
    pub(super) budget: &'a Budget,
}

/// Origin of a slot's value: the selector's position in the index of all rules.
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
    /// Value of a slot, if a rule sets it.
    pub(super) fn get(&self, slot: Slot) -> Option<Value<'a>> {
        self.won[slot as usize].map(|(_, value, _)| value)
    }

    /// Returns true if the slot hides, alone or with others.
    pub(super) fn hides(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|value| property::is_hiding(slot, value))
    }

    /// Returns true if the slot has a value that matters for visibility, but does not hide by itself.
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
    /// Creates the style of the elements for which the sheets were read.
    pub(super) fn new(dom: &'a Dom, mut sheets: Sheets<'a>, has_external: bool, budget: &'a Budget) -> Self {
        let grounds = if has_external { Vec::new() } else { grounds(dom, &sheets) };
        mark_lost_colours(&mut sheets, &grounds);
        let tree = Tree::new(dom);
        Self {
            dom,
            tree,
            sheets,
            has_external,
            grounds,
            wanted: Cell::new(COLOURS),
            examined: OnceCell::new(),
            all: OnceCell::new(),
            budget,
        }
    }

    /// Rules that can hide an element of the part. Its attributes may set invisible colours.
    pub(super) fn hiding(&self, has_colours: bool) -> Index<'a> {
        self.wanted.set(if has_colours { COLOURS } else { 0 });
        let hides = |rule: &Rule<'_>| rule.hides != 0 && !rule.is_elsewhere;
        if !self.sheets.rules.iter().any(hides) {
            return Index::default();
        }
        let names = self.sheets.names.as_ref();
        let may_match = |selector: &selector::Selector<'_>| {
            names.is_none_or(|names| selector.names_of_ancestors().all(|name| names.has(name.as_bytes())))
        };
        let hiding = Index::new(&self.sheets, self.budget, hides, may_match);
        let all = hiding.entries.iter().flat_map(|(_, _, rule)| self.declarations(*rule));
        let groups =
            all.filter(|declaration| declaration.hides).map(|declaration| declaration.property.group());
        self.wanted.set(groups.fold(self.wanted.get(), |all, group| all | group));
        hiding
    }

    /// Properties by which rules of the index may hide an element, and those that decide about them.
    pub(super) fn hidden_by(&self, hiding: &Index<'a>, element: u32) -> Group {
        let mut group = 0;
        hiding.any(self.dom, element, |entry| {
            let Rule { mut hides, steps, .. } = self.sheets.rules[hiding.rule(entry) as usize];
            if self.tree.matches(hiding.selector(entry), element) && self.tree.take_steps(steps) {
                for declaration in self.declarations(hiding.rule(entry)) {
                    if hides & declaration.property.bit() != 0 {
                        group |= declaration.property.group();
                        hides &= !declaration.property.bit();
                    }
                }
            }
            self.tree.is_exhausted()
        });
        group
    }

    /// Elements that attributes can hide, in order, and the properties by which they do.
    pub(super) fn hidden_by_attributes(&self) -> (Vec<u32>, Group) {
        let mut hides = 0;
        let mut test = |style: &str| {
            let all = Sheets::inline(style).filter(|declaration| declaration.hides);
            let own = all.fold(0, |all, declaration| all | declaration.property.bit());
            hides |= own;
            own != 0
        };
        let styled = self.dom.with_attr(local_name!("style")).take_while(|_| !self.budget.is_over());
        // pages repeat their styles
        let mut known: FxHashMap<&str, bool> = FxHashMap::default();
        let mut is_hidden =
            |style| *known.entry(style).or_insert_with(|| self.hides_by_style(style, &mut test));
        let mut elements: Vec<u32> = styled.filter(|(_, style)| is_hidden(style)).map(|(id, _)| id).collect();
        if !self.grounds.is_empty() {
            let fonts = self.dom.of_kind(|tag| tag == Tag::Font);
            elements.extend(fonts.filter(|id| self.loses_font(*id)));
            elements.sort_unstable();
            elements.dedup();
        }
        (elements, hides)
    }

    /// Returns true if a rule may show one of these elements, which attributes hide by these properties.
    pub(super) fn is_overruled(&self, elements: &[u32], properties: Group) -> bool {
        let sheets = self.dom.of_kind(|tag| tag == Tag::Style);
        let texts = sheets.flat_map(|id| id + 1..self.dom.end(id)).map(|text| self.dom.text(text));
        let names = LazyCell::new(|| Names::of(self.dom, elements));
        let preludes = texts.flat_map(|css| sheet::overruling(css, properties));
        preludes.take_while(|_| !self.tree.is_exhausted()).any(|prelude| {
            let list = if names.may_match(prelude) { selector::parse(prelude, None) } else { None };
            list.is_some_and(|list| {
                let mut elements = elements.iter().take_while(|_| !self.tree.is_exhausted());
                elements.any(|id| list.iter().any(|selector| self.tree.matches(selector, *id)))
            })
        })
    }

    /// Elements of a part of the page whose attributes set a possibly invisible colour, in order.
    pub(super) fn lost_by_attributes(&self, part: &[u32]) -> Vec<u32> {
        let is_lost = |id: &u32| {
            let style = self.dom.attr(*id, &local_name!("style"));
            style.is_some_and(|style| self.hides_by_style(style, &mut |_| false))
                || self.dom.tag(*id) == Tag::Font && self.loses_font(*id)
        };
        part.iter().copied().filter(is_lost).collect()
    }

    /// Returns true if a style attribute sets a possibly invisible colour, or passes the test.
    fn hides_by_style(&self, style: &str, test: &mut impl FnMut(&str) -> bool) -> bool {
        test(style)
            || style.contains("color") && {
                let mut declarations: Vec<Declaration<'_>> = Sheets::inline(style).collect();
                mark_lost(&mut declarations, &self.grounds)
            }
    }

    /// Returns true if the colour of a font may be invisible on a background.
    fn loses_font(&self, id: u32) -> bool {
        let colour = self.dom.attr(id, &local_name!("color")).and_then(colour::of_attribute);
        colour.is_some_and(|colour| self.grounds.iter().any(|ground| colour.is_lost_on(*ground)))
    }

    /// Sets the properties that decide about hiding.
    pub(super) fn require(&self, properties: Group) {
        self.wanted.set(properties);
    }

    /// Sets the elements whose values will be computed.
    pub(super) fn examine(&self, elements: &[u32]) {
        self.examined.get_or_init(|| Names::of(self.dom, elements));
    }

    /// Rules for the examined elements that set properties which decide about hiding.
    pub(super) fn all(&self) -> &Index<'a> {
        self.all.get_or_init(|| {
            let wanted = self.wanted.get();
            let names = self.examined.get();
            let is_about_one = |rule: &Rule<'_>| names.is_none_or(|names| names.may_match(rule.prelude));
            let is_wanted = |rule: &Rule<'_>| rule.sets & wanted != 0 && is_about_one(rule);
            Index::new(&self.sheets, self.budget, is_wanted, |_| true)
        })
    }

    /// The declarations of a rule.
    pub(super) fn declarations(&self, rule: u32) -> &[Declaration<'a>] {
        let range = &self.sheets.rules[rule as usize].declarations;
        self.sheets.declarations.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    /// Winning values of some properties for an element. Others may be missing.
    pub(super) fn compute(&self, element: u32, wanted: Group) -> Computed<'a> {
        let mut computed = Computed { won: [None; SLOTS] };
        self.presentational(element, &mut computed);
        let all = self.all();
        all.any(self.dom, element, |entry| {
            let (_, _, rule) = all.entries[entry as usize];
            let Rule { is_elsewhere, sets, layer, steps, .. } = self.sheets.rules[rule as usize];
            let selector = all.selector(entry);
            let applies = !is_elsewhere && sets & wanted != 0 && self.tree.matches(selector, element);
            if applies && self.tree.take_steps(steps) {
                for declaration in self.declarations(rule) {
                    let weight = |important| weight(important, false, layer, selector.specificity, rule + 1);
                    apply(declaration, weight, Origin::Selector(entry), &mut computed);
                }
            }
            self.tree.is_exhausted()
        });
        if let Some(style) = self.dom.attr(element, &local_name!("style")) {
            for declaration in Sheets::inline(style) {
                let weight = |important| weight(important, true, NO_LAYER, 0, 0);
                apply(&declaration, weight, Origin::Attribute, &mut computed);
            }
        }
        computed
    }

    /// Attributes that act as a style; every rule overrides them.
    fn presentational(&self, element: u32, computed: &mut Computed<'a>) {
        for (name, value) in self.dom.attrs(element) {
            let slot = match *name {
                local_name!("color") if self.dom.tag(element) == Tag::Font => Slot::Colour,
                local_name!("text") if self.dom.tag(element) == Tag::Body => Slot::Colour,
                local_name!("bgcolor") => Slot::Ground,
                local_name!("background") if !value.trim().is_empty() => {
                    computed.challenge(Slot::Image, 0, Value::Hides, Origin::Attribute);
                    continue;
                }
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

/// Rank of a declaration: importance, attributes, layers, specificity, order.
fn weight(important: bool, is_attribute: bool, layer: u16, specificity: u32, order: u32) -> u128 {
    // among important declarations the first layer wins
    let layer = if important { NO_LAYER - layer } else { layer };
    u128::from(important) << 97
        | u128::from(is_attribute) << 96
        | u128::from(layer) << 80
        | u128::from(specificity) << 40
        | u128::from(order)
}

/// Backgrounds of a page: white, and those of rules and attributes.
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

/// Marks the rules with a possibly invisible colour: on one of the backgrounds, or on the background of the same
/// rule.
fn mark_lost_colours(sheets: &mut Sheets<'_>, grounds: &[Colour]) {
    for rule in sheets.rules.iter_mut().filter(|rule| rule.may_match) {
        let range = rule.declarations.start as usize..rule.declarations.end as usize;
        let Some(declarations) = sheets.declarations.get_mut(range) else { continue };
        if mark_lost(declarations, grounds) {
            rule.hides |= Property::Colour.bit() | Property::Fill.bit();
        }
    }
}

/// Marks such colours among declarations. Returns true if there are any.
fn mark_lost(declarations: &mut [Declaration<'_>], grounds: &[Colour]) -> bool {
    let is_colour = |one: &Declaration<'_>| matches!(one.property, Property::Colour | Property::Fill);
    if !declarations.iter().any(is_colour) {
        return false;
    }
    let mut own: Vec<Colour> = Vec::new();
    for colour in declarations.iter().filter_map(ground_of) {
        if own.len() < MAX_GROUNDS && !own.contains(&colour) {
            own.push(colour);
        }
    }
    let mut is_any = false;
    for declaration in declarations.iter_mut().filter(|one| is_colour(one)) {
        let colour = colour::parse(property::importance(declaration.value).0);
        let is_lost =
            colour.is_some_and(|colour| grounds.iter().chain(&own).any(|ground| colour.is_lost_on(*ground)));
        declaration.hides |= is_lost;
        is_any |= is_lost;
    }
    is_any
}
