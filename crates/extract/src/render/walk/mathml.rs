//! Conversion of MathML without a source to TeX. Parts without a form in TeX are written as text.

use crate::dom::{Dom, Tag};

/// Maximum depth of a formula; a deeper one is written as text.
const MAX_DEPTH: usize = 40;

/// A formula in TeX.
pub(super) fn to_tex(dom: &Dom, math: u32) -> String {
    row(dom, math, 0).trim().to_owned()
}

fn children(dom: &Dom, id: u32) -> Vec<u32> {
    dom.children(id).filter(|child| dom.tag(*child) != Tag::Text).collect()
}

fn row(dom: &Dom, id: u32, depth: usize) -> String {
    let mut out = String::new();
    for child in children(dom, id) {
        if out.len() > super::maths::MAX_FORMULA {
            break;
        }
        add(&mut out, &node(dom, child, depth + 1));
    }
    out
}

/// Adds TeX; a space separates a command from a following letter.
fn add(out: &mut String, tex: &str) {
    let command = out
        .rfind('\\')
        .is_some_and(|at| at + 1 < out.len() && out[at + 1..].bytes().all(|b| b.is_ascii_alphabetic()));
    if command && tex.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.push(' ');
    }
    out.push_str(tex);
}

/// An argument with its braces.
fn group(dom: &Dom, id: Option<&u32>, depth: usize) -> String {
    let inner = id.map(|id| node(dom, *id, depth)).unwrap_or_default();
    format!("{{{}}}", inner.trim())
}

fn base(dom: &Dom, id: Option<&u32>, depth: usize) -> String {
    braced(id.map(|id| node(dom, *id, depth)).unwrap_or_default())
}

/// Formula as one argument, with braces if necessary.
fn braced(inner: String) -> String {
    let single = inner.chars().count() <= 1
        || inner.starts_with('\\') && inner[1..].bytes().all(|b| b.is_ascii_alphabetic());
    if single { inner } else { format!("{{{inner}}}") }
}

fn node(dom: &Dom, id: u32, depth: usize) -> String {
    let name = dom.name(id);
    let parts = children(dom, id);
    let at = |index: usize| parts.get(index);
    if depth > MAX_DEPTH {
        return dom.raw_text(id).split_whitespace().collect();
    }
    let arg = |index: usize| group(dom, at(index), depth + 1);
    let body = |index: usize| base(dom, at(index), depth + 1);
    match name {
        "mi" | "mn" | "mo" | "ms" => symbol(dom.raw_text(id).trim(), name),
        "mtext" => {
            let text = dom.raw_text(id).replace('\u{a0}', " ");
            if text.trim().is_empty() { "\\ ".to_owned() } else { format!("\\text{{{text}}}") }
        }
        "mspace" => "\\;".to_owned(),
        "msup" => format!("{}^{}", body(0), arg(1)),
        "msub" => format!("{}_{}", body(0), arg(1)),
        "msubsup" | "munderover" => format!("{}_{}^{}", body(0), arg(1), arg(2)),
        "mfrac" => format!("\\frac{}{}", arg(0), arg(1)),
        "msqrt" => format!("\\sqrt{{{}}}", row(dom, id, depth + 1)),
        "mroot" => {
            let index = arg(1);
            format!("\\sqrt[{}]{}", index.trim_matches(['{', '}']), arg(0))
        }
        // The inner part is written once: twice per level would be exponential.
        "mover" | "munder" => {
            let inner = node_of(dom, at(0), depth);
            accent(&node_of(dom, at(1), depth), &inner, if name == "mover" { "^" } else { "_" })
        }
        "mtable" => table(dom, id, depth),
        "mfenced" => {
            let attribute =
                |wanted: &str| dom.attrs(id).find(|(name, _)| &***name == wanted).map(|(_, value)| value);
            let parts: Vec<String> = parts.iter().map(|part| node(dom, *part, depth + 1)).collect();
            format!(
                "{}{}{}",
                attribute("open").unwrap_or("("),
                parts.join(","),
                attribute("close").unwrap_or(")")
            )
        }
        "annotation" | "annotation-xml" | "mphantom" | "none" => String::new(),
        _ => row(dom, id, depth),
    }
}

fn node_of(dom: &Dom, id: Option<&u32>, depth: usize) -> String {
    id.map(|id| node(dom, *id, depth + 1)).unwrap_or_default()
}

/// An accent, or a script above or below.
fn accent(mark: &str, inner: &str, script: &str) -> String {
    let accent = match (mark, script) {
        ("^" | "ˆ", "^") => "\\hat",
        ("~" | "˜" | "∼", "^") => "\\tilde",
        ("¯" | "‾" | "-" | "_" | "―", "^") => "\\overline",
        ("→" | "\\to" | "⃗" | "\\rightarrow", "^") => "\\vec",
        ("˙" | ".", "^") => "\\dot",
        ("¨", "^") => "\\ddot",
        ("⏞", "^") => "\\overbrace",
        ("⏟", "_") => "\\underbrace",
        ("_" | "¯" | "‾", "_") => "\\underline",
        _ => return format!("{}{script}{{{}}}", braced(inner.to_owned()), mark.trim()),
    };
    format!("{accent}{{{}}}", inner.trim())
}

fn table(dom: &Dom, id: u32, depth: usize) -> String {
    let rows: Vec<String> = children(dom, id)
        .into_iter()
        .map(|line| {
            let cells: Vec<String> =
                children(dom, line).into_iter().map(|cell| row(dom, cell, depth + 1)).collect();
            cells.join(" & ")
        })
        .collect();
    format!("\\begin{{matrix}}{}\\end{{matrix}}", rows.join(" \\\\ "))
}

/// Signs with a TeX command.
const TEX_COMMANDS: [(&str, &str); 66] = [
    ("α", "\\alpha"),
    ("β", "\\beta"),
    ("γ", "\\gamma"),
    ("δ", "\\delta"),
    ("ε", "\\varepsilon"),
    ("ϵ", "\\epsilon"),
    ("ζ", "\\zeta"),
    ("η", "\\eta"),
    ("θ", "\\theta"),
    ("ι", "\\iota"),
    ("κ", "\\kappa"),
    ("λ", "\\lambda"),
    ("μ", "\\mu"),
    ("ν", "\\nu"),
    ("ξ", "\\xi"),
    ("π", "\\pi"),
    ("ρ", "\\rho"),
    ("σ", "\\sigma"),
    ("τ", "\\tau"),
    ("υ", "\\upsilon"),
    ("φ", "\\varphi"),
    ("ϕ", "\\phi"),
    ("χ", "\\chi"),
    ("ψ", "\\psi"),
    ("ω", "\\omega"),
    ("Γ", "\\Gamma"),
    ("Δ", "\\Delta"),
    ("Θ", "\\Theta"),
    ("Λ", "\\Lambda"),
    ("Π", "\\Pi"),
    ("Σ", "\\Sigma"),
    ("Φ", "\\Phi"),
    ("Ψ", "\\Psi"),
    ("Ω", "\\Omega"),
    ("∑", "\\sum"),
    ("∏", "\\prod"),
    ("∫", "\\int"),
    ("∞", "\\infty"),
    ("≤", "\\leq"),
    ("≥", "\\geq"),
    ("≠", "\\neq"),
    ("≈", "\\approx"),
    ("≡", "\\equiv"),
    ("±", "\\pm"),
    ("×", "\\times"),
    ("⋅", "\\cdot"),
    ("·", "\\cdot"),
    ("→", "\\to"),
    ("⇒", "\\Rightarrow"),
    ("∈", "\\in"),
    ("⊂", "\\subset"),
    ("⊆", "\\subseteq"),
    ("∪", "\\cup"),
    ("∩", "\\cap"),
    ("∀", "\\forall"),
    ("∃", "\\exists"),
    ("∂", "\\partial"),
    ("∇", "\\nabla"),
    ("…", "\\ldots"),
    ("⋯", "\\cdots"),
    ("⟨", "\\langle"),
    ("⟩", "\\rangle"),
    ("−", "-"),
    ("∅", "\\emptyset"),
    ("⟼", "\\mapsto"),
    ("↦", "\\mapsto"),
];

/// Names of functions with a TeX command.
const FUNCTIONS: [&str; 16] = [
    "sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "sup", "inf", "det", "gcd", "arg", "dim",
    "ker",
];

/// A sign, a name or a number.
fn symbol(text: &str, name: &str) -> String {
    if let Some((_, tex)) = TEX_COMMANDS.iter().find(|(sign, _)| *sign == text) {
        return (*tex).to_owned();
    }
    if FUNCTIONS.contains(&text) {
        return format!("\\{text}");
    }
    if matches!(text, "{" | "}" | "%" | "#" | "&" | "_" | "$") {
        return format!("\\{text}");
    }
    // Invisible operators: of functions, products and lists.
    let text: String = text.chars().filter(|c| !('\u{2061}'..='\u{2064}').contains(c)).collect();
    if name == "mi" && text.chars().count() > 1 { format!("\\mathrm{{{text}}}") } else { text }
}
