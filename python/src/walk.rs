//! The recordings in directories.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::glob_paths::{expand, is_glob};
use crate::input::{Input, RUN_LOG, ends_with, is_archive_name};
use crate::source_name::escaped_path;

/// Which recordings of a directory are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Sessions,
    Runs,
}

/// What is still to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    path: PathBuf,
    is_directory: bool,
}

impl Found {
    /// What is at a path.
    pub fn at(path: PathBuf) -> Self {
        let is_directory = path.is_dir();
        Found { path, is_directory }
    }

    /// The system says with the name what an entry is, unless it is a link.
    fn entry(entry: &fs::DirEntry) -> Self {
        match entry.file_type() {
            Ok(found) if !found.is_symlink() => Found { path: entry.path(), is_directory: found.is_dir() },
            _ => Found::at(entry.path()),
        }
    }

    /// Whether it is a recording of this sort, or may hold some.
    fn is_wanted(&self, wanted: Wanted) -> bool {
        match (self.is_directory, wanted) {
            (true, Wanted::Sessions) => !self.path.join(RUN_LOG).is_file(),
            (true, Wanted::Runs) => self.path.join(RUN_LOG).is_file() || !is_bundle(&self.path),
            (false, Wanted::Sessions) => ends_with(&self.path, ".jsonl") || is_archive_name(&self.path),
            (false, Wanted::Runs) => is_archive_name(&self.path),
        }
    }
}

/// Walks through directories and globs, a directory at a time. Sorted, so that it is the same each time.
#[derive(Default)]
pub struct Walk {
    /// The next last.
    open: Vec<Found>,
}

impl Walk {
    /// From the path of a file or a directory, or a glob. An error if there is nothing.
    pub fn from(path: &Path) -> io::Result<Self> {
        let Err(missing) = path.symlink_metadata() else {
            path.metadata()?;
            return Ok(Walk { open: vec![Found::at(path.to_owned())] });
        };
        let named = path.to_str().and_then(escaped_path);
        if let Some(named) = named.filter(|named| named.symlink_metadata().is_ok()) {
            return Ok(Walk { open: vec![Found::at(named)] });
        }
        if !is_glob(path) {
            return Err(missing);
        }
        let mut open = expand(path).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        open.reverse();
        if open.is_empty() { Err(missing) } else { Ok(Walk { open }) }
    }

    /// The next recording. A directory that can't be listed has none.
    pub fn next(&mut self, wanted: Wanted) -> Option<Input> {
        while let Some(Found { path, is_directory }) = self.open.pop() {
            if !is_directory || is_recording(&path) {
                return Some(Input::at(path));
            }
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            let mut inside: Vec<_> = entries.map(|entry| Found::entry(&entry)).collect();
            inside.retain(|found| found.is_wanted(wanted));
            inside.sort();
            self.open.extend(inside.into_iter().rev());
        }
        None
    }
}

/// Whether a directory is a run or a bundle.
fn is_recording(directory: &Path) -> bool {
    directory.join(RUN_LOG).is_file() || is_bundle(directory)
}

fn is_bundle(directory: &Path) -> bool {
    directory.join("manifest.json").is_file()
}
