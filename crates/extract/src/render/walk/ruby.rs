//! Readings of words (`ruby`), which follow their word in brackets.

use super::Walk;

impl Walk<'_> {
    /// Opens the bracket of a reading, if there is a word before it.
    pub(super) fn open_reading(&mut self, id: u32) {
        if !self.inline.text.is_empty() {
            self.inline.text.push('(');
            self.reading = Some(id);
        }
    }

    /// Closes the bracket of a reading. A part of a word that needs no reading has an empty one.
    pub(super) fn leave_reading(&mut self, id: u32) {
        if self.reading != Some(id) {
            return;
        }
        self.reading = None;
        if self.inline.text.ends_with('(') {
            self.inline.text.pop();
        } else if !self.inline.text.is_empty() {
            self.inline.text.push(')');
        }
    }
}
