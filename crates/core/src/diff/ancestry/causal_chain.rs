//! A causal chain: the ancestors of an event, nearest first.

use serde::Serialize;

/// Maximum number of ancestors in a chain. More distant ones are cut off, and the chain is marked as truncated.
pub(super) const MAX_EDGES: usize = 100_000;

/// The evidence that one event caused another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The log names the cause.
    Recorded,
    /// The cause was inferred from the order of the records.
    Inferred,
}

/// An ancestor of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The logical time of a run's event, or the place of a session's record.
    #[serde(skip)]
    pub number: u64,
    /// The id of the event or record.
    pub event_id: String,
    /// The kind of a run's event, or the type of a session's record.
    pub kind: String,
    /// What the event is about: a tool, a node or a speaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The evidence that it is an ancestor.
    pub evidence: Evidence,
}

/// The ancestors of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Nearest first, without the event itself.
    #[serde(rename = "chain")]
    pub edges: Vec<Edge>,
    /// Whether more ancestors exist: before the beginning of a partial recording, or beyond [`MAX_EDGES`].
    pub truncated: bool,
}
