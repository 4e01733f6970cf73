//! How much a bundle may be. What comes from a stranger must not fill the disk or the memory of whoever looks at it.

/// The largest manifest that is read, in bytes: some hundred thousand files.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The largest `metadata.json` or `manifest.sig` that is read, in bytes.
pub const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// The largest `redactions.json` that is read, in bytes.
pub const MAX_REDACTIONS_BYTES: u64 = 64 << 20;

/// How much an archive may expand beyond what its size allows, in bytes: a small one is all headers, which are all zeros.
pub const FREE_EXPANSION_BYTES: u64 = 1 << 20;

/// The limits of a verification (`bundle.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line of a log, in bytes, without its `\n`. More than 16 MiB is never read of a run's.
    pub line_bytes: u64,
    /// The largest blob, in bytes.
    pub blob_bytes: u64,
    /// How many files there may be.
    pub files: u64,
    /// How many times its own size an archive may expand to.
    pub expansion: u64,
    /// How many bytes all files may have together.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { line_bytes: 16 << 20, blob_bytes: 256 << 20, files: 100_000, expansion: 200, total_bytes: 64 << 30 }
    }
}
