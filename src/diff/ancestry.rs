//! Causal chains: what an event came of, nearest first.

use super::error::DiffError;
use super::source::{Source, SourceKind};
use super::{run_ancestry, session_ancestry};
use crate::run::error::event_id;
use crate::run::fold::Watch;

/// So many ancestors are told. What lies behind them is cut off, and the chain says so.
pub const MOST_EDGES: usize = 100_000;

/// How it is known that one event came of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It stands in the log.
    Recorded,
    /// It follows from the order of things.
    Inferred,
}

impl Evidence {
    /// The name that users read.
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::Recorded => "recorded",
            Evidence::Inferred => "inferred",
        }
    }
}

/// An ancestor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// A run's event: its logical time; a session's record: its place.
    pub number: u64,
    /// Its id.
    pub event_id: String,
    /// Its kind, or its type.
    pub kind: String,
    /// What it is about: a tool, a node, who speaks.
    pub label: Option<String>,
    /// How it is known to be one.
    pub evidence: Evidence,
}

/// The ancestors of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Nearest first, the event itself left out.
    pub edges: Vec<Edge>,
    /// Whether there are more than these: before the beginning of a partial recording, or too many.
    pub truncated: bool,
}

/// The id of a session's record: its place among the records.
pub fn record_id(place: u64) -> String {
    format!("rec_{place}")
}

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

/// The ancestors of an event, told by its number. None if there is no such event.
pub fn chain(
    source: &Source,
    number: u64,
    watch: &mut Watch<'_>,
    side: Option<super::error::Side>,
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
