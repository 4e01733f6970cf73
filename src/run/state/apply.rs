//! Applying an event: what is legal is decided first, then the state takes the step.

use super::State;
use crate::run::decoded_event::Event;
use crate::run::entry::{EntrySink, NoSink};
use crate::run::error::RunError;
use crate::run::transition;

impl State {
    /// Takes the next event. If it is refused, nothing has changed.
    #[inline]
    pub fn apply(&mut self, event: &Event<'_>) -> Result<(), RunError> {
        self.apply_into(event, &mut NoSink)
    }

    /// Takes the next event and tells `sink` which entries of the state it changed.
    #[inline]
    pub fn apply_into(&mut self, event: &Event<'_>, sink: &mut impl EntrySink) -> Result<(), RunError> {
        let step = transition::check(self, event, sink)?;
        self.take(event.time, step, sink);
        self.next_time += 1;
        Ok(())
    }

    /// Whether the state would take this as its next event.
    pub fn check(&self, event: &Event<'_>) -> Result<(), RunError> {
        transition::check(self, event, &mut NoSink).map(drop)
    }
}
