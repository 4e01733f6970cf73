//! Archived sessions: `NAME.jsonl.zst`, a zstd file in independent frames whose seek table lets any part of it be read (`docs/session-format.md`,
//! "Archived sessions").
//!
//! Readers see the bytes of the session, by its own offsets. Archives that other programs wrote are read too, if need be through an unpacked copy.

mod content;
mod frame;
mod framed;
mod long;
mod packed;
mod place;
mod recover;
mod survey;
mod table;
mod unpack;
mod writer;

pub(crate) use content::Archive;
pub use content::{Content, may_be_archive, open_packed};
pub(crate) use frame::TORN;
pub(crate) use framed::FramedFile;
pub(crate) use packed::is_bundle_name;
pub use packed::{Packed, Unpacked};
pub(crate) use place::{archive_of, is_archived, open_either};
pub use place::{is_archive_name, resolve, session_of};
pub(crate) use recover::{Recovered, recover};
pub(crate) use survey::Survey;
pub(crate) use writer::{ArchiveWriter, FRAME_BYTES};

#[cfg(test)]
mod tests;
