//! How readers get at a bundle: a directory is read where it is, an archive is unpacked to a temporary directory first.
//!
//! Unpacked rather than streamed: a replay goes back in the log (to a snapshot, to the state before a fault) and looks up
//! blobs in any order, and nothing of an archive should reach it before all of it was verified. A directory is verified too,
//! by reading it once: what its `redactions.json` allows to be missing must be what its manifest vouches for.

use std::path::{Path, PathBuf};

use super::error::{BundleCode, BundleError};
use super::import::unpack;
use super::import_error::ImportError;
use super::manifest::{BundleKind, Manifest};
use super::metadata;
use super::path::{MANIFEST, METADATA, REDACTIONS, SIGNATURE};
use super::redactions::RedactionList;
use super::signed;
use super::verify::{VerifyOptions, verify};
use super::watch::JobWatch;
use crate::disk::files::{exists, is_directory};
use crate::disk::input_file::InputFile;
use crate::disk::sniff;
use crate::disk::staged::StagedDirectory;
use crate::disk::temporary::TemporaryDirectory;
use crate::run::directory::RunDirectory;
use crate::run::documents::read_text;
use crate::signature::TrustedKeys;

/// A bundle that was verified, or an unsealed run or session, ready to be read.
pub struct Opened {
    /// What it is.
    pub kind: BundleKind,
    /// What it lists. None for what was never sealed.
    pub manifest: Option<Manifest>,
    /// What is redacted in it.
    pub redactions: RedactionList,
    /// Whether one of the keys that the reader trusts signed the manifest, and so all that it lists.
    is_trusted: bool,
    root: PathBuf,
    /// Holds the unpacked archive; it is removed with this.
    _unpacked: Option<(StagedDirectory, TemporaryDirectory)>,
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
        metadata::summary_of_run(&document).ok().map(|summary| summary.created[0].as_json().to_owned())
    }

    /// Whether the log begins behind a snapshot.
    pub fn is_partial(&self) -> bool {
        self.manifest.as_ref().is_some_and(|manifest| manifest.partial.is_some())
    }

    /// The keys of which one must have signed a snapshot of this for it to count, of the keys that the reader trusts. None are asked
    /// for, if one of them signed the manifest: that has the snapshot's hash.
    pub fn keys_for_snapshots(&self, trusted: &TrustedKeys) -> TrustedKeys {
        if self.is_trusted { TrustedKeys::default() } else { trusted.clone() }
    }

    /// The file of the log: of events, or of a session.
    pub fn log(&self) -> PathBuf {
        if is_directory(&self.root) { self.root.join(self.kind.log()) } else { self.root.clone() }
    }
}

/// Whether what is at `path` has to be opened as a bundle: an archive, or a directory with a manifest.
pub fn is_bundle(path: &Path) -> bool {
    (is_directory(path) && exists(&path.join(MANIFEST))) || is_archive(path)
}

/// Whether what is at `path` has to be opened as an archive. A file's first bytes tell. Only of what is neither an archive nor a
/// recording (a file that was cut or is not there, a directory without a manifest) the name does, so that the error says what is missing.
pub fn is_archive(path: &Path) -> bool {
    match sniff::beginning_of(path) {
        Some(beginning) if sniff::is_archive(&beginning) => true,
        Some(beginning) if sniff::may_be_recording(&beginning) => false,
        _ => super::sink::is_archive(path),
    }
}

/// Opens a bundle, a run's directory or a session's file. A bundle is verified, an unsealed original is not looked at.
pub fn open(path: &Path, options: &VerifyOptions, watch: &mut JobWatch<'_>) -> Result<Opened, ImportError> {
    if !is_bundle(path) {
        let kind = if is_directory(path) { BundleKind::Run } else { BundleKind::Session };
        let redactions = RedactionList::default();
        let root = path.to_path_buf();
        return Ok(Opened { kind, manifest: None, redactions, is_trusted: false, root, _unpacked: None });
    }
    let (report, root, unpacked) = if is_directory(path) {
        (verify(path, options, watch)?, path.to_path_buf(), None)
    } else {
        let temporary = TemporaryDirectory::new()?;
        let staged = StagedDirectory::for_reader(&temporary.path().join("bundle"))?;
        let report = unpack(path, &staged, options, watch)?;
        (report, staged.path().to_path_buf(), Some((staged, temporary)))
    };
    match report.manifest {
        Some(manifest) if report.problems.is_empty() => {
            let (kind, redactions, is_trusted) = (manifest.kind, report.redactions, report.is_trusted);
            Ok(Opened { kind, manifest: Some(manifest), redactions, is_trusted, root, _unpacked: unpacked })
        }
        _ => Err(ImportError::Refused { problems: report.problems }),
    }
}

/// Opens the bundle in a directory that was verified already, and not changed since.
pub fn open_verified(directory: &Path, trusted: &TrustedKeys) -> Result<Opened, ImportError> {
    let read = |path: &str| InputFile::open(&directory.join(path))?.read_up_to(u64::MAX);
    let document = read(MANIFEST)?;
    let (manifest, _) = Manifest::parse(&document)?;
    let is_listed = |path: &str| manifest.files.contains_key(path);
    let redactions = if is_listed(REDACTIONS) { RedactionList::parse(&read(REDACTIONS)?)? } else { Default::default() };
    let is_trusted = read(SIGNATURE).is_ok_and(|signature| signed::is_by(trusted, &signature, &document));
    let (kind, root) = (manifest.kind, directory.to_path_buf());
    Ok(Opened { kind, manifest: Some(manifest), redactions, is_trusted, root, _unpacked: None })
}

#[cfg(test)]
mod tests;
