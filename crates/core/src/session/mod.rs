//! Session files: the conversation of a CLI, one line of JSON for each event (`docs/session-format.md`).
//!
//! `format` reads and prints lines, `fold` combines the effects of events, `read` replays and lists files, `record` writes them.

mod fold;
mod format;
mod read;
mod record;

pub(crate) use fold::KeyedHistory;
pub use fold::{
    Checkpoint, Effect, Fold, FoldOptions, HistoryChange, HistoryEffect, ItemRef, ItemSink, LinePosition, NewMarker,
    SessionEventRef, Start,
};
pub(crate) use format::ItemPlace;
pub use format::{Body, EventType, Line, Message, MessagePart, Mode, StartFields, js_number, number};
pub(crate) use format::{
    CheckpointChange, CheckpointFields, Cut, Edit, Event, Fault, has_numbers_left, is_valid_seq, keys, marker_of,
};
pub(crate) use read::ItemsInHistory;
pub use read::{
    CurrentMetadata, DescribeOptions, Described, Describing, FinalHistory, HeaderError, ItemLayout, LaidOutItems,
    LineStatus, Outcome, Preview, RecordLine, RecordOptions, RecordReader, Replay, ReplayError, SnapshotFile,
    Snapshots, Summary, append_item, load, read_title,
};
pub use record::{
    ArchiveError, Archived, FileNameForm, ForkError, ForkSource, ForkTarget, HistoryError, ImportFault, ImportOptions,
    ItemHash, Record, Recorder, RecorderConfig, Watched, archive, fork, import_foreign, remove, restore,
};
