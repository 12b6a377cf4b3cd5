//! Layers of style sheets.

use super::sheet::{NO_LAYER, Sheets};
use std::collections::HashMap;

/// Significant characters of a layer's name.
const MAX_LAYER_NAME: usize = 64;
/// Maximum layers of a page; later ones count as the last.
const MAX_LAYERS: usize = 1000;
/// Significant names of a layer with its outer layers.
const MAX_NAMES: usize = 16;

impl Sheets<'_> {
    /// Number of a layer, by its name and its outer layers.
    pub(super) fn layer(&mut self, name: &str, around: u16) -> u16 {
        let outer = self.layers.get(usize::from(around)).cloned();
        let name: String = name.trim().chars().take(MAX_LAYER_NAME).collect();
        // an unnamed layer is unique
        let own = if name.is_empty() { format!("{{{}}}", self.layers.len()) } else { name };
        let full = outer.map_or(own.clone(), |outer| format!("{outer}.{own}"));
        let known = self.layers.iter().position(|known| *known == full);
        let at = known.unwrap_or_else(|| {
            if self.layers.len() < MAX_LAYERS {
                self.layers.push(full);
            }
            self.layers.len() - 1
        });
        at as u16
    }

    /// Numbers the layers of the rules by their strength. An outer layer is stronger than those in it. A layer with
    /// its inner ones is stronger than a layer that was named before.
    pub(super) fn order_layers(&mut self) {
        if !self.layers.iter().any(|name| name.contains('.')) {
            return;
        }
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut keys: Vec<(Vec<usize>, usize)> = Vec::new();
        for (at, name) in self.layers.iter().enumerate() {
            let ends = name.match_indices('.').map(|(end, _)| end).chain([name.len()]).take(MAX_NAMES);
            let mut key: Vec<usize> = ends.map(|end| *first.entry(&name[..end]).or_insert(at)).collect();
            key.push(usize::MAX);
            keys.push((key, at));
        }
        keys.sort();
        let mut ranks = vec![0; keys.len()];
        for (rank, (_, at)) in (0..).zip(keys) {
            ranks[at] = rank;
        }
        for rule in self.rules.iter_mut().filter(|rule| rule.layer != NO_LAYER) {
            rule.layer = ranks.get(usize::from(rule.layer)).copied().unwrap_or(rule.layer);
        }
    }
}
