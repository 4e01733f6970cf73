//! Archived sessions: `NAME.jsonl.zst`, a zstd file in independent frames whose seek table lets any part of it be read (`docs/session-format.md`,
//! "Archived sessions").
//!
//! Readers see the bytes of the session, by its own offsets. Archives that other programs wrote are read too, if need be through an unpacked copy.

mod content;
mod frame;
mod framed;
mod place;
mod table;
mod unpack;
mod writer;

pub use content::{Archive, Content, Packed, Unpacked, may_be_archive, open_packed};
pub use frame::TORN;
pub use framed::FramedFile;
pub use place::{archive_of, is_archive_name, is_archived, open_either, resolve, session_of};
pub use writer::{FRAME_BYTES, FrameWriter};

#[cfg(test)]
mod tests;
