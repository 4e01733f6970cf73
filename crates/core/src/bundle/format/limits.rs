//! Limits for bundles, so that an untrusted bundle can't exhaust its reader's disk or memory. The writer enforces the same limits, so
//! that it produces no bundle that a reader with these limits refuses.

use super::error::{BundleCode, BundleError};
use super::path::BundlePath;
use crate::bundle::format::path;
use crate::lines::{MAX_LINE_BYTES, cannot_be_json};

/// The default for the largest `manifest.json` or `manifest.sha256`, in bytes: enough for several hundred thousand files.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The largest `metadata.json` or `manifest.sig`, in bytes.
pub(crate) const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// The default for the largest `redactions.json`, in bytes.
pub(crate) const MAX_REDACTIONS_BYTES: u64 = 64 << 20;

/// The default for the longest line, in bytes.
const DEFAULT_LINE_BYTES: u64 = 16 << 20;

/// The size to which every archive may expand beyond its ratio, in bytes: small archives are mostly tar headers, which are mostly zeros.
const FREE_EXPANSION_BYTES: u64 = 1 << 20;

/// The default for the largest expansion ratio of an archive.
pub(crate) const DEFAULT_EXPANSION: u64 = 200;

/// The limits of a verification (`docs/bundle-format.md` section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line of a log, in bytes, without its `\n`. Lines of a run are limited to 16 MiB in any case; for those of a
    /// session see [`session_line_bytes`](Limits::session_line_bytes).
    pub line_bytes: u64,
    /// The largest blob or object of media, in bytes.
    pub blob_bytes: u64,
    /// The maximum number of files.
    pub files: u64,
    /// The largest ratio between the size of an archive's tar and that of the archive.
    pub expansion: u64,
    /// The largest total size of all files, in bytes.
    pub total_bytes: u64,
    /// The largest `manifest.json` or `manifest.sha256`, in bytes. They are read into memory.
    pub manifest_bytes: u64,
    /// The largest `redactions.json`, in bytes. It is read into memory.
    pub redactions_bytes: u64,
}

impl Limits {
    /// The longest line of a session, in bytes: at least the longest line that a replay reads, so that every session that replays can
    /// be exported, unless the caller's limit is below the default. Checking lines takes no more memory for it.
    pub fn session_line_bytes(&self) -> u64 {
        if self.line_bytes < DEFAULT_LINE_BYTES { self.line_bytes } else { self.line_bytes.max(MAX_LINE_BYTES as u64) }
    }

    /// Whether a session line that begins like this is exempt from the limit because a replay skips it: a crash may leave a gigabyte of
    /// zeros.
    pub fn skips_line(&self, beginning: &[u8]) -> bool {
        self.line_bytes >= DEFAULT_LINE_BYTES && cannot_be_json(beginning)
    }

    /// The maximum number of files and directories, of which each name is held in memory.
    pub(crate) fn entries(&self) -> u64 {
        self.files.saturating_mul(2).saturating_add(16)
    }

    /// The limit for a file that is read into memory; `None` for other files.
    pub fn document_bytes(&self, path: &str) -> Option<u64> {
        match path {
            path::MANIFEST | path::CHECKSUMS => Some(self.manifest_bytes),
            path::REDACTIONS => Some(self.redactions_bytes),
            path::SIGNATURE | path::METADATA => Some(MAX_SMALL_FILE_BYTES),
            path::SNAPSHOT => Some(self.blob_bytes),
            _ => None,
        }
    }

    /// Fails if a file of `size` bytes is larger than its limit.
    pub fn check_file(&self, path: &BundlePath, size: u64) -> Result<(), BundleError> {
        let (code, limit) = match self.document_bytes(path.as_str()) {
            Some(limit) => (BundleCode::FileTooLarge, limit),
            None if path.blob().is_some() || path.media().is_some() => (BundleCode::BlobTooLarge, self.blob_bytes),
            None => return Ok(()),
        };
        let message = format!("it has {size} bytes, more than {limit}");
        if size > limit { Err(BundleError::about(code, path.as_str(), message)) } else { Ok(()) }
    }

    /// Fails if a bundle of `bytes` is larger than its limit.
    pub fn check_total(&self, bytes: u64) -> Result<(), BundleError> {
        let message = format!("The bundle would hold {bytes} bytes, more than {}", self.total_bytes);
        if bytes > self.total_bytes { Err(BundleError::new(BundleCode::TotalTooLarge, message)) } else { Ok(()) }
    }

    /// The largest tar in an archive of `size` bytes. The allowance for small archives is part of the default ratio: a lower ratio is
    /// applied exactly, and a higher one never gives less than the default.
    pub fn max_tar_bytes(&self, size: u64) -> u64 {
        let given = size.saturating_mul(self.expansion);
        if self.expansion < DEFAULT_EXPANSION {
            return given;
        }
        given.max(size.saturating_mul(DEFAULT_EXPANSION).saturating_add(FREE_EXPANSION_BYTES))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            line_bytes: DEFAULT_LINE_BYTES,
            blob_bytes: 256 << 20,
            files: 100_000,
            expansion: DEFAULT_EXPANSION,
            total_bytes: 64 << 30,
            manifest_bytes: MAX_MANIFEST_BYTES,
            redactions_bytes: MAX_REDACTIONS_BYTES,
        }
    }
}
