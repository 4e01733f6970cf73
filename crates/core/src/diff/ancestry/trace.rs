//! Causal chains: the ancestors of an event, nearest first.

use super::causal_chain::Chain;
use super::{run_ancestry, session_ancestry};
use crate::diff::error::{DiffError, Side};
use crate::diff::stream::{Source, SourceKind};
use crate::task::Task;

/// The ancestors of the event with this id.
pub fn trace_ancestors(source: &Source, id: &str, task: &mut Task<'_>) -> Result<Chain, DiffError> {
    let (prefix, hint) = match source.kind {
        SourceKind::Run => ("evt_", "a run's events are evt_0, evt_1 …"),
        SourceKind::Session => ("rec_", "a session's records are rec_0, rec_1 …"),
    };
    let none = || DiffError::NoSuchEvent { event_id: id.to_owned(), path: source.path.clone(), hint };
    let number = id.strip_prefix(prefix).and_then(|digits| digits.parse().ok());
    let number = number.filter(|&number| source.event_id(number) == id).ok_or_else(none)?;
    chain(source, number, task, None)?.ok_or_else(none)
}

/// The ancestors of the event with this number. Returns `None` if there is no such event.
pub(crate) fn chain(
    source: &Source,
    number: u64,
    task: &mut Task<'_>,
    side: Option<Side>,
) -> Result<Option<Chain>, DiffError> {
    match source.kind {
        SourceKind::Run => {
            run_ancestry::chain(source, number, task).map_err(|error| DiffError::of_run(error, source.place(side)))
        }
        SourceKind::Session => session_ancestry::chain(source, number, task, side),
    }
}
