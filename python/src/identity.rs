//! The identity of a recording, which tells whether its rows would differ from those that were written.

use std::fs;
use std::path::Path;

use session_tape_core::Recording;
use sha2::{Digest, Sha256};

use crate::file_facts::FileFacts;
use crate::input::log_of;
use crate::rows::FileHash;

/// The size and hashes of a recording at the time it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub bytes: u64,
    /// The fingerprint of its file or its log; `None` if that cannot be read.
    pub fingerprint: Option<u128>,
    /// The hash of whatever else its rows depend on, if anything.
    pub context: Option<[u8; 32]>,
}

impl Identity {
    /// The identity as a text: the hash of the content, and that of whatever else matters.
    pub fn fingerprint(&self) -> String {
        let content = self.fingerprint.map_or_else(String::new, |hash| format!("{hash:032x}"));
        let context = self.context.map_or_else(String::new, |hash| format!("-{}", const_hex::encode(hash)));
        content + &context
    }

    /// The identity of a file that was read.
    pub fn of_file(facts: &FileFacts) -> Self {
        Identity { bytes: facts.bytes, fingerprint: facts.fingerprint, context: None }
    }

    /// The identity of a run. If it is verified, its rows depend on more than the log.
    pub fn of_run(facts: &FileFacts, recording: &Recording, is_verified: bool) -> Self {
        let root = log_of(recording).parent().filter(|_| is_verified);
        Identity { context: root.map(hash_of_run), ..Self::of_file(facts) }
    }

    /// The identity of a recording whose only row is its error. Without a file to hash, the error is hashed instead.
    pub fn of_failure(facts: &FileFacts, error: &str) -> Self {
        let context = facts.fingerprint.is_none().then(|| Sha256::digest(error).into());
        Identity { context, ..Self::of_file(facts) }
    }
}

/// The files and directories of a run that it is verified against, in addition to its log.
const VERIFIED: [&str; 5] = ["manifest.json", "dag.json", "workflow.json", "snapshots", "blobs"];

/// The hash of the paths and contents of all existing files among them.
fn hash_of_run(root: &Path) -> [u8; 32] {
    let mut hash = Sha256::new();
    let found = VERIFIED.iter().rev().map(|name| root.join(name)).filter(|path| path.exists());
    let mut open: Vec<_> = found.map(|path| (path.is_dir(), path)).collect();
    while let Some((is_directory, path)) = open.pop() {
        if is_directory {
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            // Links to directories are not followed: they may form a cycle.
            let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|found| found.is_dir());
            let mut inside: Vec<_> = entries.map(|entry| (is_directory(&entry), entry.path())).collect();
            inside.sort();
            open.extend(inside.into_iter().rev());
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_encoded_bytes();
            let file = FileFacts::of(&path, FileHash::default().with_sha256());
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            // Distinguishes a file that cannot be read from an empty one.
            hash.update([u8::from(file.sha256.is_some())]);
            hash.update(file.sha256.unwrap_or_default());
        }
    }
    hash.finalize().into()
}
