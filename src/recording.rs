//! A recording at a path, whatever its form: a session's file, a run's directory, or a bundle.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::bundle::import_error::ImportError;
use crate::bundle::manifest::BundleKind;
use crate::bundle::open::{Opened, is_bundle, open};
use crate::bundle::verify::VerifyOptions;
use crate::bundle::watch::JobWatch;
use crate::diff::source::{Source, SourceKind};
use crate::disk::os_error::OsError;

/// A recording that is read. A bundle stays unpacked until this is dropped.
pub struct Recording {
    source: Source,
    /// Holds what was unpacked.
    #[cfg_attr(not(feature = "rows"), allow(dead_code))]
    opened: Option<Opened>,
}

/// Why a recording could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The system refused.
    #[error("{0}")]
    System(#[from] OsError),
    /// It is a bundle that is not in order.
    #[error("{0}")]
    Bundle(#[from] ImportError),
}

impl Recording {
    /// Opens what is at `path`. A bundle is verified first, until `cancelled` is set.
    pub fn open(path: &Path, cancelled: &AtomicBool) -> Result<Self, RecordingError> {
        if !is_bundle(path) {
            return Ok(Recording { source: Source::find(path)?, opened: None });
        }
        let mut watch = JobWatch { cancelled, progress: &mut |_| {} };
        let opened = open(path, &VerifyOptions::default(), &mut watch)?;
        Ok(Recording { source: source_of(path, &opened), opened: Some(opened) })
    }

    /// What is read of it.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is a run.
    pub fn is_run(&self) -> bool {
        self.source.kind == SourceKind::Run
    }

    /// The bundle, if it is one.
    #[cfg(feature = "rows")]
    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }
}

/// What is compared of a bundle.
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
