//! Reading a run's log: chunks of lines, decoded on other threads, in order.

mod decoded_chunk;
mod decoded_event;
mod event_lookup;
mod event_reader;
mod fold;
mod log;
mod read_ahead;
mod trace;

pub(super) use decoded_event::Event;
pub(crate) use event_lookup::EventLookup;
pub use event_reader::EventReader;
pub(crate) use event_reader::ReadEvent;
#[cfg(test)]
pub(super) use event_reader::check_time;
pub(super) use fold::{FoldRules, Folded, fold};
pub(crate) use log::{Chunk, LogReader};
pub(super) use log::{Position, TornEnd, find};
pub use trace::{Range, Trace};
