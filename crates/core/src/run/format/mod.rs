//! A line of a run's log: its envelope, its kinds and payloads, and the chain of hashes.

mod chain;
mod created;
mod error;
mod event;
mod payload;
mod payload_fields;
mod redactions;
mod salts;

pub(crate) use chain::ChainChecker;
pub(crate) use chain::GENESIS;
#[cfg(test)]
pub(crate) use chain::append_line;
pub(crate) use chain::line_hash;
#[cfg(test)]
pub use chain::log_of;
pub(crate) use chain::payload_hash;
pub(crate) use created::Created;
pub use error::{ErrorCode, RunError, event_id};
pub use event::EventLine;
pub(crate) use event::{
    Envelope, HashedParts, LineOffsets, Members, SALT_DIGITS, line_too_long, not_utf8, print_covered, print_rest,
};
pub use payload::Kind;
pub(crate) use payload::Payload;

pub(crate) use payload_fields::{FieldType, PayloadField, WorkerDeclaration};
pub use redactions::Redactions;
pub(crate) use salts::Salts;
