//! The errors of refused events: what was expected, and what was found.

use super::Case;
use crate::json::{Text, quoted};
use crate::run::format::{ErrorCode, Kind, RunError, event_id};
use crate::run::read::Event;
use crate::run::state::state::{NodeStatus, RunStatus, Task};

impl Case<'_, '_> {
    pub(super) fn node_id(&self, node: u32) -> &Text<'static> {
        &self.state.dag().nodes()[node as usize].id
    }

    pub(super) fn node_is(&self, node: u32, status: NodeStatus) -> String {
        format!("the node '{}' {}", self.node_id(node), status.as_str())
    }

    #[cold]
    pub(super) fn illegal(&self, expected: impl AsRef<str>, found: impl AsRef<str>) -> RunError {
        self.error(ErrorCode::IllegalTransition, "is not allowed here", expected.as_ref(), found.as_ref())
    }

    #[cold]
    pub(super) fn illegal_task(&self, expected: &str, id: &Text<'_>, found: &Task) -> RunError {
        let holder = found.worker.map(|worker| format!(" with worker '{}'", self.state.workers().get(worker).id));
        let found = format!("the task '{id}' {}{}", found.status.as_str(), holder.unwrap_or_default());
        self.illegal(format!("the task '{id}' {expected}"), found)
    }

    #[cold]
    pub(super) fn no_task(&self, node: u32) -> RunError {
        let status = self.state.nodes()[node as usize].status;
        self.illegal(format!("a task of the node '{}'", self.node_id(node)), format!("none: it is {}", status.as_str()))
    }

    #[cold]
    pub(super) fn no_node(&self) -> RunError {
        self.error(ErrorCode::MissingField, "names no node", "node: a node of the graph", "null")
    }

    #[cold]
    pub(super) fn time_gap(&self) -> RunError {
        let Event { time, .. } = self.event;
        self.error(ErrorCode::TimeGap, "is out of place", &self.state.next_time().to_string(), &time.to_string())
    }

    #[cold]
    pub(super) fn no_parent(&self) -> RunError {
        let expected = match self.event.kind() {
            Kind::RunCreated => "parent: null".to_owned(),
            _ => format!("parent: a time before {}", self.event.time),
        };
        let found = self.event.parent.map_or("null".to_owned(), |parent| parent.to_string());
        self.error(ErrorCode::ParentMissing, "names a cause that is not there", &expected, &found)
    }

    #[cold]
    pub(super) fn after_end(&self, status: RunStatus) -> RunError {
        let found = format!("{} after the run {}", self.event.kind(), status.as_str());
        self.error(ErrorCode::AfterEnd, "comes after the end", "SnapshotCreated or BlobStored", &found)
    }

    fn error(&self, code: ErrorCode, problem: &str, expected: &str, found: &str) -> RunError {
        let Event { time, .. } = *self.event;
        let (kind, id) = (self.event.kind(), event_id(time));
        let message = format!("{kind} ({id}) {problem}: expected {}, found {}.", quoted(expected), quoted(found));
        RunError::new(code, message).at(time).compared(expected, found)
    }
}
