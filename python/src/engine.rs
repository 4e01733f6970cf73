//! The threads that convert recordings. What they give is taken in the order in which it was handed to them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use session_tape::{
    Cancellation, FileHash, FinalHistory, InOrder, LineSource, Pipeline, ReadError, Recording, Worker, spare_cores,
};

use crate::allocator;
use crate::convert::{Converted, Converter, PART_BYTES, Parts, Tables, of_arrow, parts_of, scan_part};
use crate::export_group::{Group, Written, write_group};
use crate::identity::Identity;
use crate::input::{Content, Input, is_archive, log_of, read_failed};
use crate::interrupt::Progress;
use crate::options::Options;
use crate::parquet_file::{EncodedRows, FullRows};
use crate::peek::{Peeked, Peeker};
use crate::schema::Table;
use crate::session_scan::{LineColumns, ScannedPart, Scanner};
use crate::session_table::{FileFacts, Session, SessionTables};

/// More threads than this need more memory than a conversion may have.
const MOST_THREADS: usize = 8;

/// The variable with the number of threads, where it is not to be that of the cores.
const THREADS: &str = "SESSION_TAPE_THREADS";

/// What jobs that are under way, and results that wait for their turn, may need together. No job is handed over beyond it, whatever the number
/// of threads.
const BUDGET_BYTES: u64 = 64 << 20;

/// What a part of a session needs while it is scanned, as far as it is known before.
const SCAN_BYTES: u64 = 4 * PART_BYTES;

/// What a line needs in columns and in its context, beside its texts.
const LINE_BYTES: u64 = 700;

/// What a thread needs that converts recordings and writes them.
const WRITE_BYTES: u64 = 8 << 20;

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
    Scan(Arc<Parts>, usize, Box<LineColumns>),
    /// Encode a row group.
    Encode(Table, FullRows),
    /// Look at recordings before they are exported.
    Peek(Vec<Input>, bool),
    /// Convert recordings and write them to files.
    Write(Box<Group>),
}

impl Job {
    /// What it needs while it is under way, about.
    fn bytes(&self) -> u64 {
        match self {
            // Rows have more bytes than the lines that they are of.
            Job::Convert(inputs) => 3 * inputs.iter().map(Input::size).sum::<u64>(),
            Job::Scan(..) => SCAN_BYTES,
            Job::Encode(_, rows) => rows.bytes() as u64,
            Job::Peek(..) => 0,
            Job::Write(_) => WRITE_BYTES,
        }
    }
}

/// What it has done.
pub enum Done {
    Converted(Result<Tables, String>),
    Scanned(Box<(LineColumns, Result<ScannedPart, ReadError>)>),
    Encoded(Table, Result<EncodedRows, String>),
    Peeked(Vec<Peeked>),
    Written(Box<Result<Written, String>>),
}

impl Done {
    /// What it needs until its turn, about.
    fn bytes(&self) -> u64 {
        match self {
            Done::Converted(Ok((batches, _))) => batches.iter().map(|(_, batch)| bytes_of(batch)).sum(),
            Done::Scanned(scanned) => scanned.1.as_ref().map_or(0, |scanned| {
                let read = scanned.part.begin.map_or(0, |begin| scanned.part.end - begin);
                2 * read + LINE_BYTES * scanned.part.lines
            }),
            Done::Encoded(_, Ok(encoded)) => encoded.bytes() as u64,
            Done::Converted(Err(_)) | Done::Encoded(_, Err(_)) | Done::Peeked(_) | Done::Written(_) => 0,
        }
    }
}

fn bytes_of(batch: &RecordBatch) -> u64 {
    batch.get_array_memory_size() as u64
}

/// How many threads work, the one that takes the results among them.
fn threads() -> usize {
    let wanted = std::env::var(THREADS).ok().and_then(|number| number.trim().parse().ok());
    wanted.unwrap_or(spare_cores() + 1).clamp(1, MOST_THREADS)
}

struct Thread {
    options: Options,
    converter: Converter,
    scanner: Scanner,
    cancelled: Arc<AtomicBool>,
    progress: Arc<Progress>,
}

impl Thread {
    fn new(options: &Options, cancelled: &Arc<AtomicBool>, progress: &Arc<Progress>) -> Self {
        Thread {
            converter: Converter::new(options.clone(), cancelled.clone(), progress.clone()),
            scanner: Scanner::new(options.clone()),
            options: options.clone(),
            cancelled: cancelled.clone(),
            progress: progress.clone(),
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
                    self.converter =
                        Converter::new(self.options.clone(), self.cancelled.clone(), self.progress.clone());
                }
                Done::Converted(converted)
            }
            Job::Scan(parts, at, columns) => {
                Done::Scanned(Box::new(scan_part(&mut self.scanner, &parts, at, *columns)))
            }
            Job::Encode(table, rows) => Done::Encoded(table, rows.encode().map_err(|error| error.to_string())),
            Job::Peek(inputs, hash) => {
                let mut peeker = Peeker::new(hash, &self.options, &self.cancelled);
                Done::Peeked(inputs.into_iter().map(|input| peeker.peek(input)).collect())
            }
            Job::Write(group) => {
                Done::Written(Box::new(write_group(*group, &self.options, &self.cancelled, &self.progress)))
            }
        }
    }
}

/// The threads, and what they have done before its turn.
pub struct Engine {
    pipeline: Pipeline<Thread>,
    cancellation: Cancellation,
    room: usize,
    /// What each job from the next result on needs, and all of them together.
    needs: VecDeque<u64>,
    needed: u64,
    results: InOrder<Done>,
}

impl Engine {
    /// Threads for all cores. They are started when there is work.
    pub fn new(options: &Options, cancelled: &Arc<AtomicBool>, progress: &Arc<Progress>) -> Self {
        let (threads, thread) = (threads(), || Thread::new(options, cancelled, progress));
        allocator::prepare(threads);
        let room = 2 * threads;
        Engine {
            pipeline: Pipeline::parallel(thread(), (1..threads).map(|_| thread()).collect(), room),
            cancellation: cancelled.clone().into(),
            room,
            needs: VecDeque::new(),
            needed: 0,
            results: InOrder::default(),
        }
    }

    /// Whether results must be taken before more is handed over.
    pub fn is_full(&self) -> bool {
        self.pipeline.under_way() + self.results.waiting() >= self.room || self.needed >= BUDGET_BYTES
    }

    /// Hands over a job.
    pub fn push(&mut self, job: Job) {
        self.needs.push_back(job.bytes());
        self.needed += job.bytes();
        // Threads that are started are of the work that is cancelled.
        self.cancellation.during(|| self.pipeline.push(job));
    }

    /// Ends what is under way, and waits for it: a thread that still writes would leave its files.
    pub fn stop(&mut self, cancelled: &AtomicBool) {
        cancelled.store(true, Ordering::Relaxed);
        while self.next().is_some() {}
    }

    /// The next result, in the order of the jobs. `None` if there is none under way.
    pub fn next(&mut self) -> Option<Done> {
        let (first, needs, needed) = (self.results.next_number(), &mut self.needs, &mut self.needed);
        let done = self.results.next(|| {
            let (number, done) = self.cancellation.during(|| self.pipeline.next_output())?;
            if let Some(need) = needs.get_mut((number - first) as usize) {
                *needed = *needed - *need + done.bytes();
                *need = done.bytes();
            }
            Some((number, done))
        })?;
        self.needed -= self.needs.pop_front().unwrap_or(0);
        Some(done)
    }
}

/// A large session whose parts are scanned by several threads and put together here.
pub struct LargeSession {
    parts: Arc<Parts>,
    history: FinalHistory,
    session: Session,
    name: String,
    /// Columns without rows, which have room for some.
    spare: LineColumns,
    hash: FileHash,
    needs_hash: bool,
    handed_over: usize,
    taken: usize,
    error: Option<String>,
    progress: Arc<Progress>,
    /// Holds what was unpacked.
    _recording: Option<Recording>,
}

impl LargeSession {
    /// Opens a session, also one in a bundle, which is verified until `cancelled` is set. `None` if it is not large or can't be read: then it
    /// is converted as a whole.
    pub fn open(input: &Input, needs_hash: bool, cancelled: &AtomicBool, progress: &Arc<Progress>) -> Option<Self> {
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
            spare: LineColumns::default(),
            hash: FileHash::default(),
            needs_hash,
            handed_over: 0,
            taken: 0,
            error: None,
            progress: progress.clone(),
            _recording: recording,
        })
    }

    /// The next job, unless all parts were handed over.
    pub fn next_job(&mut self) -> Option<Job> {
        if self.next_is_none() {
            return None;
        }
        self.handed_over += 1;
        Some(Job::Scan(self.parts.clone(), self.handed_over - 1, Box::new(std::mem::take(&mut self.spare))))
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
        self.progress.add_bytes(self.parts.ranges.get(at).map_or(0, |range| range.end - range.start));
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
        self.spare = tables.set_lines(LineColumns::default());
        Ok(batch)
    }

    /// Makes rows of some calls, if there are too many left for one batch.
    pub fn drain_calls(&mut self, tables: &mut SessionTables) -> bool {
        self.session.drain_calls(tables)
    }

    /// Ends the session.
    pub fn finish(self, tables: &mut SessionTables) -> Converted {
        let facts = if self.needs_hash { self.hash.finish(&self.parts.lines).into() } else { FileFacts::default() };
        let identity = Identity::of_file(&facts);
        self.session.finish(facts, self.error, tables);
        Converted { name: self.name, identity }
    }
}
