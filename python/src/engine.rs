//! The threads that convert recordings. Their results are taken in the order of the jobs.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use session_tape_core::{Cancellation, FinalHistory, InOrder, Pipeline, ReadError, Recording, Worker, spare_cores};

use crate::convert::{Converted, Converter, PART_BYTES, Parts, SessionFile, Tables, parts_of, scan_part};
use crate::failure::Failure;
use crate::input::{Input, read_failed};
use crate::interrupt::Progress;
use crate::open_session::{FromOther, OpenSession};
use crate::options::Options;
use crate::peek::{Peeked, Peeker};
use crate::rows::FileHash;
use crate::session_scan::{LineColumns, ScannedPart, Scanner};
use crate::session_table::{Session, SessionTables};

/// Maximum number of threads: more of them would need more memory than a conversion may use.
const MAX_THREADS: usize = 8;

/// Environment variable that sets the number of threads; by default it is the number of cores.
const THREADS: &str = "SESSION_TAPE_THREADS";

/// Memory in bytes that running jobs, and results that wait for their turn, may need together. Once it is reached, no further job is handed over,
/// whatever the number of threads.
const BUDGET_BYTES: u64 = 48 << 20;

/// Estimated memory for scanning a part of a session, in bytes.
const SCAN_BYTES: u64 = 4 * PART_BYTES;

/// Estimated memory that a line takes in columns and in its context, in bytes, in addition to its texts.
const LINE_BYTES: u64 = 700;

/// Number of bytes and of files at which a group of small recordings is handed over.
pub const GROUP_BYTES: u64 = 2 << 20;
pub const GROUP_FILES: usize = 256;

/// A job of a thread.
pub enum Job {
    /// Convert whole recordings.
    Convert(Vec<Input>),
    /// Scan a part of a session.
    Scan(Arc<Parts>, usize, Box<LineColumns>),
    /// Look at recordings before they are written to tables.
    Peek(Vec<Input>),
}

impl Job {
    /// Estimated memory in bytes that the job needs while it is under way.
    fn bytes(&self) -> u64 {
        match self {
            // Rows take more bytes than the lines that they come from.
            Job::Convert(inputs) => 3 * inputs.iter().map(Input::size).sum::<u64>(),
            Job::Scan(..) => SCAN_BYTES,
            Job::Peek(_) => 0,
        }
    }
}

/// The result of a job.
pub enum Done {
    Converted(Result<Tables, Failure>),
    Scanned(Box<(LineColumns, Result<ScannedPart, ReadError>)>),
    Peeked(Vec<Peeked>),
}

impl Done {
    /// Estimated memory in bytes that the result takes until its turn.
    fn bytes(&self) -> u64 {
        match self {
            Done::Converted(Ok((batches, _))) => batches.iter().map(|(_, batch)| bytes_of(batch)).sum(),
            Done::Scanned(scanned) => scanned.1.as_ref().map_or(0, |scanned| {
                let read = scanned.part.begin.map_or(0, |begin| scanned.part.end - begin);
                2 * read + LINE_BYTES * scanned.part.lines
            }),
            Done::Converted(Err(_)) | Done::Peeked(_) => 0,
        }
    }
}

fn bytes_of(batch: &RecordBatch) -> u64 {
    batch.get_array_memory_size() as u64
}

/// The number of threads that work, including the one that takes the results.
fn threads() -> usize {
    let wanted = std::env::var(THREADS).ok().and_then(|number| number.trim().parse().ok());
    wanted.unwrap_or(spare_cores() + 1).clamp(1, MAX_THREADS)
}

struct Thread {
    options: Options,
    converter: Converter,
    scanner: Scanner,
    cancelled: Cancellation,
    progress: Arc<Progress>,
}

impl Thread {
    fn new(options: &Options, cancelled: &Cancellation, progress: &Arc<Progress>) -> Self {
        Thread {
            converter: Converter::new(options.clone(), cancelled.clone(), progress.clone()),
            scanner: Scanner::new(options.clone()),
            options: options.clone(),
            cancelled: cancelled.clone(),
            progress: progress.clone(),
        }
    }

    fn convert(&mut self, inputs: &[Input]) -> Result<Tables, Failure> {
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
            Job::Peek(inputs) => {
                let mut peeker = Peeker::new(&self.options, &self.cancelled);
                Done::Peeked(inputs.into_iter().map(|input| peeker.peek(input)).collect())
            }
        }
    }
}

/// The threads, and the results that wait for their turn.
pub struct Engine {
    pipeline: Pipeline<Thread>,
    cancellation: Cancellation,
    room: usize,
    /// The estimated memory of each job or result, from the next result on, and the sum of all.
    needs: VecDeque<u64>,
    needed: u64,
    results: InOrder<Done>,
}

impl Engine {
    /// Creates an engine with a thread for each core. Threads are started when there is work.
    pub fn new(options: &Options, cancelled: &Cancellation, progress: &Arc<Progress>) -> Self {
        let (threads, thread) = (threads(), || Thread::new(options, cancelled, progress));
        let room = 2 * threads;
        Engine {
            pipeline: Pipeline::parallel(thread(), (1..threads).map(|_| thread()).collect(), room),
            cancellation: cancelled.clone(),
            room,
            needs: VecDeque::new(),
            needed: 0,
            results: InOrder::default(),
        }
    }

    /// Whether results must be taken before more jobs are handed over.
    pub fn is_full(&self) -> bool {
        self.pipeline.under_way() + self.results.waiting() >= self.room || self.needed >= BUDGET_BYTES
    }

    /// Hands over a job.
    pub fn push(&mut self, job: Job) {
        self.needs.push_back(job.bytes());
        self.needed += job.bytes();
        // Threads started here belong to the work that `cancellation` cancels.
        self.cancellation.during(|| self.pipeline.push(job));
    }

    /// Cancels the jobs under way and waits for their end: a thread that is still writing would leave its files behind.
    pub fn stop(&mut self, cancelled: &Cancellation) {
        cancelled.cancel();
        while self.next().is_some() {}
    }

    /// The next result, in the order of the jobs. `None` if no job is under way.
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

/// A large session: several threads scan its parts, which are put together here.
pub struct LargeSession {
    parts: Arc<Parts>,
    history: FinalHistory,
    session: Session,
    name: String,
    /// Emptied columns, whose capacity is reused for the next part.
    spare: LineColumns,
    /// `None` if its hash is not needed.
    file: Option<SessionFile>,
    handed_over: usize,
    taken: usize,
    error: Option<String>,
    progress: Arc<Progress>,
    /// Keeps the unpacked files of a bundle.
    _recording: Option<Recording>,
}

impl LargeSession {
    /// Opens a session, or one in a bundle, whose verification ends when `cancelled` is set. `None` if it is not large or cannot be read; it is then
    /// converted as a whole.
    pub fn open(
        input: &Input,
        hash: Option<FileHash>,
        cancelled: &Cancellation,
        progress: &Arc<Progress>,
    ) -> Option<Self> {
        if !input.is_large() {
            return None;
        }
        let mut reported = 0;
        let opened = OpenSession::open(input, cancelled, &mut |read| {
            progress.add_bytes(read.saturating_sub(reported));
            reported = read.max(reported);
        });
        let opened = opened.ok()?;
        let session = Session::of(&input.name, &opened);
        let OpenSession { lines, converted, recording, .. } = opened;
        let (origins, file) = match converted {
            Some(FromOther { origins, file, .. }) => {
                progress.add_bytes(file.bytes.saturating_sub(reported));
                (Some(origins), Some(SessionFile::Converted(file)))
            }
            None => (None, hash.map(|hash| SessionFile::Native(Box::new(hash)))),
        };
        let (parts, history) = parts_of(lines, origins).ok()?;
        Some(LargeSession {
            parts: Arc::new(parts),
            history,
            session,
            name: input.name.clone(),
            spare: LineColumns::default(),
            file,
            handed_over: 0,
            taken: 0,
            error: None,
            progress: progress.clone(),
            _recording: recording,
        })
    }

    /// The next job. `None` if all parts were handed over, or reading has failed.
    pub fn next_job(&mut self) -> Option<Job> {
        if self.next_is_none() {
            return None;
        }
        self.handed_over += 1;
        Some(Job::Scan(self.parts.clone(), self.handed_over - 1, Box::new(std::mem::take(&mut self.spare))))
    }

    /// Whether there is no further part to hand over.
    pub fn next_is_none(&self) -> bool {
        self.error.is_some() || self.handed_over == self.parts.ranges.len()
    }

    /// Whether the parts are not those of the file.
    fn is_converted(&self) -> bool {
        self.parts.text.origins.is_some()
    }

    /// Whether some parts were handed over but not taken yet.
    pub fn is_under_way(&self) -> bool {
        self.taken < self.handed_over
    }

    /// Takes the next scanned part. Returns its rows of `events`; `None` if there are none. A read error is kept for the row of the session, and ends
    /// it.
    pub fn take(
        &mut self,
        columns: LineColumns,
        scanned: Result<ScannedPart, ReadError>,
        tables: &mut SessionTables,
    ) -> Result<Option<RecordBatch>, Failure> {
        let at = self.taken;
        self.taken += 1;
        if !self.is_converted() {
            self.progress.add_bytes(self.parts.ranges.get(at).map_or(0, |range| range.end - range.start));
        }
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
        if let Some(hash) = self.file.as_mut().and_then(SessionFile::hash) {
            hash.add(&self.parts.text.lines, scanned.part.end);
        }
        tables.set_lines(columns);
        // After a line that extends to the end of the file, there may be parts without lines.
        let is_last = scanned.part.end >= self.parts.text.lines.size();
        self.session.take(scanned, &self.history, at, is_last, tables);
        let batch = if tables.event_rows() > 0 { Some(tables.take_events()?) } else { None };
        self.spare = tables.set_lines(LineColumns::default());
        Ok(batch)
    }

    /// Makes rows of the pending calls until there are enough for a batch. Returns `false` if no call is left.
    pub fn drain_calls(&mut self, tables: &mut SessionTables) -> bool {
        self.session.drain_calls(tables)
    }

    /// Ends the session, and adds its remaining rows to `tables`.
    pub fn finish(self, tables: &mut SessionTables) -> Converted {
        let facts = self.file.map(|file| file.finish(&self.parts.text.lines)).unwrap_or_default();
        let bytes = facts.bytes;
        let error = self.session.finish(facts, self.error, tables);
        Converted { name: self.name, bytes, error }
    }
}
