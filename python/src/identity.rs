//! What tells whether the rows of a recording would be others than those that were exported.

use sha2::{Digest, Sha256};

use crate::session_table::FileFacts;

/// A recording as it was when it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub bytes: u64,
    /// Of its file or its log. Zeros, if that can't be read.
    pub sha256: [u8; 32],
    /// Of what else its rows depend on, if anything.
    pub context: Option<[u8; 32]>,
}

impl Identity {
    /// Of a file that was read.
    pub fn of_file(facts: &FileFacts) -> Self {
        Identity { bytes: facts.bytes, sha256: facts.sha256.unwrap_or_default(), context: None }
    }

    /// Of what has no rows but its error. Where there is no file to hash, the error is all that is known of it.
    pub fn of_failure(facts: &FileFacts, error: &str) -> Self {
        let context = facts.sha256.is_none().then(|| Sha256::digest(error).into());
        Identity { context, ..Self::of_file(facts) }
    }
}
