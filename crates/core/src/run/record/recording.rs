//! A run that is being recorded: checks each event against the state, and computes its parent, its hashes and its line.

use std::sync::Arc;

use crate::hash::{HEX_BYTES, HexHash, to_hex};
use crate::json::{Nesting, Text, quoted};
use crate::run::format::{
    Envelope, ErrorCode, EventLine, GENESIS, Kind, Payload, RunError, SALT_DIGITS, event_id, line_hash, payload_hash,
    print_covered, print_rest,
};
use crate::run::graph::{Causality, Dag};
use crate::run::read::Event;
use crate::run::state::{State, StateHasher};

/// The salt of an event: 16 random bytes in hex.
pub(crate) type Salt = [u8; SALT_DIGITS];

/// Size in bytes of a line after the part that its hash covers, without payload and `\n`: `,"hash":"…","salt":"…","payload":}`.
const REST_BYTES: usize = 32 + HEX_BYTES + SALT_DIGITS;

/// An event as the caller passes it.
#[derive(Clone, Debug)]
pub struct EventInput<'a> {
    /// The kind of the event.
    pub kind: Kind,
    /// The graph node concerned. `None` for that of the payload's task, if there is one.
    pub node: Option<Text<'a>>,
    /// The id of the event that caused it. `None` for the parent that the specification implies.
    pub parent: Option<&'a str>,
}

/// A run that is being recorded.
pub(crate) struct RunRecording {
    state: State,
    hasher: StateHasher,
    causality: Causality,
    previous: HexHash,
    nesting: Nesting,
}

impl RunRecording {
    /// The recording of a run of this graph, before its first event.
    pub(crate) fn new(dag: Arc<Dag>) -> Self {
        let state = State::new(dag);
        let causality = Causality::new(&state);
        Self::resumed(state, StateHasher::default(), causality, GENESIS)
    }

    /// A recording that continues after an event, given the state after it, its causality and the `hash` of its line.
    pub(crate) fn resumed(state: State, hasher: StateHasher, causality: Causality, previous: HexHash) -> Self {
        RunRecording { state, hasher, causality, previous, nesting: Nesting::default() }
    }

    /// Records the next event: replaces the content of `line` by its line, including `\n`. Returns its logical time.
    ///
    /// `payload` is JSON text. If the event is refused, the recording does not change.
    pub(crate) fn record(
        &mut self,
        input: &EventInput<'_>,
        payload: &str,
        ts: &str,
        salt: &Salt,
        line: &mut Vec<u8>,
    ) -> Result<u64, RunError> {
        let event = self.event(input, payload)?;
        let (time, kind, node) = (event.time, input.kind.as_str(), event.node.as_ref().map(Text::as_json));
        let envelope = Envelope { time, ts, kind, node, parent: event.parent };
        line.clear();
        print_covered(line, &envelope, &payload_hash(salt, payload.as_bytes()), &GENESIS);
        check_size(time, line.len() + REST_BYTES + payload.len())?;
        self.state.apply_into(&event, &mut self.hasher)?;
        self.causality.observe(&self.state, &event);
        set_state_hash(line, &self.state_hash());
        let hash = line_hash(&self.previous, line);
        print_rest(line, &hash, Some(salt), payload.as_bytes());
        self.previous = hash;
        Ok(time)
    }

    fn event<'a>(&mut self, input: &EventInput<'a>, payload: &'a str) -> Result<Event<'a>, RunError> {
        let time = self.state.next_time();
        let payload = Payload::parse(input.kind, payload, &mut self.nesting).map_err(|error| error.at(time))?;
        let node = input.node.clone().or_else(|| node_of_task(&payload));
        let parent = match input.parent {
            Some(id) => Some(time_of_event(id).ok_or_else(|| no_event(time, id))?),
            None => {
                let node = node.as_ref().and_then(|node| self.state.dag().find(node));
                self.causality.parent_of(&self.state, node, &payload)
            }
        };
        Ok(Event { time, node, parent, payload })
    }

    /// The state after the last event.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The hash of the state after the last event.
    pub(crate) fn state_hash(&self) -> HexHash {
        // There is no state before the first event.
        self.hasher.state_hash(&self.state).map_or(GENESIS, |hash| to_hex(&hash))
    }

    /// The `hash` of the last event's line.
    pub(crate) fn last_hash(&self) -> &HexHash {
        &self.previous
    }
}

fn check_size(time: u64, bytes: usize) -> Result<(), RunError> {
    if bytes <= EventLine::MAX_BYTES { Ok(()) } else { Err(too_large(time, bytes)) }
}

/// The error for an event whose line would have at least this many bytes.
#[cold]
pub(super) fn too_large(time: u64, bytes: usize) -> RunError {
    let message = format!(
        "The line of {} would be longer than {} bytes. Put what is large into a blob and name its hash.",
        event_id(time),
        EventLine::MAX_BYTES
    );
    RunError::new(ErrorCode::TooLarge, message).at(time).compared(EventLine::MAX_BYTES.to_string(), bytes.to_string())
}

#[cold]
fn no_event(time: u64, id: &str) -> RunError {
    let message = format!("{} names '{}' as its cause, which is no event's id.", event_id(time), quoted(id));
    RunError::new(ErrorCode::ParentMissing, message).at(time).compared("evt_<logical time>", id)
}

/// The logical time in the id of an event. Returns `None` if `id` is not one.
fn time_of_event(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("evt_")?;
    let time: u64 = digits.parse().ok()?;
    (time.to_string() == digits).then_some(time)
}

/// The node in the id of the payload's task, `<node>#<attempt>`.
fn node_of_task<'a>(payload: &Payload<'a>) -> Option<Text<'a>> {
    let (node, _) = payload.task()?.as_json().rsplit_once('#')?;
    Some(Text::from_canonical(node.to_owned()))
}

/// Overwrites the provisional state hash at the end of the covered part of a line.
fn set_state_hash(covered: &mut [u8], hash: &HexHash) {
    let end = covered.len() - 1;
    covered[end - HEX_BYTES..end].copy_from_slice(hash);
}

#[cfg(test)]
mod tests;
