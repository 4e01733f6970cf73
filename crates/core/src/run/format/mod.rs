//! A line of a run's log: its envelope, its kinds and payloads, and the chain of hashes.

pub mod chain;
mod created;
mod error;
mod event;
mod kind;
mod payload;
mod payload_fields;
mod redactions;
mod salts;

#[cfg(test)]
pub use chain::append_line;
#[cfg(test)]
pub use chain::log_of;
pub use chain::{ChainChecker, GENESIS, line_hash, payload_hash};
pub use created::Created;
pub use error::{ErrorCode, RunError, event_id, quoted};
pub use event::{
    Envelope, EventLine, HashedParts, LineOffsets, MAX_LINE_BYTES, SALT_DIGITS, line_too_long, not_utf8, peek_time,
    print_covered, print_rest,
};
pub use kind::Kind;
pub use payload::{Payload, WorkerDeclaration};
pub use payload_fields::{FieldType, PayloadField, fields_of};
pub use redactions::Redactions;
pub use salts::Salts;
