//! A recording in a temporary file, which Python has written.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;

/// A recording in a temporary directory of its own, so that no other file is mistaken for a part of it.
#[derive(Debug)]
pub struct Spooled {
    path: PathBuf,
    directory: PathBuf,
    /// The Python object that removes the directory when it is freed.
    _owner: Py<PyAny>,
}

impl Spooled {
    /// The recording at a path, in a directory that `owner` removes.
    pub fn new(path: PathBuf, owner: Py<PyAny>) -> Self {
        let directory = path.parent().unwrap_or(&path).to_owned();
        Spooled { path, directory, _owner: owner }
    }

    /// The path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, which contains only the recording.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
