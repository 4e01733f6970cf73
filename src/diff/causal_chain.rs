//! A causal chain: the ancestors of an event, nearest first.

/// The most ancestors that a chain has. Those behind them are cut off, and the chain says so.
pub const MOST_EDGES: usize = 100_000;

/// How it is known that one event caused another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The log names the cause.
    Recorded,
    /// It was inferred from the order of records.
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
