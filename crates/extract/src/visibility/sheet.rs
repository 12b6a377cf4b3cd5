//! Conversion of style sheets to rules: one pass over the bytes, which reads only names and first letters of
//! declarations.

use super::{
    media,
    names::Names,
    property::{self, Group, Property},
    scan::{behind_block, behind_plain_block, next_stop},
};
use crate::budget::Budget;
use rustc_hash::FxHashMap;
use std::{collections::HashSet, ops::Range};

/// Maximum bytes of a page's style sheets.
const MAX_BYTES: usize = 2 << 20;
/// Maximum rules with a relevant declaration.
const MAX_RULES: usize = 20_000;
/// Maximum nesting of blocks.
const MAX_NESTING: usize = 32;
/// Maximum bytes of a declaration that is searched from its end.
const MAX_DECLARATION: usize = 200;
/// Bytes before a declaration that are searched for its rule.
const MAX_PRELUDE: usize = 4096;
/// Layer of rules outside of layers, which are stronger.
pub(super) const NO_LAYER: u16 = u16::MAX;
/// Declarations of a rule that take no step.
const FREE_DECLARATIONS: usize = 8;
/// Bytes of a value that are read in one step.
pub(super) const BYTES_PER_STEP: usize = 16;

/// Properties in which variables are resolved.
const HIDING_ALONE: Group =
    Property::Display.bit() | Property::Visibility.bit() | Property::Opacity.bit() | Property::FontSize.bit();

/// A rule with at least one declaration that can hide or show, or with inner rules.
#[derive(Clone, Debug)]
pub(super) struct Rule<'a> {
    pub(super) prelude: &'a str,
    /// The outer rule.
    pub(super) parent: Option<u32>,
    pub(super) layer: u16,
    pub(super) declarations: Range<u32>,
    /// Steps that reading the declarations takes, as for selectors.
    pub(super) steps: usize,
    /// The properties that the declarations set.
    pub(super) sets: Group,
    /// Properties whose values can hide.
    pub(super) hides: Group,
    /// True if it applies in another state of the page: without scripts, or on a screen of another width.
    pub(super) is_elsewhere: bool,
    /// True if it may match an examined element. Of other rules only variables matter.
    pub(super) may_match: bool,
}

/// A declaration of a property that can hide or show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declaration<'a> {
    pub(super) property: Property,
    /// The unchanged value, with `!important`.
    pub(super) value: &'a str,
    /// True if the value can hide.
    pub(super) hides: bool,
}

/// The style sheets of a page.
#[derive(Debug, Default)]
pub(super) struct Sheets<'a> {
    pub(super) rules: Vec<Rule<'a>>,
    pub(super) declarations: Vec<Declaration<'a>>,
    /// Names of the animations.
    pub(super) animations: HashSet<&'a str>,
    /// True if a sheet imports others, which are not fetched.
    pub(super) imports: bool,
    /// Names of the examined elements. Without them each rule may match one.
    pub(super) names: Option<Names>,
    /// Declarations whose value is a variable.
    variable: Vec<u32>,
    /// Declarations of variables, after the two dashes.
    variables: Vec<&'a str>,
    /// Evaluated lists of queries.
    queries: FxHashMap<&'a str, (bool, bool)>,
    pub(super) layers: Vec<String>,
    bytes: usize,
}

/// A block that is open.
#[derive(Clone, Copy)]
struct Open {
    /// The rule of the declarations in it.
    rule: Option<u32>,
    layer: u16,
    is_elsewhere: bool,
}

impl<'a> Sheets<'a> {
    /// Creates an empty set of sheets for elements of these names.
    pub(super) fn about(names: Names) -> Self {
        Self { names: Some(names), ..Self::default() }
    }

    /// Adds a sheet up to the bounds.
    pub(super) fn read(&mut self, css: &'a str, is_elsewhere: bool, budget: &Budget) {
        self.bytes += css.len();
        if self.bytes > MAX_BYTES {
            return;
        }
        let mut open = vec![Open { rule: None, layer: NO_LAYER, is_elsewhere }];
        let (mut start, mut at) = (0, 0);
        // a semicolon before a block ends no selector
        let mut is_selector = false;
        while at < css.len() && self.rules.len() < MAX_RULES && !budget.is_over() {
            let Some(here) = open.last().copied() else { return };
            let (stop, byte) = next_stop(css.as_bytes(), at);
            at = stop + 1;
            let text = &css[start..stop];
            if byte == b';' && here.rule.is_none() {
                is_selector = is_selector || !trimmed(text).starts_with('@');
                if is_selector {
                    continue;
                }
            }
            match byte {
                b'{' => match self.open(text, here, open.len()) {
                    Some(inner) => match self.behind_other(inner, css, at) {
                        Some(behind) => at = behind,
                        None => open.push(inner),
                    },
                    None => at = behind_block(css.as_bytes(), at),
                },
                b'}' => {
                    // an extra brace belongs to the selector behind it, which no browser takes
                    if open.len() == 1 {
                        is_selector = true;
                        continue;
                    }
                    self.declare(text, here);
                    open.pop();
                    if let Some(outer) = open.last_mut() {
                        self.resume_rule(outer);
                    }
                }
                _ => self.statement(text, here),
            }
            (start, is_selector) = (at, false);
        }
    }

    /// Reads the declarations of a `style` attribute.
    pub(super) fn inline(style: &'a str) -> impl Iterator<Item = Declaration<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < style.len() {
                let start = at;
                let (mut stop, mut byte) = next_stop(style.as_bytes(), at);
                // braces do not end a declaration here
                while matches!(byte, b'{' | b'}') {
                    (stop, byte) = next_stop(style.as_bytes(), stop + 1);
                }
                at = stop + 1;
                if let Some(declaration) = declaration(&style[start..stop]) {
                    return Some(declaration);
                }
            }
            None
        })
    }

    /// Position after the block of a rule about other elements, if its content is irrelevant.
    fn behind_other(&self, block: Open, css: &str, at: usize) -> Option<usize> {
        let may_match = block.rule.is_none_or(|rule| self.rules[rule as usize].may_match);
        if may_match { None } else { behind_plain_block(css.as_bytes(), at) }
    }

    /// Block after a prelude, or `None` if its content is irrelevant.
    fn open(&mut self, prelude: &'a str, here: Open, depth: usize) -> Option<Open> {
        let prelude = trimmed(prelude);
        if depth > MAX_NESTING {
            return None;
        }
        let Some(rest) = at_rule(prelude) else {
            // a value in braces
            if here.rule.is_some() && prelude.starts_with("--") {
                return None;
            }
            return Some(Open { rule: Some(self.rule(prelude, here.rule, here)), ..here });
        };
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, condition) = rest.split_at(name_end);
        let condition = condition.trim();
        match name.to_ascii_lowercase().as_str() {
            "media" => match self.screens(condition) {
                (true, _) => Some(self.group(here)),
                (false, true) => Some(self.group(Open { is_elsewhere: true, ..here })),
                (false, false) => None,
            },
            "container" => {
                let query = condition.find('(').map_or("", |at| &condition[at..]);
                let is_elsewhere = here.is_elsewhere || !media::matches_everywhere(query);
                Some(self.group(Open { is_elsewhere, ..here }))
            }
            "supports" if media::is_supported(condition) => Some(self.group(here)),
            "layer" => {
                let layer = self.layer(condition, here.layer);
                Some(self.group(Open { layer, ..here }))
            }
            "scope" => {
                let root = condition.strip_prefix('(').and_then(|rest| rest.split(')').next());
                let rule = root.map(|root| self.rule(root, here.rule, here));
                Some(Open { rule: rule.or(here.rule), ..here })
            }
            "keyframes" | "-webkit-keyframes" => {
                self.animations.insert(condition.trim_matches(['"', '\'']));
                None
            }
            _ => None,
        }
    }

    /// Returns true for a matching list of queries, and true if it matches only on a screen of another width.
    fn screens(&mut self, condition: &'a str) -> (bool, bool) {
        *self.queries.entry(condition).or_insert_with(|| {
            let holds = media::matches(condition);
            (holds, !holds && media::matches_elsewhere(condition))
        })
    }

    /// A group within a rule holds declarations of that rule.
    fn group(&mut self, here: Open) -> Open {
        let again = here.rule.map(|rule| {
            let Rule { prelude, parent, .. } = self.rules[rule as usize];
            self.rule(prelude, parent, here)
        });
        Open { rule: again, ..here }
    }

    /// Reads declarations after an inner block as a separate rule with the same prelude.
    fn resume_rule(&mut self, here: &mut Open) {
        let Some(rule) = here.rule else { return };
        let Rule { prelude, parent, declarations, .. } = self.rules[rule as usize].clone();
        if declarations.end as usize != self.declarations.len() {
            here.rule = Some(self.rule(prelude, parent, *here));
        }
    }

    fn rule(&mut self, prelude: &'a str, parent: Option<u32>, here: Open) -> u32 {
        let at = self.declarations.len() as u32;
        let Open { layer, is_elsewhere, .. } = here;
        let may_match = self.names.as_ref().is_none_or(|names| names.may_match(prelude));
        self.rules.push(Rule {
            prelude,
            parent,
            layer,
            declarations: at..at,
            steps: 0,
            sets: 0,
            hides: 0,
            is_elsewhere,
            may_match,
        });
        self.rules.len() as u32 - 1
    }

    fn declare(&mut self, text: &'a str, here: Open) {
        let Some(rule) = here.rule else { return };
        let text = trimmed(text);
        let may_match = self.rules[rule as usize].may_match;
        if matches!(text.as_bytes(), [b'-', b'-', ..]) {
            self.variables.push(&text[2..]);
            return;
        }
        if !may_match {
            return;
        }
        let Some(declaration) = declaration(text) else { return };
        if HIDING_ALONE & declaration.property.bit() != 0 && declaration.value.starts_with("var(") {
            self.variable.push(self.declarations.len() as u32);
        }
        let rule = &mut self.rules[rule as usize];
        rule.declarations.end += 1;
        // a few short ones are read in no time
        rule.steps += usize::from(rule.declarations.len() > FREE_DECLARATIONS)
            + declaration.value.len() / BYTES_PER_STEP;
        rule.sets |= declaration.property.bit();
        if declaration.hides {
            rule.hides |= declaration.property.bit();
        }
        self.declarations.push(declaration);
    }

    /// Substitutes variables that are set once, in properties that hide alone.
    pub(super) fn resolve_variables(&mut self) {
        // a variable that is set twice depends on the element
        let mut variables: FxHashMap<&str, Option<&'a str>> = FxHashMap::default();
        let all = if self.variable.is_empty() { &[][..] } else { &self.variables };
        for (name, value) in all.iter().filter_map(|variable| variable.split_once(':')) {
            variables.entry(name.trim_ascii_end()).and_modify(|value| *value = None).or_insert(Some(value));
        }
        for at in std::mem::take(&mut self.variable) {
            let declaration = &mut self.declarations[at as usize];
            let inside = declaration.value.strip_prefix("var(").and_then(|rest| rest.strip_suffix(')'));
            let Some(inside) = inside else { continue };
            let (name, fallback) = inside.split_once(',').unwrap_or((inside, ""));
            let name = name.trim_ascii().strip_prefix("--").unwrap_or_default();
            let Some(value) = variables.get(name).copied().unwrap_or(Some(fallback)) else { continue };
            declaration.value = trimmed(value);
            declaration.hides = declaration.property.can_hide(declaration.value);
            // ranges of rules follow each other
            let rule = self.rules.partition_point(|rule| rule.declarations.end <= at);
            if let Some(rule) = self.rules.get_mut(rule).filter(|_| declaration.hides) {
                rule.hides |= declaration.property.bit();
            }
        }
    }

    fn statement(&mut self, text: &'a str, here: Open) {
        let Some(rest) = at_rule(trimmed(text)) else { return self.declare(text, here) };
        if let Some(names) = keyword(rest, "layer") {
            for name in names.split(',') {
                self.layer(name, here.layer);
            }
        } else if keyword(rest, "import").is_some() {
            self.imports = true;
        }
    }
}

/// Selectors of rules that set one of the properties to a visible value and override an attribute. Outer
/// rules are ignored.
pub(super) fn overruling(css: &str, properties: Group) -> impl Iterator<Item = &str> {
    const WORD: &[u8] = b"important";
    let bytes = css.as_bytes();
    let border = |least: usize, end: usize| {
        memchr::memrchr3(b'{', b';', b'}', &bytes[least..end]).map(|at| least + at)
    };
    memchr::memmem::find_iter(bytes, WORD).take(MAX_RULES).filter_map(move |at| {
        let start = border(at.saturating_sub(MAX_DECLARATION), at)?;
        let found = declaration(&css[start + 1..at + WORD.len()])?;
        if properties & found.property.bit() == 0 || found.hides {
            return None;
        }
        let earliest = start.saturating_sub(MAX_PRELUDE);
        let open = earliest + memchr::memrchr(b'{', &bytes[earliest..=start])?;
        let before = border(earliest, open);
        (before.is_some() || earliest == 0).then(|| trimmed(&css[before.map_or(0, |at| at + 1)..open]))
    })
}

/// An at-rule without its mark.
#[inline]
fn at_rule(text: &str) -> Option<&str> {
    matches!(text.as_bytes(), [b'@', ..]).then(|| &text[1..])
}

/// Text after a word, if it begins with the word.
fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    (head.eq_ignore_ascii_case(word) && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
        .then_some(rest)
}

/// Text without outer whitespace, comments, and HTML comment marks.
#[inline]
fn trimmed(text: &str) -> &str {
    let text = text.trim_ascii();
    if matches!(text.as_bytes(), [b'/', b'*', ..] | [b'<', b'!', ..] | [b'-', b'-', b'>', ..]) {
        without_comments(text)
    } else {
        text
    }
}

fn without_comments(mut text: &str) -> &str {
    loop {
        if let Some(rest) = text.strip_prefix("/*") {
            text = rest.split_once("*/").map_or("", |(_, behind)| behind).trim_ascii_start();
        } else if let Some(rest) = text.strip_prefix("<!--").or_else(|| text.strip_prefix("-->")) {
            text = rest.trim_start();
        } else {
            return text;
        }
    }
}

/// Reads a declaration, if its property matters.
fn declaration(text: &str) -> Option<Declaration<'_>> {
    let text = trimmed(text);
    let end = text.bytes().position(|byte| !property::is_plain(byte))?;
    let (property, colon) = if text.as_bytes()[end] == b':' {
        (property::known(&text[..end])?, end)
    } else {
        let colon = memchr::memchr(b':', text.as_bytes())?;
        (property::named(text[..colon].trim_end())?, colon)
    };
    let value = trimmed(&text[colon + 1..]);
    Some(Declaration { property, value, hides: property.can_hide(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(css: &str) -> Vec<String> {
        let mut sheets = Sheets::default();
        sheets.read(css, false, &Budget::unlimited());
        let all = sheets.rules.iter().filter(|rule| !rule.declarations.is_empty());
        all.map(|rule| {
            let range = rule.declarations.start as usize..rule.declarations.end as usize;
            let values: Vec<&str> = sheets.declarations[range].iter().map(|one| one.value).collect();
            let parent = rule.parent.map_or("", |parent| sheets.rules[parent as usize].prelude);
            format!(
                "{parent}>{} {}{}",
                rule.prelude,
                values.join(","),
                if rule.hides != 0 { "!" } else { "" }
            )
        })
        .collect()
    }

    #[test]
    fn style_sheet_rules_are_parsed() {
        for (css, rules) in [
            ("a{display:none}b{color:red}", vec![">a none!", ">b red"]),
            ("<!-- a { display : none } -->", vec![">a none!"]),
            ("/* x{ */a/* y */{padding:0;/* } */display:none;}", vec![">a/* y */ none!"]),
            ("a{background:url(data:x;base64,{/'});display:none}", vec![">a url(data:x;base64,{/'}),none!"]),
            ("a{content:'}';display:none}", vec![">a none!"]),
            ("@media print{a{display:none}}@media screen{b{display:none}}", vec![">b none!"]),
            ("@font-face{src:url(x)}@page{a{}}c{display:none", vec![">c none!"]),
            (
                "@supports (display:grid){a{display:none}}@supports not (display:grid){b{display:none}}",
                vec![">a none!"],
            ),
            (".a{&.b{display:none}display:block}", vec![".a>&.b none!", ">.a block"]),
            (".a{@media screen{display:none}}", vec![">.a none!"]),
            ("}}a{display:none}b{display:none}", vec![">}}a none!", ">b none!"]),
            ("x&gt; a{display:none}b{display:none}", vec![">x&gt; a none!", ">b none!"]),
            ("a{--x:{display:none};display:block}", vec![">a block"]),
            ("@layer x{a{display:none}}@import 'y';b{display:none}", vec![">a none!", ">b none!"]),
        ] {
            assert_eq!(read(css), rules, "{css}");
        }
    }

    #[test]
    fn style_attribute_declarations_are_parsed() {
        let values = |style| Sheets::inline(style).map(|one| one.value.to_owned()).collect::<Vec<_>>();
        assert_eq!(values("padding:0; DISPLAY : none !important"), ["none !important"]);
        assert_eq!(values("color:red;}display:none"), ["red"]);
        assert_eq!(values("background:url(a;b);opacity:0"), ["url(a;b)", "0"]);
    }
}
