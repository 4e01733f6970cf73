//! `manifest.json`: the size and hash of every file, and the extent of the log, as canonical JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::{BundleCode, BundleError};
use super::path::{BundlePath, CHECKSUMS, MANIFEST, PathSet, SIGNATURE};
use crate::hash::{Hash, HexHash, as_text, from_hex, is_hex_hash, sha256_hex, to_hex};

/// The format version that this release writes and reads.
pub(super) const VERSION: u64 = 1;

/// The payload type of the DSSE signature of a manifest.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.cath.bundle-manifest+json";

/// The kind of recording in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BundleKind {
    /// A run.
    Run,
    /// A session.
    Session,
}

impl BundleKind {
    /// The name of the kind in manifest and metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            BundleKind::Run => "run",
            BundleKind::Session => "session",
        }
    }

    /// The path of the log inside the bundle.
    pub fn log(self) -> &'static str {
        match self {
            BundleKind::Run => crate::bundle::format::path::EVENT_LOG,
            BundleKind::Session => crate::bundle::format::path::SESSION_LOG,
        }
    }
}

/// The entry of a file in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ListedFile {
    /// The hash of the file.
    #[serde(with = "digits")]
    pub sha256: Hash,
    /// The size in bytes.
    pub size: u64,
}

/// The first and last event of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogExtent {
    /// The number of lines.
    pub count: u64,
    /// The logical time of a run's first event. `None` for sessions and for logs without events.
    pub first_time: Option<u64>,
    /// The `hash` of a run's last event, or of the snapshot's event if none follows it. `None` for sessions, whose lines are not
    /// hashed; the hash of the file covers them.
    #[serde(serialize_with = "write_head", deserialize_with = "read_head")]
    pub head: Option<HexHash>,
    /// The logical time of a run's last event. `None` for sessions and for logs without events.
    pub last_time: Option<u64>,
}

/// The snapshot with which a partial bundle begins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// The logical time of the event after which it was taken.
    pub logical_time: u64,
    /// The snapshot's id.
    pub snapshot: String,
}

/// The content of `manifest.json`, without the bundle's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The kind of recording.
    pub kind: BundleKind,
    /// Every file of the bundle, by path, except the manifest, its checksums and its signature.
    pub files: BTreeMap<String, ListedFile>,
    /// The extent of the log.
    pub log: LogExtent,
    /// The snapshot of a partial bundle; `None` if the log begins with the first event.
    pub partial: Option<Partial>,
}

impl Manifest {
    /// The bundle's id: the hash of the manifest printed without `bundleId`.
    pub fn bundle_id(&self) -> HexHash {
        sha256_hex([&self.print_with(None)])
    }

    /// Prints the document, with the bundle's id.
    pub fn print(&self) -> Vec<u8> {
        self.print_with(Some(&self.bundle_id()))
    }

    fn print_with(&self, id: Option<&HexHash>) -> Vec<u8> {
        let document = Document {
            bundle_id: id.map(|id| Cow::Borrowed(as_text(id))),
            files: Cow::Borrowed(&self.files),
            kind: self.kind,
            log: Cow::Borrowed(&self.log),
            partial: self.partial.as_ref().map(Cow::Borrowed),
            v: VERSION,
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// Parses a document and returns it with the id that it contains. Only the exact output of [`print`](Self::print) is accepted; the
    /// id is checked by [`problems`](Self::problems).
    pub fn parse(document: &[u8]) -> Result<(Self, HexHash), BundleError> {
        let text = std::str::from_utf8(document).map_err(|_| invalid("it is not UTF-8"))?;
        let version: Version = serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        if version.v != VERSION {
            let message =
                format!("it is of version {}, and this release reads version {VERSION}; a newer one may", version.v);
            return Err(BundleError::about(BundleCode::UnsupportedVersion, MANIFEST, message));
        }
        let read: Document = serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        let id = read.bundle_id.as_deref().map_or(Err("it has no bundleId"), hex).map_err(invalid)?;
        let partial = read.partial.map(Cow::into_owned);
        let (files, log) = (read.files.into_owned(), read.log.into_owned());
        let manifest = Manifest { kind: read.kind, files, log, partial };
        if manifest.print_with(Some(&id)) != document {
            return Err(invalid("it is not canonical JSON, or has other fields than a manifest"));
        }
        Ok((manifest, id))
    }

    /// Checks the id and the paths of a parsed manifest.
    pub fn problems(&self, id: &HexHash) -> Vec<BundleError> {
        let mut problems = Vec::new();
        let expected = self.bundle_id();
        if expected != *id {
            let message = format!("its bundleId is {}, but its content has the id {}", as_text(id), as_text(&expected));
            problems.push(BundleError::about(BundleCode::BundleIdMismatch, MANIFEST, message));
        }
        let mut names = PathSet::default();
        for path in self.files.keys() {
            if [MANIFEST, CHECKSUMS, SIGNATURE].contains(&path.as_str()) {
                problems.push(invalid(&format!("it lists {path}, which is made of it")));
            }
            if let Err(error) = BundlePath::parse(path.as_bytes()).and_then(|path| names.add(&path)) {
                problems.push(error);
            }
        }
        if self.partial.is_some() && self.kind == BundleKind::Session {
            problems.push(invalid("a session can't begin with a snapshot"));
        }
        problems
    }

    /// The total size of the listed files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.values().fold(0, |sum, file| sum.saturating_add(file.size))
    }
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

/// The members in the order of their names, in which they are printed.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle_id: Option<Cow<'m, str>>,
    files: Cow<'m, BTreeMap<String, ListedFile>>,
    kind: BundleKind,
    log: Cow<'m, LogExtent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<Cow<'m, Partial>>,
    v: u64,
}

const NO_HASH: &str = "a hash in it is none";

fn hex(text: &str) -> Result<HexHash, &'static str> {
    let digits = text.as_bytes().first_chunk().filter(|_| is_hex_hash(text));
    digits.copied().ok_or(NO_HASH)
}

/// A hash as its digits.
mod digits {
    use super::*;

    pub(super) fn serialize<S: Serializer>(hash: &Hash, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(as_text(&to_hex(hash)))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Hash, D::Error> {
        from_hex(String::deserialize(from)?.as_bytes()).ok_or_else(|| D::Error::custom(NO_HASH))
    }
}

fn write_head<S: Serializer>(head: &Option<HexHash>, out: S) -> Result<S::Ok, S::Error> {
    head.as_ref().map(as_text).serialize(out)
}

fn read_head<'d, D: Deserializer<'d>>(from: D) -> Result<Option<HexHash>, D::Error> {
    Option::<String>::deserialize(from)?.as_deref().map(hex).transpose().map_err(D::Error::custom)
}

fn invalid(why: &str) -> BundleError {
    BundleError::about(BundleCode::ManifestInvalid, MANIFEST, format!("not the manifest of a bundle: {why}"))
}

#[cfg(test)]
mod tests;
