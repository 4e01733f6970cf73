//! Recordings to be read: files, runs, bundles, and bytes in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use session_tape_core::archived;
use session_tape_core::{LineSource, ReadError, Recording, is_archive_beginning};

use crate::rows::FileHash;
use crate::source_name::name_of;
use crate::spooled::Spooled;

/// A recording to be read.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name in the tables.
    pub name: String,
    /// Where its content is.
    pub content: Content,
    /// The conversation that is meant, if there are several.
    conversation: Option<String>,
    /// What it was when it was examined.
    examined: OnceLock<Examined>,
    /// Whether it is an open file without a name.
    is_nameless: bool,
}

/// The size and the kind of a recording.
#[derive(Clone, Copy, Debug, Default)]
struct Examined {
    /// In bytes; 0 if unknown.
    size: u64,
    is_directory: bool,
}

impl Examined {
    fn of(path: &Path) -> Self {
        let found = fs::metadata(path);
        let is_directory = found.as_ref().is_ok_and(fs::Metadata::is_dir);
        let size = match is_directory {
            true => [RUN_LOG, SESSION_LOG].iter().map(|log| size_of_file(&path.join(log))).max().unwrap_or(0),
            false => found.map_or(0, |found| found.len()),
        };
        Examined { size, is_directory }
    }
}

/// The name of an open file that has none.
const NAMELESS: &str = "<file>";

/// Where the content of a recording is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, or the directory of a run.
    Path(PathBuf),
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// In a temporary file.
    Spooled(Arc<Spooled>),
    /// Nowhere: it cannot be read, for this reason.
    Nothing(String),
}

/// The file with the events in the directory of a run.
pub const RUN_LOG: &str = "events.cath-log";

/// The file with the session in the directory of its bundle.
pub const SESSION_LOG: &str = "session.jsonl";

/// Size in bytes from which a session is read in parts, by several threads.
pub const LARGE_BYTES: u64 = 8 << 20;

/// Size in bytes from which an archive counts as large, since its content is usually several times as large.
const LARGE_ARCHIVE_BYTES: u64 = 1 << 20;

impl Input {
    /// The recording at a path, which has the name of `name`: a conversation of it, if one is meant.
    pub fn at(name: &Path, path: PathBuf, conversation: Option<String>) -> Self {
        Input { conversation, ..Self::of(name_of(name), Content::Path(path)) }
    }

    /// The conversation to read. That in the name of an object is only meant if there is such.
    pub fn conversation(&self) -> Option<&str> {
        match &self.content {
            Content::Path(_) | Content::Nothing(_) => self.conversation.as_deref(),
            Content::Memory(_) | Content::Spooled(_) => self.name.rsplit_once('#').map(|(_, chosen)| chosen),
        }
    }

    fn examined(&self) -> Examined {
        *self.examined.get_or_init(|| match &self.content {
            Content::Path(path) => Examined::of(path),
            Content::Spooled(file) => Examined::of(file.path()),
            Content::Memory(bytes) => Examined { size: bytes.len() as u64, ..Examined::default() },
            Content::Nothing(_) => Examined::default(),
        })
    }

    /// Represents the recordings in a directory that cannot be listed.
    pub fn unlisted(path: &Path, error: &str) -> Self {
        let content = Content::Nothing(format!("Failed to list directory: {error}, '{}'", path.display()));
        Self::of(name_of(path), content)
    }

    /// A recording in memory.
    pub fn in_memory(name: String, bytes: Vec<u8>) -> Self {
        Self::of(name, Content::Memory(Arc::new(bytes)))
    }

    /// A recording in a temporary file.
    pub fn spooled(name: String, file: Spooled) -> Self {
        Self::of(name, Content::Spooled(Arc::new(file)))
    }

    fn of(name: String, content: Content) -> Self {
        Input { name, content, conversation: None, examined: OnceLock::new(), is_nameless: false }
    }

    /// The content of an open file that has no name.
    pub fn without_name(self) -> Self {
        Input { name: NAMELESS.to_owned(), is_nameless: true, ..self }
    }

    /// Returns the input itself if it has a name. An open file without a name is named by its content, so that its rows do not replace those of
    /// another one.
    pub fn named(self) -> Self {
        if !self.is_nameless {
            return self;
        }
        let sha256 = self
            .open()
            .ok()
            .and_then(|source| FileHash::default().with_sha256().finish(&source).sha256)
            .unwrap_or_default();
        Input { name: format!("<file:{}>", const_hex::encode(&sha256[..8])), ..self }
    }

    /// Whether it is a path, and not the content of an object.
    pub fn has_path(&self) -> bool {
        matches!(self.content, Content::Path(_) | Content::Nothing(_))
    }

    /// The number of bytes that are kept for it in memory or in a temporary file.
    pub fn kept_bytes(&self) -> u64 {
        if matches!(self.content, Content::Path(_)) { 0 } else { self.size() }
    }

    /// Its size in bytes when it was examined; 0 if unknown.
    pub fn size(&self) -> u64 {
        self.examined().size
    }

    /// Whether it must be opened as a whole recording, because it is a directory or has the name of an archive.
    pub fn is_packed(&self) -> bool {
        matches!(&self.content, Content::Path(path) if self.examined().is_directory || is_archive_name(path))
    }

    /// Whether a session in it is large enough to be read in parts.
    pub fn is_large(&self) -> bool {
        let is_archived = matches!(&self.content, Content::Path(path) if archived::is_archive_name(path));
        let is_archive = is_archived || (self.is_packed() && !self.examined().is_directory);
        self.size() >= if is_archive { LARGE_ARCHIVE_BYTES } else { LARGE_BYTES }
    }

    /// Opens the file of a session.
    pub fn open(&self) -> Result<LineSource, ReadError> {
        match &self.content {
            Content::Path(path) => LineSource::open(path),
            Content::Spooled(file) => LineSource::open(file.path()),
            Content::Memory(bytes) => Ok(LineSource::in_memory(bytes.to_vec())),
            Content::Nothing(_) => Ok(LineSource::in_memory(Vec::new())),
        }
    }
}

/// The error of a file that can't be read.
pub fn read_failed(error: &ReadError) -> String {
    format!("Failed to read file: {error}")
}

/// Whether a file is an archive, judged by its first bytes.
pub fn is_archive(source: &LineSource) -> bool {
    let mut beginning = [0; 64];
    source.read_at(&mut beginning, 0).is_ok_and(|count| is_archive_beginning(&beginning[..count]))
}

fn size_of_file(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether the name of a file is that of an archive.
pub fn is_archive_name(path: &Path) -> bool {
    [".cath-bundle", ".tar", ".tar.zst", ".tzst"].iter().any(|ending| ends_with(path, ending))
}

/// Whether the name of a file ends with `ending`.
pub fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(ending.as_bytes()))
}

/// The log of an opened recording, to which the byte offsets of rows refer.
pub fn log_of(recording: &Recording) -> &Path {
    &recording.source().log
}
