//! The fold: the effect of events on the history, and how effects combine.

mod checkpoint;
mod effect;
mod history;
mod item_sink;
mod warnings;

#[cfg(test)]
pub use checkpoint::Change;
pub use checkpoint::{Checkpoint, Checkpoints};
pub use effect::{Effect, Fold, FoldOptions, LinePosition, Metadata, SessionEventRef, Start};
pub use history::{HistoryEffect, ItemRef, Truncation};
pub use item_sink::{ItemSink, NoItems};
#[cfg(test)]
pub use warnings::Problem;
