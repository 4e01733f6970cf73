//! What tells whether the rows of a recording would be others than those that were exported.

use std::fs;
use std::path::Path;

use session_tape::Recording;
use sha2::{Digest, Sha256};

use crate::convert::facts_of;
use crate::input::log_of;
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

    /// Of a run. What is verified is not only the log.
    pub fn of_run(facts: &FileFacts, recording: &Recording, is_verified: bool) -> Self {
        let root = log_of(recording).parent().filter(|_| is_verified);
        Identity { context: root.map(hash_of_run), ..Self::of_file(facts) }
    }

    /// Of what has no rows but its error. Where there is no file to hash, the error is all that is known of it.
    pub fn of_failure(facts: &FileFacts, error: &str) -> Self {
        let context = facts.sha256.is_none().then(|| Sha256::digest(error).into());
        Identity { context, ..Self::of_file(facts) }
    }
}

/// What a run is verified against beside its log, in its directory.
const VERIFIED: [&str; 5] = ["manifest.json", "dag.json", "workflow.json", "snapshots", "blobs"];

/// The hash of the paths and the contents of all files that are there.
fn hash_of_run(root: &Path) -> [u8; 32] {
    let mut hash = Sha256::new();
    let found = VERIFIED.iter().rev().map(|name| root.join(name)).filter(|path| path.exists());
    let mut open: Vec<_> = found.map(|path| (path.is_dir(), path)).collect();
    while let Some((is_directory, path)) = open.pop() {
        if is_directory {
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            // Links to directories are not followed: they may lead back.
            let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|found| found.is_dir());
            let mut inside: Vec<_> = entries.map(|entry| (is_directory(&entry), entry.path())).collect();
            inside.sort();
            open.extend(inside.into_iter().rev());
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes();
            let file = facts_of(&path);
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            // A file that can't be read is another one than an empty file.
            hash.update([u8::from(file.sha256.is_some())]);
            hash.update(file.sha256.unwrap_or_default());
        }
    }
    hash.finalize().into()
}
