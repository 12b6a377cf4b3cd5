//! Images that appear once they are loaded.

use crate::dom::{Dom, Tag};
use html5ever::local_name;

/// First letters of words in classes of images that a script shows.
const FADE_WORDS: [&str; 4] = ["lazy", "lozad", "fade", "reveal"];

/// Returns true for an image that a transition, an animation or a script gives its opacity once it is loaded.
pub(crate) fn fades_in(dom: &Dom, id: u32) -> bool {
    dom.tag(id) == Tag::Img
        && dom.attrs(id).any(|(name, value)| match *name {
            local_name!("style") => is_moved(value),
            local_name!("class") => is_named(value),
            local_name!("onload") => true,
            _ => false,
        })
}

fn is_moved(style: &str) -> bool {
    style.split(';').filter_map(|declaration| declaration.split_once(':')).any(|(name, value)| {
        let name = name.trim().to_ascii_lowercase();
        (name.starts_with("transition") || name.starts_with("animation"))
            && !value.trim().eq_ignore_ascii_case("none")
    })
}

fn is_named(class: &str) -> bool {
    let class = class.to_ascii_lowercase();
    let mut words = class.split(|c: char| !c.is_alphanumeric());
    words.any(|word| FADE_WORDS.iter().any(|start| word.starts_with(start)))
}
