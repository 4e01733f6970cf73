//! The steps of a run.

use super::session_steps::{Prefixes, Step};
use crate::diff::projection::{Digester, Facts, Places, Reference, project_facts, with_references};
use crate::diff::stream::{ComparedEvents, OpenCalls};
use crate::run::read::ReadEvent;

/// The steps of a run, event by event.
pub struct RunSteps {
    rules: ComparedEvents,
    places: Places,
    calls: OpenCalls,
    prefixes: Prefixes,
    digester: Digester,
    references: Vec<Option<Reference>>,
}

impl Default for RunSteps {
    fn default() -> Self {
        RunSteps {
            rules: ComparedEvents { start: 0, heartbeats: false },
            places: Places::from(0),
            calls: OpenCalls::default(),
            prefixes: Prefixes::default(),
            digester: Digester::default(),
            references: Vec::new(),
        }
    }
}

impl RunSteps {
    /// The step of the next event, if it is compared.
    pub fn next(&mut self, event: &ReadEvent<'_>) -> Option<Step> {
        let line = &event.line;
        if !self.rules.compares(event.event.kind()) {
            self.places.leave_out(line.time);
            return None;
        }
        let (invoked, _) = self.calls.call_of(line, &event.event.payload);
        let facts = Facts {
            kind: event.event.kind(),
            node: line.node.map(str::as_bytes),
            parent: line.parent,
            invoked: invoked.map(|time| self.places.of(time)),
            payload: line.payload.as_bytes(),
            places: &self.places,
        };
        let tree = project_facts(&facts, &[])?;
        self.references.clear();
        let digest = self.digester.digest(&tree, &mut self.references);
        Some(self.prefixes.next(with_references(digest, self.references.iter().copied())))
    }
}
