//! Visibility of elements by their winning values.

use super::{
    Seen,
    cascade::{Cascade, Computed},
    colour::Colour,
    exempt::Exemptions,
    parent_of,
    property::{COLOURS, Group, Property, Slot, Value},
    with_surroundings,
};
use crate::dom::{NONE, Tag};
use html5ever::local_name;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Inherited styles of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Inherited {
    invisible: bool,
    tiny: bool,
    indented: bool,
    overlapping: bool,
    clear: bool,
    /// True if letters have no fill, whatever their colour.
    unfilled: bool,
    /// Text of this colour is invisible on its background.
    lost: Option<Colour>,
}

impl Inherited {
    /// Returns true if the text is unreadable in every intended state of the page.
    const fn is_unreadable(self) -> bool {
        self.tiny || self.indented || self.overlapping || self.clear || self.unfilled || self.lost.is_some()
    }

    /// Properties that may end the inherited styles.
    const fn group(self) -> Group {
        let mut group = 0;
        if self.invisible {
            group |= Property::Visibility.group();
        }
        if self.tiny {
            group |= Property::FontSize.group();
        }
        if self.indented {
            group |= Property::Indent.group();
        }
        if self.overlapping {
            group |= Property::Letters.group();
        }
        if self.clear || self.unfilled || self.lost.is_some() {
            group |= COLOURS;
        }
        group
    }

    const fn hides(self) -> bool {
        self.invisible || self.is_unreadable()
    }
}

/// A walk over the elements of a page.
pub(super) struct Judge<'b, 'a> {
    cascade: &'b Cascade<'a>,
    exemptions: &'b Exemptions<'b, 'a>,
    seen: Vec<Seen>,
    inherited: FxHashMap<u32, Inherited>,
    /// Cached backgrounds of elements.
    grounds: RefCell<FxHashMap<u32, Ground>>,
}

/// Background of an element: none, one that cannot be compared, or a colour.
type Ground = Option<Option<Colour>>;

impl<'b, 'a> Judge<'b, 'a> {
    pub(super) fn new(cascade: &'b Cascade<'a>, exemptions: &'b Exemptions<'b, 'a>) -> Self {
        let seen = vec![Seen::Yes; cascade.dom.len() as usize];
        Self { cascade, exemptions, seen, inherited: FxHashMap::default(), grounds: RefCell::default() }
    }

    /// Judges elements in document order, each after its ancestors. `may_hide` returns the properties by
    /// which an element may be hidden.
    pub(super) fn run(mut self, elements: &[u32], may_hide: impl Fn(u32) -> Group) -> Vec<Seen> {
        let (dom, cascade) = (self.cascade.dom, self.cascade);
        // a page that is hidden as a whole is shown by its scripts
        let is_judged = |id: u32| !matches!(dom.tag(id), Tag::Text | Tag::Html | Tag::Head | Tag::Body);
        let candidates: Vec<(u32, Group)> = elements
            .iter()
            .take_while(|_| !cascade.budget.is_over())
            .filter(|id| is_judged(**id))
            .map(|id| (*id, may_hide(*id)))
            .filter(|(_, group)| *group != 0)
            .collect();
        if candidates.is_empty() {
            return self.seen;
        }
        if !cascade.sheets.rules.is_empty() {
            cascade.examine(&with_surroundings(dom, candidates.iter().map(|(id, _)| *id)));
        }
        let mut candidates = candidates.into_iter().peekable();
        let mut closed_end = 0;
        for id in elements.iter().copied().take_while(|_| !cascade.budget.is_over()) {
            let own = candidates.next_if(|(candidate, _)| *candidate == id).map_or(0, |(_, group)| group);
            if id < closed_end || own == 0 && self.inherited.is_empty() || !is_judged(id) {
                continue;
            }
            let inherited = parent_of(dom, id).and_then(|parent| self.inherited.get(&parent)).copied();
            let wanted = own | inherited.map_or(0, Inherited::group);
            if wanted != 0 {
                self.look_at(id, wanted, inherited.unwrap_or_default());
            }
            if matches!(self.seen[id as usize], Seen::Closed | Seen::Never) {
                closed_end = dom.end(id);
                self.seen[id as usize + 1..closed_end as usize].fill(Seen::Inside);
            }
        }
        self.join(elements);
        self.seen
    }

    fn look_at(&mut self, id: u32, wanted: Group, inherited: Inherited) {
        let computed = self.cascade.compute(id, wanted);
        if let Some((slot, seen)) = self.hidden_box(id, &computed)
            && !self.exemptions.holds(id, slot, &computed)
        {
            self.seen[id as usize] = seen;
            return;
        }
        let inherited = self.text(id, &computed, inherited);
        if inherited.hides() {
            self.seen[id as usize] = Seen::NoText;
            self.inherited.insert(id, inherited);
        }
    }

    /// Slot that hides the element with its content.
    fn hidden_box(&self, id: u32, computed: &Computed<'a>) -> Option<(Slot, Seen)> {
        let is_out = computed.is_set(Slot::Position);
        let is_moved = is_out || computed.get(Slot::Position) == Some(Value::Relative);
        let clips = computed.is_set(Slot::Overflow);
        let is_box = is_out || computed.is_set(Slot::Float) || self.is_box(id, computed);
        let by_itself =
            [Slot::Display, Slot::Contents, Slot::Opacity, Slot::Filter, Slot::Zoom, Slot::Security];
        let by_shape = [Slot::Scale, Slot::Transform, Slot::Translate, Slot::Rotate];
        let by_place = [Slot::Left, Slot::Top, Slot::Right, Slot::Bottom];
        let by_size = [Slot::Height, Slot::MaxHeight, Slot::Width, Slot::MaxWidth];
        let first = |slots: &[Slot]| slots.iter().copied().find(|slot| computed.hides(*slot));
        let closed = first(&by_itself)
            .or_else(|| first(&by_shape).filter(|_| is_box))
            .or_else(|| first(&by_place).filter(|_| is_moved))
            .or_else(|| first(&by_size).filter(|_| is_box && clips))
            .or_else(|| first(&[Slot::ClipPath, Slot::Margin]))
            .or_else(|| first(&[Slot::LineHeight]).filter(|_| clips && is_box && self.is_leaf(id)));
        if let Some(slot) = closed {
            return Some((slot, Seen::Closed));
        }
        first(&[Slot::Mask])
            .or_else(|| first(&[Slot::Clip]).filter(|_| is_out))
            .map(|slot| (slot, Seen::Never))
    }

    /// Returns true if the element has no inner element, which could have another line height.
    fn is_leaf(&self, id: u32) -> bool {
        let dom = self.cascade.dom;
        (id + 1..dom.end(id)).all(|inside| dom.tag(inside) == Tag::Text)
    }

    /// Returns true if the element has its own width and height.
    fn is_box(&self, id: u32, computed: &Computed<'_>) -> bool {
        match computed.get(Slot::Display) {
            Some(Value::Inline) => false,
            Some(_) => true,
            None => {
                let tag = self.cascade.dom.tag(id);
                tag.is_block() || tag == Tag::Button
            }
        }
    }

    /// Text styles of the element: inherited ones, and its own.
    fn text(&self, id: u32, computed: &Computed<'a>, mut all: Inherited) -> Inherited {
        let dom = self.cascade.dom;
        match computed.get(Slot::Visibility) {
            Some(Value::Hides) => all.invisible = !self.exemptions.holds(id, Slot::Visibility, computed),
            Some(Value::Shows) => all.invisible = false,
            _ => {}
        }
        let may_be_styled = self.cascade.has_external
            && [local_name!("class"), local_name!("id")].iter().any(|name| dom.attr(id, name).is_some());
        match computed.get(Slot::FontSize) {
            Some(Value::Length(size)) if size.is_relative() => all.tiny |= size.is_tiny_font(),
            Some(Value::Length(size)) => all.tiny = size.is_tiny_font(),
            Some(Value::Shows) => all.tiny = false,
            // an external style sheet may set it
            _ => all.tiny &= !may_be_styled,
        }
        // text clipped at the end of its line
        let is_past_line = |slot| {
            let length = computed.get(slot);
            slot == Slot::Indent
                && !computed.is_set(Slot::Overflow)
                && matches!(length, Some(Value::Length(length)) if !length.is_far())
        };
        for (slot, flag) in [(Slot::Indent, &mut all.indented), (Slot::Letters, &mut all.overlapping)] {
            match computed.get(slot) {
                Some(Value::Length(_) | Value::Shows) => {
                    *flag = computed.hides(slot) && !is_past_line(slot);
                }
                _ => *flag &= !may_be_styled,
            }
        }
        self.colours(id, computed, &mut all, may_be_styled);
        all
    }

    fn colours(&self, id: u32, computed: &Computed<'_>, all: &mut Inherited, may_be_styled: bool) {
        let dom = self.cascade.dom;
        let is_link = dom.tag(id) == Tag::A && dom.attr(id, &local_name!("href")).is_some();
        let is_drawn = computed.is_set(Slot::GroundClip)
            || matches!(computed.get(Slot::Shadow), Some(Value::Length(_)))
            || matches!(computed.get(Slot::Stroke), Some(Value::Length(width)) if !width.is_zero());
        match computed.get(Slot::Fill) {
            Some(Value::Colour(colour)) => all.unfilled = colour.is_clear() && !is_drawn,
            Some(Value::Shows) => all.unfilled = false,
            _ => all.unfilled &= !may_be_styled && !is_drawn,
        }
        // the first of the two fills the letters
        let filled = computed
            .get(Slot::Fill)
            .filter(|value| matches!(value, Value::Colour(colour) if !colour.is_clear()));
        match filled.or(computed.get(Slot::Colour)) {
            Some(Value::Colour(colour)) => {
                all.clear = colour.is_clear() && !is_drawn;
                all.lost =
                    (!is_drawn && !colour.is_clear() && self.is_lost(id, colour, computed)).then_some(colour);
            }
            Some(Value::Shows) => (all.clear, all.lost) = (false, None),
            // links have their own colour
            _ if is_link || may_be_styled || is_drawn => (all.clear, all.lost) = (false, None),
            _ => {
                let has_ground = computed.get(Slot::Ground).is_some() || computed.is_set(Slot::Image);
                if has_ground && all.lost.is_some_and(|colour| !self.is_lost(id, colour, computed)) {
                    all.lost = None;
                }
            }
        }
    }

    /// Returns true if text of the colour is invisible on the element's background.
    fn is_lost(&self, id: u32, colour: Colour, computed: &Computed<'_>) -> bool {
        let dom = self.cascade.dom;
        if let Some(known) = ground_of(computed) {
            return known.is_some_and(|ground| colour.is_lost_on(ground));
        }
        // ancestors are the background, and external style sheets may colour them
        if self.cascade.has_external || computed.is_set(Slot::Position) {
            return false;
        }
        let mut up = dom.parent(id);
        while up != NONE && up != 0 {
            let ground = *self
                .grounds
                .borrow_mut()
                .entry(up)
                .or_insert_with(|| ground_of(&self.cascade.compute(up, COLOURS)));
            if let Some(known) = ground {
                return known.is_some_and(|ground| colour.is_lost_on(ground));
            }
            up = dom.parent(up);
        }
        colour.is_lost_on(Colour::WHITE)
    }

    /// Hides a whole element if no element in it has readable text.
    fn join(&mut self, elements: &[u32]) {
        if self.inherited.is_empty() {
            return;
        }
        let dom = self.cascade.dom;
        let mut shows = vec![false; self.seen.len()];
        for id in elements.iter().copied().rev().filter(|id| dom.tag(*id) != Tag::Text) {
            let at = id as usize;
            if self.seen[at] == Seen::Yes || self.seen[at] == Seen::NoText && shows[at] {
                shows[dom.parent(id) as usize] = true;
            } else if self.seen[at] == Seen::NoText {
                let is_unreadable = self.inherited.get(&id).is_some_and(|all| all.is_unreadable());
                self.seen[at] = if is_unreadable { Seen::Never } else { Seen::Closed };
            }
        }
        // opening the outermost one opens the inner ones
        let mut closed_end = 0;
        for id in elements.iter().copied().filter(|id| dom.tag(*id) != Tag::Text) {
            if id >= closed_end && matches!(self.seen[id as usize], Seen::Closed | Seen::Never) {
                closed_end = dom.end(id);
                self.seen[id as usize + 1..closed_end as usize].fill(Seen::Inside);
            }
        }
    }
}

fn ground_of(computed: &Computed<'_>) -> Ground {
    if computed.is_set(Slot::Image) {
        return Some(None);
    }
    match computed.get(Slot::Ground) {
        Some(Value::Colour(colour)) if colour.is_opaque() => Some(Some(colour)),
        Some(Value::Colour(colour)) if !colour.is_clear() => Some(None),
        _ => None,
    }
}
