//! Builds a native session from what a format finds in its records: it numbers events, holds the response that is still growing, pairs results
//! with calls, moves the history between the branches of a tree, and writes down what became of each record.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;

use super::Stop;
use super::blocks::{Block, BlockKind, ToolResult, Usage, cut, first_line};
use super::hashes::Hashed;
use super::history::{History, Node, ROOT, Speaker, Text, Unplaced};
use super::origin::{Numbered, OriginLog, Origins};
use super::receipt::{Entry, Fate, Reason, Summary};
use super::records::RecordPlace;
use super::spool::{Spool, SpoolReader};
use super::time::{Time, UNKNOWN, time_of};
use super::value::{Json, Object, write_key, write_member, write_text_member, write_value};
use crate::hash::Hash;

/// The largest record that is kept, in bytes.
const KEPT_BYTES: usize = 16 << 10;

/// How much of a response, and of what follows it, is held until the response is complete, in bytes.
const HELD_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// The most warnings that a summary has.
const MAX_WARNINGS: usize = 100;

/// The most fields that are counted as omitted.
const MAX_OMITTED: usize = 1000;

/// The length of a title that is taken from a text, in UTF-16 units.
const TITLE_UNITS: usize = 80;

/// How severe a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// The severity that a word names; that of a note for any other.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "error" => Severity::Error,
            "warning" | "warn" => Severity::Warning,
            _ => Severity::Info,
        }
    }
}

/// What is known of an item besides its blocks. Values are JSON texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Meta {
    /// The id of its record.
    pub id: Option<Vec<u8>>,
    /// The id of the response.
    pub message_id: Option<Vec<u8>>,
    /// The model that wrote it.
    pub model: Option<Vec<u8>>,
    /// The provider of the model.
    pub provider: Option<Vec<u8>>,
    /// The tokens that it took.
    pub usage: Option<Usage>,
    /// Why the response ended.
    pub stop_reason: Option<Vec<u8>>,
    /// Whether it was written while the model was at work.
    pub queued: bool,
    /// What kind of text it is, if no person or model wrote it in this place.
    pub kind: Option<&'static str>,
    /// Further members.
    pub further: Vec<(&'static str, Vec<u8>)>,
    /// All members, as an object, if they are known from an own export. The others are not written then.
    pub restored: Option<Vec<u8>>,
}

/// The value of a string that is not empty, for [`Meta`].
pub(super) fn known(value: Option<Json<'_>>) -> Option<Vec<u8>> {
    value.and_then(Json::filled).map(|value| value.bytes().to_vec())
}

/// An item.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub speaker: Speaker,
    pub blocks: Vec<Block>,
    pub meta: Meta,
}

impl Item {
    /// An item of a person.
    pub(super) fn human(blocks: Vec<Block>, meta: Meta) -> Self {
        Item { speaker: Speaker::Human, blocks, meta }
    }

    /// An item of a model.
    pub(super) fn ai(blocks: Vec<Block>, meta: Meta) -> Self {
        Item { speaker: Speaker::Ai, blocks, meta }
    }

    fn json(&self) -> Vec<u8> {
        let size: usize = self.blocks.iter().map(|block| block.json.len() + 1).sum();
        let mut out = Vec::with_capacity(size + 256);
        self.write_head(&mut out);
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&block.json);
        }
        self.write_tail(&mut out);
        out
    }

    /// The item's text in pieces, so that its blocks, which may be large, are not copied.
    fn into_pieces(self) -> Vec<Vec<u8>> {
        let (mut head, mut tail) = (Vec::with_capacity(64), Vec::with_capacity(256));
        self.write_head(&mut head);
        self.write_tail(&mut tail);
        let mut pieces = Vec::with_capacity(2 * self.blocks.len() + 2);
        pieces.push(head);
        for block in self.blocks {
            if pieces.len() > 1 {
                pieces.push(b",".to_vec());
            }
            pieces.push(block.json);
        }
        pieces.push(tail);
        pieces
    }

    fn write_head(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        write_text_member(out, "speaker", self.speaker.as_str());
        write_key(out, "blocks");
        out.push(b'[');
    }

    /// Writes what follows the blocks.
    fn write_tail(&self, out: &mut Vec<u8>) {
        out.push(b']');
        let mut meta = vec![b'{'];
        self.meta.write(&mut meta);
        if meta.len() > 1 {
            meta.push(b'}');
            write_member(out, "metadata", &meta);
        }
        out.push(b'}');
    }
}

impl Meta {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(restored) = &self.restored {
            for (key, value) in Json(restored).object().members() {
                write_member(out, &String::from_utf8_lossy(key), value.bytes());
            }
            return;
        }
        let members =
            [("id", &self.id), ("messageId", &self.message_id), ("model", &self.model), ("provider", &self.provider)];
        for (key, value) in members {
            if let Some(value) = value {
                write_member(out, key, value);
            }
        }
        if let Some(usage) = &self.usage {
            write_key(out, "usage");
            usage.write(out);
        }
        if let Some(reason) = &self.stop_reason {
            write_member(out, "stopReason", reason);
        }
        if self.queued {
            write_member(out, "queued", b"true");
        }
        if let Some(kind) = self.kind {
            write_text_member(out, "kind", kind);
        }
        for (key, value) in &self.further {
            write_member(out, key, value);
        }
    }
}

/// What the `session_start` of the session says. Values are JSON texts, except for the id.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// The session's id. Empty if the source has none.
    pub session_id: String,
    /// The hash of the project, if the source states it.
    pub project_hash: Option<Vec<u8>>,
    /// The working directory.
    pub cwd: Option<Vec<u8>>,
    /// An array of directories, if the source states it.
    pub workspace_dirs: Option<Vec<u8>>,
    /// The first provider that is known.
    pub provider: Option<Vec<u8>>,
    /// The first model that is known.
    pub model: Option<Vec<u8>>,
    /// The first time that is known.
    pub start_time: Option<Time>,
    /// The version of the program, if the source states it.
    pub version: Option<Vec<u8>>,
}

/// The number of a record, from 0, in source order.
pub(super) type RecordNumber = u64;

/// An event that is not written yet.
struct Event {
    kind: &'static str,
    ts: Time,
    /// The payload, or the item of an event with one, in pieces.
    payload: Vec<Vec<u8>>,
    /// The item that the payload is.
    node: Option<Node>,
    records: Vec<RecordNumber>,
}

impl Event {
    /// Size of the payload in bytes.
    fn length(&self) -> usize {
        self.payload.iter().map(Vec::len).sum()
    }
}

/// A model response that may still grow.
struct Response {
    key: Option<Vec<u8>>,
    node: Node,
    ts: Time,
    item: Item,
    records: Vec<RecordNumber>,
    /// What was written after it.
    after: Vec<Event>,
    /// What belongs behind all results.
    queued: Vec<Event>,
    /// Size of everything that is held, in bytes.
    bytes: usize,
    /// Whether its first part was written already, with the usage.
    is_continued: bool,
}

/// A record whose fate is not known yet.
struct Pending {
    entry: Entry,
    /// Number of its events that are not written, and one more while the format has the record or comes back to it.
    waiting: u32,
    /// The items that it placed: the first one, and their number.
    nodes: (Node, u32),
    fate: Option<Fate>,
}

/// An entry of a receipt, with the items whose further events belong to it.
type Stored = (Entry, Node, u32);

/// What a conversion has made.
pub(super) struct Built {
    /// The native session.
    pub native: Spool,
    /// The entries of the receipt, if one was wanted.
    pub receipt: Option<Receipt>,
    /// Where the events come from, if that was wanted.
    pub origins: Option<Origins>,
    pub summary: Summary,
    pub last_seq: u64,
    /// The time of the last record that states one.
    pub end_time: Time,
    /// Number of items that were ever placed.
    pub items: u64,
    /// The first text of a person that may serve as a title, if there is no title.
    pub title: Option<String>,
}

/// The entries of a receipt.
pub(super) struct Receipt {
    entries: SpoolReader,
    /// The hashes of the records.
    hashes: SpoolReader,
    /// The numbers of events that repeat an item.
    further: HashMap<Node, Vec<u64>>,
}

impl Receipt {
    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Stop> {
        if self.entries.is_at_end() {
            return Ok(None);
        }
        let length = u32::from_le_bytes(self.entries.take(4)?.try_into().unwrap_or_default()) as usize;
        let stored = postcard::from_bytes::<Stored>(self.entries.take(length)?);
        let (mut entry, first, count) = stored.map_err(|_| Stop::changed())?;
        entry.hash = self.hashes.take(size_of::<Hash>())?.try_into().unwrap_or_default();
        if !self.further.is_empty() {
            for node in first..first + count {
                entry.seqs.extend(self.further.get(&node).into_iter().flatten());
            }
            entry.seqs.sort_unstable();
            entry.seqs.dedup();
        }
        Ok(Some(entry))
    }
}

/// See the [module](self).
pub(super) struct Builder {
    format: &'static str,
    native: Spool,
    line: Vec<u8>,
    seq: u64,
    ts: Time,
    provider: Vec<u8>,
    model: Vec<u8>,
    history: History,
    /// The last item of the history at each record with an id.
    tips: HashMap<u64, Node>,
    is_tree_with_parallel_results: bool,
    open: Option<Response>,
    /// The key of the last response, and what is known of it but its usage, if its first part was written because it was too long.
    spilled: Option<(Vec<u8>, Meta)>,
    pending: VecDeque<Pending>,
    /// The number of the first pending record.
    first_pending: RecordNumber,
    /// The record that is being read.
    current: Option<RecordNumber>,
    /// Records whose events are those of the current one.
    joined: Vec<RecordNumber>,
    /// The entries of the receipt, if one is wanted.
    receipt: Option<Spool>,
    /// An entry as it is stored.
    stored: Vec<u8>,
    origins: Option<OriginLog>,
    further: HashMap<Node, Vec<u64>>,
    summary: Summary,
    warnings: u64,
    repeated: u64,
    ignores_parents: bool,
    omitted: Vec<(&'static str, Vec<u8>, u64)>,
    has_title: bool,
    first_text: Option<String>,
    failure: Option<Stop>,
}

/// How a format's records make a history.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// Whether results of parallel calls are siblings, so that tool items do not hold the history.
    pub parallel_results: bool,
}

impl Builder {
    /// A builder. With `has_receipt`, the entries of the receipt are collected; with `has_origins`, where events come from.
    pub(super) fn new(format: &'static str, shape: Shape, has_receipt: bool, has_origins: bool) -> Self {
        Builder {
            format,
            native: Spool::default(),
            line: Vec::new(),
            seq: 0,
            ts: UNKNOWN.into(),
            provider: Vec::new(),
            model: Vec::new(),
            history: History::default(),
            tips: HashMap::new(),
            is_tree_with_parallel_results: shape.parallel_results,
            open: None,
            spilled: None,
            pending: VecDeque::new(),
            first_pending: 0,
            current: None,
            joined: Vec::new(),
            receipt: has_receipt.then(Spool::default),
            stored: Vec::new(),
            origins: has_origins.then(OriginLog::default),
            further: HashMap::new(),
            summary: Summary { format, ..Summary::default() },
            warnings: 0,
            repeated: 0,
            ignores_parents: false,
            omitted: Vec::new(),
            has_title: false,
            first_text: None,
            failure: None,
        }
    }

    // The session.

    /// Writes the `session_start`.
    pub(super) fn start(&mut self, start: &Start, written_id: &str) {
        const UNKNOWN_NAME: &[u8] = b"\"unknown\"";
        self.summary.session_id.clone_from(&start.session_id);
        self.summary.source_version =
            start.version.as_deref().and_then(|version| Json(version).text()).map(String::from);
        self.ts = start.start_time.clone().unwrap_or_else(|| UNKNOWN.into());
        let provider = start.provider.as_deref().unwrap_or(UNKNOWN_NAME).to_vec();
        let model = start.model.as_deref().unwrap_or(UNKNOWN_NAME).to_vec();
        let cwd = start.cwd.as_deref();
        let mut payload = vec![b'{'];
        write_text_member(&mut payload, "sessionId", written_id);
        match &start.project_hash {
            Some(hash) => write_member(&mut payload, "projectHash", hash),
            None => {
                let directory = cwd.and_then(|cwd| Json(cwd).text()).unwrap_or_default();
                let hash = crate::hash::sha256_hex([directory.as_bytes()]);
                write_text_member(&mut payload, "projectHash", crate::hash::as_text(&hash));
            }
        }
        write_key(&mut payload, "workspaceDirs");
        match (&start.workspace_dirs, cwd) {
            (Some(directories), _) => write_value(&mut payload, directories),
            (None, Some(cwd)) => {
                payload.push(b'[');
                write_value(&mut payload, cwd);
                payload.push(b']');
            }
            (None, None) => payload.extend_from_slice(b"[]"),
        }
        if let Some(cwd) = cwd {
            write_member(&mut payload, "cwd", cwd);
        }
        write_member(&mut payload, "provider", &provider);
        write_member(&mut payload, "model", &model);
        write_text_member(&mut payload, "startTime", &self.ts.clone());
        payload.push(b'}');
        (self.provider, self.model) = (provider, model);
        self.put("session_start", payload);
    }

    /// States that the record only sets a field of the `session_start`.
    pub(super) fn sets_start(&mut self) {
        let Some(pending) = self.current_mut() else { return };
        pending.entry.seqs.push(1);
        pending.fate = Some(Fate::Mapped);
        let place = pending.entry.place();
        if let (Some(origins), Some(number)) = (&mut self.origins, self.current) {
            origins.sets_start(Numbered::new(number, place));
        }
    }

    /// A title.
    pub(super) fn title(&mut self, title: Json<'_>) {
        self.has_title |= title.filled().is_some();
        self.put_member("session_metadata", "title", title.bytes());
    }

    /// A name that the user gave the session, or `null`.
    pub(super) fn named(&mut self, name: Json<'_>) {
        self.has_title |= name.filled().is_some();
        self.put_member("session_named", "name", name.bytes());
    }

    /// Other directories: an array of strings.
    pub(super) fn directories(&mut self, directories: Json<'_>) {
        self.put_member("directories_changed", "directories", directories.bytes());
    }

    fn put_member(&mut self, kind: &'static str, key: &str, value: &[u8]) {
        let mut payload = vec![b'{'];
        write_member(&mut payload, key, value);
        payload.push(b'}');
        self.put(kind, payload);
    }

    /// The session that this one was forked from: the id of that, a string.
    pub(super) fn forked(&mut self, parent: Json<'_>) {
        let mut payload = vec![b'{'];
        write_member(&mut payload, "parentSessionId", parent.bytes());
        write_member(&mut payload, "parentSequence", b"0");
        write_member(&mut payload, "checkpointId", parent.bytes());
        write_member(&mut payload, "checkpointName", b"\"\"");
        payload.push(b'}');
        self.put("session_forked", payload);
    }

    /// The model, and the provider, that the next responses come from. Values are JSON texts. Returns whether that is another one.
    pub(super) fn switch(&mut self, provider: Option<&[u8]>, model: Option<&[u8]>) -> bool {
        let (provider, model) = (provider.unwrap_or(&self.provider), model.unwrap_or(&self.model));
        if provider == self.provider && model == self.model {
            return false;
        }
        let mut payload = vec![b'{'];
        write_member(&mut payload, "provider", provider);
        write_member(&mut payload, "model", model);
        payload.push(b'}');
        (self.provider, self.model) = (provider.to_vec(), model.to_vec());
        self.put("provider_switch", payload);
        true
    }

    /// The current model, as JSON text.
    pub(super) fn model(&self) -> &[u8] {
        &self.model
    }

    /// The current provider, as JSON text.
    pub(super) fn provider(&self) -> &[u8] {
        &self.provider
    }

    /// A note that is not part of the history.
    pub(super) fn note(&mut self, severity: Severity, message: &str) {
        let mut payload = vec![b'{'];
        write_text_member(&mut payload, "severity", severity.as_str());
        write_text_member(&mut payload, "message", message);
        payload.push(b'}');
        self.put("session_event", payload);
    }

    // The record.

    /// Begins with the next record.
    pub(super) fn begin_record(&mut self, place: RecordPlace) {
        self.current = Some(self.first_pending + self.pending.len() as u64);
        if let Some(origins) = &mut self.origins {
            origins.begin_record(Numbered::new(self.first_pending + self.pending.len() as u64, place));
        }
        self.pending.push_back(Pending { entry: Entry::new(place), waiting: 1, nodes: (ROOT, 0), fate: None });
    }

    /// States the time of the record. One that does not parse changes nothing.
    pub(super) fn at(&mut self, time: Option<Json<'_>>) {
        if let Some(time) = time.and_then(time_of) {
            self.ts = time;
        }
    }

    fn current_mut(&mut self) -> Option<&mut Pending> {
        self.current.and_then(|number| self.pending_mut(number))
    }

    /// The record is not in the session.
    pub(super) fn drop(&mut self, reason: Reason) {
        if let Some(pending) = self.current_mut() {
            pending.fate = Some(Fate::Dropped(reason));
        }
    }

    /// The record is in the session, whatever was said of it before.
    pub(super) fn map(&mut self) {
        if let Some(pending) = self.current_mut() {
            pending.fate = Some(Fate::Mapped);
        }
    }

    /// Whether an event carries the record.
    pub(super) fn is_mapped(&self) -> bool {
        let number = self.current.and_then(|number| usize::try_from(number.checked_sub(self.first_pending)?).ok());
        let pending = number.and_then(|number| self.pending.get(number));
        pending.is_some_and(|pending| !pending.entry.seqs.is_empty() || pending.waiting > 1)
    }

    /// The record is not in the session, unless an event carries it already, such as the rewind to its parent.
    pub(super) fn drop_unless_mapped(&mut self, reason: Reason) {
        if !self.is_mapped() {
            self.drop(reason);
        }
    }

    /// The record is kept as it is. `what` describes it: its type and subtype.
    pub(super) fn keep(&mut self, what: &str, raw: Json<'_>, severity: Severity) {
        let raw = raw.bytes();
        let is_large = raw.len() > KEPT_BYTES;
        let fate = if is_large { Fate::Dropped(Reason::TooLargeToKeep) } else { Fate::Kept };
        if let Some(pending) = self.current_mut() {
            pending.fate = Some(fate);
        }
        if is_large {
            return;
        }
        let mut payload = vec![b'{'];
        write_text_member(&mut payload, "severity", severity.as_str());
        write_text_member(&mut payload, "message", format!("{}: {what}", self.format).trim_end());
        write_member(&mut payload, "raw", raw);
        payload.push(b'}');
        self.put("session_event", payload);
    }

    /// The fate of the record is decided later: by [`compress`](Self::compress), or by what is done between [`resume`](Self::resume) and
    /// [`release`](Self::release). Must be called once for each record that is released.
    pub(super) fn defer(&mut self) -> RecordNumber {
        if let Some(pending) = self.current_mut() {
            pending.waiting += 1;
        }
        self.current.unwrap_or_default()
    }

    /// Continues with a deferred record. Returns the record that was current.
    pub(super) fn resume(&mut self, number: RecordNumber) -> Option<RecordNumber> {
        self.current.replace(number)
    }

    /// States the deferred records that the next events carry too, beside the current one, until it ends or others are stated.
    pub(super) fn join(&mut self, records: Vec<RecordNumber>) {
        self.joined = records;
    }

    /// Ends a resumed record, and returns to the one that was current before.
    pub(super) fn release(&mut self, before: Option<RecordNumber>) {
        if let Some(number) = std::mem::replace(&mut self.current, before) {
            self.joined.clear();
            self.settle(number);
        }
    }

    /// Counts the fields of a mapped record that are not among those that events carry.
    pub(super) fn omit(&mut self, kind: &'static str, fields: &Object<'_>, carried: &[&str]) {
        if self.receipt.is_none() {
            return;
        }
        self.omit_names(kind, fields.keys().filter(|key| !carried.iter().any(|carried| carried.as_bytes() == *key)));
    }

    fn omit_names<'n>(&mut self, kind: &'static str, names: impl Iterator<Item = &'n [u8]>) {
        if self.receipt.is_none() {
            return;
        }
        for key in names {
            let known = self.omitted.iter().position(|(known, name, _)| *known == kind && name == key);
            match known {
                Some(index) => self.omitted[index].2 += 1,
                // A field of its own in each record would make this quadratic.
                None if self.omitted.len() < MAX_OMITTED => self.omitted.push((kind, key.to_vec(), 1)),
                None => {}
            }
        }
    }

    /// Counts one thing of a mapped record that no event carries.
    pub(super) fn omit_one(&mut self, kind: &'static str, name: &[u8]) {
        self.omit_names(kind, std::iter::once(name));
    }

    /// Something that a user should know about the source.
    pub(super) fn warn(&mut self, warning: String) {
        self.warnings += 1;
        if self.summary.warnings.len() < MAX_WARNINGS {
            self.summary.warnings.push(warning);
        }
    }

    /// Ends the record.
    pub(super) fn end_record(&mut self) -> Result<(), Stop> {
        self.release(None);
        self.failure.take().map_or(Ok(()), Err)
    }

    fn pending_mut(&mut self, number: RecordNumber) -> Option<&mut Pending> {
        pending_at(&mut self.pending, self.first_pending, number)
    }

    /// One thing less is to come for a record.
    fn settle(&mut self, number: RecordNumber) {
        if let Some(pending) = self.pending_mut(number) {
            pending.waiting = pending.waiting.saturating_sub(1);
        }
        while self.pending.front().is_some_and(|pending| pending.waiting == 0) {
            let Some(Pending { mut entry, nodes, fate, .. }) = self.pending.pop_front() else { break };
            self.first_pending += 1;
            entry.fate = fate.unwrap_or(match entry.seqs.is_empty() && nodes.1 == 0 {
                true => Fate::Dropped(Reason::NoEffect),
                false => Fate::Mapped,
            });
            entry.seqs.sort_unstable();
            entry.seqs.dedup();
            entry.own_seq = entry.seqs.last().copied().unwrap_or_default();
            self.summary.count(entry.fate);
            let Some(receipt) = &mut self.receipt else { continue };
            let (entry, mut bytes): (Stored, _) = ((entry, nodes.0, nodes.1), std::mem::take(&mut self.stored));
            // Behind its length.
            bytes.clear();
            bytes.extend_from_slice(&[0; 4]);
            let appended = postcard::to_extend(&entry, bytes).map_err(|_| Stop::changed()).and_then(|mut bytes| {
                let length = (bytes.len() - 4) as u32;
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                let appended = receipt.append(&bytes);
                self.stored = bytes;
                appended
            });
            self.check(appended);
        }
    }

    /// A failure to write ends the conversion with the record.
    fn check(&mut self, result: Result<(), Stop>) {
        if let Err(stop) = result {
            self.failure.get_or_insert(stop);
        }
    }

    // Events.

    fn put(&mut self, kind: &'static str, payload: Vec<u8>) {
        let records = self.current_records();
        let event = Event { kind, ts: self.ts.clone(), payload: vec![payload], node: None, records };
        self.put_event(event);
    }

    fn current_records(&self) -> Vec<RecordNumber> {
        self.joined.iter().copied().chain(self.current).collect()
    }

    /// Writes an event, or holds it behind the open response.
    fn put_event(&mut self, event: Event) {
        self.await_event(&event);
        match &mut self.open {
            Some(open) => {
                open.bytes += event.length();
                open.after.push(event);
                self.spill_if_large();
            }
            None => self.write(event),
        }
    }

    fn await_event(&mut self, event: &Event) {
        for number in &event.records {
            if let Some(pending) = self.pending_mut(*number) {
                pending.waiting += 1;
            }
        }
    }

    fn write(&mut self, event: Event) {
        self.seq += 1;
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"v\":1,\"seq\":");
        line.extend_from_slice(self.seq.to_string().as_bytes());
        line.extend_from_slice(b",\"ts\":\"");
        line.extend_from_slice(event.ts.as_bytes());
        line.extend_from_slice(b"\",\"type\":\"");
        line.extend_from_slice(event.kind.as_bytes());
        line.extend_from_slice(b"\",\"payload\":");
        let mut end = &b"}\n"[..];
        if let Some(node) = event.node {
            line.extend_from_slice(b"{\"content\":");
            let text = Text { offset: self.native.size() + line.len() as u64, length: event.length() };
            self.history.written(node, text);
            end = b"}}\n";
        }
        let pieces = std::iter::once(&self.line).chain(&event.payload).map(Vec::as_slice);
        let appended = pieces.chain([end]).try_for_each(|piece| self.native.append(piece));
        self.check(appended);
        let seq = self.seq;
        self.note_origin(&event.records, event.node);
        for number in event.records {
            if let Some(pending) = self.pending_mut(number) {
                pending.entry.seqs.push(seq);
            }
            self.settle(number);
        }
    }

    /// Notes the first record of the event that is being written. One that repeats an item has those of the item.
    fn note_origin(&mut self, records: &[RecordNumber], node: Option<Node>) {
        let Some(origins) = self.origins.as_mut().filter(|_| self.seq > 1) else { return };
        let first = records.iter().min().and_then(|number| {
            let pending = pending_at(&mut self.pending, self.first_pending, *number)?;
            Some(Numbered::new(*number, pending.entry.place()))
        });
        let origin = match (first, node) {
            (None, Some(node)) => origins.of_copy(self.history.original(node)),
            (first, _) => Ok(first),
        };
        let added = origin.and_then(|origin| origins.add(origin));
        if let Some(node) = node {
            origins.wrote(node, self.seq);
        }
        self.check(added);
    }

    // Items.

    /// States that the record placed the item, and all others that were created since its first one.
    fn count_node(&mut self, node: Node) {
        if let Some(pending) = self.current_mut() {
            let first = if pending.nodes.1 == 0 { node } else { pending.nodes.0 };
            pending.nodes = (first, node - first + 1);
        }
    }

    fn create(&mut self, item: &Item) -> Node {
        let is_result = item.speaker == Speaker::Tool && self.is_tree_with_parallel_results;
        let node = self.history.create(item.speaker, !is_result && item.meta.id.is_some());
        self.count_node(node);
        node
    }

    fn item_event(&self, node: Node, item: Item) -> Event {
        let records = self.current_records();
        Event { kind: "content", ts: self.ts.clone(), payload: item.into_pieces(), node: Some(node), records }
    }

    /// Places an item of a person. It closes the open response. Returns it.
    pub(super) fn human(&mut self, item: Item) -> Node {
        self.close();
        self.look_for_title(&item);
        let node = self.create(&item);
        self.history.place(node);
        let event = self.item_event(node, item);
        self.put_event(event);
        node
    }

    /// Places an item behind the results of the open response, which stays open.
    pub(super) fn queue(&mut self, item: Item) -> Node {
        if self.open.is_none() {
            return self.human(item);
        }
        let node = self.create(&item);
        let event = self.item_event(node, item);
        self.await_event(&event);
        if let Some(open) = &mut self.open {
            open.bytes += event.length();
            open.queued.push(event);
        }
        self.spill_if_large();
        node
    }

    fn look_for_title(&mut self, item: &Item) {
        if self.first_text.is_some() || item.meta.kind.is_some() {
            return;
        }
        for block in item.blocks.iter().filter(|block| block.kind == BlockKind::Text) {
            let text = Json(&block.json).get("text").and_then(Json::text).unwrap_or_default();
            let line = cut(first_line(text.trim()).trim(), TITLE_UNITS);
            if !line.is_empty() {
                self.first_text = Some(line);
                return;
            }
        }
    }

    /// Begins a model response, which may grow until it is closed. `key` identifies it. If it comes from another model, that is stated first.
    /// Returns its item.
    pub(super) fn respond(&mut self, key: Option<&[u8]>, item: Item) -> Node {
        self.close();
        self.switch(item.meta.provider.clone().as_deref(), item.meta.model.clone().as_deref());
        self.open_response(key, item, false)
    }

    fn open_response(&mut self, key: Option<&[u8]>, item: Item, is_continued: bool) -> Node {
        let node = self.create(&item);
        self.history.place(node);
        let records = self.current_records();
        let bytes = item.blocks.iter().map(|block| block.json.len()).sum();
        for block in item.blocks.iter().filter(|block| block.kind == BlockKind::Call) {
            self.history.call(block.key, &block.name);
        }
        let key = key.map(<[u8]>::to_vec);
        let (after, queued) = (Vec::new(), Vec::new());
        let response = Response { key, node, ts: self.ts.clone(), item, records, after, queued, bytes, is_continued };
        let awaited = response.records.clone();
        self.open = Some(response);
        for number in awaited {
            if let Some(pending) = self.pending_mut(number) {
                pending.waiting += 1;
            }
        }
        self.spilled = None;
        self.spill_if_large();
        node
    }

    /// Whether a response with this key is open, or was until it became too long.
    pub(super) fn is_open(&self, key: &[u8]) -> bool {
        let open = self.open.as_ref().and_then(|open| open.key.as_deref());
        open == Some(key) || (self.open.is_none() && self.spilled.as_ref().is_some_and(|(spilled, _)| spilled == key))
    }

    /// Whether a response is open.
    pub(super) fn has_open_response(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a human item waits behind the open response.
    pub(super) fn has_queued(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.queued.is_empty())
    }

    /// Adds blocks to the open response. `is_cumulative` says whether the record may repeat blocks that the response has: if all of these align with
    /// the response's, they replace them; otherwise those that it does not have yet are appended.
    pub(super) fn grow(&mut self, blocks: Vec<Block>, is_cumulative: bool) {
        let Some(open) = &mut self.open else {
            if let Some((key, meta)) = self.spilled.take() {
                self.open_response(Some(&key), Item::ai(blocks, meta), true);
            }
            return;
        };
        let (node, joins) = (open.node, self.current.filter(|number| open.records.last() != Some(number)));
        open.records.extend(joins);
        if joins.is_some() {
            self.adds_to(node);
        }
        let Some(open) = &mut self.open else { return };
        if is_cumulative && align(&open.item.blocks, &blocks) {
            for (held, block) in open.item.blocks.iter_mut().zip(&blocks) {
                if block.kind == BlockKind::Text && block.json.len() < held.json.len() {
                    continue;
                }
                open.bytes += block.json.len().saturating_sub(held.json.len());
                *held = block.clone();
            }
            let behind = open.item.blocks.len().min(blocks.len());
            append(open, &mut self.history, blocks.into_iter().skip(behind));
        } else if is_cumulative {
            let new: Vec<_> = blocks.into_iter().filter(|block| !open.item.blocks.contains(block)).collect();
            append(open, &mut self.history, new);
        } else {
            append(open, &mut self.history, blocks);
        }
        self.spill_if_large();
    }

    /// States that the record adds to an item that an earlier one has placed.
    fn adds_to(&mut self, node: Node) {
        if let Some(pending) = self.current_mut() {
            pending.waiting += 1;
            if pending.nodes.1 == 0 {
                pending.nodes = (node, 1);
            }
        }
    }

    /// Changes what is known of the open response, unless its first part is written already.
    pub(super) fn amend(&mut self, change: impl FnOnce(&mut Meta)) {
        if let Some(open) = self.open.as_mut().filter(|open| !open.is_continued) {
            change(&mut open.item.meta);
        }
    }

    /// States that the record belongs to the open response too. Returns whether there is one that has no usage yet.
    pub(super) fn late_usage(&mut self, usage: Usage) -> bool {
        let current = self.current;
        let Some(open) = self.open.as_mut().filter(|open| !open.is_continued && open.item.meta.usage.is_none()) else {
            return false;
        };
        open.item.meta.usage = Some(usage);
        open.records.extend(current);
        let node = open.node;
        self.adds_to(node);
        true
    }

    /// Places the results of calls: those whose call is live and not answered yet. The record is kept if there is none. Returns the item.
    pub(super) fn results(&mut self, results: Vec<ToolResult>, meta: Meta, what: &str, raw: Json<'_>) -> Option<Node> {
        let mut item = Item { speaker: Speaker::Tool, blocks: Vec::new(), meta };
        let (mut refused, mut placed, mut taken) = (None, Vec::new(), HashMap::new());
        for result in results {
            let before: &mut u32 = taken.entry(result.key & !1).or_default();
            match self.history.unanswered(result.key, *before) {
                Ok(name) => {
                    item.blocks.extend(result.before.iter().cloned());
                    item.blocks.push(result.block(Some(name)));
                    item.blocks.extend(result.media);
                    placed.push(result.key);
                    *before += 1;
                }
                Err(unplaced) => refused = Some(unplaced),
            }
        }
        let node = (!placed.is_empty()).then(|| {
            let node = self.create(&item);
            placed.iter().for_each(|key| self.history.result(node, *key));
            self.history.place(node);
            let event = self.item_event(node, item);
            self.put_event(event);
            node
        });
        if let Some(unplaced) = refused {
            self.keep_result(what, unplaced, raw, node.is_some());
        }
        node
    }

    /// Places an item whose results are not paired with calls.
    pub(super) fn loose(&mut self, item: Item) {
        let node = self.create(&item);
        self.history.place(node);
        let event = self.item_event(node, item);
        self.put_event(event);
    }

    /// Keeps a record with a result that has no place.
    fn keep_result(&mut self, what: &str, unplaced: Unplaced, raw: Json<'_>, is_mapped: bool) {
        self.keep(&format!("{what} ({})", unplaced.as_str()), raw, Severity::Warning);
        if is_mapped && let Some(pending) = self.current_mut() {
            pending.fate = Some(Fate::Mapped);
        }
    }

    /// Writes the open response and what is held behind it.
    pub(super) fn close(&mut self) {
        self.spilled = None;
        let Some(open) = self.open.take() else { return };
        let keys = open.item.blocks.iter().filter(|block| block.kind == BlockKind::Call).map(|block| block.key);
        self.history.complete(open.node, keys.collect::<Vec<_>>().into_iter());
        let payload = open.item.into_pieces();
        self.write(Event { kind: "content", ts: open.ts, payload, node: Some(open.node), records: open.records });
        for event in open.after {
            self.write(event);
        }
        for event in open.queued {
            if let Some(node) = event.node {
                self.history.place(node);
            }
            self.write(event);
        }
    }

    fn spill_if_large(&mut self) {
        if let Some(open) = self.open.as_ref().filter(|open| open.bytes > HELD_BYTES) {
            let meta = Meta { usage: None, ..open.item.meta.clone() };
            let spilled = open.key.clone().map(|key| (key, meta));
            self.close();
            self.spilled = spilled;
        }
    }

    // The history.

    /// Number of items in the history.
    pub(super) fn len(&self) -> usize {
        self.history.len()
    }

    /// The history.
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// The last item of the history, what waits behind the open response included.
    pub(super) fn end(&self) -> Node {
        let queued = self.open.as_ref().and_then(|open| open.queued.last()).and_then(|event| event.node);
        queued.unwrap_or_else(|| self.history.end())
    }

    /// Leaves the first `keep` items of the history.
    pub(super) fn rewind_to(&mut self, keep: usize) {
        self.close();
        let removed = self.history.len().saturating_sub(keep);
        if removed > 0 {
            self.put_member("rewind", "itemsRemoved", removed.to_string().as_bytes());
            self.history.truncate(keep);
        }
    }

    /// Replaces the history by a summary, which copies of the `kept` items follow. `stand` says whether these stand for their originals: whether a
    /// record that continues at an original continues at its copy. `deferred` is a record that announced this. Returns the summary.
    pub(super) fn compress(
        &mut self,
        summary: &Item,
        kept: &[Node],
        stand: bool,
        deferred: Option<RecordNumber>,
    ) -> Node {
        let node = self.compress_to(summary, kept.len(), deferred);
        for original in kept {
            let copy = self.history.copy(*original, stand);
            self.history.place(copy);
            self.write_again(copy);
        }
        node
    }

    /// Replaces the history by a summary. `kept` is the number of items of the history that follow it again.
    pub(super) fn compress_to(&mut self, summary: &Item, kept: usize, deferred: Option<RecordNumber>) -> Node {
        self.close();
        let compressed = self.history.len().saturating_sub(kept);
        let node = self.create(summary);
        let mut payload = b"{\"summary\":".to_vec();
        let item = summary.json();
        let start = payload.len();
        payload.extend_from_slice(&item);
        write_member(&mut payload, "itemsCompressed", compressed.to_string().as_bytes());
        payload.push(b'}');
        let mut records = self.current_records();
        records.extend(deferred);
        let event = Event { kind: "compressed", ts: self.ts.clone(), payload: vec![payload], node: None, records };
        self.await_event(&event);
        let before = self.native.size();
        // The summary begins where the payload does, which ends with the line.
        let behind = event.length() - start + 2;
        self.write(event);
        let offset = self.native.size() - behind as u64;
        debug_assert!(offset > before);
        self.history.written(node, Text { offset, length: item.len() });
        if let Some(origins) = &mut self.origins {
            origins.wrote(node, self.seq);
        }
        self.history.truncate(0);
        self.history.place(node);
        if let Some(number) = deferred {
            self.settle(number);
        }
        node
    }

    /// Places an item that was written before, in any branch. Its record gets the number of the event too.
    pub(super) fn repeat(&mut self, node: Node) {
        self.close();
        self.history.put_back(node);
        self.write_again(node);
    }

    fn write_again(&mut self, node: Node) {
        let text = self.history.text(node);
        let item = match self.native.read(text.offset, text.length) {
            Ok(item) => item,
            Err(stop) => return self.check(Err(stop)),
        };
        self.repeated += 1;
        // The records of the item are known by the item.
        let records = Vec::new();
        self.write(Event { kind: "content", ts: self.ts.clone(), payload: vec![item], node: Some(node), records });
        if self.receipt.is_some() {
            let original = self.history.original(node);
            self.further.entry(original).or_default().push(self.seq);
        }
    }

    // Trees.

    /// The last item of the history at the record with this id, or the live copy that stands for it.
    pub(super) fn tip(&self, id: Json<'_>) -> Option<Node> {
        self.tips.get(&id.key()).map(|tip| self.history.standing(*tip))
    }

    /// The last item of the history at the record with this id, even if a copy stands for it.
    pub(super) fn own_tip(&self, id: Json<'_>) -> Option<Node> {
        self.tips.get(&id.key()).copied()
    }

    /// States the last item of the history at the record with this id.
    pub(super) fn set_tip(&mut self, id: Json<'_>, tip: Node) {
        self.tips.insert(id.key(), tip);
    }

    /// States the tip of a record with this parent: its last item, if it has one.
    pub(super) fn set_tip_of_record(&mut self, id: Json<'_>, tip: Option<Node>, parent: Option<Json<'_>>) {
        match tip {
            Some(tip) => self.set_tip(id, tip),
            None => self.set_tip_of_note(id, parent),
        }
    }

    /// States the tip of a record without an item: the end of the history, unless a person has spoken since its parent's tip; then it is that.
    fn set_tip_of_note(&mut self, id: Json<'_>, parent: Option<Json<'_>>) {
        let parent = parent.and_then(|parent| self.tip(parent));
        let tip = match parent.map(|parent| (parent, self.history.live_up_to(parent))) {
            None => self.end(),
            Some((parent, Some(length))) if self.history.has_human_behind(length) || self.queued_behind(parent) => {
                parent
            }
            Some((_, Some(_))) => self.end(),
            Some((parent, None)) if self.is_queued(parent) => self.end(),
            Some((parent, None)) => parent,
        };
        self.set_tip(id, tip);
    }

    fn is_queued(&self, node: Node) -> bool {
        self.open.as_ref().is_some_and(|open| open.queued.iter().any(|event| event.node == Some(node)))
    }

    fn queued_behind(&self, node: Node) -> bool {
        self.has_queued() && !self.is_queued(node)
    }

    /// Moves the history to a tip, so that the next item follows it.
    pub(super) fn move_to(&mut self, tip: Node) {
        self.close();
        if self.ignores_parents {
            return;
        }
        if let Some(length) = self.history.live_up_to(tip) {
            if self.history.has_firm_behind(length) {
                self.rewind_to(length);
            }
            return;
        }
        let records = self.first_pending + self.pending.len() as u64;
        let most = (4 * records + 1000).saturating_sub(self.repeated);
        let Some((path, length)) = self.history.path_to(tip, usize::try_from(most).unwrap_or(usize::MAX)) else {
            self.ignores_parents = true;
            let line = self.current_mut().map_or(0, |pending| pending.entry.line);
            return self.warn(format!("interleaved branches: file order from line {line}"));
        };
        self.rewind_to(length);
        for node in path.into_iter().rev() {
            self.repeat(node);
        }
    }

    // The end.

    /// Everything that was built. `size` is that of the source.
    pub(super) fn finish(mut self, size: u64, hashed: Hashed) -> Result<Built, Stop> {
        self.close();
        while let Some(number) = (!self.pending.is_empty()).then_some(self.first_pending) {
            self.settle(number);
        }
        if let Some(stop) = self.failure.take() {
            return Err(stop);
        }
        let hidden = self.warnings - self.summary.warnings.len() as u64;
        if hidden > 0 {
            self.summary.warnings.push(format!("{hidden} further warnings not shown"));
        }
        for (kind, key, count) in std::mem::take(&mut self.omitted) {
            let path = format!("{kind}.{}", String::from_utf8_lossy(&key));
            *self.summary.omitted_fields.entry(path).or_default() += count;
        }
        (self.summary.source_bytes, self.summary.source_sha256) = (size, hashed.source);
        let hashes = Arc::new(hashed.records);
        let receipt = self.receipt.map(|entries| Receipt {
            entries: SpoolReader::new(Arc::new(entries)),
            hashes: SpoolReader::new(hashes.clone()),
            further: self.further,
        });
        let origins = self.origins.map(|origins| origins.finish(hashes)).transpose()?;
        let title = self.first_text.filter(|_| !self.has_title);
        let items = u64::from(self.history.next_node()) - 1;
        let (last_seq, end_time) = (self.seq, self.ts);
        Ok(Built { native: self.native, receipt, origins, summary: self.summary, last_seq, end_time, items, title })
    }
}

fn pending_at(pending: &mut VecDeque<Pending>, first: RecordNumber, number: RecordNumber) -> Option<&mut Pending> {
    pending.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
}

/// Whether blocks repeat those that a response has, from its first one on: of a text one is a prefix of the other, a call has the same id, and
/// anything else is equal.
fn align(held: &[Block], blocks: &[Block]) -> bool {
    !held.is_empty()
        && !blocks.is_empty()
        && held.iter().zip(blocks).all(|(held, block)| match block.kind {
            _ if held.kind != block.kind => false,
            BlockKind::Text => {
                let (held, block) = (inside_text(&held.json), inside_text(&block.json));
                held.starts_with(block) || block.starts_with(held)
            }
            BlockKind::Call | BlockKind::ServerCall => held.key == block.key,
            BlockKind::Thinking | BlockKind::Other => held == block,
        })
}

/// The inside of the text of a text block.
fn inside_text(json: &[u8]) -> &[u8] {
    const HEAD: usize = br#"{"type":"text","text":""#.len();
    json.get(HEAD..json.len().saturating_sub(2)).unwrap_or_default()
}

/// Appends blocks to a response, and counts their calls.
fn append(open: &mut Response, history: &mut History, blocks: impl IntoIterator<Item = Block>) {
    for block in blocks {
        if block.kind == BlockKind::Call {
            history.call(block.key, &block.name);
        }
        open.bytes += block.json.len();
        open.item.blocks.push(block);
    }
}
