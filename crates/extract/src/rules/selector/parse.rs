//! Parsing of a selector into chains.

use super::{Chain, Compound, Name, Refusal, Test, wrong};
use html5ever::LocalName;
use memchr::memmem::Finder;

/// Chains in written order, each innermost first.
pub(super) fn split_chains(text: &str) -> Result<Vec<Chain>, Refusal> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut rest = text.trim();
    let mut child = false;
    while !rest.is_empty() {
        let (compound, left) = compound(rest)?;
        match chains.last_mut().filter(|_| child) {
            Some(chain) => chain.insert(0, compound),
            None => chains.push(vec![compound]),
        }
        rest = left.trim_start();
        child = rest.starts_with('>');
        if child {
            rest = rest[1..].trim_start();
            if rest.is_empty() {
                return Err(wrong("nothing stands behind the last \">\""));
            }
        }
    }
    Ok(chains)
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}

fn compound(text: &str) -> Result<(Compound, &str), Refusal> {
    let mut compound = Compound::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            c if c.is_whitespace() || c == '>' && rest.len() < text.len() => break,
            '#' | '.' => {
                let (value, left) = name(&rest[1..])?;
                if value.is_empty() {
                    return Err(Refusal::Wrong(format!("a name is missing after \"{first}\"")));
                }
                rest = left;
                match first {
                    '.' => compound.classes.push(value),
                    _ => compound.id = Some(value),
                }
            }
            '[' => {
                let end = closing(rest, ']')?;
                compound.attrs.push(attribute(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            ':' if rest.starts_with(":not(") => {
                let end = closing(rest, ')')?;
                let inner = rest[5..end].trim();
                match self::compound(inner)? {
                    (not, "") if !inner.is_empty() => compound.nots.push(not),
                    _ => return Err(Refusal::Unsupported(format!("\":not({inner})\" is not supported"))),
                }
                rest = &rest[end + 1..];
            }
            c if (is_name(c) || c == '\\') && rest.len() == text.len() => {
                let (tag, left) = name(rest)?;
                compound.tag = Some(Name::of(&tag.to_ascii_lowercase()));
                rest = left;
            }
            ':' | '*' | '+' | '~' | ',' | '|' | '^' => {
                return Err(Refusal::Unsupported(format!("\"{first}\" is not supported")));
            }
            c => return Err(Refusal::Wrong(format!("\"{c}\" has no place"))),
        }
    }
    Ok((compound, rest))
}

/// Position of the bracket that closes the first one of the text; brackets in quotes do not count.
fn closing(text: &str, bracket: char) -> Result<usize, Refusal> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, _) if c == bracket => return Ok(at),
            _ => {}
        }
    }
    Err(Refusal::Wrong(format!("a \"{bracket}\" is missing")))
}

/// A name with its escapes resolved (CSS Syntax Level 3, §4.3.7), and the rest.
fn name(text: &str) -> Result<(String, &str), Refusal> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if is_name(c) {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else if c == '\\' {
            let digits = rest[1..].bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
            if digits == 0 {
                let escaped =
                    rest[1..].chars().next().ok_or_else(|| wrong("nothing stands behind \"\\\""))?;
                out.push(escaped);
                rest = &rest[1 + escaped.len_utf8()..];
            } else {
                let code = u32::from_str_radix(&rest[1..=digits], 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = &rest[1 + digits..];
                rest = rest.strip_prefix(' ').unwrap_or(rest);
            }
        } else {
            break;
        }
    }
    Ok((out, rest))
}

fn attribute(text: &str) -> Result<(LocalName, Test), Refusal> {
    let Some((name, value)) = text.split_once('=') else {
        return Ok((attribute_name(text)?, Test::Present));
    };
    let value = value.trim();
    let inner = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].strip_suffix(quote).ok_or_else(|| {
            Refusal::Unsupported(format!("what stands behind the value in [{text}] is not supported"))
        })?,
        _ if value.contains(char::is_whitespace) => {
            return Err(Refusal::Unsupported(format!(
                "what stands behind the value in [{text}] is not supported"
            )));
        }
        _ => value,
    };
    if inner.is_empty() {
        return Err(wrong("an attribute's value is empty"));
    }
    let value = inner.to_owned();
    let (name, test) = match name.as_bytes().last() {
        Some(b'*') => (&name[..name.len() - 1], Test::Contains(Box::new(Finder::new(inner).into_owned()))),
        Some(b'^') => (&name[..name.len() - 1], Test::StartsWith(value)),
        Some(b'$') => (&name[..name.len() - 1], Test::EndsWith(value)),
        Some(b'~') => (&name[..name.len() - 1], Test::HasWord(value)),
        Some(b'|') => {
            return Err(Refusal::Unsupported(format!("the comparison in [{text}] is not supported")));
        }
        _ => (name, Test::Equals(value)),
    };
    Ok((attribute_name(name)?, test))
}

fn attribute_name(text: &str) -> Result<LocalName, Refusal> {
    let text = text.trim();
    let fine = !text.is_empty() && text.chars().all(|c| is_name(c) || matches!(c, ':' | '.'));
    if fine { Ok(LocalName::from(text)) } else { Err(Refusal::Wrong(format!("[{text}] names no attribute"))) }
}
