//! Elements by the attributes that the collectors search for.

use crate::dom::{Dom, Tag};
use html5ever::local_name;

/// Elements of a page with such an attribute, in document order.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Links and `link` elements with `rel`.
    pub(super) rel: Vec<u32>,
    pub(super) itemprop: Vec<u32>,
    pub(super) itemscope: Vec<u32>,
    /// Elements with `property`.
    pub(super) property: Vec<u32>,
}

impl Marks {
    /// Reads the attributes of all elements once.
    pub(super) fn of(dom: &Dom) -> Self {
        let mut marks = Self::default();
        for id in dom.of_kind(|tag| tag != Tag::Text) {
            for name in dom.attr_names(id) {
                match *name {
                    local_name!("rel") if matches!(dom.tag(id), Tag::Link | Tag::A) => marks.rel.push(id),
                    local_name!("itemprop") => marks.itemprop.push(id),
                    local_name!("itemscope") => marks.itemscope.push(id),
                    local_name!("property") => marks.property.push(id),
                    _ => {}
                }
            }
        }
        marks
    }
}
