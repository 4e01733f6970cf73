//! Sealing a bundle: planning it, hashing files while they are read, writing a directory or an archive.

mod export;
mod file_hash;
mod hashing_reader;
mod media;
mod planned_file;
mod sink;
mod source;

pub use export::{ExportOptions, MediaPolicy, export};
pub(crate) use file_hash::FileHasher;
pub(crate) use hashing_reader::HashingReader;
pub(crate) use planned_file::{ByteSource, PlannedFile, source_changed};
pub use source::ExportFrom;
pub(crate) use source::ExportPlan;
