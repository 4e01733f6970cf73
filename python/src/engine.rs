//! The threads that convert recordings. What they give is taken in the order in which it was handed to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use session_tape::{
    Cancellation, FileHash, FinalHistory, LineSource, Pipeline, ReadError, Recording, Worker, spare_cores,
};

use crate::convert::{Converted, Converter, Parts, Tables, of_arrow, parts_of, scan_part};
use crate::export_group::{Group, Written, write_group};
use crate::identity::Identity;
use crate::input::{Content, Input, is_archive, log_of, read_failed};
use crate::options::Options;
use crate::parquet_file::{EncodedRows, Encoder};
use crate::peek::{Peeked, Peeker};
use crate::schema::Table;
use crate::session_scan::{LineColumns, ScannedPart, Scanner};
use crate::session_table::{FileFacts, Session, SessionTables};

/// More threads than this need more memory than a conversion may have.
const MOST_HELPERS: usize = 15;

/// Small recordings are handed over together: up to so many bytes and so many files.
pub const GROUP_BYTES: u64 = 2 << 20;
pub const GROUP_FILES: usize = 256;

/// A session from this size on is read in parts, by several threads.
pub const LARGE_BYTES: u64 = 8 << 20;

/// What a thread is to do.
pub enum Job {
    /// Convert whole recordings.
    Convert(Vec<Input>),
    /// Scan a part of a session.
    Scan(Arc<Parts>, usize),
    /// Encode a row group.
    Encode(Table, Encoder, Vec<RecordBatch>),
    /// Look at recordings before they are exported.
    Peek(Vec<Input>, bool),
    /// Convert recordings and write them to files.
    Write(Box<Group>),
}

/// What it has done.
pub enum Done {
    Converted(Result<Tables, String>),
    Scanned(Box<(LineColumns, Result<ScannedPart, ReadError>)>),
    Encoded(Table, Result<EncodedRows, String>),
    Peeked(Vec<Peeked>),
    Written(Box<Result<Written, String>>),
}

struct Thread {
    options: Options,
    converter: Converter,
    scanner: Scanner,
    cancelled: Arc<AtomicBool>,
}

impl Thread {
    fn new(options: &Options, cancelled: &Arc<AtomicBool>) -> Self {
        Thread {
            converter: Converter::new(options.clone(), cancelled.clone()),
            scanner: Scanner::new(options.clone()),
            options: options.clone(),
            cancelled: cancelled.clone(),
        }
    }

    fn convert(&mut self, inputs: &[Input]) -> Result<Tables, String> {
        let (mut batches, mut converted) = (Vec::new(), Vec::new());
        let mut take = |table, batch| {
            batches.push((table, batch));
            Ok(())
        };
        for input in inputs {
            converted.push(self.converter.convert(input, &mut take)?);
        }
        self.converter.finish(&mut take)?;
        Ok((batches, converted))
    }
}

impl Worker for Thread {
    type Job = Job;
    type Output = Done;

    fn work(&mut self, job: Job) -> Done {
        match job {
            Job::Convert(inputs) => {
                let converted = self.convert(&inputs);
                if converted.is_err() {
                    self.converter = Converter::new(self.options.clone(), self.cancelled.clone());
                }
                Done::Converted(converted)
            }
            Job::Scan(parts, at) => Done::Scanned(Box::new(scan_part(&mut self.scanner, &parts, at))),
            Job::Encode(table, encoder, batches) => {
                Done::Encoded(table, encoder.encode(&batches).map_err(|error| error.to_string()))
            }
            Job::Peek(inputs, hash) => {
                let mut peeker = Peeker::new(hash, &self.options, &self.cancelled);
                Done::Peeked(inputs.into_iter().map(|input| peeker.peek(input)).collect())
            }
            Job::Write(group) => Done::Written(Box::new(write_group(*group, &self.options, &self.cancelled))),
        }
    }
}

/// The threads, and what they have done before its turn.
pub struct Engine {
    pipeline: Pipeline<Thread>,
    cancellation: Cancellation,
    room: usize,
    early: BTreeMap<u64, Done>,
    next: u64,
    pushed: u64,
}

impl Engine {
    /// Threads for all cores. They are started when there is work.
    pub fn new(options: &Options, cancelled: &Arc<AtomicBool>) -> Self {
        let helpers = spare_cores().min(MOST_HELPERS);
        let thread = || Thread::new(options, cancelled);
        let room = 2 * (helpers + 1);
        let pipeline = Pipeline::parallel(thread(), (0..helpers).map(|_| thread()).collect(), room);
        Engine { pipeline, cancellation: cancelled.clone().into(), room, early: BTreeMap::new(), next: 0, pushed: 0 }
    }

    /// Whether results must be taken before more is handed over.
    pub fn is_full(&self) -> bool {
        self.pipeline.under_way() + self.early.len() >= self.room
    }

    /// Hands over a job.
    pub fn push(&mut self, job: Job) {
        // Threads that are started are of the work that is cancelled.
        self.cancellation.during(|| self.pipeline.push(job));
        self.pushed += 1;
    }

    /// Ends what is under way, and waits for it: a thread that still writes would leave its files.
    pub fn stop(&mut self, cancelled: &AtomicBool) {
        cancelled.store(true, Ordering::Relaxed);
        while self.next().is_some() {}
    }

    /// The next result, in the order of the jobs. `None` if there is none under way.
    pub fn next(&mut self) -> Option<Done> {
        if self.next == self.pushed {
            return None;
        }
        loop {
            if let Some(done) = self.early.remove(&self.next) {
                self.next += 1;
                return Some(done);
            }
            let (number, done) = self.cancellation.during(|| self.pipeline.next_output())?;
            self.early.insert(number, done);
        }
    }
}

/// A large session whose parts are scanned by several threads and put together here.
pub struct LargeSession {
    parts: Arc<Parts>,
    history: FinalHistory,
    session: Session,
    name: String,
    hash: FileHash,
    needs_hash: bool,
    handed_over: usize,
    taken: usize,
    error: Option<String>,
    /// Holds what was unpacked.
    _recording: Option<Recording>,
}

impl LargeSession {
    /// Opens a session, also one in a bundle, which is verified until `cancelled` is set. `None` if it is not large or can't be read: then it
    /// is converted as a whole.
    pub fn open(input: &Input, needs_hash: bool, cancelled: &AtomicBool) -> Option<Self> {
        if !input.is_large() {
            return None;
        }
        let (source, recording) = match &input.content {
            Content::Path(path) if input.is_packed() => {
                let recording = Recording::open(path, cancelled).ok().filter(|recording| !recording.is_run())?;
                (LineSource::open(log_of(&recording)).ok()?, Some(recording))
            }
            _ => (input.open().ok().filter(|source| !is_archive(source))?, None),
        };
        let (parts, history) = parts_of(source).ok()?;
        Some(LargeSession {
            parts: Arc::new(parts),
            history,
            session: Session::new(&input.name),
            name: input.name.clone(),
            hash: FileHash::default(),
            needs_hash,
            handed_over: 0,
            taken: 0,
            error: None,
            _recording: recording,
        })
    }

    /// The next job, unless all parts were handed over.
    pub fn next_job(&mut self) -> Option<Job> {
        if self.next_is_none() {
            return None;
        }
        self.handed_over += 1;
        Some(Job::Scan(self.parts.clone(), self.handed_over - 1))
    }

    /// Whether no part is still to be handed over.
    pub fn next_is_none(&self) -> bool {
        self.error.is_some() || self.handed_over == self.parts.ranges.len()
    }

    /// Whether some parts were handed over and not taken.
    pub fn is_under_way(&self) -> bool {
        self.taken < self.handed_over
    }

    /// Takes the next part. Returns its rows, and how many bytes of the file are taken.
    pub fn take(
        &mut self,
        columns: LineColumns,
        scanned: Result<ScannedPart, ReadError>,
        tables: &mut SessionTables,
    ) -> Result<Option<RecordBatch>, String> {
        let at = self.taken;
        self.taken += 1;
        if self.error.is_some() {
            return Ok(None);
        }
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(error) => {
                self.error = Some(read_failed(&error));
                return Ok(None);
            }
        };
        if self.needs_hash {
            self.hash.add(&self.parts.lines, scanned.part.end);
        }
        tables.set_lines(columns);
        // Behind a line that goes on to the end of the file there may be parts without lines.
        let is_last = scanned.part.end >= self.parts.lines.size();
        self.session.take(scanned, self.history.remaining(at), is_last, tables);
        let batch = if tables.event_rows() > 0 { Some(tables.take_events().map_err(of_arrow)?) } else { None };
        Ok(batch)
    }

    /// How many bytes the part has that was taken last.
    pub fn taken_bytes(&self) -> u64 {
        let range = self.taken.checked_sub(1).and_then(|at| self.parts.ranges.get(at));
        range.map_or(0, |range| range.end - range.start)
    }

    /// Ends the session.
    pub fn finish(self, tables: &mut SessionTables) -> Converted {
        let facts = if self.needs_hash { self.hash.finish(&self.parts.lines).into() } else { FileFacts::default() };
        let identity = Identity::of_file(&facts);
        self.session.finish(facts, self.error, tables);
        Converted { name: self.name, identity }
    }
}
