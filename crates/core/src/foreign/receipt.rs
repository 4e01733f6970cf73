//! Receipts: where each record of a source went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::records::RecordPlace;
use crate::hash::{Hash, to_hex};

/// Why a record is not in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // `docs/agents.md` describes them.
pub enum Reason {
    Unparseable,
    NotAnObject,
    TooLargeToKeep,
    TooLarge,
    Echo,
    Repeat,
    DuplicateUuid,
    Marker,
    Unchanged,
    TimestampOnly,
    Progress,
    Queue,
    Telemetry,
    Bulk,
    Empty,
    Ignored,
    NoUsage,
    NoMessage,
    NoEffect,
    SubAgent,
    OtherLane,
    OtherConversation,
    ForeignTitle,
    Secret,
}

impl Reason {
    /// The reason as it stands in a receipt.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Unparseable => "unparseable",
            Reason::NotAnObject => "not-an-object",
            Reason::TooLargeToKeep => "too-large-to-keep",
            Reason::TooLarge => "too-large",
            Reason::Echo => "echo",
            Reason::Repeat => "repeat",
            Reason::DuplicateUuid => "duplicate-uuid",
            Reason::Marker => "marker",
            Reason::Unchanged => "unchanged",
            Reason::TimestampOnly => "timestamp-only",
            Reason::Progress => "progress",
            Reason::Queue => "queue",
            Reason::Telemetry => "telemetry",
            Reason::Bulk => "bulk",
            Reason::Empty => "empty",
            Reason::Ignored => "ignored",
            Reason::NoUsage => "no-usage",
            Reason::NoMessage => "no-message",
            Reason::NoEffect => "no-effect",
            Reason::SubAgent => "sub-agent",
            Reason::OtherLane => "other-lane",
            Reason::OtherConversation => "other-conversation",
            Reason::ForeignTitle => "foreign-title",
            Reason::Secret => "secret",
        }
    }
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// Events carry what it says.
    Mapped,
    /// A `session_event` has all of it.
    Kept,
    /// It is not in the session.
    Dropped(Reason),
}

/// A line of a receipt: one record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The physical line of its first byte, from 1.
    pub line: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes, without the ending of its line.
    pub length: u64,
    /// Its SHA-256.
    #[serde(skip)]
    pub hash: Hash,
    /// What became of it.
    pub fate: Fate,
    /// The numbers of the events that carry it, ascending.
    pub seqs: Vec<u64>,
    /// The number of the last event that the record itself led to; 0 if there is none. Events beyond it repeat its item.
    pub own_seq: u64,
}

impl Entry {
    pub(super) fn new(place: RecordPlace) -> Self {
        let RecordPlace { line, offset, length } = place;
        let fate = Fate::Dropped(Reason::NoEffect);
        Entry { line, offset, length, hash: Hash::default(), fate, seqs: Vec::new(), own_seq: 0 }
    }

    pub(super) fn place(&self) -> RecordPlace {
        let Entry { line, offset, length, .. } = *self;
        RecordPlace { line, offset, length }
    }

    /// The line of the receipt, without its ending.
    pub fn json(&self) -> String {
        use std::fmt::Write as _;
        let mut out = format!(
            "{{\"line\":{},\"offset\":{},\"length\":{},\"sha256\":\"{}\",\"fate\":\"",
            self.line,
            self.offset,
            self.length,
            crate::hash::as_text(&to_hex(&self.hash))
        );
        out.push_str(match self.fate {
            Fate::Mapped => "mapped\"",
            Fate::Kept => "kept\"",
            Fate::Dropped(_) => "dropped\"",
        });
        if !self.seqs.is_empty() {
            let seqs: Vec<_> = self.seqs.iter().map(u64::to_string).collect();
            // Writing to a string can't fail.
            let _ = write!(out, ",\"seqs\":[{}]", seqs.join(","));
        }
        if let Fate::Dropped(reason) = self.fate {
            let _ = write!(out, ",\"reason\":\"{}\"", reason.as_str());
        }
        out.push('}');
        out
    }
}

/// What became of all records of a source: line 1 of its receipt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The format of the source.
    pub format: &'static str,
    /// The id of the session. Empty if the source has none.
    pub session_id: String,
    /// The version of the program that wrote the source, if it states that: the first one.
    pub source_version: Option<String>,
    /// SHA-256 of the source.
    pub source_sha256: Hash,
    /// Size of the source in bytes.
    pub source_bytes: u64,
    /// Number of records: the sum of the three following numbers.
    pub records: u64,
    /// Number of records that events carry.
    pub mapped: u64,
    /// Number of records that are kept as they are.
    pub kept: u64,
    /// Number of records that are not in the session.
    pub dropped: u64,
    /// Number of dropped records for each reason.
    pub dropped_by: BTreeMap<&'static str, u64>,
    /// Number of mapped records with a field that no event carries, for each such field.
    pub omitted_fields: BTreeMap<String, u64>,
    /// What a user should know about the source.
    pub warnings: Vec<String>,
}

impl Summary {
    pub(super) fn count(&mut self, fate: Fate) {
        self.records += 1;
        match fate {
            Fate::Mapped => self.mapped += 1,
            Fate::Kept => self.kept += 1,
            Fate::Dropped(reason) => {
                self.dropped += 1;
                *self.dropped_by.entry(reason.as_str()).or_default() += 1;
            }
        }
    }

    /// The first line of the receipt, without its ending.
    pub fn json(&self) -> String {
        let text = |text: &str| format!("\"{}\"", crate::json::Text::from_plain(text).as_json());
        let counts = |members: Vec<(String, u64)>| {
            let members: Vec<_> = members.into_iter().map(|(key, count)| format!("{}:{count}", text(&key))).collect();
            format!("{{{}}}", members.join(","))
        };
        let warnings: Vec<_> = self.warnings.iter().map(|warning| text(warning)).collect();
        let version = self.source_version.as_deref().map(|version| format!("\"sourceVersion\":{},", text(version)));
        format!(
            "{{\"format\":{},\"sessionId\":{},{}\"sourceSha256\":\"{}\",\"sourceBytes\":{},\"records\":{},\"mapped\":{},\"kept\":{},\"dropped\":{},\"droppedBy\":{},\"omittedFields\":{},\"warnings\":[{}]}}",
            text(self.format),
            text(&self.session_id),
            version.unwrap_or_default(),
            crate::hash::as_text(&to_hex(&self.source_sha256)),
            self.source_bytes,
            self.records,
            self.mapped,
            self.kept,
            self.dropped,
            counts(self.dropped_by.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()),
            counts(self.omitted_fields.iter().map(|(key, count)| (key.clone(), *count)).collect()),
            warnings.join(",")
        )
    }
}
