//! A recording at a path, in any form: a session's file, a run's directory, or a bundle.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::bundle::{BundleKind, ImportError, JobWatch, Opened, VerifyOptions, is_bundle, open};
use crate::diff::{Source, SourceKind};
use crate::disk::OsError;

/// An open recording. The unpacked files of a bundle are kept until this is dropped.
pub struct Recording {
    source: Source,
    /// Keeps the unpacked files of a bundle.
    opened: Option<Opened>,
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
}

impl Recording {
    /// Opens the recording at `path`. A bundle is verified first; setting `cancelled` stops that.
    pub fn open(path: &Path, cancelled: &AtomicBool) -> Result<Self, RecordingError> {
        if !is_bundle(path) {
            return Ok(Recording { source: Source::find(path)?, opened: None });
        }
        let mut watch = JobWatch { cancelled, progress: &mut |_| {} };
        let opened = open(path, &VerifyOptions::default(), &mut watch)?;
        Ok(Recording { source: source_of(path, &opened), opened: Some(opened) })
    }

    /// The place of the recording on disk.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is a run.
    pub fn is_run(&self) -> bool {
        self.source.kind == SourceKind::Run
    }

    /// The opened bundle, if the recording is one.
    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }
}

/// The source for readers of the opened bundle at `path`.
pub fn source_of(path: &Path, opened: &Opened) -> Source {
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
