//! The lines of a file, which all formats of this crate share: finding them, dividing large files, and appending on a thread of their own.

mod digest;
mod lines;
mod opened_path;
mod reader;
mod segments;
mod source;
mod writer;

pub(crate) use digest::Digest;
pub use lines::Lines;
pub use opened_path::OpenedPath;
pub(crate) use reader::cannot_be_json;
pub use reader::{Chunk, LineReader};
pub(crate) use segments::Segments;
pub use segments::{SEGMENT_BYTES, Threads, equal_segments};
pub use source::{LineSource, MAX_LINE_BYTES, ReadError};
pub(crate) use writer::OpenLine;
pub use writer::{AcknowledgeHook, LAST_WRITES, Seam, Shared, TakeBackError, WriteError, WriteFailure, Writer};
