//! The summary of a bundle.

use std::path::{Path, PathBuf};

use super::manifest::{BundleKind, Manifest};
use super::metadata::MediaCounts;
use crate::hash::HexHash;

/// The summary of a bundle, mostly from its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleInfo {
    /// The bundle's id: the hash of the manifest without `bundleId`.
    pub bundle_id: HexHash,
    /// The kind of recording: a run or a session.
    pub kind: BundleKind,
    /// The path of its directory or archive.
    pub path: PathBuf,
    /// The number of files that the manifest lists.
    pub files: u64,
    /// The total size of these files, uncompressed.
    pub bytes: u64,
    /// The number of lines in the log.
    pub events: u64,
    /// The number of redacted events, blobs, files and lines.
    pub redactions: u64,
    /// What became of the objects that a session refers to. `None` if it refers to none.
    pub media: Option<MediaCounts>,
    /// Whether the log begins after a snapshot.
    pub partial: bool,
}

impl BundleInfo {
    /// The summary of the bundle at `path`.
    pub fn new(path: &Path, manifest: &Manifest, redactions: u64, media: Option<MediaCounts>) -> Self {
        BundleInfo {
            bundle_id: manifest.bundle_id(),
            kind: manifest.kind,
            path: path.to_path_buf(),
            files: manifest.files.len() as u64,
            bytes: manifest.bytes(),
            events: manifest.log.count,
            redactions,
            media,
            partial: manifest.partial.is_some(),
        }
    }
}
