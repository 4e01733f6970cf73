//! Sessions of other programs, read as if they were native (`docs/agents.md`).
//!
//! A [`Format`] turns each record of a foreign session into native events; everything behind it, from replay to diff, reads the native lines. A receipt
//! says for every record where it went. A source that no format claims is read as native.

mod atif;
mod blocks;
mod builder;
mod claude;
mod codex;
mod convert;
mod cursor;
mod document;
mod format;
mod formats;
mod gemini;
mod hashes;
mod history;
mod open;
mod opencode;
mod origin;
mod parts;
mod pi;
mod qwen;
mod receipt;
mod records;
mod spool;
mod time;
mod unended;
mod value;

pub(crate) use convert::json_of_text;
pub use convert::{Conversation, Conversion, ConvertOptions, Converted, Detected, convert, detect_at};
pub use formats::ForeignFormat;
pub use open::{ConvertedFile, Foreign, OpenedSource, convert_to_file, list_at, open_converted, split};
pub(crate) use open::{open_lines, open_source};
pub use origin::{Origin, Origins};
pub use receipt::{Entry, Summary};

use crate::disk::OsError;
use crate::lines::ReadError;

/// Why a source was not converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The source can't be read, or what it becomes can't be written.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// The source has several conversations, and none was chosen. Their ids.
    #[error("Several conversations: {} (choose one)", named(.0))]
    Several(Vec<String>),
    /// The source has no conversation with this id.
    #[error("No conversation {0}")]
    NoConversation(String),
}

impl Stop {
    /// The error of a reader that has no conversations.
    pub fn into_read_error(self) -> ReadError {
        match self {
            Stop::Read(error) => error,
            stop => ReadError::Conversation(stop.to_string()),
        }
    }

    fn changed() -> Self {
        Stop::Read(ReadError::Changed)
    }
}

impl From<OsError> for Stop {
    fn from(error: OsError) -> Self {
        Stop::Read(ReadError::System(error))
    }
}

/// The most ids that a message names.
const MAX_NAMED: usize = 20;

fn named(ids: &[String]) -> String {
    let shown = ids.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if ids.len() > MAX_NAMED { format!("{shown}, …") } else { shown }
}

#[cfg(test)]
mod claude_tests;
#[cfg(test)]
mod tests;
