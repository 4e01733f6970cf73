//! Recordings that are read: files, runs, bundles, and what is in memory.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_tape::{LineSource, ReadError, Recording};

/// A recording that is to be read.
#[derive(Clone, Debug)]
pub struct Input {
    /// As tables name it.
    pub name: String,
    /// What it is.
    pub content: Content,
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

impl Input {
    /// The recording at a path.
    pub fn at(path: PathBuf) -> Self {
        Input { name: path.to_string_lossy().into_owned(), content: Content::Path(path) }
    }

    /// How many bytes it has. 0 if that can't be known.
    pub fn size(&self) -> u64 {
        match &self.content {
            Content::Path(path) if path.is_dir() => size_of_file(&path.join(RUN_LOG)),
            Content::Path(path) => size_of_file(path),
            Content::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it must be opened as a whole recording: it is a directory or an archive.
    pub fn is_packed(&self) -> bool {
        matches!(&self.content, Content::Path(path) if path.is_dir() || is_archive_name(path))
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
    /// What is still to be looked at, the next last.
    open: Vec<PathBuf>,
}

impl Walk {
    /// From the path of a file or a directory, or a glob. An error if there is nothing.
    pub fn from(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            path.metadata()?;
            return Ok(Walk { open: vec![path.to_owned()] });
        }
        let pattern = path.to_string_lossy();
        let missing = || io::Error::new(io::ErrorKind::NotFound, pattern.clone().into_owned());
        if !pattern.contains(['*', '?', '[']) {
            return Err(missing());
        }
        let found = glob::glob(&pattern).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut open: Vec<PathBuf> = found.filter_map(Result::ok).collect();
        if open.is_empty() {
            return Err(missing());
        }
        open.sort();
        open.reverse();
        Ok(Walk { open })
    }

    /// The next recording. A directory that can't be listed has none.
    pub fn next(&mut self, wanted: Wanted) -> Option<Input> {
        while let Some(path) = self.open.pop() {
            if !path.is_dir() || path.join("manifest.json").is_file() || path.join(RUN_LOG).is_file() {
                return Some(Input::at(path));
            }
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            let mut inside: Vec<PathBuf> =
                entries.filter(|entry| is_wanted(&entry.path(), wanted)).map(|entry| entry.path()).collect();
            inside.sort();
            self.open.extend(inside.into_iter().rev());
        }
        None
    }
}

/// Whether something in a directory is a recording of this sort, or may hold some.
fn is_wanted(path: &Path, wanted: Wanted) -> bool {
    if path.is_dir() {
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
