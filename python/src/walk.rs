//! The recordings in directories.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::glob_paths::{expand, is_glob, is_missing};
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
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Directory,
    /// A directory that can't be listed, and why.
    Unlisted(String),
}

impl Kind {
    fn of(is_directory: bool) -> Self {
        if is_directory { Kind::Directory } else { Kind::File }
    }
}

impl Found {
    /// What is at a path.
    pub fn at(path: PathBuf) -> Self {
        let kind = Kind::of(path.is_dir());
        Found { path, kind }
    }

    /// A directory that could not be listed.
    pub fn unlisted(path: PathBuf, error: &io::Error) -> Self {
        Found { path, kind: Kind::Unlisted(error.to_string()) }
    }

    /// The system says with the name what an entry is, unless it is a link.
    fn entry(entry: &fs::DirEntry) -> Self {
        match entry.file_type() {
            Ok(found) if !found.is_symlink() => Found { path: entry.path(), kind: Kind::of(found.is_dir()) },
            _ => Found::at(entry.path()),
        }
    }

    /// Whether it is a recording of this sort, or may hold some.
    fn is_wanted(&self, wanted: Wanted) -> bool {
        match (&self.kind, wanted) {
            (Kind::Directory, Wanted::Sessions) => !self.path.join(RUN_LOG).is_file(),
            (Kind::Directory, Wanted::Runs) => self.path.join(RUN_LOG).is_file() || !is_bundle(&self.path),
            (Kind::File, Wanted::Sessions) => ends_with(&self.path, ".jsonl") || is_archive_name(&self.path),
            (Kind::File, Wanted::Runs) => is_archive_name(&self.path),
            (Kind::Unlisted(_), _) => true,
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
        let missing = match path.metadata() {
            Err(error) if is_missing(&error) => error,
            // Why it can't be read its row says.
            _ => return Ok(Walk { open: vec![Found::at(path.to_owned())] }),
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

    /// The next recording, or directory that can't be listed.
    pub fn next(&mut self, wanted: Wanted) -> Option<Input> {
        while let Some(Found { path, kind }) = self.open.pop() {
            match kind {
                Kind::Unlisted(error) => return Some(Input::unlisted(&path, &error)),
                Kind::Directory if !is_recording(&path) => self.list(&path, wanted),
                _ => return Some(Input::at(path)),
            }
        }
        None
    }

    fn list(&mut self, directory: &Path, wanted: Wanted) {
        let mut inside = Vec::new();
        let listed = fs::read_dir(directory).and_then(|entries| {
            for entry in entries {
                inside.push(Found::entry(&entry?));
            }
            Ok(())
        });
        if let Err(error) = listed
            && !is_missing(&error)
        {
            inside.push(Found::unlisted(directory.to_owned(), &error));
        }
        inside.retain(|found| found.is_wanted(wanted));
        inside.sort();
        self.open.extend(inside.into_iter().rev());
    }
}

/// Whether a directory is a run or a bundle.
fn is_recording(directory: &Path) -> bool {
    directory.join(RUN_LOG).is_file() || is_bundle(directory)
}

/// Whether there is a directory that is no recording and can be listed.
pub fn is_listed(directory: &Path) -> bool {
    directory.is_dir() && !is_recording(directory) && directory.read_dir().is_ok()
}

fn is_bundle(directory: &Path) -> bool {
    directory.join("manifest.json").is_file()
}
