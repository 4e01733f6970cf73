//! Recordings that are read: files, runs, bundles, and what is in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_tape::{LineSource, ReadError, Recording, is_archive_beginning};

use crate::engine::LARGE_BYTES;
use crate::kept_file::KeptFile;
use crate::source_name::name_of;

/// A recording that is to be read.
#[derive(Clone, Debug)]
pub struct Input {
    /// As tables name it.
    pub name: String,
    /// What it is.
    pub content: Content,
    /// How many bytes it has. 0 if that can't be known.
    size: u64,
    is_directory: bool,
    /// It was found to be a regular file.
    is_file: bool,
}

/// Where a recording is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, or the directory of a run.
    Path(PathBuf),
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// In a temporary file.
    Kept(Arc<KeptFile>),
    /// Nowhere: why it can't be read.
    Nothing(String),
}

/// The file with the events in the directory of a run.
pub const RUN_LOG: &str = "events.cath-log";

/// The file with the session in the directory of its bundle.
const SESSION_LOG: &str = "session.jsonl";

/// What an archive of this size holds is mostly several times as large.
const LARGE_ARCHIVE_BYTES: u64 = 1 << 20;

impl Input {
    /// The recording at a path.
    pub fn at(path: PathBuf) -> Self {
        let found = fs::metadata(&path);
        let is_directory = found.as_ref().is_ok_and(fs::Metadata::is_dir);
        let is_file = found.as_ref().is_ok_and(fs::Metadata::is_file);
        let size = match is_directory {
            true => [RUN_LOG, SESSION_LOG].iter().map(|log| size_of_file(&path.join(log))).max().unwrap_or(0),
            false => found.map_or(0, |found| found.len()),
        };
        Input { name: name_of(&path), content: Content::Path(path), size, is_directory, is_file }
    }

    /// What stands for the recordings of a directory that can't be listed.
    pub fn unlisted(path: &Path, error: &str) -> Self {
        let content = Content::Nothing(format!("Failed to list directory: {error}, '{}'", path.display()));
        Input { name: name_of(path), content, size: 0, is_directory: false, is_file: false }
    }

    /// A recording in memory.
    pub fn in_memory(name: String, bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Input { name, content: Content::Memory(Arc::new(bytes)), size, is_directory: false, is_file: false }
    }

    /// A recording in a temporary file.
    pub fn kept(name: String, file: KeptFile, size: u64) -> Self {
        Input { name, content: Content::Kept(Arc::new(file)), size, is_directory: false, is_file: false }
    }

    /// The same, if it can be read again. What can be read once, a pipe, is read now and kept.
    pub fn settled(self) -> Self {
        let Content::Path(path) = &self.content else { return self };
        if self.is_file || can_be_read_again(path) {
            return self;
        }
        let source = self.open().map_err(|error| read_failed(&error));
        let kept = source.and_then(|source| {
            let file = KeptFile::copy(&source).map_err(|error| format!("Failed to keep what is in a pipe: {error}"))?;
            Ok(Input::kept(self.name.clone(), file, source.size()))
        });
        kept.unwrap_or_else(|error| Input { content: Content::Nothing(error), ..self })
    }

    /// How many bytes of it are kept here, in memory or in a temporary file.
    pub fn kept_bytes(&self) -> u64 {
        if matches!(self.content, Content::Path(_)) { 0 } else { self.size }
    }

    /// How many bytes it had when it was found. 0 if that can't be known.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it must be opened as a whole recording: it is a directory or an archive.
    pub fn is_packed(&self) -> bool {
        matches!(&self.content, Content::Path(path) if self.is_directory || is_archive_name(path))
    }

    /// Whether a session there is one that is read in parts.
    pub fn is_large(&self) -> bool {
        let is_archive = self.is_packed() && !self.is_directory;
        self.size >= if is_archive { LARGE_ARCHIVE_BYTES } else { LARGE_BYTES }
    }

    /// The file of a session.
    pub fn open(&self) -> Result<LineSource, ReadError> {
        match &self.content {
            Content::Path(path) => LineSource::open_or_drain(path),
            Content::Kept(file) => LineSource::open(&file.path()),
            Content::Memory(bytes) => Ok(LineSource::in_memory(bytes.to_vec())),
            Content::Nothing(_) => Ok(LineSource::in_memory(Vec::new())),
        }
    }

    /// The same, of which only the beginning is wanted.
    pub fn open_unread(&self) -> Result<LineSource, ReadError> {
        match &self.content {
            Content::Path(path) => LineSource::open_unread(path),
            Content::Kept(file) => LineSource::open_unread(&file.path()),
            Content::Memory(bytes) => Ok(LineSource::in_memory(bytes[..bytes.len().min(64 << 10)].to_vec())),
            Content::Nothing(_) => self.open(),
        }
    }
}

/// The error of a file that can't be read.
pub fn read_failed(error: &ReadError) -> String {
    format!("Failed to read file: {error}")
}

/// Whether a file is an archive, as its first bytes say.
pub fn is_archive(source: &LineSource) -> bool {
    let mut beginning = [0; 64];
    source.read_at(&mut beginning, 0).is_ok_and(|count| is_archive_beginning(&beginning[..count]))
}

/// Whether there is something at a path that can be read as often as it is wanted.
pub fn can_be_read_again(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_file() || found.is_dir())
}

fn size_of_file(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether the name of a file is that of an archive.
pub fn is_archive_name(path: &Path) -> bool {
    [".cath-bundle", ".tar", ".tar.zst", ".tzst"].iter().any(|ending| ends_with(path, ending))
}

/// Whether the name of a file ends so.
pub fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(ending.as_bytes()))
}

/// The log of a recording that was opened, in which rows have their places.
pub fn log_of(recording: &Recording) -> &Path {
    &recording.source().log
}
