//! Reading a bundle: its containers, verification, import, and the recordings in it.

mod archive;
mod checked_log;
mod container;
mod import;
mod import_error;
mod io_error;
mod long_line;
mod media;
mod open;
mod replay;
mod verify;

pub(crate) use archive::{ArchiveWriter, Compression, expands_too_much, tar_bytes};
pub(crate) use checked_log::{CheckedLog, CheckedSession};
pub(crate) use container::open_file;
pub use import::import;
pub use import_error::ImportError;
pub(crate) use io_error::{into_io_error, read_failed};
pub use media::media_store;
pub use open::{OpenedBundle, is_archive, is_bundle, is_opened_bundle};
pub use verify::{Report, VerifyOptions, verify};
