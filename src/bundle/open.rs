//! How readers get at a bundle: a directory is read where it is, an archive is unpacked to a temporary directory first.
//!
//! Unpacked rather than streamed: a replay goes back in the log (to a snapshot, to the state before a fault) and looks up
//! blobs in any order, and nothing of an archive should reach it before all of it was verified. A directory is verified too,
//! by reading it once: what its `redactions.json` allows to be missing must be what its manifest vouches for.

use std::fs;
use std::path::{Path, PathBuf};

use super::archive::ArchiveReader;
use super::container::Container;
use super::directory::{DirectoryReader, open_file};
use super::error::{BundleCode, BundleError};
use super::import::{ImportError, unpack};
use super::limits::Limits;
use super::manifest::{BundleKind, Manifest};
use super::metadata;
use super::path::METADATA;
use super::redactions::RedactionList;
use super::seal::StagedDirectory;
use super::verify::{VerifyOptions, verify};
use super::watch::Watch;
use crate::run::directory::RunDirectory;
use crate::run::origin::read_text;

/// The bundle at `path`, to be read once.
pub fn open_container(path: &Path, limits: &Limits) -> Result<Box<dyn Container>, BundleError> {
    // The path itself is the caller's and may be a link.
    let disk = fs::canonicalize(path).map_err(|error| BundleError::system(&error, "open", Some(path)))?;
    if disk.is_dir() {
        return Ok(Box::new(DirectoryReader::open(&disk, limits)?));
    }
    let (file, _) = open_file(&disk).map_err(|error| match error.code {
        BundleCode::Device => BundleError::new(BundleCode::NotABundle, error.message),
        _ => error,
    })?;
    Ok(Box::new(ArchiveReader::open(file, limits)?))
}

/// A bundle that was verified, or an unsealed run or session, ready to be read.
pub struct Opened {
    /// What it is.
    pub kind: BundleKind,
    /// What it lists. None for what was never sealed.
    pub manifest: Option<Manifest>,
    /// What is redacted in it.
    pub redactions: RedactionList,
    root: PathBuf,
    /// Holds the unpacked archive; it is removed with this.
    _unpacked: Option<(StagedDirectory, tempfile::TempDir)>,
}

impl Opened {
    /// The same, for a reader of runs. The bundle of a session is none.
    pub fn of_run(self) -> Result<Self, ImportError> {
        if self.manifest.is_some() && self.kind == BundleKind::Session {
            let message = "it is the bundle of a session, not of a run";
            return Err(BundleError::new(BundleCode::NotABundle, message).into());
        }
        Ok(self)
    }

    /// The run's directory. Its log may begin behind a snapshot: see the manifest.
    pub fn run_directory(&self) -> RunDirectory {
        RunDirectory::new(&self.root)
    }

    /// The directory of the bundle or of the run, or the session's file.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The id of the run that a bundle is of, as its metadata tells it: the inside of a JSON string.
    pub fn run_id(&self) -> Option<String> {
        let document = self.manifest.as_ref().and_then(|_| read_text(&self.root.join(METADATA)).ok())?;
        metadata::told_of_run(&document).ok().map(|told| told.created[0].as_json().to_owned())
    }

    /// Whether the log begins behind a snapshot.
    pub fn is_partial(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.partial.is_some())
    }

    /// The file of the log: of events, or of a session.
    pub fn log(&self) -> PathBuf {
        if self.root.is_dir() { self.root.join(self.kind.log()) } else { self.root.clone() }
    }
}

/// Whether what is at `path` has to be opened as a bundle: an archive, or a directory with a manifest.
pub fn is_bundle(path: &Path) -> bool {
    path.join(super::path::MANIFEST).exists() || super::sink::is_archive(path)
}

/// Opens a bundle, a run's directory or a session's file. A bundle is verified, an unsealed original is not looked at.
pub fn open(path: &Path, options: &VerifyOptions, watch: &mut Watch<'_>) -> Result<Opened, ImportError> {
    if !is_bundle(path) {
        let kind = if path.is_dir() { BundleKind::Run } else { BundleKind::Session };
        let redactions = RedactionList::default();
        return Ok(Opened { kind, manifest: None, redactions, root: path.to_path_buf(), _unpacked: None });
    }
    let (report, root, unpacked) = if path.is_dir() {
        (verify(path, options, watch)?, path.to_path_buf(), None)
    } else {
        let temporary = tempfile::tempdir().map_err(|error| BundleError::system(&error, "mkdir", None))?;
        let staged = StagedDirectory::new(&temporary.path().join("bundle"))?;
        let report = unpack(path, &staged, options, watch)?;
        (report, staged.path().to_path_buf(), Some((staged, temporary)))
    };
    match report.manifest {
        Some(manifest) if report.problems.is_empty() => {
            let (kind, redactions) = (manifest.kind, report.redactions);
            Ok(Opened { kind, manifest: Some(manifest), redactions, root, _unpacked: unpacked })
        }
        _ => Err(ImportError::Refused { problems: report.problems }),
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
