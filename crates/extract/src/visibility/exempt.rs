//! Hidden elements that a page shows later: by a script, an animation, a changing class, or without scripts.

use super::{
    cascade::{Cascade, Computed, Origin},
    fade::fades_in,
    property::{self, Slot, Value},
    scripts::runs_scripts,
    sheet::{BYTES_PER_STEP, Rule},
};
use crate::dom::Tag;
use html5ever::local_name;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::cell::{Cell, RefCell};

/// Maximum number of times that a node is counted as part of a hidden element.
const LOOKS_PER_NODE: u32 = 8;

/// Names by which pages reveal hidden elements.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevealRules {
    /// Applies the `style` elements of a page too. Without them only attributes hide.
    #[serde(default)]
    pub(super) style_sheets: bool,
    /// Attributes of elements that a script shows when they are on the screen, or when it has run.
    attributes: Vec<String>,
    /// Classes of the same.
    classes: Vec<String>,
    /// Attributes whose values are states.
    state_attributes: Vec<String>,
    /// Words in the names of state classes.
    states: Vec<String>,
    /// Prefixes of generated classes, one for each state of an element.
    generated: Vec<String>,
    /// Minimum share of the page's text in a box that scripts show.
    main_share: f32,
    /// Maximum words that style sheets may hide; scripts show more than these,
    #[serde(default = "default_hidden_words")]
    hidden_words: u32,
    /// and maximum share of the content's words.
    #[serde(default = "default_hidden_share")]
    hidden_share: f32,
}

const fn default_hidden_words() -> u32 {
    40
}

const fn default_hidden_share() -> f32 {
    0.1
}

impl RevealRules {
    /// Returns true if style sheets may permanently hide this many words of a content.
    pub(crate) fn may_be_hidden(&self, hidden: u32, words: u32) -> bool {
        hidden <= self.hidden_words || hidden as f32 <= self.hidden_share * words as f32
    }
}

/// The exemptions of a page.
pub(super) struct Exemptions<'b, 'a> {
    cascade: &'b Cascade<'a>,
    rules: &'b RevealRules,
    has_scripts: bool,
    /// Nodes whose text bytes were counted, and their sum.
    counted: Cell<(u32, u64)>,
    /// Remaining nodes to count.
    looks: Cell<u32>,
    /// Values that were searched for names of animations, by their place.
    animated: RefCell<FxHashMap<(*const u8, usize), bool>>,
}

impl<'b, 'a> Exemptions<'b, 'a> {
    pub(super) fn new(cascade: &'b Cascade<'a>, rules: &'b RevealRules) -> Self {
        let dom = cascade.dom;
        // an archived page may have lost its scripts, and kept the URLs of its style sheets
        let has_scripts = cascade.has_external || runs_scripts(dom);
        let looks = Cell::new(dom.len().saturating_mul(LOOKS_PER_NODE));
        Self { cascade, rules, has_scripts, counted: Cell::default(), looks, animated: RefCell::default() }
    }

    /// Returns true if the page shows an element that the slot hides.
    pub(super) fn holds(&self, element: u32, slot: Slot, computed: &Computed<'a>) -> bool {
        self.ends_with_a_state(slot, computed)
            || self.has_scripts
                && (self.is_hooked(element, slot, computed)
                    || self.is_generated(element, slot, computed)
                    || self.is_main(element))
            || slot != Slot::Display && (self.is_animated(slot, computed) || self.is_named(element))
            || slot == Slot::Opacity && fades_in(self.cascade.dom, element)
            || self.is_cloaked(element)
            || self.is_shown_by_a_rule(element, slot)
    }

    fn is_state_attribute(&self, name: &str) -> bool {
        self.rules.state_attributes.iter().any(|known| known == name)
    }

    /// Returns true if the hiding rule names the class or state that ends it: `.pane:not(.active)`.
    fn ends_with_a_state(&self, slot: Slot, computed: &Computed<'a>) -> bool {
        let Some(Origin::Selector(entry)) = computed.origin(slot) else { return false };
        let selector = self.cascade.all().selector(entry);
        selector.ends_with_a_state(&|name| self.is_state_attribute(name))
            || selector.depends_on_a_state(&|name| self.is_state(name))
    }

    /// Returns true for an element of an animation library, which writes the first frame into its attribute
    /// and finds it by a name.
    fn is_hooked(&self, element: u32, slot: Slot, computed: &Computed<'a>) -> bool {
        let is_moved = matches!(
            slot,
            Slot::Opacity | Slot::Transform | Slot::Translate | Slot::Scale | Slot::Filter | Slot::ClipPath
        );
        is_moved
            && computed.origin(slot) == Some(Origin::Attribute)
            && self.cascade.dom.attrs(element).any(|(name, value)| {
                !value.is_empty()
                    && (matches!(*name, local_name!("class") | local_name!("id"))
                        || name.starts_with("data-"))
            })
    }

    /// Returns true if another class replaces that of the hiding rule to show the element.
    fn is_generated(&self, element: u32, slot: Slot, computed: &Computed<'a>) -> bool {
        let is_rule = matches!(computed.origin(slot), Some(Origin::Selector(_)));
        let class =
            self.cascade.dom.attr(element, &local_name!("class")).filter(|_| is_rule).unwrap_or_default();
        class.split_ascii_whitespace().any(|class| {
            let generated = self.rules.generated.iter().find_map(|start| class.strip_prefix(start.as_str()));
            generated.is_some_and(|hash| hash.len() >= 5 && hash.bytes().any(|byte| byte.is_ascii_digit()))
        })
    }

    /// Returns true if the element has much of the page's text.
    fn is_main(&self, element: u32) -> bool {
        let dom = self.cascade.dom;
        let bytes_of = |id: u32| {
            let is_text = dom.tag(id) == Tag::Text && !dom.tag(dom.parent(id)).is_silent();
            if is_text { dom.text(id).trim_ascii().len() as u64 } else { 0 }
        };
        let nodes = element + 1..dom.end(element);
        let Some(left) = self.looks.get().checked_sub(nodes.end - nodes.start) else { return false };
        self.looks.set(left);
        let own = nodes.map(bytes_of).sum::<u64>() as f32;
        // most elements are too small, as the first nodes show
        let (mut next, mut sum) = self.counted.get();
        while next < dom.len() && own > self.rules.main_share * sum as f32 {
            sum += bytes_of(next);
            next += 1;
        }
        self.counted.set((next, sum));
        own > self.rules.main_share * sum as f32
    }

    fn is_state(&self, name: &str) -> bool {
        let mut words = name.split(['-', '_']);
        words.any(|word| self.rules.states.iter().any(|state| state.eq_ignore_ascii_case(word)))
    }

    /// Returns true if an animation of the page runs, or a transition of the property exists, which needs a
    /// script.
    fn is_animated(&self, slot: Slot, computed: &Computed<'a>) -> bool {
        // such a value may be as long as the page
        let is_short = |value: &str| self.cascade.tree.take_steps(value.len() / BYTES_PER_STEP);
        let has_animation = match computed.get(Slot::Animation) {
            Some(Value::Text(value)) => self.cascade.has_external || self.names_animation(value),
            _ => false,
        };
        let moves = match slot {
            Slot::Opacity => "opacity",
            Slot::Visibility => "visibility",
            Slot::MaxHeight | Slot::Height => "height",
            Slot::MaxWidth | Slot::Width => "width",
            Slot::ClipPath => "clip-path",
            _ => "transform",
        };
        let has_transition = match computed.get(Slot::Transition) {
            Some(Value::Text(value)) if is_short(value) => {
                let value = value.to_ascii_lowercase();
                value.contains(moves)
                    || value.contains("all")
                    || value.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            }
            _ => false,
        };
        has_animation
            || has_transition && self.has_scripts && computed.origin(slot) != Some(Origin::Attribute)
    }

    /// Returns true if the value names an animation of the page. Elements share the values of rules.
    fn names_animation(&self, value: &'a str) -> bool {
        let animations = &self.cascade.sheets.animations;
        let is_one = || value.split([' ', ',']).any(|word| animations.contains(word));
        *self.animated.borrow_mut().entry((value.as_ptr(), value.len())).or_insert_with(is_one)
    }

    /// Returns true if the element has a name that scripts use.
    fn is_named(&self, element: u32) -> bool {
        self.cascade.dom.attrs(element).any(|(name, value)| match *name {
            local_name!("class") => value
                .split_ascii_whitespace()
                .any(|class| self.rules.classes.iter().any(|known| known == class)),
            _ => self.rules.attributes.iter().any(|known| **known == **name),
        })
    }

    /// Returns true if the element is hidden until a framework has run.
    fn is_cloaked(&self, element: u32) -> bool {
        self.cascade.dom.attrs(element).any(|(name, _)| name.ends_with("-cloak"))
    }

    /// Returns true if a rule shows the element in another state of the page, or without scripts.
    fn is_shown_by_a_rule(&self, element: u32, slot: Slot) -> bool {
        let cascade = self.cascade;
        let all = cascade.all();
        let is_state = |name: &str| self.is_state(name);
        let shows = |rule: u32| {
            let mut all = cascade.declarations(rule).iter();
            all.any(|declaration| {
                if declaration.property.slot().is_some_and(|own| own != slot) {
                    return false;
                }
                let mut shows = false;
                let (value, _) = property::importance(declaration.value);
                declaration.property.read(value, &mut |set, value| {
                    shows |= set == slot && !property::is_hiding(slot, value) && value != Value::Inherit;
                });
                shows
            })
        };
        all.any(cascade.dom, element, |entry| {
            let rule = all.rule(entry);
            let Rule { is_elsewhere, steps, .. } = cascade.sheets.rules[rule as usize];
            if !cascade.tree.take_steps(steps) || !shows(rule) {
                return false;
            }
            let selector = all.selector(entry);
            if is_elsewhere {
                cascade.tree.matches(selector, element)
            } else {
                !cascade.tree.matches(selector, element)
                    && cascade.tree.could_match(selector, element, &is_state)
            }
        })
    }
}
