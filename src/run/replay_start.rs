//! Where a replay starts: a state, and the place in the log of the first event after it.

use std::sync::Arc;

use super::chain::GENESIS;
use super::dag::Dag;
use super::error::RunError;
use super::snapshot::{Content, invalid};
use super::state::State;
use super::state_hash::state_hash;
use crate::hash::{HexHash, as_text, to_hex};

/// Where a replay starts.
pub struct ReplayStart {
    /// The state before the first event.
    pub state: State,
    /// The stored hash of the line before.
    pub previous: HexHash,
    /// Where in the log the first event's line begins.
    pub offset: u64,
}

impl ReplayStart {
    /// The first event of a run of this graph.
    pub fn first_event(dag: impl Into<Arc<Dag>>) -> Self {
        ReplayStart { state: State::new(dag.into()), previous: GENESIS, offset: 0 }
    }

    /// The event after a snapshot, whose line begins at `offset`. The snapshot's state must be of its time and have its hash; whether the
    /// log agrees is for the caller to check.
    pub fn after_snapshot(content: &Content, offset: u64) -> Result<Self, RunError> {
        let state = content.decode_state()?;
        let found = state_hash(&state).map(|hash| to_hex(&hash));
        if found != Some(content.state_hash) {
            let error = invalid("its state is not the one whose hash it has");
            return Err(error.compared(as_text(&content.state_hash), found.as_ref().map_or("", as_text)));
        }
        Ok(ReplayStart { state, previous: content.event_hash, offset })
    }
}
