//! Repairs a session: decides what is wrong with it, and writes what it should be.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::RepairError;
use super::receipt::{Fragment, LOST_PART, RepairReceipt};
use super::record::renumbered as with_number;
use super::record::{Envelope, Parsed, cleaned, has_version, versioned, with_count_only, with_members};
use super::search::{FoundRecord, IN_DOUBT, Stopped, Visitor, replaced, search};
use super::select::{Ascent, Fate, Selection, inside, is_as_written};
use super::sessions::{Choice, Owner, Sessions, Takes};
use super::text::{self, Encoding, Text};
use crate::archived::resolve;
use crate::clock::timestamp;
use crate::disk::write::{Naming, StagedFile};
use crate::disk::{Metadata, OWNER_ONLY, OsError, files};
use crate::foreign;
use crate::hash::{sha256, to_hex};
use crate::json::{JsonText, Nesting, Span, decode};
use crate::lines::{LineSource, ReadError};
use crate::session::fold::FoldOptions;
use crate::session::format::{Body, EventType, Line, Mode, StartFields};
use crate::session::read::Replay;
use crate::task::Task;

/// The names of files that are not whole yet. Cleaning removes those that a killed process has left among sessions.
const UNFINISHED: Naming = (".session-tape-", ".repair");

/// The options of a repair.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// The project of a session whose start is lost.
    pub project_hash: Option<String>,
    /// The id of the session, if the file has several: by default the first one. If the start is lost, the id that it gets: by default it is made
    /// from the name of the file.
    pub session_id: Option<String>,
    /// Where to write what became of each record and fragment. The file must not exist.
    pub receipt_path: Option<PathBuf>,
    /// Write nothing, and only say what a repair would do.
    pub is_dry_run: bool,
    /// The current time in milliseconds since 1970.
    pub now: f64,
}

/// Repairs the session at `source`. Writes it to `destination`, which must not exist, unless it is a dry run.
pub fn repair(
    source: &Path,
    destination: &Path,
    options: &RepairOptions,
    task: &mut Task<'_>,
) -> Result<RepairReceipt, RepairError> {
    let source = &*resolve(source);
    let file = if options.is_dry_run { None } else { Some(StagedFile::new(destination, UNFINISHED, OWNER_ONLY)?) };
    let map = match (&options.receipt_path, options.is_dry_run) {
        (Some(path), false) => Some(StagedFile::new(path, UNFINISHED, OWNER_ONLY)?),
        _ => None,
    };
    let before = files::metadata(source)?;
    let (bytes, sha256) = text::hash_of(source, task)?;
    let text = text::open(source, task)?;
    let work = Work { path: source, options, total: text.source.size() * 2, text };
    let survey = work.survey(task)?;
    let plan = survey.plan(&work)?;
    let mut receipt = RepairReceipt { bytes, sha256, changed: !plan.is_sound, ..RepairReceipt::default() };
    for range in &work.text.lost {
        receipt.add_lost(range);
    }
    let mut writer = Writer::new(&work, &plan, receipt);
    writer.map = map.map(BufWriter::new);
    writer.file = file.map(BufWriter::new);
    let mut receipt = writer.write(task)?;
    if let Some(file) = writer.file.take() {
        receipt.destination = destination.to_path_buf();
        receipt.warnings.extend(work.check(file.get_ref().path())?);
        task.conclude()?;
        work.expect_unchanged(&before)?;
        finish(file, writer.map.take(), options.receipt_path.as_deref())?;
    }
    Ok(receipt)
}

/// Puts both files in place, or none.
fn finish(
    file: BufWriter<StagedFile>,
    map: Option<BufWriter<StagedFile>>,
    map_path: Option<&Path>,
) -> Result<(), RepairError> {
    let whole = |file: BufWriter<StagedFile>| file.into_inner().map_err(|error| failed("write")(error.into_error()));
    let (file, map) = (whole(file)?, map.map(whole).transpose()?);
    if let Some(map) = map {
        map.commit()?;
    }
    file.commit().map_err(|error| {
        if let Some(path) = map_path {
            let _ = files::remove_file(path);
        }
        error.into()
    })
}

/// The error of a file under construction, whose name means nothing to users.
fn failed(syscall: &'static str) -> impl Fn(io::Error) -> OsError {
    move |error| OsError::new(&error, syscall, None)
}

/// A source and what is to be done with it.
struct Work<'w> {
    path: &'w Path,
    options: &'w RepairOptions,
    text: Text,
    /// For progress: the bytes of both passes.
    total: u64,
}

impl Work<'_> {
    fn survey(&self, task: &mut Task<'_>) -> Result<Survey, RepairError> {
        let is_sound = self.text.encoding == Encoding::Plain;
        let sessions = Sessions::new(self.options.session_id.clone());
        let mut survey = Survey {
            sessions,
            nameless: Findings::default(),
            wanted: Findings::default(),
            is_sound,
            is_joined: false,
            has_records: false,
            in_doubt: 0,
        };
        self.search(&mut survey, task, 0)?;
        Ok(survey)
    }

    fn search(&self, visitor: &mut dyn Visitor, task: &mut Task<'_>, done: u64) -> Result<(), RepairError> {
        search(&self.text.source, visitor, task, (done, self.total)).map_err(|stopped| match stopped {
            Stopped::Reading(error) => RepairError::reading(error, self.path),
            Stopped::Visitor(error) => error,
        })
    }

    fn reading(&self, error: ReadError) -> RepairError {
        RepairError::reading(error, self.path)
    }

    /// Replays what was written as a session is resumed. Returns what the replay warns of.
    fn check(&self, written: &Path) -> Result<Vec<String>, RepairError> {
        let unrepairable = |reason: String| RepairError::Unrepairable { path: self.path.to_path_buf(), reason };
        let options = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
        let replay = Replay::open(written, options).and_then(Replay::complete);
        let replay = replay.map_err(|error| unrepairable(error.message().to_string()))?;
        let outcome = replay.outcome(None);
        outcome.metadata.map_err(|error| unrepairable(error.message().to_string()))?;
        Ok(outcome.warnings.iter().map(|warning| format!("A replay of what was recovered warns: {warning}")).collect())
    }

    fn expect_unchanged(&self, before: &Metadata) -> Result<(), RepairError> {
        match files::metadata(self.path)? {
            now if now == *before => Ok(()),
            _ => Err(RepairError::SourceChanged(self.path.to_path_buf())),
        }
    }
}

/// What the first pass finds out.
struct Survey {
    sessions: Sessions,
    /// The records before the first `session_start`.
    nameless: Findings,
    /// Those of the session that is asked for.
    wanted: Findings,
    /// Whether nothing is wrong between the records, as far as the text was searched.
    is_sound: bool,
    is_joined: bool,
    has_records: bool,
    /// The number of objects of which nothing tells whether they are records.
    in_doubt: u64,
}

/// What is found out about the records of a session.
#[derive(Default)]
struct Findings {
    selection: Selection,
    is_unsound: bool,
    start: Option<FoundStart>,
    /// The numbers of the records that are kept in any case, and of those that are kept if items are that only default replays read.
    strict: Ascent,
    lenient: Ascent,
    has_strict_items: bool,
    lenient_items: u64,
    replaced: u64,
    /// NULs in records, and the records.
    nuls: (u64, u64),
    /// Records in UTF-16 inside of a text in UTF-8.
    utf16: u64,
    /// The first time of a record, a JSON string.
    first_time: Option<String>,
}

/// A `session_start` that says which session it is.
struct FoundStart {
    range: Range<u64>,
    number: Option<f64>,
    /// Whether replays find it: it is the first line.
    is_first: bool,
    /// Whether it lacks fields that resuming a session needs.
    lacks_fields: bool,
    /// Its id, if no lock can be named by it.
    unsafe_id: Option<String>,
}

impl Findings {
    fn add(&mut self, record: &FoundRecord<'_>) {
        self.replaced += u64::from(record.is_replaced);
        self.utf16 += u64::from(record.is_utf16);
        self.nuls = (self.nuls.0 + record.nuls, self.nuls.1 + u64::from(record.nuls > 0));
        let number = record.envelope.number(record.text);
        if self.first_time.is_none() {
            let time = record.envelope.ts.and_then(|ts| std::str::from_utf8(ts.of(record.text)).ok());
            self.first_time = time.filter(|time| time.len() > 2).map(str::to_owned);
        }
        self.is_unsound |= !is_as_written(record);
        match self.selection.decide(record) {
            Fate::Start => {
                let start = FoundStart::of(record, number);
                self.is_unsound |= !record.is_first || start.lacks_fields || start.unsafe_id.is_some();
                self.start = Some(start);
            }
            fate @ (Fate::Kept | Fate::Recounted(_)) => {
                self.is_unsound |= fate != Fate::Kept;
                let kind = EventType::of(record.envelope.event_type.of(record.text));
                self.has_strict_items |=
                    matches!(kind, Some(EventType::Content | EventType::Compressed | EventType::SemanticMediaPurge));
                self.strict.add(number);
                self.lenient.add(number);
            }
            Fate::Lenient => {
                self.lenient_items += 1;
                self.lenient.add(number);
            }
            Fate::Duplicate | Fate::Refused(_) => self.is_unsound = true,
        }
    }
}

impl FoundStart {
    fn of(record: &FoundRecord<'_>, number: Option<f64>) -> Self {
        let fields = start_fields(record.text);
        let id = fields.map(|fields| plain_text(fields.session_id, record.text));
        FoundStart {
            range: record.range.clone(),
            number,
            is_first: record.is_first && record.is_seen,
            lacks_fields: fields.is_some_and(|fields| !missing_members(&fields, "").is_empty()),
            unsafe_id: id.filter(|id| safe_id(id) != *id),
        }
    }
}

impl Visitor for Survey {
    fn record(&mut self, record: &FoundRecord<'_>) -> Result<(), RepairError> {
        self.has_records = true;
        match (self.sessions.owner_of(record), self.sessions.takes_nameless()) {
            (Owner::Nameless, _) => self.nameless.add(record),
            (Owner::Wanted, Some(takes_nameless)) => {
                if takes_nameless {
                    self.join();
                }
                self.wanted.add(record);
            }
            // The `session_start`. The next record decides whether those before it are of the same session.
            (Owner::Wanted, None) => {
                self.nameless.add(record);
                self.wanted.add(record);
            }
            (Owner::Other, _) => {}
        }
        Ok(())
    }

    fn fragment(&mut self, _: Range<u64>, reason: &'static str) -> Result<(), RepairError> {
        self.is_sound = false;
        self.in_doubt += u64::from(reason == IN_DOUBT);
        Ok(())
    }

    fn damage(&mut self) {
        self.is_sound = false;
    }
}

/// What is to be written.
struct Plan {
    is_sound: bool,
    choice: Choice,
    start: Start,
    /// The number of a start that is made up.
    start_number: f64,
    keeps_lenient: bool,
    renumbers: bool,
    /// Whether replays read the source.
    source_replays: bool,
    first_time: String,
    warnings: Vec<String>,
}

enum Start {
    Found(Range<u64>),
    /// JSON text of the payload.
    Invented(Vec<u8>),
}

impl Survey {
    /// Makes the records before the first `session_start` those of its session.
    fn join(&mut self) {
        if !std::mem::replace(&mut self.is_joined, true) {
            self.wanted = std::mem::take(&mut self.nameless);
        }
    }

    fn plan(mut self, work: &Work<'_>) -> Result<Plan, RepairError> {
        let path = || work.path.to_path_buf();
        if !self.has_records {
            return Err(match foreign::list_at(work.path) {
                Ok(Some((format, conversations))) => {
                    let records = conversations.iter().map(|conversation| conversation.records).sum();
                    RepairError::Foreign { path: path(), format, records }
                }
                _ => RepairError::NoRecords(path()),
            });
        }
        let sessions = std::mem::replace(&mut self.sessions, Sessions::new(None));
        let wanted = work.options.session_id.clone().unwrap_or_default();
        let choice = sessions.choose().map_err(|found| RepairError::NoSession { path: path(), wanted, found })?;
        if choice.takes == Takes::Both {
            self.join();
        }
        let mut warnings = work.text.warnings.clone();
        warnings.extend(self.warnings(&choice));
        let is_sound = self.is_sound && choice.others.is_empty();
        let found = if choice.takes == Takes::Nameless { self.nameless } else { self.wanted };
        found.plan(work, is_sound, choice, warnings)
    }

    fn warnings(&self, choice: &Choice) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.in_doubt > 0 {
            let count = self.in_doubt;
            warnings.push(format!(
                "Left out {count} objects that are records, or parts of a record that breaks off: nothing tells which"
            ));
        }
        if choice.others.iter().any(|other| other.session_id.is_none()) {
            warnings.push("Records before the first session_start are of another session: another sessionId and a projectHash repair it".to_owned());
        }
        if choice.unlisted > 0 {
            warnings.push(format!("{} further sessions of the file are not listed", choice.unlisted));
        }
        warnings
    }
}

impl Findings {
    fn plan(
        self,
        work: &Work<'_>,
        is_sound: bool,
        choice: Choice,
        mut warnings: Vec<String>,
    ) -> Result<Plan, RepairError> {
        let keeps_lenient = self.lenient_items > 0 && !self.has_strict_items;
        let ascent = if keeps_lenient { self.lenient } else { self.strict };
        warnings.extend(self.warnings());
        if keeps_lenient {
            warnings.push(format!("Kept {} items that strict replays do not read", self.lenient_items));
        }
        // A start that is made up is numbered as the one that is lost.
        let start_number = match &self.start {
            Some(start) => start.number,
            None => Some(if ascent.first().is_some_and(|first| first <= 1.0) { 0.0 } else { 1.0 }),
        };
        let renumbers = !ascent.ascends_after(start_number);
        if renumbers {
            warnings.push("All records have new numbers: forks of this session name the old ones".to_owned());
        }
        let drops_items = self.lenient_items > 0 && !keeps_lenient;
        let has_first_line = self.start.as_ref().is_some_and(|start| start.is_first);
        let first_time = self.first_time.unwrap_or_else(|| format!("\"{}\"", timestamp(work.options.now)));
        let start = match self.start {
            Some(start) => Start::Found(start.range),
            None => Start::Invented(invented(work, &first_time, &mut warnings)?),
        };
        Ok(Plan {
            is_sound: is_sound && !self.is_unsound && !renumbers && !drops_items && has_first_line,
            choice,
            start,
            start_number: start_number.filter(|_| !renumbers).unwrap_or(1.0),
            keeps_lenient,
            renumbers,
            source_replays: work.text.encoding == Encoding::Plain && has_first_line,
            first_time,
            warnings,
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.replaced > 0 {
            warnings.push(format!("Replaced bytes that are not UTF-8 by U+FFFD in {} records", self.replaced));
        }
        if let (nuls @ 1.., records) = self.nuls {
            warnings.push(format!("Dropped {nuls} NULs inside {records} records: what they replaced is lost"));
        }
        if self.utf16 > 0 {
            warnings.push(format!("Read {} records as UTF-16, in a file that is not", self.utf16));
        }
        let Some(start) = &self.start else { return warnings };
        if start.lacks_fields {
            warnings.push("The session_start lacked fields that resuming a session needs: they were added".to_owned());
        }
        if let Some(id) = &start.unsafe_id {
            warnings.push(unsafe_id_warning(id));
        }
        warnings
    }
}

/// The payload of a `session_start` for a session that has none.
fn invented(work: &Work<'_>, first_time: &str, warnings: &mut Vec<String>) -> Result<Vec<u8>, RepairError> {
    let Some(hash) = &work.options.project_hash else { return Err(RepairError::NoStart(work.path.to_path_buf())) };
    let given = work.options.session_id.clone().unwrap_or_else(|| id_in_name(work.path));
    let id = safe_id(&given);
    if id != given {
        warnings.push(unsafe_id_warning(&given));
    }
    let payload = JsonText::of_object(|json| {
        json.member("sessionId", &id);
        json.member("projectHash", hash);
        json.key("workspaceDirs").array(|_| ());
        json.member("provider", "unknown");
        json.member("model", "unknown");
        json.key("startTime").raw(first_time.as_bytes());
    });
    Ok(payload.into_bytes())
}

/// A line that the source does not have. `time` is JSON.
fn new_line(number: f64, time: &str, event_type: &str, payload: impl FnOnce(&mut JsonText)) -> Vec<u8> {
    let line = JsonText::of_object(|json| {
        json.member("v", &1);
        json.key("seq").number(number);
        json.key("ts").raw(time.as_bytes());
        json.member("type", event_type);
        payload(json.key("payload"));
    });
    line.into_bytes()
}

/// The id that the name of a session's file ends with, `session-2026-02-11T16-00-abcdefgh.jsonl`; all of another name.
fn id_in_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.split_once(".jsonl").map_or(&name[..], |(stem, _)| stem);
    let is_time =
        |text: &str| text.len() == 17 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'T'));
    let rest =
        stem.strip_prefix("session-").and_then(|rest| rest.split_at_checked(17)).filter(|(time, _)| is_time(time));
    let id = rest.map_or(stem, |(_, id)| id);
    let is_seconds = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = id.split_once('-').filter(|(seconds, _)| rest.is_some() && is_seconds(seconds)).map_or(id, |(_, id)| id);
    if id.is_empty() { "recovered".to_owned() } else { id.to_owned() }
}

/// Maximum length of an id that a lock can be named by, with what is added to it while the lock is being made.
const MAX_ID_LENGTH: usize = 200;

/// The id with nothing but what the name of a lock may have: without its lock, nothing resumes a session.
fn safe_id(id: &str) -> String {
    let safe = |character: char| {
        if matches!(character, 'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-') { character } else { '_' }
    };
    id.chars().map(safe).take(MAX_ID_LENGTH).collect()
}

fn unsafe_id_warning(id: &str) -> String {
    format!(
        "No lock can be named by the sessionId {id:?}, so that nothing could resume the session: it is now {}",
        safe_id(id)
    )
}

fn plain_text(string: Span, text: &[u8]) -> String {
    String::from_utf16_lossy(&decode(inside(string, text)).collect::<Vec<_>>())
}

fn start_fields(text: &[u8]) -> Option<StartFields> {
    let Line::Event(event) = Line::read(text, Mode::Lenient, &mut Nesting::default()) else { return None };
    let Body::SessionStart(fields) = event.body else { return None };
    fields
}

/// The members that a `session_start` lacks in strict replays, with values for them.
fn missing_members(fields: &StartFields, first_time: &str) -> Vec<(&'static str, String)> {
    let is_missing = |field: Option<Span>| field.is_none_or(|field| field.len() <= 2);
    let unknown = || "\"unknown\"".to_owned();
    let members = [
        (fields.provider, "provider", unknown()),
        (fields.model, "model", unknown()),
        (fields.start_time, "startTime", first_time.to_owned()),
    ];
    members.into_iter().filter(|(field, ..)| is_missing(*field)).map(|(_, name, value)| (name, value)).collect()
}

/// The members that a `session_start` gets, so that the session can be resumed.
fn added_members(text: &[u8], first_time: &str) -> Vec<(&'static str, String)> {
    let Some(fields) = start_fields(text) else { return Vec::new() };
    let mut members = missing_members(&fields, first_time);
    let id = plain_text(fields.session_id, text);
    let safe = safe_id(&id);
    if safe != id {
        members.push(("sessionId", format!("\"{safe}\"")));
    }
    members
}

/// The second pass: writes the records, and what became of them.
struct Writer<'w> {
    work: &'w Work<'w>,
    plan: &'w Plan,
    sessions: Sessions,
    selection: Selection,
    file: Option<BufWriter<StagedFile>>,
    map: Option<BufWriter<StagedFile>>,
    receipt: RepairReceipt,
    /// The last number that was written.
    last: f64,
    /// The number of the first line.
    start_number: f64,
    /// A fragment that may repeat the next record.
    pending: Option<(Range<u64>, String)>,
}

/// What became of a record or a fragment: a line of the receipt's file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'e> {
    offset: u64,
    length: u64,
    sha256: String,
    fate: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<serde_json::Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_seq: Option<serde_json::Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'e str>,
}

/// The first line of the receipt's file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Heading {
    source_bytes: u64,
    source_sha256: String,
    encoding: &'static str,
    renumbered: bool,
}

/// A line of the receipt's file about a part of an archive that can't be decompressed.
#[derive(Serialize)]
struct LostPart {
    offset: u64,
    length: u64,
    fate: &'static str,
    reason: &'static str,
}

/// The number as JSON, without a fraction that it does not have.
fn json_number(value: f64) -> Option<serde_json::Number> {
    let is_integer = value.fract() == 0.0 && value.abs() < 9e15;
    if is_integer { Some((value as i64).into()) } else { serde_json::Number::from_f64(value) }
}

fn hex(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&to_hex(&sha256([bytes]))).into_owned()
}

impl<'w> Writer<'w> {
    fn new(work: &'w Work<'w>, plan: &'w Plan, receipt: RepairReceipt) -> Self {
        Writer {
            work,
            plan,
            sessions: Sessions::new(plan.choice.wanted.clone()),
            selection: Selection::default(),
            file: None,
            map: None,
            receipt: RepairReceipt {
                renumbered: plan.renumbers,
                start_invented: matches!(plan.start, Start::Invented(_)),
                others: plan.choice.others.clone(),
                warnings: plan.warnings.clone(),
                ..receipt
            },
            last: 0.0,
            start_number: 0.0,
            pending: None,
        }
    }

    fn write(&mut self, task: &mut Task<'_>) -> Result<RepairReceipt, RepairError> {
        self.write_heading()?;
        if self.plan.is_sound {
            self.copy(task)?;
        }
        self.write_start()?;
        let work = self.work;
        work.search(self, task, work.text.source.size())?;
        self.end_pending(&[])?;
        let unlisted = self.receipt.fragment_count - self.receipt.fragments.len() as u64;
        if unlisted > 0 {
            self.receipt.warnings.push(format!("{unlisted} further fragments are not listed"));
        }
        if !self.plan.is_sound {
            self.write_note()?;
        }
        for file in [&mut self.file, &mut self.map].into_iter().flatten() {
            file.flush().map_err(failed("write"))?;
        }
        Ok(std::mem::take(&mut self.receipt))
    }

    fn write_heading(&mut self) -> Result<(), RepairError> {
        let heading = Heading {
            source_bytes: self.receipt.bytes,
            source_sha256: String::from_utf8_lossy(&to_hex(&self.receipt.sha256)).into_owned(),
            encoding: self.work.text.encoding.as_str(),
            renumbered: self.plan.renumbers,
        };
        self.write_entry(&heading)?;
        let work = self.work;
        work.text.lost.iter().try_for_each(|range| {
            let (offset, length) = (range.start, range.end - range.start);
            self.write_entry(&LostPart { offset, length, fate: "lost", reason: LOST_PART })
        })
    }

    fn write_entry(&mut self, entry: &impl Serialize) -> Result<(), RepairError> {
        let Some(map) = &mut self.map else { return Ok(()) };
        let text = serde_json::to_vec(entry).unwrap_or_default();
        Ok(map.write_all(&text).and_then(|()| map.write_all(b"\n")).map_err(failed("write"))?)
    }

    /// Copies a source with which nothing is wrong.
    fn copy(&mut self, task: &mut Task<'_>) -> Result<(), RepairError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let (source, mut at, mut chunk) = (&self.work.text.source, 0, vec![0; 256 << 10]);
        loop {
            task.check()?;
            let count = source.read_at(&mut chunk, at).map_err(|error| self.work.reading(error))?;
            if count == 0 {
                return Ok(());
            }
            file.write_all(&chunk[..count]).map_err(failed("write"))?;
            at += count as u64;
        }
    }

    fn write_line(&mut self, text: &[u8]) -> Result<(), RepairError> {
        let Some(file) = self.file.as_mut().filter(|_| !self.plan.is_sound) else { return Ok(()) };
        Ok(file.write_all(text).and_then(|()| file.write_all(b"\n")).map_err(failed("write"))?)
    }

    fn write_start(&mut self) -> Result<(), RepairError> {
        let text = match &self.plan.start {
            Start::Found(range) => {
                let text = text_of(&self.work.text.source, range).map_err(|error| self.work.reading(error))?;
                let Parsed::Record(envelope) = Envelope::parse(&text, &mut Nesting::default()) else {
                    return Err(RepairError::SourceChanged(self.work.path.to_path_buf()));
                };
                let members = added_members(&text, &self.plan.first_time);
                let (text, number) = self.numbered(&text, &envelope, &members);
                self.start_number = number;
                text.into_owned()
            }
            Start::Invented(payload) => {
                self.last = self.plan.start_number;
                new_line(self.last, &self.plan.first_time, "session_start", |json| json.raw(payload))
            }
        };
        self.write_line(&text)
    }

    /// The record as it is written, and its number.
    fn numbered<'t>(
        &mut self,
        text: &'t [u8],
        envelope: &Envelope,
        members: &[(&'static str, String)],
    ) -> (std::borrow::Cow<'t, [u8]>, f64) {
        let old = envelope.number(text);
        let number = if self.plan.renumbers { self.last + 1.0 } else { old.unwrap_or_default() };
        self.last = number;
        let (mut text, mut envelope) = (std::borrow::Cow::Borrowed(text), *envelope);
        if old != Some(number) {
            let (renumbered, moved) = with_number(&text, &envelope, number);
            (text, envelope) = (renumbered.into(), moved);
        }
        if let Some((with_version, moved)) = versioned(&text, &envelope, &mut Nesting::default()) {
            (text, envelope) = (with_version.into(), moved);
        }
        if !members.is_empty() {
            text = with_members(&text, envelope.payload.end, members).into();
        }
        (text, number)
    }

    /// Notes the repair in the session.
    fn write_note(&mut self) -> Result<(), RepairError> {
        let mut done = Vec::new();
        if self.work.text.encoding != Encoding::Plain {
            done.push(format!("decoded from {}", self.work.text.encoding.as_str()));
        }
        if self.plan.renumbers {
            done.push("all records renumbered".to_owned());
        }
        if self.receipt.start_invented {
            done.push("session_start made up".to_owned());
        }
        let (message, time) = (self.receipt.message(&done), format!("\"{}\"", timestamp(self.work.options.now)));
        let note = new_line(self.last + 1.0, &time, "session_event", |json| {
            json.object(|json| {
                json.member("severity", "info");
                json.member("message", &message);
            });
        });
        self.write_line(&note)
    }

    /// Reports the fragment before a record with this text, or before the end of the file.
    fn end_pending(&mut self, next: &[u8]) -> Result<(), RepairError> {
        let Some((range, reason)) = self.pending.take() else { return Ok(()) };
        let length = range.end - range.start;
        let is_attempt = length <= next.len() as u64 && {
            let mut bytes = Vec::new();
            let read = self.work.text.source.append_bytes_at(range.start, length as usize, &mut bytes);
            read.map_err(|error| self.work.reading(error))?;
            bytes.retain(|byte| *byte != 0);
            next.trim_ascii_start().starts_with(&bytes)
        };
        let reason = if is_attempt { "a failed attempt to write the record after it".to_owned() } else { reason };
        self.lose(&range, &reason, !is_attempt)
    }

    fn lose(&mut self, range: &Range<u64>, reason: &str, is_lost: bool) -> Result<(), RepairError> {
        let length = range.end - range.start;
        self.receipt.add(Fragment { offset: range.start, length, reason: reason.to_owned() }, is_lost);
        self.write_fate(range, if is_lost { "lost" } else { "repeated" }, None, None, Some(reason))
    }

    fn write_fate(
        &mut self,
        range: &Range<u64>,
        fate: &'static str,
        seq: Option<f64>,
        new_seq: Option<f64>,
        reason: Option<&str>,
    ) -> Result<(), RepairError> {
        if self.map.is_none() {
            return Ok(());
        }
        let (mut raw, length) = (Vec::new(), range.end - range.start);
        let read = self.work.text.source.append_bytes_at(range.start, length as usize, &mut raw);
        read.map_err(|error| self.work.reading(error))?;
        let (seq, new_seq) = (seq.and_then(json_number), new_seq.and_then(json_number));
        let entry = Entry { offset: range.start, length, sha256: hex(&raw), fate, seq, new_seq, reason };
        self.write_entry(&entry)
    }

    fn keep(&mut self, record: &FoundRecord<'_>) -> Result<(), RepairError> {
        let (text, number) = self.numbered(record.text, &record.envelope, &[]);
        self.write_line(&text)?;
        self.kept(record, number, "kept")
    }

    fn kept(&mut self, record: &FoundRecord<'_>, number: f64, fate: &'static str) -> Result<(), RepairError> {
        let is_recovered = !(self.plan.source_replays && record.is_seen);
        self.receipt.records += 1;
        self.receipt.recovered += u64::from(is_recovered);
        self.receipt.versioned += u64::from(!has_version(&record.envelope, record.text));
        self.receipt.lost_bytes += record.nuls;
        let seq = crate::session::format::number(record.envelope.seq.of(record.text));
        self.write_fate(&record.range, if is_recovered { "recovered" } else { fate }, seq, Some(number), None)
    }
}

impl Visitor for Writer<'_> {
    fn record(&mut self, record: &FoundRecord<'_>) -> Result<(), RepairError> {
        self.end_pending(record.text)?;
        let seq = crate::session::format::number(record.envelope.seq.of(record.text));
        if !self.plan.choice.takes.includes(self.sessions.owner_of(record)) {
            return self.write_fate(&record.range, "other", seq, None, None);
        }
        match self.selection.decide(record) {
            Fate::Start => self.kept(record, self.start_number, "kept"),
            Fate::Kept => self.keep(record),
            Fate::Recounted(count) => {
                let text = with_count_only(record.text, &record.envelope, count);
                let Parsed::Record(envelope) = Envelope::parse(&text, &mut Nesting::default()) else {
                    return Err(RepairError::SourceChanged(self.work.path.to_path_buf()));
                };
                self.keep(&FoundRecord { text: &text, envelope, range: record.range.clone(), ..*record })
            }
            Fate::Lenient if self.plan.keeps_lenient => self.keep(record),
            Fate::Lenient => self.lose(&record.range, "an item that strict replays do not read", true),
            Fate::Refused(reason) => self.lose(&record.range, &reason, true),
            Fate::Duplicate => {
                self.receipt.duplicates += 1;
                self.write_fate(&record.range, "duplicate", seq, None, None)
            }
        }
    }

    fn fragment(&mut self, range: Range<u64>, reason: &'static str) -> Result<(), RepairError> {
        self.end_pending(&[])?;
        self.pending = Some((range, reason.to_owned()));
        Ok(())
    }

    fn damage(&mut self) {}
}

/// The text of a record that was found in this range.
fn text_of(source: &LineSource, range: &Range<u64>) -> Result<Vec<u8>, ReadError> {
    let mut raw = Vec::new();
    let length = usize::try_from(range.end - range.start).map_err(|_| ReadError::Changed)?;
    source.append_bytes_at(range.start, length, &mut raw)?;
    let clean = cleaned(&raw).into_owned();
    Ok(replaced(&clean).unwrap_or(clean))
}
