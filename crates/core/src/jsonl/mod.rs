//! The line layer that all formats of this crate share: it finds, validates, parses and appends lines.

pub mod abridged;
mod block;
pub mod digest;
pub mod lines;
pub mod payload;
pub mod reader;
pub mod scan;
pub mod segments;
mod simple_escape;
pub mod source;
pub mod tape;
pub mod text;
pub mod writer;

/// The longest line that is read, in bytes: V8's longest string. A longer line could not become a JavaScript
/// value in any case.
pub const MAX_LINE_BYTES: usize = 0x1fff_ffe8;
