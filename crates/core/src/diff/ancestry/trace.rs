//! Causal chains: the ancestors of an event, nearest first.

use super::causal_chain::{Chain, record_id};
use crate::diff::ancestry::{run_ancestry, session_ancestry};
use crate::diff::error::DiffError;
use crate::diff::stream::{Source, SourceKind};
use crate::run::{Watch, event_id};

/// The ancestors of the event with this id.
pub fn trace_ancestors(source: &Source, id: &str, watch: &mut Watch<'_>) -> Result<Chain, DiffError> {
    let (prefix, hint) = match source.kind {
        SourceKind::Run => ("evt_", "a run's events are evt_0, evt_1 …"),
        SourceKind::Session => ("rec_", "a session's records are rec_0, rec_1 …"),
    };
    let none = || DiffError::NoSuchEvent { event_id: id.to_owned(), path: source.path.clone(), hint };
    let number = id.strip_prefix(prefix).and_then(|digits| digits.parse().ok()).ok_or_else(none)?;
    let name = if source.kind == SourceKind::Run { event_id(number) } else { record_id(number) };
    if name != id {
        return Err(none());
    }
    chain(source, number, watch, None)?.ok_or_else(none)
}

/// The ancestors of the event with this number. Returns `None` if there is no such event.
pub(crate) fn chain(
    source: &Source,
    number: u64,
    watch: &mut Watch<'_>,
    side: Option<crate::diff::error::Side>,
) -> Result<Option<Chain>, DiffError> {
    match source.kind {
        SourceKind::Run => {
            run_ancestry::chain(source, number, watch).map_err(|error| DiffError::of_run(error, source.place(side)))
        }
        SourceKind::Session => match session_ancestry::chain(source, number, watch) {
            Ok(chain) => Ok(chain),
            Err(session_ancestry::Stop::Cancelled) => Err(DiffError::Cancelled),
            Err(session_ancestry::Stop::Fault(error)) => Err(DiffError::of_session(error, source.place(side))),
        },
    }
}
