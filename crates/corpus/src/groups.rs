//! Groups of duplicates and their canonical documents.

use crate::{components::Components, documents::Documents};
use std::cmp::Reverse;

/// Group of every document; a document without duplicates is its own group.
#[derive(Debug)]
pub struct Groups {
    /// Group by document. Groups are numbered by their first documents.
    group: Vec<u32>,
    groups: Vec<Group>,
}

/// Documents that are duplicates of one another, directly or through others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Documents, in order.
    pub members: Vec<u32>,
    /// Canonical document: the longest cleaned text, then https, then the shortest URL, then the first.
    pub canonical: u32,
}

impl Groups {
    pub(crate) fn new(components: &mut Components, documents: &Documents) -> Self {
        let mut group: Vec<u32> = Vec::with_capacity(documents.len() as usize);
        let mut groups: Vec<Group> = Vec::new();
        for document in 0..documents.len() {
            // the root is the first member, so its group exists when others follow
            let root = components.root(document);
            let known = if root == document { None } else { group.get(root as usize).copied() };
            let number = known.unwrap_or_else(|| u32::try_from(groups.len()).unwrap_or(u32::MAX));
            group.push(number);
            match groups.get_mut(number as usize) {
                Some(known) => known.members.push(document),
                None => groups.push(Group { members: vec![document], canonical: document }),
            }
        }
        for group in groups.iter_mut().filter(|group| group.members.len() > 1) {
            let rank = |d: &u32| {
                let url = documents.url(*d);
                let chars = documents.distinct_of(*d).map_or(0, |t| t.chars);
                (Reverse(chars), !url.starts_with("https://"), url.chars().count(), *d)
            };
            group.canonical = group.members.iter().copied().min_by_key(rank).unwrap_or(group.canonical);
        }
        Self { group, groups }
    }

    /// Number of a document's group.
    #[must_use]
    pub fn of(&self, document: u32) -> u32 {
        self.group.get(document as usize).copied().unwrap_or(u32::MAX)
    }

    /// A group by its number.
    #[must_use]
    pub fn get(&self, group: u32) -> Option<&Group> {
        self.groups.get(group as usize)
    }

    /// Groups of at least two with their numbers, the largest first.
    #[must_use]
    pub fn of_several(&self) -> Vec<(u32, &Group)> {
        let mut groups: Vec<_> = (0..).zip(&self.groups).filter(|(_, g)| g.members.len() > 1).collect();
        groups.sort_by_key(|(number, group)| (Reverse(group.members.len()), *number));
        groups
    }
}
