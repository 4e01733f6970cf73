//! A line of a session: its envelope, its event and the payload of each type.

pub mod envelope;
mod event;
mod line;
mod message;
mod payload;

pub use envelope::{END, ENVELOPE_BYTES, PAYLOAD_KEY};
pub use event::{
    Body, CheckpointChange, CheckpointFields, Event, EventType, Fault, Mode, Raw, Severity, StartFields,
    has_numbers_left, inside_string, is_resumable_at, is_string, is_valid_seq,
};
pub use line::{
    Line, read_content, read_line, read_line_into, read_session_id, read_start_payload, read_time, read_title,
};
pub use message::{Message, MessagePart, js_number, one_decimal};
pub(crate) use payload::keys;
pub use payload::number;
