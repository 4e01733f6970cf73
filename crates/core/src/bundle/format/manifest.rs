//! `manifest.json`: the size and hash of every file, and the extent of the log, as canonical JSON.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::{BundleCode, BundleError};
use super::path::{BundlePath, CHECKSUMS, MANIFEST, PathSet, SIGNATURE};
use crate::hash::{Hash, HexHash, as_text, from_hex, is_hex_hash, sha256_hex, to_hex};
use crate::json::{Text, Writer};
use crate::order;

/// The format version that this release writes and reads.
pub(super) const VERSION: u64 = 1;

/// The payload type of the DSSE signature of a manifest.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.cath.bundle-manifest+json";

/// The kind of recording in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// The kind with this name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        [BundleKind::Run, BundleKind::Session].into_iter().find(|kind| kind.as_str() == name)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// The hash of the file.
    pub sha256: Hash,
    /// The size in bytes.
    pub size: u64,
}

/// The first and last event of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogExtent {
    /// The number of lines.
    pub count: u64,
    /// The logical time of a run's first event. `None` for sessions and for logs without events.
    pub first_time: Option<u64>,
    /// The logical time of a run's last event. `None` for sessions and for logs without events.
    pub last_time: Option<u64>,
    /// The `hash` of a run's last event, or of the snapshot's event if none follows it. `None` for sessions, whose lines are not
    /// hashed; the hash of the file covers them.
    pub head: Option<HexHash>,
}

/// The snapshot with which a partial bundle begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// The snapshot's id.
    pub snapshot: String,
    /// The logical time of the event after which it was taken.
    pub logical_time: u64,
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
        let mut out = Vec::with_capacity(256 + self.files.len() * 180);
        let mut object = Writer::new(&mut out).object();
        if let Some(id) = id {
            object.key("bundleId").text(as_text(id));
        }
        print_files(object.key("files"), &self.files);
        object.key("kind").text(self.kind.as_str());
        print_log(object.key("log"), &self.log);
        if let Some(partial) = &self.partial {
            let mut inner = object.key("partial").object();
            inner.key("logicalTime").integer(partial.logical_time);
            inner.key("snapshot").string(&partial.snapshot);
            inner.close();
        }
        object.key("v").integer(VERSION);
        object.close();
        out
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
        let id = hex(&read.bundle_id)?;
        let manifest = read.manifest()?;
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

fn print_files(out: Writer<'_>, files: &BTreeMap<String, ListedFile>) {
    let mut object = out.object();
    for (path, file) in files {
        let mut inner = object.text_key(Text::from_plain(path).as_json()).object();
        inner.key("sha256").text(as_text(&to_hex(&file.sha256)));
        inner.key("size").integer(file.size);
        inner.close();
    }
    object.close();
}

fn print_log(out: Writer<'_>, log: &LogExtent) {
    let mut object = out.object();
    object.key("count").integer(log.count);
    write_optional(object.key("firstTime"), log.first_time);
    match &log.head {
        Some(head) => object.key("head").text(as_text(head)),
        None => object.key("head").json(b"null"),
    }
    write_optional(object.key("lastTime"), log.last_time);
    object.close();
}

fn write_optional(out: Writer<'_>, value: Option<u64>) {
    match value {
        Some(value) => out.integer(value),
        None => out.json(b"null"),
    }
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    bundle_id: String,
    files: BTreeMap<String, FileDocument>,
    kind: String,
    log: LogDocument,
    partial: Option<PartialDocument>,
}

#[derive(Deserialize)]
struct FileDocument {
    sha256: String,
    size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogDocument {
    count: u64,
    first_time: Option<u64>,
    head: Option<String>,
    last_time: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartialDocument {
    logical_time: u64,
    snapshot: String,
}

impl Document {
    fn manifest(self) -> Result<Manifest, BundleError> {
        let kind = BundleKind::parse(&self.kind).ok_or_else(|| invalid("its kind is neither 'run' nor 'session'"))?;
        let listed = |(path, file): (String, FileDocument)| {
            let sha256 = from_hex(file.sha256.as_bytes()).ok_or_else(|| invalid("a hash in it is none"))?;
            Ok((path, ListedFile { sha256, size: file.size }))
        };
        let files = order::map(self.files.into_iter().map(listed).collect::<Result<Vec<_>, BundleError>>()?);
        let LogDocument { count, first_time, head, last_time } = self.log;
        let head = head.map(|head| hex(&head)).transpose()?;
        let partial =
            self.partial.map(|partial| Partial { snapshot: partial.snapshot, logical_time: partial.logical_time });
        Ok(Manifest { kind, files, log: LogExtent { count, first_time, last_time, head }, partial })
    }
}

fn hex(text: &str) -> Result<HexHash, BundleError> {
    let digits = text.as_bytes().first_chunk().filter(|_| is_hex_hash(text));
    digits.copied().ok_or_else(|| invalid("a hash in it is none"))
}

fn invalid(why: &str) -> BundleError {
    BundleError::about(BundleCode::ManifestInvalid, MANIFEST, format!("not the manifest of a bundle: {why}"))
}

#[cfg(test)]
mod tests;
