//! A bundle in short.

use std::fmt;
use std::path::{Path, PathBuf};

use super::manifest::{BundleKind, Manifest};
use crate::hash::{HexHash, as_text};

/// What a bundle is, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleInfo {
    /// The hash of the manifest without its id.
    pub bundle_id: HexHash,
    /// What it is of.
    pub kind: BundleKind,
    /// Where it is.
    pub path: PathBuf,
    /// How many files the manifest lists.
    pub files: u64,
    /// How many bytes these have together, before any compression.
    pub bytes: u64,
    /// How many lines the log has.
    pub events: u64,
    /// How many events, blobs and lines were redacted.
    pub redactions: u64,
    /// Whether it begins with a snapshot.
    pub partial: bool,
}

impl BundleInfo {
    /// Of the bundle at `path`.
    pub fn new(path: &Path, manifest: &Manifest, redactions: u64) -> Self {
        BundleInfo {
            bundle_id: manifest.bundle_id(),
            kind: manifest.kind,
            path: path.to_path_buf(),
            files: manifest.files.len() as u64,
            bytes: manifest.bytes(),
            events: manifest.log.count,
            redactions,
            partial: manifest.partial.is_some(),
        }
    }
}

impl fmt::Display for BundleInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({} files)", self.kind.as_str(), as_text(&self.bundle_id), self.files)
    }
}
