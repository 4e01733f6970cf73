//! A line of a session: its envelope, its event and the payload of each type.

mod edits;
pub(crate) mod envelope;
mod event;
mod item;
mod line;
mod message;
mod payload;

pub(crate) use edits::{Cut, Edit};
pub(crate) use envelope::{END, ENVELOPE_BYTES, PAYLOAD_KEY, Version};
pub(crate) use event::ItemPlace;
pub use event::{Body, EventType, Mode, StartFields};
pub(crate) use event::{
    CheckpointChange, CheckpointFields, Event, Fault, Raw, Severity, has_numbers_left, inside_string, is_resumable_at,
    is_string, is_valid_seq,
};
pub(crate) use item::{Marker, marker_of, seq_of, write_with_marker};
pub use line::Line;
pub(crate) use line::{NEEDED, read_type};
pub(crate) use line::{read_content, read_title};
pub use message::{Message, MessagePart, js_number};
pub(crate) use message::{one_decimal, string_of};
pub(crate) use payload::keys;
pub use payload::number;
