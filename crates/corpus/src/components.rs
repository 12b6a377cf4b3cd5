//! Connected components of the graph of strong pairs.

/// Union-find over documents (Tarjan 1975). Union goes by the smaller number, so that a component's root is
/// its first member in any order of the edges.
#[derive(Debug)]
pub struct Components {
    parent: Vec<u32>,
}

impl Components {
    /// Components of `documents` documents, each alone.
    #[must_use]
    pub fn new(documents: u32) -> Self {
        Self { parent: (0..documents).collect() }
    }

    /// The first member of a document's component; the number itself if there is no such document.
    pub fn root(&mut self, mut document: u32) -> u32 {
        while let Some(parent) = self.get(document)
            && parent != document
        {
            let grandparent = self.get(parent).unwrap_or(parent);
            if let Some(slot) = self.parent.get_mut(document as usize) {
                *slot = grandparent;
            }
            document = grandparent;
        }
        document
    }

    fn get(&self, document: u32) -> Option<u32> {
        self.parent.get(document as usize).copied()
    }

    /// Joins the components of two documents.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(slot) = self.parent.get_mut(a.max(b) as usize) {
            *slot = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn components_equal_those_of_a_graph_search(edges in prop::collection::vec((0_u32..30, 0_u32..30), 0..40)) {
            let mut found = Components::new(30);
            for (a, b) in &edges {
                found.join(*a, *b);
            }
            for start in 0..30 {
                let mut reached = vec![start];
                while let Some((a, b)) = edges.iter().find(|(a, b)| reached.contains(a) != reached.contains(b)) {
                    reached.push(if reached.contains(a) { *b } else { *a });
                }
                prop_assert_eq!(found.root(start), *reached.iter().min().unwrap());
            }
        }
    }
}
