//! A causal chain: the ancestors of an event, nearest first.

/// Maximum number of ancestors in a chain. More distant ones are cut off, and the chain is marked as truncated.
pub(super) const MAX_EDGES: usize = 100_000;

/// The evidence that one event caused another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The log names the cause.
    Recorded,
    /// The cause was inferred from the order of the records.
    Inferred,
}

impl Evidence {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Evidence::Recorded => "recorded",
            Evidence::Inferred => "inferred",
        }
    }
}

/// An ancestor of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The logical time of a run's event, or the place of a session's record.
    pub number: u64,
    /// The id of the event or record.
    pub event_id: String,
    /// The kind of a run's event, or the type of a session's record.
    pub kind: String,
    /// What the event is about: a tool, a node or a speaker.
    pub label: Option<String>,
    /// The evidence that it is an ancestor.
    pub evidence: Evidence,
}

/// The ancestors of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Nearest first, without the event itself.
    pub edges: Vec<Edge>,
    /// Whether more ancestors exist: before the beginning of a partial recording, or beyond [`MAX_EDGES`].
    pub truncated: bool,
}
