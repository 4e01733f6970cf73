//! `redactions.json`: which events, blobs, files and lines were redacted, and by which rules.
//!
//! It contains the original hashes of a run's events, which are salted with a salt that is removed, and of blobs, which the log contains
//! anyway unless a secret could be guessed from them. It contains no hashes of a session's lines, because short secrets could be guessed from them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::{BundleCode, BundleError};
use super::path::{REDACTIONS, WORKFLOW};
use crate::hash::is_hex_hash;
use crate::order;
use crate::run::Redactions;

/// An event with a redacted payload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedactedEvent {
    /// The hash of the original payload with its salt.
    pub payload_hash: String,
    /// The names of the rules that matched, sorted, without duplicates.
    pub rules: Vec<String>,
}

/// A redacted blob.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RedactedBlob {
    /// The hash of the redacted bytes, which is the blob's name in the bundle. The log names it too if the original hash was dropped.
    pub redacted: String,
    /// The names of the rules that matched, sorted, without duplicates.
    pub rules: Vec<String>,
}

/// The content of `redactions.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionList {
    /// Redacted blobs of a run, by the hash that the log names.
    pub blobs: BTreeMap<String, RedactedBlob>,
    /// Redacted events of a run, by logical time.
    pub events: BTreeMap<u64, RedactedEvent>,
    /// The names of the rules that matched in another file of a run, by path. Only `workflow.json` can be redacted.
    pub files: BTreeMap<String, Vec<String>>,
    /// The names of the rules that matched in a line of a session, by line number from 1.
    pub lines: BTreeMap<u64, Vec<String>>,
}

impl RedactionList {
    /// The number of redacted events, blobs, files and lines.
    pub fn count(&self) -> u64 {
        (self.blobs.len() + self.events.len() + self.files.len() + self.lines.len()) as u64
    }

    /// The redactions in the form that a replay of a run needs.
    pub fn of_run(&self) -> Redactions {
        Redactions {
            events: self.events.keys().copied().collect(),
            blobs: self.blobs.keys().cloned().collect(),
            workflow: self.files.contains_key(WORKFLOW),
        }
    }

    /// The name of a blob in the bundle, given the one in the log.
    pub(crate) fn stored<'h>(&'h self, blob: &'h str) -> &'h str {
        self.blobs.get(blob).map_or(blob, |redacted| &redacted.redacted)
    }

    /// The names of all rules that matched.
    pub fn rules(&self) -> BTreeSet<String> {
        let blobs = self.blobs.values().map(|blob| &blob.rules);
        let events = self.events.values().map(|event| &event.rules);
        let names = blobs.chain(events).chain(self.files.values()).chain(self.lines.values());
        order::set(names.flatten().cloned())
    }

    fn has_hashes(&self) -> bool {
        let mut blobs = self.blobs.iter();
        blobs.all(|(blob, what)| is_hex_hash(blob) && is_hex_hash(&what.redacted))
            && self.events.values().all(|event| is_hex_hash(&event.payload_hash))
    }

    /// Prints the document, as canonical JSON with sorted entries.
    pub fn print(&self) -> Vec<u8> {
        let blobs = self.blobs.iter().map(|(blob, what)| BlobEntry { blob: blob.into(), what: Cow::Borrowed(what) });
        let events = self.events.iter().map(|(time, what)| EventEntry { what: Cow::Borrowed(what), time: *time });
        let files = self.files.iter().map(|(file, rules)| FileEntry { file: file.into(), rules: Cow::Borrowed(rules) });
        let lines = self.lines.iter().map(|(line, rules)| LineEntry { line: *line, rules: Cow::Borrowed(rules) });
        let document = Document {
            blobs: blobs.collect(),
            events: events.collect(),
            files: files.collect(),
            lines: lines.collect(),
            v: 1,
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }

    /// Parses a document. Only the exact output of [`print`](Self::print) is accepted.
    pub fn parse(document: &[u8]) -> Result<Self, BundleError> {
        let version: Version = serde_json::from_slice(document).map_err(|error| invalid(&error.to_string()))?;
        if version.v != 1 {
            let message = format!("it is of version {}, and this release reads version 1; a newer one may", version.v);
            return Err(BundleError::about(BundleCode::UnsupportedVersion, REDACTIONS, message));
        }
        let read: Document = serde_json::from_slice(document).map_err(|error| invalid(&error.to_string()))?;
        let list = RedactionList {
            blobs: order::map(read.blobs.into_iter().map(|entry| (entry.blob.into_owned(), entry.what.into_owned()))),
            events: order::map(read.events.into_iter().map(|entry| (entry.time, entry.what.into_owned()))),
            files: order::map(read.files.into_iter().map(|entry| (entry.file.into_owned(), entry.rules.into_owned()))),
            lines: order::map(read.lines.into_iter().map(|entry| (entry.line, entry.rules.into_owned()))),
        };
        if !list.has_hashes() {
            return Err(invalid("a hash in it is none"));
        }
        if list.print() != document {
            return Err(invalid(
                "it is not canonical JSON, not in order, or has other fields than a list of redactions",
            ));
        }
        Ok(list)
    }
}

/// Adds names of rules to a sorted list without duplicates.
pub(crate) fn merge_rules(known: &mut Vec<String>, rules: Vec<String>) {
    known.extend(rules);
    known.sort_unstable();
    known.dedup();
}

fn invalid(why: &str) -> BundleError {
    BundleError::about(BundleCode::RedactionsInvalid, REDACTIONS, why)
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

/// The members in the order of their names, in which they are printed, here and in the entries.
#[derive(Deserialize, Serialize)]
struct Document<'l> {
    blobs: Vec<BlobEntry<'l>>,
    events: Vec<EventEntry<'l>>,
    files: Vec<FileEntry<'l>>,
    lines: Vec<LineEntry<'l>>,
    v: u64,
}

#[derive(Deserialize, Serialize)]
struct BlobEntry<'l> {
    blob: Cow<'l, str>,
    #[serde(flatten)]
    what: Cow<'l, RedactedBlob>,
}

#[derive(Deserialize, Serialize)]
struct EventEntry<'l> {
    #[serde(flatten)]
    what: Cow<'l, RedactedEvent>,
    time: u64,
}

#[derive(Deserialize, Serialize)]
struct FileEntry<'l> {
    file: Cow<'l, str>,
    rules: Cow<'l, [String]>,
}

#[derive(Deserialize, Serialize)]
struct LineEntry<'l> {
    line: u64,
    rules: Cow<'l, [String]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_only_the_output_of_print() {
        let (ab, cd) = ("ab".repeat(32), "cd".repeat(32));
        let rules = vec!["jwt".to_owned()];
        let list = RedactionList {
            blobs: [(ab.clone(), RedactedBlob { redacted: cd.clone(), rules: rules.clone() })].into(),
            events: [(7, RedactedEvent { payload_hash: ab.clone(), rules: rules.clone() })].into(),
            files: [("workflow.json".to_owned(), rules.clone())].into(),
            lines: [(2, rules)].into(),
        };
        let text = String::from_utf8(list.print()).unwrap();
        let expected = format!(
            r#"{{"blobs":[{{"blob":"{ab}","redacted":"{cd}","rules":["jwt"]}}],"events":[{{"payloadHash":"{ab}","rules":["jwt"],"time":7}}],"files":[{{"file":"workflow.json","rules":["jwt"]}}],"lines":[{{"line":2,"rules":["jwt"]}}],"v":1}}"#
        );
        assert_eq!(text, expected);
        assert_eq!(RedactionList::parse(text.as_bytes()).as_ref(), Ok(&list));
        assert_eq!(list.count(), 4);
        let code = |text: String| RedactionList::parse(text.as_bytes()).err().map(|error| error.code);
        assert_eq!(code(text.replace("\"v\":1", "\"v\":2")), Some(BundleCode::UnsupportedVersion));
        for damaged in
            ["".into(), "{}".into(), text.replace(":7", ": 7"), text.replace("abab", "ABAB"), format!("{text} ")]
        {
            assert_eq!(code(damaged), Some(BundleCode::RedactionsInvalid));
        }
    }
}
