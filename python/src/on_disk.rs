//! Recordings that have a path, by which runs and bundles are opened.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

use session_tape_core::Recording;

use crate::file_facts::FileFacts;
use crate::input::{Content, Input, RUN_LOG};
use crate::rows::FileHash;
use crate::spooled::Spooled;
use crate::walk::is_run_with_foreign_manifest;
use session_tape_core::Cancellation;

/// A recording at its path, or in a temporary file.
pub struct OnDisk<'i> {
    name: &'i str,
    path: &'i Path,
    spooled: Option<&'i Spooled>,
}

/// The path by which to open a recording: its own, but that of the log for a run with a foreign `manifest.json`, which would be mistaken for a
/// bundle.
pub fn opened_at(path: &Path) -> Cow<'_, Path> {
    match is_run_with_foreign_manifest(path) {
        true => path.join(RUN_LOG).into(),
        false => path.into(),
    }
}

/// The error of a run or bundle that has no path. Those of objects are spooled to files.
pub const IN_MEMORY: &str = "It is in memory, where it cannot be opened as a run or bundle";

/// A path that cannot be opened as a recording of the wanted kind: the facts of its file, and the error.
pub struct Refused {
    pub file: FileFacts,
    pub error: String,
}

impl Refused {
    /// A recording of which nothing was read.
    pub fn unread(error: String) -> Self {
        Refused { file: FileFacts::default(), error }
    }
}

impl<'i> OnDisk<'i> {
    /// The path of an input; `None` if it is in memory.
    pub fn of(input: &'i Input) -> Option<Self> {
        let (path, spooled) = match &input.content {
            Content::Path(path) => (path.as_path(), None),
            Content::Spooled(file) => (file.path(), Some(&**file)),
            Content::Memory(_) | Content::Nothing(_) => return None,
        };
        Some(OnDisk { name: &input.name, path, spooled })
    }

    /// Opens a run if `is_of_runs`, or else a session in a bundle.
    pub fn open(&self, is_of_runs: bool, cancelled: &Cancellation) -> Result<Recording, Refused> {
        let error = match Recording::open(&opened_at(self.path), cancelled) {
            Ok(recording) if recording.is_run() == is_of_runs => return Ok(recording),
            Ok(_) if is_of_runs => "It is not the log of a run".to_owned(),
            Ok(_) => "It is a run, not a session".to_owned(),
            Err(error) => self.message_of(error),
        };
        Err(Refused { file: FileFacts::of(self.path, FileHash::default().with_sha256()), error })
    }

    /// The name of its source.
    pub fn name(&self) -> &'i str {
        self.name
    }

    /// The message of an error, in which the recording's name replaces the path of a temporary file: that path is different each time.
    pub fn message_of(&self, error: impl Display) -> String {
        let error = error.to_string();
        let Some(spooled) = self.spooled else { return error };
        let named = error.replace(&*spooled.path().to_string_lossy(), self.name);
        named.replace(&*spooled.directory().to_string_lossy(), self.name)
    }
}
