//! What a repair did.

use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;

use super::sessions::OtherSession;
use crate::hash::Hash;

/// The reason for a part of an archive that can't be decompressed.
pub(super) const LOST_PART: &str = "a damaged part of the archive, at this offset of the compressed file";

/// The maximum number of fragments that a receipt lists.
const MAX_FRAGMENTS: usize = 1000;

/// What was found in a damaged session, and what its repair made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairReceipt {
    /// Size of the source in bytes.
    #[serde(skip)]
    pub bytes: u64,
    /// SHA-256 of the source.
    #[serde(skip)]
    pub sha256: Hash,
    /// The repaired session; empty if nothing was to be written.
    #[serde(skip)]
    pub destination: PathBuf,
    /// Whether anything was wrong. If not, the destination is a copy.
    pub changed: bool,
    /// Records of the source that the destination has.
    pub records: u64,
    /// Those of them that a replay of the source does not see.
    pub recovered: u64,
    /// Bytes that belong to no record of the destination, at most a thousand.
    pub fragments: Vec<Fragment>,
    /// The number of fragments, listed or not.
    #[serde(skip)]
    pub fragment_count: u64,
    /// Size of the fragments in bytes, without those that repeat the record after them, and of the NULs inside records.
    pub lost_bytes: u64,
    /// Records to which `"v":1` was put.
    pub versioned: u64,
    /// Records that were there twice.
    pub duplicates: u64,
    /// Whether all records have new numbers.
    pub renumbered: bool,
    /// Whether the `session_start` was made up.
    pub start_invented: bool,
    /// The other sessions of the source, at most a thousand. Their records are not in the destination.
    pub others: Vec<OtherSession>,
    /// What else is to be known, in whole sentences.
    pub warnings: Vec<String>,
}

/// Bytes in one line that belong to no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fragment {
    /// Offset in the source; in the decoded text if the source is compressed or UTF-16, except for a part of it that can't be decompressed.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// What it is.
    pub reason: String,
}

impl RepairReceipt {
    /// Adds a part of an archive that can't be decompressed.
    pub(super) fn add_lost(&mut self, archived: &Range<u64>) {
        let (offset, length) = (archived.start, archived.end - archived.start);
        self.add(Fragment { offset, length, reason: LOST_PART.to_owned() }, true);
    }

    pub(super) fn add(&mut self, fragment: Fragment, is_lost: bool) {
        self.fragment_count += 1;
        self.lost_bytes += if is_lost { fragment.length } else { 0 };
        if self.fragments.len() < MAX_FRAGMENTS {
            self.fragments.push(fragment);
        }
    }

    /// The summary for the last record of a session that was changed.
    pub(super) fn message(&self, done: &[String]) -> String {
        let mut parts = Vec::new();
        for (count, one, more) in [
            (self.recovered, "record recovered", "records recovered"),
            (self.versioned, "record without a version", "records without a version"),
            (self.duplicates, "duplicate removed", "duplicates removed"),
            (self.fragment_count, "fragment removed", "fragments removed"),
            (self.lost_bytes, "byte lost", "bytes lost"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {}", if count == 1 { one } else { more }));
            }
        }
        parts.extend_from_slice(done);
        if parts.is_empty() {
            "Repaired: lines that were no records".to_owned()
        } else {
            format!("Repaired: {}", parts.join(", "))
        }
    }
}
