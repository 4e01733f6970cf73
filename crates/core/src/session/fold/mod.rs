//! The fold: the effect of events on the history, and how effects combine.

mod checkpoint;
mod editable;
mod editor;
mod effect;
mod history;
mod keyed;
mod order;
mod warnings;

pub use checkpoint::Checkpoint;
pub(super) use checkpoint::Checkpoints;
pub(crate) use editable::{History, Item};
pub(super) use editor::{Editor, each_text};
pub(super) use effect::Metadata;
pub use effect::{Effect, Fold, FoldOptions, LinePosition, SessionEventRef, Start};
pub(super) use history::{ALL, Plain};
pub use history::{HistoryEffect, ItemRef, NewMarker};
pub use keyed::HistoryChange;
pub(crate) use keyed::KeyedItem;
