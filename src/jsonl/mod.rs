//! The line layer that every format of this crate shares: lines are found, validated and taken apart here,
//! and appended here.

pub mod digest;
pub mod lines;
pub mod payload;
pub mod reader;
pub mod scan;
pub mod segments;
pub mod source;
pub mod tape;
pub mod text;
pub mod writer;

/// The longest line that is read, in bytes: V8's longest string. A longer line could not become a JavaScript
/// value in any case.
pub const MAX_LINE_BYTES: usize = 0x1fff_ffe8;
