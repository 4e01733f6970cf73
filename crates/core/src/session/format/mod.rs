//! A line of a session: its envelope, its event and the payload of each type.

mod edits;
pub(super) mod envelope;
mod event;
mod item;
mod item_sink;
mod line;
mod message;
mod payload;

pub(super) use edits::each_element;
pub(crate) use edits::{Change, Cut, values};
pub(super) use envelope::{END, ENVELOPE_BYTES, PAYLOAD_KEY, Version};
pub use event::{Body, EventType, Mode, StartFields};
pub(crate) use event::{CheckpointChange, CheckpointFields, Event, Fault, ItemPlace, has_numbers_left};
pub(super) use event::{Raw, Severity, inside_string, is_resumable_at, is_string, is_valid_seq, number_to_follow};
pub(super) use item::{Marker, marker_of, seq_of, write_with_marker};
pub(crate) use item::{NO_KEY, key_of};
pub use item_sink::ItemSink;
pub(super) use item_sink::NoItems;
pub(crate) use line::Envelope;
pub use line::Line;
pub(super) use line::{read_content, read_type};
pub use message::{Message, MessagePart, js_number};
pub(super) use message::{one_decimal, string_of};
pub use payload::number;
pub(crate) use payload::{keys, valid_seq};
