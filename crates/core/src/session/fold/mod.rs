//! The fold: the effect of events on the history, and how effects combine.

mod checkpoint;
mod editable;
mod editor;
mod effect;
mod history;
mod item_sink;
mod keyed;
mod order;
mod warnings;

#[cfg(test)]
pub use checkpoint::Change;
pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::Checkpoints;
pub(crate) use editor::Editor;
pub(crate) use effect::Metadata;
pub use effect::{Effect, Fold, FoldOptions, LinePosition, SessionEventRef, Start};
pub(crate) use history::MarkerText;
pub(crate) use history::Truncation;
pub use history::{HistoryEffect, ItemRef, NewMarker};
pub use item_sink::ItemSink;
pub(crate) use item_sink::NoItems;
pub use keyed::HistoryChange;
pub(crate) use keyed::KeyedHistory;
#[cfg(test)]
pub use warnings::Problem;
