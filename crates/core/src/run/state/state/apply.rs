//! Applies events: first decides whether an event is legal, then changes the state.

use super::State;
use crate::run::format::RunError;
use crate::run::read::Event;
use crate::run::state::entry::{EntrySink, NoSink};
use crate::run::state::transition;

impl State {
    /// Applies the next event. A refused event changes nothing.
    #[inline]
    pub fn apply(&mut self, event: &Event<'_>) -> Result<(), RunError> {
        self.apply_into(event, &mut NoSink)
    }

    /// Applies the next event and reports the changed entries of the state to `sink`.
    #[inline]
    pub fn apply_into(&mut self, event: &Event<'_>, sink: &mut impl EntrySink) -> Result<(), RunError> {
        let step = transition::check(self, event, sink)?;
        self.take(event.time, step, sink);
        self.next_time += 1;
        Ok(())
    }

    /// Checks that this event would be legal as the next one.
    pub fn check(&self, event: &Event<'_>) -> Result<(), RunError> {
        transition::check(self, event, &mut NoSink).map(drop)
    }
}
