//! Recordings that have a path, by which runs and bundles are opened.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use session_tape_core::{FileHash, LineSource, Recording};

use crate::file_facts::FileFacts;
use crate::input::{Content, Input, RUN_LOG, can_be_read_again};
use crate::kept_file::KeptFile;
use crate::walk::is_run_with_foreign_manifest;

/// A recording at its path, or a temporary copy of it.
pub struct OnDisk<'i> {
    name: &'i str,
    path: PathBuf,
    kept: Option<Arc<KeptFile>>,
}

/// The path by which to open a recording: its own, but that of the log for a run with a foreign `manifest.json`, which would be mistaken for a
/// bundle.
pub fn opened_at(path: &Path) -> Cow<'_, Path> {
    match is_run_with_foreign_manifest(path) {
        true => path.join(RUN_LOG).into(),
        false => path.into(),
    }
}

/// A path that cannot be opened as a recording of the wanted kind: the facts of its file, and the error.
pub struct Refused {
    pub file: FileFacts,
    pub error: String,
}

impl<'i> OnDisk<'i> {
    /// Gives an input a path, if necessary by copying it. `source` has the content of an input that can be read only once and was already opened.
    pub fn of(input: &'i Input, source: Option<&LineSource>) -> io::Result<Self> {
        let kept = match (&input.content, source) {
            (Content::Path(path), Some(source)) if !can_be_read_again(path) => Arc::new(KeptFile::copy(source)?),
            (Content::Path(path), _) => return Ok(OnDisk { name: &input.name, path: path.clone(), kept: None }),
            (Content::Kept(file), _) => file.clone(),
            (Content::Memory(bytes), _) => Arc::new(KeptFile::with(bytes)?),
            (Content::Nothing(error), _) => return Err(io::Error::other(error.as_str())),
        };
        Ok(OnDisk { name: &input.name, path: kept.path(), kept: Some(kept) })
    }

    /// Opens a run if `is_of_runs`, or else a session in a bundle.
    pub fn open(&self, is_of_runs: bool, cancelled: &AtomicBool) -> Result<Recording, Refused> {
        let error = match Recording::open(&opened_at(&self.path), cancelled) {
            Ok(recording) if recording.is_run() == is_of_runs => return Ok(recording),
            Ok(_) if is_of_runs => "It is not the log of a run".to_owned(),
            Ok(_) => "It is a run, not a session".to_owned(),
            Err(error) => self.tell(error),
        };
        Err(Refused { file: FileFacts::of(&self.path, FileHash::default().with_sha256()), error })
    }

    /// The name of its source.
    pub fn name(&self) -> &'i str {
        self.name
    }

    /// The message of an error, in which the recording's name replaces the path of a temporary copy: that path is different each time.
    pub fn tell(&self, error: impl Display) -> String {
        let error = error.to_string();
        let Some(kept) = &self.kept else { return error };
        let named = error.replace(&*kept.path().to_string_lossy(), self.name);
        named.replace(&*kept.directory().to_string_lossy(), self.name)
    }
}
