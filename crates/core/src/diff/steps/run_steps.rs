//! The steps of a run.

use super::session_steps::{Prefixes, Step};
use crate::diff::projection::{Digester, Places, Reference, project_event, with_references};
use crate::diff::stream::{Event, OpenCalls, is_compared};
use crate::run::read::ReadEvent;

/// The steps of a run, event by event.
#[derive(Default)]
pub struct RunSteps {
    places: Places,
    calls: OpenCalls,
    prefixes: Prefixes,
    digester: Digester,
    references: Vec<Option<Reference>>,
}

impl RunSteps {
    /// The step of the next event, if it is compared.
    pub fn next(&mut self, event: &ReadEvent<'_>) -> Option<Step> {
        if !is_compared(event.event.kind(), false) {
            self.places.leave_out(event.line.time);
            return None;
        }
        let row = self.calls.row(event, self.prefixes.place as i64);
        let line = event.line.line.as_bytes();
        let tree = project_event(&Event { row: &row, line, places: &self.places }, &[])?;
        self.references.clear();
        let digest = self.digester.digest(&tree, &mut self.references);
        Some(self.prefixes.next(with_references(digest, self.references.iter().copied())))
    }
}
