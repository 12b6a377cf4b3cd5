//! Start of a run in its round: the current one, or the next one if the current one has ended.

use super::{
    ENDED_KEY, ENDS_FROM_KEY, RULES_KEY, Wanted, number, shared,
    wanted::{Admitted, Note},
};
use crate::{config::Config, exit::Failure};
use crawl_model::{RulesVersion, StoreError};
use crawl_store::{RoundSettings, StateStore};
use std::path::Path;

/// A run that enters a round.
pub(super) struct Entry<'e> {
    pub(super) store: &'e dyn StateStore,
    pub(super) dir: &'e Path,
    pub(super) config: &'e Config,
    pub(super) rules: RulesVersion,
    /// The current round.
    pub(super) round: u32,
    /// The current round has ended.
    pub(super) new_round: bool,
    /// The fingerprints of hosts stay.
    pub(super) keeps_sites: bool,
}

impl Entry<'_> {
    /// Enters the round. Returns its number, and the way in which it writes known pages.
    ///
    /// # Errors
    /// When the output or the settings do not fit the state or the other workers (exit 2), or storage fails.
    pub(super) fn enter(&self) -> Result<(u32, Admitted), Failure> {
        let wanted = Wanted::of(self.config);
        if self.config.state.is_shared() { self.enter_shared(&wanted) } else { self.enter_alone(&wanted) }
    }

    fn enter_alone(&self, wanted: &Wanted) -> Result<(u32, Admitted), Failure> {
        let admitted = wanted.admit(self.store, self.dir, (!self.new_round).then_some(self.round))?;
        // before the round begins: a run that resumes it needs them
        self.put(wanted.notes_of_round(self.this_round(), admitted)?)?;
        self.put(self.notes_of_ends()?)?;
        let round = if self.new_round { self.begin()? } else { self.round };
        self.put(self.notes_of_rules(wanted)?)?;
        Ok((round, admitted))
    }

    /// The worker that begins a round stores its settings and notes with it. A worker that joins changes no note.
    fn enter_shared(&self, wanted: &Wanted) -> Result<(u32, Admitted), Failure> {
        let mut round = self.round;
        if self.new_round {
            let admitted = wanted.admit(self.store, self.dir, None)?;
            let mut notes = wanted.notes_of_round(self.this_round(), admitted)?;
            notes.extend(self.notes_of_ends()?);
            notes.extend(self.notes_of_rules(wanted)?);
            self.store.propose(self.settings(notes))?;
            round = self.begin()?;
        }
        if !self.new_round && self.store.settings_of_round()?.is_none() {
            // a copy of a state directory, whose records have settings too
            wanted.admit(self.store, self.dir, Some(self.round))?;
        }
        let settings = self.settings(self.notes_of_rules(wanted)?);
        shared::agree(self.store, &settings, (&self.config.state.crawl, round))?;
        if !self.new_round {
            self.put(self.notes_of_ends()?)?;
        }
        Ok((round, Admitted::noted(self.store, round)?))
    }

    fn begin(&self) -> Result<u32, StoreError> {
        match self.round {
            0 => self.store.begin_round(),
            _ => self.store.begin_recrawl(self.keeps_sites),
        }
    }

    const fn this_round(&self) -> u32 {
        if self.new_round { self.round + 1 } else { self.round }
    }

    fn settings(&self, notes: Vec<Note>) -> RoundSettings {
        RoundSettings { settings: shared::settings(self.config), rules: self.rules, notes }
    }

    fn notes_of_rules(&self, wanted: &Wanted) -> Result<Vec<Note>, StoreError> {
        let mut notes = vec![(RULES_KEY.to_owned(), self.rules.0.to_string())];
        notes.extend(wanted.notes()?);
        Ok(notes)
    }

    /// Notes that ends of rounds are noted from this round on, and that this round, if it had ended, continues.
    fn notes_of_ends(&self) -> Result<Vec<Note>, StoreError> {
        let (first, mut notes) = (self.this_round(), Vec::new());
        if number(self.store.get(ENDS_FROM_KEY)?).is_none_or(|noted| noted > first) {
            notes.push((ENDS_FROM_KEY.to_owned(), first.to_string()));
        }
        if number(self.store.get(ENDED_KEY)?) == Some(first) {
            notes.push((ENDED_KEY.to_owned(), String::new()));
        }
        Ok(notes)
    }

    fn put(&self, notes: Vec<Note>) -> Result<(), StoreError> {
        notes.into_iter().try_for_each(|(name, value)| self.store.put(&name, &value))
    }
}
