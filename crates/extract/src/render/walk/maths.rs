//! Formulas: their TeX source, before a script or a server converted it.

use super::{Gap, Kind, Walk, mathml};
use crate::{dom::Tag, invisible, page::Page, text};
use html5ever::local_name;

/// Maximum bytes of a formula; a longer one is written as text.
pub(super) const MAX_FORMULA: usize = 20_000;

/// Maximum nodes that are searched for a source.
const MAX_NODES: usize = 5_000;

/// A formula in TeX.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Formula {
    tex: String,
    /// True if it is set on its own line.
    display: bool,
}

/// Formulas of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Formulas {
    /// True if the page has elements that may hold a formula.
    any: bool,
    /// True if a script reads formulas between dollar signs.
    dollars: bool,
}

impl Formulas {
    pub(super) fn of(page: &Page<'_>) -> Self {
        let rules = &page.rules.extraction.markdown;
        let dom = &page.dom;
        let mut all = Self::default();
        for id in 0..dom.len() {
            match dom.tag(id) {
                Tag::Math => all.any = true,
                Tag::Img => {
                    all.any |= dom.attr(id, &local_name!("class")).is_some_and(|class| {
                        class
                            .split_ascii_whitespace()
                            .any(|word| rules.formula_images.iter().any(|name| name == word))
                    }) || is_tex(dom.attr(id, &local_name!("alt")).unwrap_or_default());
                }
                Tag::Script => {
                    all.any |= is_source(page, id);
                    let source = dom.attr(id, &local_name!("src")).unwrap_or_default();
                    all.dollars |= rules.formula_scripts.iter().any(|name| source.contains(name.as_str()));
                }
                _ => {}
            }
        }
        all
    }
}

fn is_source(page: &Page<'_>, id: u32) -> bool {
    page.dom.attr(id, &local_name!("type")).is_some_and(|kind| kind.trim().starts_with("math/tex"))
}

fn is_named(page: &Page<'_>, id: u32) -> bool {
    let names = &page.rules.extraction.markdown.formulas;
    let class = page.dom.attr(id, &local_name!("class")).unwrap_or_default();
    class.split_ascii_whitespace().any(|word| names.iter().any(|name| name == word))
        || matches!(page.dom.name(id), "mjx-container" | "math-renderer")
}

/// Returns true if the text of an image is a formula: it has commands of TeX with their braces.
fn is_tex(alt: &str) -> bool {
    let command = alt.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    command && (alt.contains(['{', '^', '_', '=']) || alt.starts_with('\\'))
}

impl Walk<'_> {
    /// Writes the formula of an element; returns false for another element.
    pub(super) fn write_formula_element(&mut self, id: u32) -> bool {
        if !self.formulas.any || id < self.pre_end {
            return false;
        }
        let dom = &self.page.dom;
        let formula = match dom.tag(id) {
            Tag::Math => self.of_math(id),
            Tag::Script if is_source(self.page, id) => {
                let kind = dom.attr(id, &local_name!("type")).unwrap_or_default();
                clean(&dom.raw_text(id), kind.contains("display"))
            }
            Tag::Img => self.of_image(id),
            Tag::Span | Tag::Div | Tag::CustomBlock | Tag::Other if is_named(self.page, id) => {
                // The script's output precedes the source.
                let next = dom.end(id);
                let sources = [next, next + 1].into_iter().filter(|next| *next < dom.len());
                if sources.into_iter().any(|next| dom.tag(next) == Tag::Script && is_source(self.page, next))
                {
                    return true;
                }
                self.within(id)
            }
            _ => return false,
        };
        let Some(formula) = formula else { return false };
        self.write_formula(&formula);
        let texts = (id..dom.end(id)).filter(|node| dom.tag(*node) == Tag::Text);
        self.inline.nodes.extend(texts);
        true
    }

    /// Source in an element that a script or a server rendered.
    fn within(&self, id: u32) -> Option<Formula> {
        let dom = &self.page.dom;
        let rules = &self.page.rules.extraction.markdown;
        let class = dom.attr(id, &local_name!("class")).unwrap_or_default();
        let display = class.contains("isplay")
            || dom.attrs(id).any(|(name, value)| &**name == "display" && matches!(value, "true" | "block"));
        let inside = || (id..dom.end(id)).take(MAX_NODES);
        let attribute =
            dom.attrs(id).find(|(name, _)| rules.formula_attributes.iter().any(|own| **own == ***name));
        let math = inside().find(|node| dom.tag(*node) == Tag::Math);
        let found = if let Some((_, tex)) = attribute {
            clean(tex, false)
        } else if let Some(script) =
            inside().find(|node| dom.tag(*node) == Tag::Script && is_source(self.page, *node))
        {
            clean(&dom.raw_text(script), false)
        } else if let Some(math) = math {
            self.of_math(math)
        } else {
            inside().find(|node| dom.tag(*node) == Tag::Img).and_then(|image| self.of_image(image))
        };
        let shown = math.is_some_and(|math| self.is_display(math));
        found.map(|formula| Formula { display: display || shown || formula.display, ..formula })
    }

    fn is_display(&self, math: u32) -> bool {
        let dom = &self.page.dom;
        let block = dom
            .attrs(math)
            .any(|(name, value)| matches!((&**name, value), ("display", "block") | ("mode", "display")));
        let around = dom.ancestors(math).take(3).any(|up| {
            dom.attr(up, &local_name!("class")).is_some_and(|class| class.contains("katex-display"))
        });
        block || around
    }

    fn of_math(&self, math: u32) -> Option<Formula> {
        let dom = &self.page.dom;
        let display = self.is_display(math);
        let is_tex = |node: &u32| {
            dom.name(*node) == "annotation"
                && dom.attrs(*node).any(|(name, value)| &**name == "encoding" && is_tex_type(value))
        };
        if let Some(source) = (math..dom.end(math)).find(is_tex) {
            return clean(&dom.raw_text(source), display);
        }
        if let Some((_, tex)) = dom.attrs(math).find(|(name, _)| &***name == "alttext") {
            return clean(tex, display);
        }
        clean(&mathml::to_tex(dom, math), display)
    }

    fn of_image(&self, id: u32) -> Option<Formula> {
        let dom = &self.page.dom;
        let alt = dom.attr(id, &local_name!("alt"))?;
        let class = dom.attr(id, &local_name!("class")).unwrap_or_default();
        let names = &self.page.rules.extraction.markdown.formula_images;
        let named = class.split_ascii_whitespace().any(|word| names.iter().any(|name| name == word));
        if !named && !is_tex(alt) {
            return None;
        }
        // Alone in its block, it is set on its own line.
        let parent = dom.parent(id);
        let alone = dom.tag(parent).is_block() && self.page.amount(parent).chars == 0;
        clean(alt, class.contains("display") || alone && !class.contains("inline"))
    }

    fn write_formula(&mut self, formula: &Formula) {
        if self.table.is_none() && formula.display && self.heading.is_none() {
            self.flush(Kind::Paragraph);
            self.request_gap(Gap::Blank);
            self.inline.chars += formula.tex.chars().count() as u32;
            self.put(Kind::Paragraph, format!("$$\n{}\n$$", formula.tex));
            self.request_gap(Gap::Blank);
        } else {
            let tex = text::fold(&formula.tex);
            self.inline.chars += tex.chars().count() as u32;
            self.inline.push_raw(&format!("${tex}$"));
        }
    }

    /// Adds text with formulas between `\(` and `\)`, `\[` and `\]` and, if a script of the page reads them,
    /// dollar signs. Returns false if it has none.
    pub(super) fn text_with_formulas(&mut self, text: &str, in_link: bool) -> bool {
        if !self.style.markdown || self.inline.open.iter().any(|open| open.mark == Some(super::Mark::Code)) {
            return false;
        }
        let mut rest = text;
        let mut any = false;
        let mut marks = Marks { dollars: self.formulas.dollars, unclosed: [false; 3] };
        while let Some((start, end, formula)) = next_formula(rest, &mut marks) {
            any = true;
            self.inline.push(&rest[..start], in_link);
            if let Some(formula) =
                clean(&formula, rest[start..].starts_with("\\[") || rest[start..].starts_with("$$"))
            {
                let alone =
                    formula.display && rest[..start].trim().is_empty() && rest[end..].trim().is_empty();
                // Within a sentence, it is set inline.
                self.write_formula(&Formula {
                    display: alone && self.inline.text.trim().is_empty(),
                    ..formula
                });
            } else {
                self.inline.push(&rest[start..end], in_link);
            }
            rest = &rest[end..];
        }
        if any {
            self.inline.push(rest, in_link);
        }
        any
    }
}

/// Marks of formulas in a text.
struct Marks {
    /// Dollar signs are marks.
    dollars: bool,
    /// True if no closing mark of each kind is left.
    unclosed: [bool; 3],
}

/// The first formula of a text: its start and end, and its source.
fn next_formula(text: &str, known: &mut Marks) -> Option<(usize, usize, String)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\\', b'$', bytes.get(from..)?).map(|at| from + at) {
        let rest = &text[at..];
        let marks = [("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$")];
        for (kind, (open, close)) in marks.into_iter().enumerate() {
            let Some(inner) = rest.strip_prefix(open).filter(|_| !known.unclosed[kind]) else { continue };
            if open == "$$" && !known.dollars {
                continue;
            }
            let Some(end) = inner.find(close) else {
                known.unclosed[kind] = true;
                continue;
            };
            if !inner[..end].trim().is_empty() {
                return Some((at, at + open.len() + end + close.len(), inner[..end].to_owned()));
            }
        }
        if known.dollars
            && bytes[at] == b'$'
            && let Some(end) = single(&rest[1..])
        {
            return Some((at, at + end + 2, rest[1..=end].to_owned()));
        }
        // A backslash escapes the next character.
        from = at + 1;
        if bytes[at] == b'\\' {
            from += text[from..].chars().next().map_or(0, char::len_utf8);
        }
    }
    None
}

/// End of a formula after one dollar sign: no whitespace inside of either sign, and no digit after the
/// second.
fn single(text: &str) -> Option<usize> {
    if text.starts_with(|c: char| c.is_whitespace() || c == '$') {
        return None;
    }
    let bytes = text.as_bytes();
    let end = memchr::memchr_iter(b'$', bytes).find(|at| bytes[at - 1] != b'\\')?;
    let fits =
        !text[..end].ends_with(char::is_whitespace) && !bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    fits.then_some(end)
}

/// Cleans a formula of server-side wrappers, of blank lines, which would end it, and of Markdown.
fn clean(tex: &str, display: bool) -> Option<Formula> {
    let tex = invisible::without(tex);
    let mut tex = tex.trim();
    let mut display = display;
    for (open, close, shown) in
        [("\\(", "\\)", false), ("\\[", "\\]", true), ("$$", "$$", true), ("$", "$", false)]
    {
        if let Some(inner) = tex.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            tex = inner.trim();
            display |= shown;
        }
    }
    if let Some(inner) = tex.strip_prefix("{\\displaystyle").and_then(|rest| rest.strip_suffix('}')) {
        tex = inner.trim();
    } else if let Some(inner) = tex.strip_prefix("\\displaystyle") {
        tex = inner.trim();
    }
    if tex.is_empty() || tex.len() > MAX_FORMULA {
        return None;
    }
    let lines: Vec<&str> = tex.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    Some(Formula { tex: without_markdown(lines.join("\n")), display })
}

/// Rewrites text that a Markdown reader without formulas takes for a tag, a link, code or a fence. Spaces
/// have no meaning in TeX, and a backtick becomes `\lq`.
fn without_markdown(tex: String) -> String {
    if !tex.contains(['`', '<', ']', '~']) {
        return tex;
    }
    let mut out = String::with_capacity(tex.len() + 8);
    let mut rest = tex.as_str();
    while let Some(c) = rest.chars().next() {
        let (own, behind) = rest.split_at(c.len_utf8());
        match c {
            '`' => {
                let escaped = out.len() - out.trim_end_matches('\\').len();
                out.push_str(if escaped % 2 == 1 { "grave " } else { "\\lq " });
            }
            '~' if rest.starts_with("~~~") && (out.is_empty() || out.ends_with('\n')) => out.push_str("{}~"),
            _ => out.push_str(own),
        }
        let is_tag =
            c == '<' && behind.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        if is_tag || c == ']' && behind.starts_with(['(', '[', ':']) {
            out.push(' ');
        }
        rest = behind;
    }
    out
}

/// Returns true for a media type of TeX: `application/x-tex`, `LaTeX`.
fn is_tex_type(kind: &str) -> bool {
    let name = kind.rsplit('/').next().unwrap_or(kind).trim().to_ascii_lowercase();
    let name = name.strip_prefix("x-").unwrap_or(&name);
    matches!(name, "tex" | "latex" | "amstex")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_escaped_against_markdown() {
        for (tex, want) in [
            ("a < b", "a < b"),
            ("a<b", "a< b"),
            ("<img src=x onerror=alert(1)>", "< img src=x onerror=alert(1)>"),
            ("[x](javascript:alert(1))", "[x] (javascript:alert(1))"),
            ("a\n[x]: y\n~~~\n</b", "a\n[x] : y\n{}~~~\n< /b"),
            ("``a'' \\`e \\\\`", "\\lq \\lq a'' \\grave e \\\\\\lq "),
            ("\u{1b}x", "x"),
        ] {
            assert_eq!(clean(tex, false).map(|formula| formula.tex).as_deref(), Some(want), "{tex}");
        }
    }
}
