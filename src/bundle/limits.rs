//! How much a bundle may be. A bundle from a stranger must not fill the disk or the memory of its reader.
//!
//! Reader and writer ask the same functions, so that no bundle is written that its own reader refuses.

use super::error::{BundleCode, BundleError};
use super::path::{self, BundlePath};
use crate::jsonl::MAX_LINE_BYTES;
use crate::jsonl::reader::cannot_be_json;

/// The largest `manifest.json` or `manifest.sha256`, in bytes, unless the caller says otherwise: some hundred thousand files.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The largest `metadata.json` or `manifest.sig`, in bytes.
pub const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// The largest `redactions.json`, in bytes, unless the caller says otherwise.
pub const MAX_REDACTIONS_BYTES: u64 = 64 << 20;

/// The longest line, in bytes, unless the caller says otherwise.
const DEFAULT_LINE_BYTES: u64 = 16 << 20;

/// How much an archive may expand beyond what its size allows, in bytes: a small one is all headers, which are all zeros.
const FREE_EXPANSION_BYTES: u64 = 1 << 20;

/// How many times its own size an archive may expand to, unless somebody says otherwise.
pub const DEFAULT_EXPANSION: u64 = 200;

/// The limits of a verification (`docs/bundle-format.md` section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line of a log, in bytes, without its `\n`. More than 16 MiB is never read of a run's; for a session's see
    /// [`session_line_bytes`](Limits::session_line_bytes).
    pub line_bytes: u64,
    /// The largest blob, in bytes.
    pub blob_bytes: u64,
    /// How many files there may be.
    pub files: u64,
    /// How many times its own size an archive may expand to.
    pub expansion: u64,
    /// How many bytes all files may have together.
    pub total_bytes: u64,
    /// The largest `manifest.json` or `manifest.sha256`, in bytes: it is in memory as a whole.
    pub manifest_bytes: u64,
    /// The same of `redactions.json`.
    pub redactions_bytes: u64,
}

impl Limits {
    /// The longest line of a session, in bytes. Unless the caller gives less than the default it is what a replay reads: a session
    /// that replays can be sealed, and a check of its lines holds no more than the beginning of each.
    pub fn session_line_bytes(&self) -> u64 {
        if self.line_bytes < DEFAULT_LINE_BYTES { self.line_bytes } else { self.line_bytes.max(MAX_LINE_BYTES as u64) }
    }

    /// Whether a replay passes over a line that begins with these bytes, however long it is: a crash may leave a gigabyte of zeros.
    pub fn passes_over(&self, beginning: &[u8]) -> bool {
        self.line_bytes >= DEFAULT_LINE_BYTES && cannot_be_json(beginning)
    }

    /// How large a file may be that is understood as a whole; None for others.
    pub fn document_bytes(&self, path: &str) -> Option<u64> {
        match path {
            path::MANIFEST | path::CHECKSUMS => Some(self.manifest_bytes),
            path::REDACTIONS => Some(self.redactions_bytes),
            path::SIGNATURE | path::METADATA => Some(MAX_SMALL_FILE_BYTES),
            path::SNAPSHOT => Some(self.blob_bytes),
            _ => None,
        }
    }

    /// Whether a file may have `size` bytes.
    pub fn check_file(&self, path: &BundlePath, size: u64) -> Result<(), BundleError> {
        let (code, limit) = match self.document_bytes(path.as_str()) {
            Some(limit) => (BundleCode::FileTooLarge, limit),
            None if path.blob().is_some() => (BundleCode::BlobTooLarge, self.blob_bytes),
            None => return Ok(()),
        };
        let message = format!("it has {size} bytes, more than {limit}");
        if size > limit { Err(BundleError::about(code, path.as_str(), message)) } else { Ok(()) }
    }

    /// How many bytes of tar an archive of `size` bytes may hold. What small ones may expand beyond it belongs to the default: who gives
    /// a lower limit means it, and who gives a higher one does not get less than without it.
    pub fn expanded(&self, size: u64) -> u64 {
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
