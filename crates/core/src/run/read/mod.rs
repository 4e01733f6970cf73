//! Reading a run's log: chunks of lines, decoded on other threads, in order.

mod decoded_chunk;
mod decoded_event;
mod event_lookup;
mod event_reader;
mod fold;
mod log;
mod read_ahead;
mod trace;

pub(crate) use decoded_event::Event;
pub(crate) use event_lookup::EventLookup;
pub use event_reader::EventReader;
pub(crate) use event_reader::ReadEvent;
#[cfg(test)]
pub(crate) use event_reader::check_time;
pub(crate) use fold::{FoldRules, Folded, fold};
pub(crate) use log::TornEnd;
pub(crate) use log::{Chunk, LogReader};
pub(crate) use log::{Position, find};
pub use trace::{Range, Trace};
