//! A digest of bytes that detects accidental equality. It does not protect against forgery.

use twox_hash::XxHash3_128;

/// Digests of 128 bits (XXH3).
pub(crate) struct Digest;

impl Digest {
    /// The digest of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> u128 {
        XxHash3_128::oneshot(bytes)
    }
}
