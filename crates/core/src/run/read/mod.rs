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
pub use event_lookup::EventLookup;
#[cfg(test)]
pub(crate) use event_reader::check_time;
pub use event_reader::{EventReader, ReadEvent};
pub(crate) use fold::{FoldRules, Folded, fold};
pub(crate) use log::TornEnd;
pub use log::{Chunk, LogReader};
pub(crate) use log::{Position, find};
pub use trace::{Range, Trace};
