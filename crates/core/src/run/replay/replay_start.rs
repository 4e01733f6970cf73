//! The start point of a replay: a state, and the position in the log of the event after it.

use std::sync::Arc;

use crate::hash::{HexHash, as_text, to_hex};
use crate::run::format::{GENESIS, RunError};
use crate::run::graph::Dag;
use crate::run::state::{Content, State, invalid};

/// The start point of a replay.
pub struct ReplayStart {
    /// The state before the first event.
    pub state: State,
    /// The stored hash of the line before the first event.
    pub previous: HexHash,
    /// The offset in the log of the first event's line.
    pub offset: u64,
}

impl ReplayStart {
    /// The start point at the first event of a run of this graph.
    pub fn first_event(dag: impl Into<Arc<Dag>>) -> Self {
        ReplayStart { state: State::new(dag.into()), previous: GENESIS, offset: 0 }
    }

    /// The start point after a snapshot, at the event whose line begins at `offset`. The snapshot's state must have the snapshot's time and
    /// state hash. The caller must check that the log agrees.
    pub fn after_snapshot(content: &Content, offset: u64) -> Result<Self, RunError> {
        let state = content.decode_state()?;
        let found = state.hash().map(|hash| to_hex(&hash));
        if found != Some(content.state_hash) {
            let error = invalid("its state is not the one whose hash it has");
            return Err(error.compared(as_text(&content.state_hash), found.as_ref().map_or("", as_text)));
        }
        Ok(ReplayStart { state, previous: content.event_hash, offset })
    }
}
