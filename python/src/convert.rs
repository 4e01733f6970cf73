//! Converts recordings to rows, on any thread.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use session_tape_core::foreign::Origins;
use session_tape_core::{FinalHistory, LineSource, ReadError, equal_segments};

use crate::columns::{BATCH_BYTES, BATCH_ROWS};
use crate::failure::Failure;
use crate::file_facts::FileFacts;
use crate::input::{Content, Input, log_of, read_failed};
use crate::interrupt::Progress;
use crate::on_disk::{IN_MEMORY, OnDisk, Refused};
use crate::open_session::{FromOther, OpenSession};
use crate::options::Options;
use crate::rows::FileHash;
use crate::run_tables::RunTables;
use crate::schema::Table;
use crate::session_scan::{LineColumns, ScannedPart, Scanner, SessionText};
use crate::session_table::{Session, SessionTables};
use session_tape_core::Cancellation;

/// Size in bytes above which a session is read in parts.
const ONE_PART_BYTES: u64 = 4 << 20;

/// Size of a part in bytes, and its maximum number of lines: a batch should not get many more rows than it needs. Several parts of a large session
/// are read in parallel.
pub const PART_BYTES: u64 = session_tape_core::SEGMENT_BYTES;
const PART_LINES: usize = 8192;

/// Size in bytes from which a session shares no batch with others, so that the rows of a part that cannot be read to its end can be discarded.
const ALONE_BYTES: u64 = 1 << 20;

/// Batches of rows by table, and the recordings that they were converted from.
pub type Tables = (Vec<(Table, RecordBatch)>, Vec<Converted>);

/// Receives the batches of a table.
pub type Batches<'b> = &'b mut dyn FnMut(Table, RecordBatch) -> Result<(), Failure>;

/// Converts whole recordings to rows. A batch may have rows of several recordings.
pub struct Converter {
    options: Options,
    scanner: Scanner,
    sessions: SessionTables,
    runs: RunTables,
    /// Bytes of the lines whose events are not in a batch yet.
    read: u64,
    cancelled: Cancellation,
    progress: Arc<Progress>,
    /// Bytes of the recording that were added to the progress.
    reported: u64,
}

/// A recording that was converted.
#[derive(Clone, Debug)]
pub struct Converted {
    pub name: String,
    pub bytes: u64,
    /// Why it is no session or run, or could not be read.
    pub error: Option<String>,
}

impl Converter {
    /// Creates a converter for the tables that `options` selects.
    pub fn new(options: Options, cancelled: Cancellation, progress: Arc<Progress>) -> Self {
        let (sessions, runs) = (SessionTables::new(options.clone()), RunTables::new(options.clone()));
        Converter {
            scanner: Scanner::new(options.clone()),
            options,
            sessions,
            runs,
            read: 0,
            cancelled,
            progress,
            reported: 0,
        }
    }

    /// Converts a recording. An error of the recording itself goes into its row; `Err` is returned for cancellation and for failures of the
    /// conversion.
    pub fn convert(&mut self, input: &Input, batches: Batches<'_>) -> Result<Converted, Failure> {
        self.reported = 0;
        let converted = if let Content::Nothing(error) = &input.content {
            self.add_error(&input.name, error)
        } else if self.options.is_of_runs() {
            self.convert_run(input, batches)?
        } else {
            self.convert_session(input, batches)?
        };
        // After a cancellation, reading may have stopped anywhere.
        if self.cancelled.is_cancelled() {
            return Err(CANCELLED.into());
        }
        self.progress.add_bytes(converted.bytes.saturating_sub(self.reported));
        Ok(converted)
    }

    /// Hands out the remaining rows.
    pub fn finish(&mut self, batches: Batches<'_>) -> Result<(), Failure> {
        if self.sessions.event_rows() > 0 {
            batches(Table::Events, self.sessions.take_events()?)?;
        }
        if self.runs.event_rows() > 0 {
            batches(Table::RunEvents, self.runs.take_events()?)?;
        }
        for (is_wanted, table, batch) in [
            (self.options.tool_calls, Table::ToolCalls, self.sessions.take_calls()),
            (self.options.sessions, Table::Sessions, self.sessions.take_sessions()),
            (self.options.runs, Table::Runs, self.runs.take_runs()),
        ] {
            let batch = batch?;
            if is_wanted && batch.num_rows() > 0 {
                batches(table, batch)?;
            }
        }
        Ok(())
    }

    fn add_error(&mut self, name: &str, error: &str) -> Converted {
        self.add_refused(name, Refused::unread(error.to_owned()))
    }

    fn add_refused(&mut self, name: &str, Refused { file, error }: Refused) -> Converted {
        let bytes = file.bytes;
        if self.options.is_of_runs() {
            self.runs.add_error(name, &file, &error);
        } else {
            Session::new(name).finish(file, Some(error.clone()), &mut self.sessions);
        }
        Converted { name: name.to_owned(), bytes, error: Some(error) }
    }

    fn convert_session(&mut self, input: &Input, batches: Batches<'_>) -> Result<Converted, Failure> {
        let (progress, reported) = (&self.progress, &mut self.reported);
        let opened = OpenSession::open(input, &self.cancelled, &mut |read| {
            progress.add_bytes(read.saturating_sub(*reported));
            *reported = read.max(*reported);
        });
        match opened {
            Ok(opened) => self.convert_lines(&input.name, opened, batches),
            Err(refused) => Ok(self.add_refused(&input.name, refused)),
        }
    }

    fn convert_lines(&mut self, name: &str, opened: OpenSession, batches: Batches<'_>) -> Result<Converted, Failure> {
        let mut session = Session::of(name, &opened);
        let OpenSession { lines, converted, recording: _recording, .. } = opened;
        let (origins, mut file) = match converted {
            Some(FromOther { origins, file, .. }) => (Some(origins), SessionFile::Converted(file)),
            None => (None, SessionFile::Native(Box::new(self.options.file_hash()))),
        };
        let (source, history) = match parts_of(lines, origins) {
            Ok(parts) => parts,
            Err(error) => return Ok(self.add_error(name, &error)),
        };
        let mut error = None;
        let is_alone = source.text.lines.size() >= ALONE_BYTES;
        for (at, range) in source.ranges.iter().enumerate() {
            if is_alone && self.sessions.event_rows() > 0 {
                batches(Table::Events, self.sessions.take_events()?)?;
            }
            if self.cancelled.is_cancelled() {
                return Err(CANCELLED.into());
            }
            match self.scanner.scan(&source.text, range.clone(), file.hash(), self.sessions.lines_mut()) {
                Ok(scanned) => {
                    let (lines, end) = (&source.text.lines, scanned.part.end);
                    let is_last = end >= lines.size();
                    if let Some(hash) = file.hash() {
                        hash.add(lines, end);
                        let bytes = range.end.min(lines.size()) - range.start;
                        self.progress.add_bytes(bytes);
                        self.reported += bytes;
                    }
                    self.read += scanned.part.end - scanned.part.begin.unwrap_or(scanned.part.end);
                    session.take(scanned, &history, at, is_last, &mut self.sessions);
                }
                Err(found) => {
                    // The scan has added values of lines that no session will take.
                    self.sessions.set_lines(LineColumns::default());
                    error = Some(read_failed(&found));
                    break;
                }
            }
            // If `events` is not wanted, lines give no rows, and there is no batch to hand out.
            if self.sessions.event_rows() >= BATCH_ROWS || self.read >= BATCH_BYTES as u64 {
                self.read = 0;
                if self.sessions.event_rows() > 0 {
                    batches(Table::Events, self.sessions.take_events()?)?;
                }
            }
            if self.sessions.has_call_batch() {
                batches(Table::ToolCalls, self.sessions.take_calls()?)?;
            }
        }
        while session.drain_calls(&mut self.sessions) {
            batches(Table::ToolCalls, self.sessions.take_calls()?)?;
        }
        let facts = file.finish(&source.text.lines);
        let bytes = facts.bytes;
        let error = session.finish(facts, error, &mut self.sessions);
        Ok(Converted { name: name.to_owned(), bytes, error })
    }

    fn convert_run(&mut self, input: &Input, batches: Batches<'_>) -> Result<Converted, Failure> {
        let file = OnDisk::of(input).ok_or(IN_MEMORY)?;
        let recording = match file.open(true, &self.cancelled) {
            Ok(recording) => recording,
            Err(refused) => return Ok(self.add_refused(&input.name, refused)),
        };
        let facts = FileFacts::of(log_of(&recording), self.options.file_hash());
        let (cancelled, progress, reported) = (&self.cancelled, &self.progress, &mut self.reported);
        let error = self.runs.add(&file, &recording, &facts, cancelled, &mut |runs, read| {
            progress.add_bytes(read.saturating_sub(*reported));
            *reported = read.max(*reported);
            if runs.has_event_batch() {
                batches(Table::RunEvents, runs.take_events()?)?;
            }
            Ok(())
        })?;
        Ok(Converted { name: input.name.clone(), bytes: facts.bytes, error })
    }
}

/// The error of a conversion that was cancelled.
pub const CANCELLED: &str = "cancelled";

/// The file of a session, and the byte ranges of its parts.
pub struct Parts {
    pub text: SessionText,
    pub ranges: Vec<Range<u64>>,
}

/// The file of a session, whose size and hash its row has.
pub enum SessionFile {
    /// It is hashed while its lines are read.
    Native(Box<FileHash>),
    /// It was hashed when it was converted.
    Converted(FileFacts),
}

impl SessionFile {
    /// What hashes the lines that are read, if those are the file.
    pub fn hash(&mut self) -> Option<&mut FileHash> {
        match self {
            SessionFile::Native(hash) => Some(hash),
            SessionFile::Converted(_) => None,
        }
    }

    /// The size and the hash, once all lines are read.
    pub fn finish(self, lines: &LineSource) -> FileFacts {
        match self {
            SessionFile::Native(hash) => hash.finish(lines).into(),
            SessionFile::Converted(file) => file,
        }
    }
}

/// Splits a session into the parts in which it is read, and finds out which of their items are in the final history.
pub fn parts_of(source: LineSource, origins: Option<Origins>) -> Result<(Parts, FinalHistory), String> {
    let (size, lines) = (source.size(), Arc::new(source));
    if size <= ONE_PART_BYTES && !has_many_lines(&lines) {
        // At least one byte, so that an empty file has a part too.
        let history = FinalHistory::of_one(&lines).map_err(|error| read_failed(&error))?;
        let text = SessionText { lines, origins };
        return Ok((Parts { text, ranges: std::iter::once(0..size.max(1)).collect() }, history));
    }
    let ranges: Vec<_> = equal_segments(&lines, 0).collect();
    let found = FinalHistory::find(&lines, ranges, PART_LINES).map_err(|error| read_failed(&error))?;
    let (ranges, history) = found;
    Ok((Parts { text: SessionText { lines, origins }, ranges }, history))
}

/// Number of bytes in which lines are counted at a time.
const COUNTED_BYTES: usize = 16 << 10;

/// Whether a file that would be read as one part has more lines than a part may have. `false` if it cannot be read.
fn has_many_lines(source: &LineSource) -> bool {
    let (size, mut scratch, mut lines) = (source.size(), Vec::new(), 0);
    if size <= PART_LINES as u64 {
        return false;
    }
    for at in (0..size).step_by(COUNTED_BYTES) {
        let count = (size - at).min(COUNTED_BYTES as u64) as usize;
        let Ok(bytes) = source.bytes_at(at, count, &mut scratch) else { return false };
        lines += memchr::memchr_iter(b'\n', bytes).count();
        if lines > PART_LINES {
            return true;
        }
    }
    false
}

/// Scans a part of a session independently of the parts before it. Returns `columns` with the values of its lines added.
pub fn scan_part(
    scanner: &mut Scanner,
    parts: &Parts,
    at: usize,
    mut columns: LineColumns,
) -> (LineColumns, Result<ScannedPart, ReadError>) {
    let scanned = scanner.scan(&parts.text, parts.ranges[at].clone(), None, &mut columns);
    (columns, scanned)
}
