//! Paths inside bundles. A valid path denotes the same file on every system, below the bundle's root.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{BundleCode, BundleError};
use crate::hash::{Hash, from_hex};
use crate::session::media::IN_BUNDLE;

/// The event log of a run.
pub(crate) const EVENT_LOG: &str = "events.cath-log";
/// The file of a session.
pub const SESSION_LOG: &str = "session.jsonl";
/// The compiled graph of a run.
pub(crate) const DAG: &str = "dag.json";
/// The workflow that the graph was compiled from.
pub(crate) const WORKFLOW: &str = "workflow.json";
/// The snapshot with which a partial bundle begins.
pub(crate) const SNAPSHOT: &str = "snapshot.cath-snap";
/// The description of the recording.
pub(crate) const METADATA: &str = "metadata.json";
/// The list of redacted events, blobs, files and lines.
pub(crate) const REDACTIONS: &str = "redactions.json";
/// The list of all files, except itself, its checksums and its signature.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The same hashes in the format of `sha256sum -c`.
pub(crate) const CHECKSUMS: &str = "manifest.sha256";
/// The signatures of the manifest.
pub(crate) const SIGNATURE: &str = "manifest.sig";
/// The receipt of a session that was converted from one of another program.
pub(crate) const RECEIPT: &str = "source/receipt.jsonl";
/// The file that such a session was converted from, byte for byte.
pub(crate) const ORIGINAL: &str = "source/original";
/// The directory of blobs.
pub(super) const BLOBS: &str = "blobs";

/// The longest path, in bytes: more than twice as long as any path that an export writes.
const MAX_PATH_BYTES: usize = 240;

/// A path inside a bundle: relative, printable ASCII, with `/` between components, none of which has a special meaning on any system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundlePath(String);

impl BundlePath {
    /// Validates a path from a bundle or a file system.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        match violation(bytes) {
            None => Ok(BundlePath(String::from_utf8_lossy(bytes).into_owned())),
            Some((code, why)) => {
                let shown: String = String::from_utf8_lossy(bytes).escape_debug().collect();
                Err(BundleError::about(code, &shown, format!("this can't be the path of a file in a bundle: {why}")))
            }
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of the file on disk, in a bundle directory `root`.
    pub fn below(&self, root: &Path) -> PathBuf {
        self.0.split('/').fold(root.to_path_buf(), |path, part| path.join(part))
    }

    /// For a path in the directory of blobs, the hash that is its name, or `Some(None)` if it is not named as a blob.
    pub fn blob(&self) -> Option<Option<Hash>> {
        self.hash_in(BLOBS)
    }

    /// The same of the directory of media.
    pub fn media(&self) -> Option<Option<Hash>> {
        self.hash_in(IN_BUNDLE)
    }

    fn hash_in(&self, directory: &str) -> Option<Option<Hash>> {
        let rest = self.0.strip_prefix(directory)?.strip_prefix('/')?;
        let name = rest.split_once('/').filter(|(prefix, name)| prefix.len() == 2 && name.starts_with(prefix));
        Some(name.and_then(|(_, name)| from_hex(name.as_bytes())))
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a blob.
pub(crate) fn blob_path(hash: &str) -> String {
    format!("{BLOBS}/{}/{hash}", hash.get(..2).unwrap_or_default())
}

fn violation(bytes: &[u8]) -> Option<(BundleCode, &'static str)> {
    use BundleCode::*;
    let invalid = |why| Some((InvalidPath, why));
    if bytes.contains(&0) {
        return Some((NulInPath, "it holds a NUL"));
    }
    if std::str::from_utf8(bytes).is_err() {
        return Some((NotUtf8Path, "it is not UTF-8"));
    }
    if bytes.starts_with(b"/") {
        return Some((AbsolutePath, "it is absolute"));
    }
    if bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return Some((DriveLetter, "it begins with a drive letter"));
    }
    if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b"..") {
        return Some((ParentPath, "it leads out of a directory with '..'"));
    }
    if bytes.contains(&b'\\') {
        return Some((BackslashInPath, "it holds a backslash"));
    }
    if bytes.is_empty() || bytes.len() > MAX_PATH_BYTES {
        return invalid("it is empty or longer than 240 bytes");
    }
    if bytes.iter().any(|byte| !(0x20..0x7f).contains(byte) || b"<>:\"|?*".contains(byte)) {
        return invalid("it holds a character that is not in the name of a file on every system");
    }
    let mut parts = bytes.split(|byte| *byte == b'/');
    if parts.clone().any(|part| part.is_empty() || part == b"." || part.ends_with(b".") || part.ends_with(b" ")) {
        return invalid("a part of it is empty, is '.', or ends with a dot or a blank");
    }
    parts.any(is_reserved).then_some((ReservedName, "a part of it is the name of a device on Windows"))
}

fn is_reserved(part: &[u8]) -> bool {
    let stem = part.split(|byte| *byte == b'.').next().unwrap_or(part).trim_ascii_end().to_ascii_lowercase();
    match stem.as_slice() {
        b"con" | b"prn" | b"aux" | b"nul" | b"conin$" | b"conout$" => true,
        [name @ .., digit] => (name == b"com" || name == b"lpt") && digit.is_ascii_digit(),
        [] => false,
    }
}

/// Paths seen so far. Refuses paths that would be the same file on some system.
#[derive(Debug, Default)]
pub(crate) struct PathSet {
    /// Files and directories by path in lower case: the path as written, and whether it is a file.
    seen: HashMap<String, (String, bool)>,
}

impl PathSet {
    /// Adds the path of a file, and those of the directories above it.
    pub(crate) fn add(&mut self, path: &BundlePath) -> Result<(), BundleError> {
        let path = path.as_str();
        for (slash, _) in path.match_indices('/') {
            self.insert(&path[..slash], false).map_err(|code| collision(code, path))?;
        }
        self.insert(path, true).map_err(|code| collision(code, path))
    }

    fn insert(&mut self, path: &str, is_file: bool) -> Result<(), BundleCode> {
        match self.seen.entry(path.to_ascii_lowercase()) {
            Entry::Vacant(place) => drop(place.insert((path.to_owned(), is_file))),
            Entry::Occupied(place) => match place.get() {
                (seen, _) if seen != path => return Err(BundleCode::CaseCollision),
                (_, false) if !is_file => {}
                _ => return Err(BundleCode::DuplicatePath),
            },
        }
        Ok(())
    }
}

fn collision(code: BundleCode, path: &str) -> BundleError {
    let why = match code {
        BundleCode::CaseCollision => "another path differs from it, or from a directory of it, only in case",
        _ => "there is another entry of this path, or one that is a directory where the other is a file",
    };
    BundleError::about(code, path, why)
}

#[cfg(test)]
mod tests;
