//! A recording at a path, in any form: a session's file, a run's directory, or a bundle.

use std::path::Path;

use crate::bundle::{BundleKind, ImportError, OpenedBundle, VerifyOptions, is_bundle, open};
use crate::diff::{Source, SourceKind};
use crate::disk::OsError;
use crate::foreign::{ConvertedFile, Stop, convert_to_file};
use crate::task::{Cancellation, Task};

/// An open recording. The unpacked files of a bundle are kept until this is dropped.
pub struct Recording {
    source: Source,
    /// Keeps the unpacked files of a bundle.
    opened: Option<OpenedBundle>,
    /// Keeps what a foreign session became.
    converted: Option<ConvertedFile>,
}

/// Why a recording could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A system call failed.
    #[error("{0}")]
    System(#[from] OsError),
    /// The path is a bundle that could not be opened or verified.
    #[error("{0}")]
    Bundle(#[from] ImportError),
    /// The path is a foreign session that could not be converted.
    #[error("{0}")]
    Foreign(#[from] Stop),
}

impl Recording {
    /// Opens the recording at `path`. A bundle is verified first, and a foreign session is converted; setting `cancelled` stops that.
    pub fn open(path: &Path, cancelled: &Cancellation) -> Result<Self, RecordingError> {
        if !is_bundle(path) {
            let converted = cancelled.during(|| convert_to_file(path))?;
            let source = match &converted {
                Some(converted) => Source { path: path.to_owned(), ..Source::session(converted.log()) },
                None => Source::find(path)?,
            };
            return Ok(Recording { source, opened: None, converted });
        }
        let mut task = Task { cancellation: cancelled, progress: &mut |_| {} };
        let opened = open(path, &VerifyOptions::default(), &mut task)?;
        Ok(Recording { source: source_of(path, &opened), opened: Some(opened), converted: None })
    }

    /// The place of the recording on disk.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is a run.
    pub fn is_run(&self) -> bool {
        self.source.kind == SourceKind::Run
    }

    /// The format of a foreign session.
    pub fn foreign_format(&self) -> Option<&'static str> {
        self.converted.as_ref().map(|converted| converted.format().as_str())
    }

    /// The opened bundle, if the recording is one.
    pub fn opened(&self) -> Option<&OpenedBundle> {
        self.opened.as_ref()
    }
}

/// The source for readers of the opened bundle at `path`.
pub fn source_of(path: &Path, opened: &OpenedBundle) -> Source {
    let source = match opened.kind {
        BundleKind::Run => Source::run(opened.root()),
        BundleKind::Session => Source::session(&opened.log()),
    };
    let partial = opened.manifest.partial.as_ref();
    Source {
        path: path.to_owned(),
        first: Some(partial.map_or(0, |partial| partial.logical_time + 1)),
        redactions: opened.redactions.of_run(),
        is_redacted: opened.redactions.count() > 0,
        run_id: opened.run_id(),
        ..source
    }
}
