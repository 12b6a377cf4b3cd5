//! Notes on outputs that the first round of a crawl began empty. Such an output has one record a page, and no page of it
//! is gone, so the end of the round need not read it.

use crawl_model::{SCHEMA_VERSION, Store, StoreError};
use crawl_output::Before;

fn key(name: &str) -> String {
    format!("first_round:{name}")
}

/// Version of the records of an output that only the first round has written.
fn version() -> String {
    SCHEMA_VERSION.to_string()
}

/// Notes an output that was opened at a length of `offset` bytes. The note goes when the output holds more or fewer bytes
/// than the first round has written.
///
/// # Errors
/// When storage fails.
pub fn note(
    store: &dyn Store,
    round: u32,
    name: &str,
    (before, offset): (Before, u64),
) -> Result<(), StoreError> {
    let is_whole = round == 1
        && match before {
            Before::Replace => true,
            Before::Closed(length) | Before::CutOff(length) => length == offset && is_whole(store, name)?,
            Before::Unknown => false,
        };
    store.put(&key(name), &if is_whole { version() } else { String::new() })
}

/// Returns true if the first round has written each record of an output, in the schema of today.
///
/// # Errors
/// When storage fails.
pub fn is_whole(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    Ok(store.round()? == 1 && store.get(&key(name))? == Some(version()))
}

/// Forgets all notes: after a repair a page may be fetched again.
///
/// # Errors
/// When storage fails.
pub fn forget(store: &dyn Store) -> Result<(), StoreError> {
    store.entries(&key(""))?.iter().try_for_each(|(key, _)| store.put(key, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::open;

    #[test]
    fn output_is_complete_after_an_unmodified_first_round() {
        let dir = tempfile::tempdir().unwrap();
        let state = open(dir.path());
        let store: &dyn Store = &*state.store;
        let after = |before, offset| {
            note(store, state.round, "out", (before, offset)).unwrap();
            is_whole(store, "out").unwrap()
        };
        assert!(!is_whole(store, "out").unwrap());
        assert!(after(Before::Replace, 0));
        assert!(after(Before::CutOff(10), 10), "a killed run");
        assert!(after(Before::Closed(20), 20), "a stopped run");
        assert!(!after(Before::Closed(20), 21), "a line that a user added");
        assert!(!after(Before::Closed(21), 21), "the line is still there");
        assert!(after(Before::Replace, 0));
        assert!(!after(Before::CutOff(10), 9), "lost records");
        assert!(!after(Before::Unknown, 0));
        assert!(after(Before::Replace, 0));
        store.put(&key("out"), &(SCHEMA_VERSION - 1).to_string()).unwrap();
        assert!(!is_whole(store, "out").unwrap(), "records of an earlier version");
        assert!(after(Before::Replace, 0));
        forget(store).unwrap();
        assert!(!is_whole(store, "out").unwrap(), "a repaired state");
        assert!(after(Before::Replace, 0));
        crate::state::note_end(store).unwrap();
        drop(state);
        let state = open(dir.path());
        assert_eq!(state.round, 2);
        assert!(!is_whole(&*state.store, "out").unwrap(), "the second round");
    }
}
