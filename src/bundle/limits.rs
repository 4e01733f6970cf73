//! How much a bundle may be. What comes from a stranger must not fill the disk or the memory of whoever looks at it.

/// The largest manifest that is read, in bytes: some hundred thousand files.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// The largest `metadata.json` or `manifest.sig` that is read, in bytes.
pub const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// The largest `redactions.json` that is read, in bytes.
pub const MAX_REDACTIONS_BYTES: u64 = 64 << 20;

/// How much an archive may expand beyond what its size allows, in bytes: a small one is all headers, which are all zeros.
const FREE_EXPANSION_BYTES: u64 = 1 << 20;

/// How many times its own size an archive may expand to, unless somebody says otherwise.
pub const DEFAULT_EXPANSION: u64 = 200;

/// The limits of a verification (`docs/bundle-format.md` section 9).
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

impl Limits {
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
            line_bytes: 16 << 20,
            blob_bytes: 256 << 20,
            files: 100_000,
            expansion: DEFAULT_EXPANSION,
            total_bytes: 64 << 30,
        }
    }
}
