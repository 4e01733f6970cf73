//! Opens bundles for readers such as a replay. A directory is read in place; an archive is unpacked to a temporary directory.
//!
//! Archives are unpacked because a replay seeks in the log and reads blobs in any order, and must see nothing of an archive before
//! all of it is verified. A directory is verified too: its `redactions.json` excuses missing data and must itself be covered by the
//! manifest.

use std::path::{Path, PathBuf};

use super::import_error::ImportError;
use super::verify::{Report, VerifyOptions, inspect};
use crate::archived::{is_archived, is_bundle_name};
use crate::bundle::format::{
    BundleCode, BundleError, BundleKind, MANIFEST, METADATA, Manifest, REDACTIONS, RedactionList, SIGNATURE, metadata,
    signed,
};
use crate::disk::write::StagedDirectory;
use crate::disk::{FileKind, InputFile, files, sniff};
use crate::lines::OpenedPath;
use crate::run::RunDirectory;
use crate::signature::TrustedKeys;
use crate::task::Task;

/// A verified bundle.
pub struct OpenedBundle {
    /// The kind of recording.
    pub kind: BundleKind,
    /// The bundle's manifest.
    pub manifest: Manifest,
    /// The redactions that the bundle lists.
    pub redactions: RedactionList,
    /// Whether a trusted key signed the manifest, and thereby all listed files.
    is_trusted: bool,
    root: PathBuf,
    /// Holds the unpacked archive, which is removed on drop.
    unpacked: Option<StagedDirectory>,
}

impl OpenedBundle {
    /// Verifies the bundle at `path` and opens it. An archive is unpacked to a temporary directory first.
    pub fn open(path: &Path, options: &VerifyOptions, task: &mut Task<'_>) -> Result<Self, ImportError> {
        let unpacked = if files::is_directory(path) { None } else { Some(StagedDirectory::temporary()?) };
        let root = unpacked.as_ref().map_or(path, StagedDirectory::path).to_path_buf();
        match inspect(path, options, unpacked.as_ref(), task)?.expect_ok()? {
            Report { manifest: Some(manifest), redactions, is_trusted, .. } => {
                Ok(OpenedBundle { kind: manifest.kind, manifest, redactions, is_trusted, root, unpacked })
            }
            Report { problems, .. } => Err(ImportError::Refused { problems }),
        }
    }

    /// Opens the bundle in a directory that was already verified and has not been changed since.
    pub fn open_verified(directory: &Path, trusted: &TrustedKeys) -> Result<Self, ImportError> {
        let read = |path: &str| InputFile::open(&directory.join(path))?.read_up_to(u64::MAX);
        let document = read(MANIFEST)?;
        let (manifest, _) = Manifest::parse(&document)?;
        let is_listed = |path: &str| manifest.files.contains_key(path);
        let redactions =
            if is_listed(REDACTIONS) { RedactionList::parse(&read(REDACTIONS)?)? } else { Default::default() };
        let is_trusted = read(SIGNATURE).is_ok_and(|signature| signed::is_signed_by(trusted, &signature, &document));
        let (kind, root) = (manifest.kind, directory.to_path_buf());
        Ok(OpenedBundle { kind, manifest, redactions, is_trusted, root, unpacked: None })
    }

    /// Returns the bundle of a run, and an error for the bundle of a session. For readers of runs.
    pub fn expect_run(self) -> Result<Self, ImportError> {
        self.expect(BundleKind::Run)
    }

    /// Returns the bundle of a session, and an error for the bundle of a run. For readers of sessions.
    pub fn expect_session(self) -> Result<Self, ImportError> {
        self.expect(BundleKind::Session)
    }

    fn expect(self, kind: BundleKind) -> Result<Self, ImportError> {
        if self.kind == kind {
            return Ok(self);
        }
        let message = format!("it is the bundle of a {}, not of a {}", self.kind.as_str(), kind.as_str());
        Err(BundleError::new(BundleCode::NotABundle, message).into())
    }

    /// The directory of the run. The log of a partial bundle begins after a snapshot.
    pub fn run_directory(&self) -> RunDirectory {
        RunDirectory::of_verified_bundle(&self.root)
    }

    /// The directory of the bundle.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it is an archive that was unpacked to temporary files.
    pub fn is_unpacked(&self) -> bool {
        self.unpacked.is_some()
    }

    /// The run id in the metadata of a bundle, without the quotes and with its escapes.
    pub fn run_id(&self) -> Option<String> {
        let document = self.run_directory().read_text(METADATA).ok()?;
        metadata::summary_of_run(&document).ok().map(|summary| summary.created[0].as_json().to_owned())
    }

    /// Whether the log begins after a snapshot.
    pub fn is_partial(&self) -> bool {
        self.manifest.partial.is_some()
    }

    /// The keys, one of which must have signed a snapshot of this run. Empty if a trusted key signed the manifest, because the manifest
    /// contains the snapshots' hashes.
    pub fn keys_for_snapshots(&self, trusted: &TrustedKeys) -> TrustedKeys {
        if self.is_trusted { TrustedKeys::default() } else { trusted.clone() }
    }

    /// The path of the log: of a run's events or of the session.
    pub fn log(&self) -> PathBuf {
        self.root.join(self.kind.log())
    }
}

/// Whether `path` must be opened as a bundle: it is an archive, or a directory with a manifest.
pub fn is_bundle(path: &Path) -> bool {
    (files::is_directory(path) && files::exists(&path.join(MANIFEST))) || is_archive(path)
}

/// Whether `path` must be opened as the archive of a bundle, which that of a session is not. The first bytes of a file decide. If they are neither those of an archive nor of a
/// recording, or can't be read, the name decides, so that the error fits what the caller meant.
pub fn is_archive(path: &Path) -> bool {
    is_archive_with(path, sniff::beginning_of(path))
}

/// Like [`is_bundle`], of a path that is open already. Looks it up again only if nothing could be opened, which may be a directory.
pub fn is_opened_bundle(opened: &OpenedPath) -> bool {
    let path = opened.path();
    let Some(metadata) = opened.metadata() else { return is_bundle(path) };
    let is_directory = metadata.kind == FileKind::Directory;
    (is_directory && files::exists(&path.join(MANIFEST))) || is_archive_with(path, opened.beginning())
}

fn is_archive_with(path: &Path, beginning: Option<Vec<u8>>) -> bool {
    match beginning {
        Some(beginning) if sniff::is_archive(&beginning) => !is_archived(path),
        Some(beginning) if sniff::may_be_recording(&beginning) => false,
        _ => is_bundle_name(path),
    }
}

#[cfg(test)]
mod tests;
