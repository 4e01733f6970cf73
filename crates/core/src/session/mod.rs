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
    SessionEventRef, Start, Truncation,
};
pub use format::{
    Body, EventType, ItemPlace, Line, Message, MessagePart, Mode, StartFields, js_number, number, read_line,
    read_line_into, read_session_id, read_start_payload, read_time,
};
pub(crate) use format::{
    CheckpointChange, CheckpointFields, Cut, Edit, Event, Fault, has_numbers_left, is_valid_seq, keys, marker_of,
};
pub use read::{
    CurrentMetadata, DescribeOptions, Described, Describing, FinalHistory, HeaderError, ItemLayout, ItemsInHistory,
    LaidOutItems, LineStatus, Outcome, Preview, RecordLine, RecordOptions, RecordReader, Replay, ReplayError, SKIPPED,
    SnapshotFile, Snapshots, Summary, UnknownEvents, append_item, content_of, current, error_of, load, modified,
    read_any_header, read_header_summary, read_preview, read_summary, read_title, skipped_content,
};
pub use record::{
    ArchiveError, Archived, FileNameForm, ForkError, ForkSource, ForkTarget, HistoryError, ImportFault, ImportOptions,
    Imported, ItemHash, KnownItem, Record, Recorder, RecorderConfig, Tail, Watched, archive, fork, import_foreign,
    item_hashes, remove, restore,
};
