//! Recordings that are read: files, runs, bundles, and what is in memory.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::LARGE_BYTES;
use session_tape::{LineSource, ReadError, Recording};

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
}

/// Where a recording is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, or the directory of a run.
    Path(PathBuf),
    /// In memory.
    Memory(Arc<Vec<u8>>),
}

/// Which recordings of a directory are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Sessions,
    Runs,
}

/// The file with the events in the directory of a run.
const RUN_LOG: &str = "events.cath-log";

/// The file with the session in the directory of its bundle.
const SESSION_LOG: &str = "session.jsonl";

/// What an archive of this size holds is mostly several times as large.
const LARGE_ARCHIVE_BYTES: u64 = 1 << 20;

impl Input {
    /// The recording at a path.
    pub fn at(path: PathBuf) -> Self {
        let found = fs::metadata(&path);
        let is_directory = found.as_ref().is_ok_and(fs::Metadata::is_dir);
        let size = match is_directory {
            true => [RUN_LOG, SESSION_LOG].iter().map(|log| size_of_file(&path.join(log))).max().unwrap_or(0),
            false => found.map_or(0, |found| found.len()),
        };
        Input { name: path.to_string_lossy().into_owned(), content: Content::Path(path), size, is_directory }
    }

    /// A recording in memory.
    pub fn in_memory(name: String, bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Input { name, content: Content::Memory(Arc::new(bytes)), size, is_directory: false }
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
            Content::Memory(bytes) => Ok(LineSource::in_memory(bytes.to_vec())),
        }
    }

    /// The same, of which only the beginning is wanted.
    pub fn open_unread(&self) -> Result<LineSource, ReadError> {
        match &self.content {
            Content::Path(path) => LineSource::open_unread(path),
            Content::Memory(bytes) => Ok(LineSource::in_memory(bytes[..bytes.len().min(64 << 10)].to_vec())),
        }
    }
}

fn size_of_file(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether the name of a file is that of an archive.
pub fn is_archive_name(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    [".cath-bundle", ".tar", ".tar.zst", ".tzst"].iter().any(|ending| name.ends_with(ending))
}

/// The log of a recording that was opened, in which rows have their places.
pub fn log_of(recording: &Recording) -> &Path {
    &recording.source().log
}

/// Walks through directories and globs, a directory at a time. Sorted, so that it is the same each time.
#[derive(Default)]
pub struct Walk {
    /// What is still to be looked at, the next last, and whether it is a directory.
    open: Vec<(PathBuf, bool)>,
}

impl Walk {
    /// From the path of a file or a directory, or a glob. An error if there is nothing.
    pub fn from(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            let is_directory = path.metadata()?.is_dir();
            return Ok(Walk { open: vec![(path.to_owned(), is_directory)] });
        }
        let pattern = path.to_string_lossy();
        let missing = || io::Error::new(io::ErrorKind::NotFound, pattern.clone().into_owned());
        if !pattern.contains(['*', '?', '[']) {
            return Err(missing());
        }
        let found = glob::glob(&pattern).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut open: Vec<_> = found.filter_map(Result::ok).map(with_type).collect();
        if open.is_empty() {
            return Err(missing());
        }
        open.sort();
        open.reverse();
        Ok(Walk { open })
    }

    /// The next recording. A directory that can't be listed has none.
    pub fn next(&mut self, wanted: Wanted) -> Option<Input> {
        while let Some((path, is_directory)) = self.open.pop() {
            if !is_directory || path.join("manifest.json").is_file() || path.join(RUN_LOG).is_file() {
                return Some(Input::at(path));
            }
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            let mut inside: Vec<_> = entries.map(|entry| entry_with_type(&entry)).collect();
            inside.retain(|(path, is_directory)| is_wanted(path, *is_directory, wanted));
            inside.sort();
            self.open.extend(inside.into_iter().rev());
        }
        None
    }
}

fn with_type(path: PathBuf) -> (PathBuf, bool) {
    let is_directory = path.is_dir();
    (path, is_directory)
}

/// The system says with the name what an entry is, unless it is a link.
fn entry_with_type(entry: &fs::DirEntry) -> (PathBuf, bool) {
    match entry.file_type() {
        Ok(found) if !found.is_symlink() => (entry.path(), found.is_dir()),
        _ => with_type(entry.path()),
    }
}

/// Whether something in a directory is a recording of this sort, or may hold some.
fn is_wanted(path: &Path, is_directory: bool, wanted: Wanted) -> bool {
    if is_directory {
        let is_run = path.join(RUN_LOG).is_file();
        let is_bundle = path.join("manifest.json").is_file();
        return match wanted {
            Wanted::Sessions => !is_run,
            Wanted::Runs => is_run || !is_bundle,
        };
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    match wanted {
        Wanted::Sessions => name.ends_with(".jsonl") || is_archive_name(path),
        Wanted::Runs => is_archive_name(path),
    }
}
