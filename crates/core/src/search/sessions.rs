//! Searches many files: several at a time on all cores, each large one shared among them, with the hits in order.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use super::hit::Hit;
use super::scan::{PartScanner, ScanOptions, Scanned, Scanner};
use super::strings::inside;
use crate::foreign::{Foreign, OpenedSource as Source, Stop, open_source};
use crate::json::{Nesting, decode};
use crate::lines::{LineSource, ReadError, SEGMENT_BYTES, Segments, Threads, equal_segments};
use crate::session::format::{Body, Line, Mode};
use crate::session::read::ItemsInHistory;
use crate::task::{Cancellation, InOrder, Pipeline, Worker, grouped, spare_cores};

/// A file of this size in bytes, or more, is shared among the cores.
const LARGE_BYTES: u64 = SEGMENT_BYTES;

/// Maximum size of a job in bytes, unless a single file is larger, and maximum number of its files.
const JOB_BYTES: u64 = 256 << 10;
const JOB_FILES: usize = 4;

/// Maximum number of helpers. With more threads, memory bandwidth is the limit.
const MAX_HELPERS: usize = 7;

/// A file to be searched.
#[derive(Clone, Debug)]
pub struct SearchFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes, about.
    pub size: u64,
}

/// Some hits of a file, or all.
#[derive(Debug, Default)]
pub struct Part {
    /// The index of the file.
    pub file: usize,
    /// The id of the session as JSON; `None` if the file has no valid start, or no hits.
    pub session_id: Option<Box<[u8]>>,
    /// Whether it is an archived session.
    pub is_archived: bool,
    /// The hits, in order.
    pub hits: Vec<Hit>,
    /// What became of the file; `None` if there are more parts.
    pub fate: Option<Fate>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was searched up to this size in bytes, that of the session if it is an archive.
    Searched(u64),
    /// It is not of the project that is searched, or it has gone.
    LeftOut,
    /// It could not be read, for this reason.
    Unreadable(String),
}

/// A search in files.
pub struct Search {
    options: Arc<ScanOptions>,
    jobs: IntoIter<Vec<(usize, SearchFile)>>,
    /// Maximum number of jobs that are in progress, or done before their turn.
    room: usize,
    pipeline: Pipeline<FileScanner>,
    outputs: InOrder<Vec<Scan>>,
    /// Files in order that are scanned, or begun.
    ready: VecDeque<Scan>,
    large: Option<LargeFile>,
}

impl Search {
    /// Starts a search in these files, in this order. The current work is that of its [`Cancellation`].
    pub fn new(files: Vec<SearchFile>, options: ScanOptions) -> Self {
        let jobs = grouped(files.into_iter().enumerate(), |(_, file)| file.size, JOB_BYTES, JOB_FILES);
        let options = Arc::new(options);
        let helpers = spare_cores().min(MAX_HELPERS).min(jobs.len().saturating_sub(1));
        let make = || FileScanner { scanner: Scanner::new(options.clone()), cancellation: Cancellation::current() };
        let room = 2 * (helpers + 1);
        let pipeline = Pipeline::parallel(make(), (0..helpers).map(|_| make()).collect(), room);
        Search {
            jobs: jobs.into_iter(),
            room,
            pipeline,
            outputs: InOrder::default(),
            ready: VecDeque::new(),
            large: None,
            options,
        }
    }

    /// Waits for the next part; `None` if all files are searched.
    ///
    /// # Panics
    ///
    /// If a thread of the search panicked.
    pub fn next_part(&mut self) -> Option<Part> {
        if let Some(part) = self.next_of_large() {
            return Some(part);
        }
        if self.ready.is_empty() {
            self.hand_over();
            let scans = self.outputs.next(|| self.pipeline.next_output())?;
            self.hand_over();
            self.ready.extend(scans);
        }
        self.next_of_ready()
    }

    /// The next part, if it is ready.
    pub fn ready_part(&mut self) -> Option<Part> {
        if self.large.is_some() {
            return None;
        }
        if self.ready.is_empty() {
            let scans = self.outputs.next(|| self.pipeline.ready_output())?;
            self.hand_over();
            self.ready.extend(scans);
        }
        if matches!(self.ready.front(), Some(Scan::Begun(..))) { None } else { self.next_of_ready() }
    }

    /// Says that the next part will not be asked for at once: a search whose consumer pauses keeps no thread.
    pub fn pause(&self) {
        self.pipeline.pause();
        if let Some(large) = &self.large {
            large.segments.pause();
        }
    }

    /// Ends the search, and returns when no thread works on it any more, and all files are closed. Its work must be cancelled.
    pub fn end(mut self) {
        if let Some(large) = self.large.take() {
            large.close();
        }
        while self.pipeline.next_output().is_some() {}
    }

    /// Queues jobs, but only so many that the hits that wait for their turn need little memory.
    fn hand_over(&mut self) {
        while !self.pipeline.is_full()
            && self.pipeline.under_way() + self.outputs.waiting() < self.room
            && let Some(job) = self.jobs.next()
        {
            self.pipeline.push(job);
        }
    }

    fn next_of_ready(&mut self) -> Option<Part> {
        match self.ready.pop_front()? {
            Scan::Whole(part) => Some(part),
            Scan::Begun(file, opened) => {
                self.large = Some(LargeFile::new(file, opened, &self.options));
                self.next_of_large()
            }
        }
    }

    fn next_of_large(&mut self) -> Option<Part> {
        let large = self.large.as_mut()?;
        let part = large.next_part();
        if part.fate.is_some()
            && let Some(large) = self.large.take()
        {
            large.close();
        }
        Some(part)
    }
}

/// The result of a job for a file.
enum Scan {
    Whole(Part),
    /// A large file, and its index.
    Begun(usize, OpenedFile),
}

/// A file that is open, and whose session is searched.
struct OpenedFile {
    source: Arc<LineSource>,
    /// Its size in bytes; that of the session if it is archived.
    size: u64,
    is_archived: bool,
    /// Whether the source is what a foreign session has become.
    is_converted: bool,
    /// The first line says so, if it was needed yet.
    session_id: Option<Box<[u8]>>,
}

/// Opens a session file, or the archive that stands for it, and converts it if it is a foreign session. The only place that does, whatever its form.
fn open(path: &Path) -> Result<OpenedFile, Stop> {
    let original = Cell::new((0, false));
    let opened = open_source(path, &Foreign::Read(None), |path| {
        let source = LineSource::open_unread(path)?;
        original.set((source.size(), source.archived_bytes().is_some()));
        Ok(source)
    })?;
    let (source, is_converted) = match opened {
        Source::Native(source) => (source, false),
        Source::Foreign(conversion) => (conversion.native, true),
    };
    let (size, is_archived) = original.get();
    Ok(OpenedFile { source: Arc::new(source.as_opened()), size, is_archived, is_converted, session_id: None })
}

/// Scans files, except for large ones, which it only opens.
struct FileScanner {
    scanner: Scanner,
    cancellation: Cancellation,
}

impl Worker for FileScanner {
    type Job = Vec<(usize, SearchFile)>;
    type Output = Vec<Scan>;

    fn work(&mut self, files: Self::Job) -> Vec<Scan> {
        files.into_iter().map_while(|(index, file)| self.scan(index, &file.path)).collect()
    }
}

impl FileScanner {
    /// Scans a file. Returns `None` after the search was cancelled.
    fn scan(&mut self, file: usize, path: &Path) -> Option<Scan> {
        if self.cancellation.is_cancelled() {
            return None;
        }
        let whole = |fate| Some(Scan::Whole(Part { file, fate: Some(fate), ..Part::default() }));
        let mut opened = match open(path) {
            Ok(opened) => opened,
            Err(Stop::Read(ReadError::System(error))) if error.code == "ENOENT" => return whole(Fate::LeftOut),
            Err(error) => return whole(Fate::Unreadable(error.to_string())),
        };
        if self.scanner.options().project_hash.is_some() {
            match session(&mut self.scanner, &opened.source) {
                Ok(Some(session)) if session.is_wanted => opened.session_id = Some(session.id),
                Ok(_) => return whole(Fate::LeftOut),
                Err(error) => return whole(Fate::Unreadable(error.to_string())),
            }
        }
        // What a foreign session has become may be in a temporary file, which is not to wait for its turn.
        if opened.source.size() >= LARGE_BYTES && !opened.is_converted {
            return Some(Scan::Begun(file, opened));
        }
        Some(Scan::Whole(self.scan_whole(file, opened)))
    }

    fn scan_whole(&mut self, file: usize, opened: OpenedFile) -> Part {
        let OpenedFile { source, size, is_archived, mut session_id, .. } = opened;
        let mut scanned = self.scanner.scan_small(&source);
        mark_current_hits(&mut scanned, &source, &mut None, self.scanner.options().is_current);
        if !scanned.hits.is_empty() && session_id.is_none() {
            session_id = session(&mut self.scanner, &source).ok().flatten().map(|session| session.id);
        }
        let fate = Some(fate_of(scanned.failure.or_else(|| damage_of(&source)), size));
        Part { file, session_id, is_archived, hits: scanned.hits, fate }
    }
}

/// How long the end of a search waits for a thread that is about to close a file.
const LAST_CLOSE: Duration = Duration::from_secs(1);

/// Why not all of an archived session could be searched.
fn damage_of(source: &LineSource) -> Option<ReadError> {
    source.damage().map(ReadError::Damaged)
}

fn fate_of(failure: Option<ReadError>, size: u64) -> Fate {
    failure.map_or(Fate::Searched(size), |error| Fate::Unreadable(error.to_string()))
}

struct Session {
    id: Box<[u8]>,
    /// Whether it is of the wanted project, or any is wanted.
    is_wanted: bool,
}

/// The session of a file; `None` if the file has no valid start.
fn session(scanner: &mut Scanner, source: &LineSource) -> Result<Option<Session>, ReadError> {
    let options = scanner.options().clone();
    let Some(line) = scanner.first_line(source)? else { return Ok(None) };
    let Line::Event(event) = Line::read(line, Mode::Lenient, &mut Nesting::default()) else { return Ok(None) };
    let Body::SessionStart(Some(fields)) = event.body else { return Ok(None) };
    let hash = inside(line, fields.project_hash);
    let is_wanted = options.project_hash.as_ref().is_none_or(|wanted| decode(hash).eq(wanted.iter().copied()));
    Ok(Some(Session { id: fields.session_id.of(line).into(), is_wanted }))
}

/// Notes for each hit in an item whether that is in the history at the end of the file, which is found out for the first such hit. With `is_current`,
/// leaves out those that are not.
fn mark_current_hits(
    scanned: &mut Scanned,
    source: &Arc<LineSource>,
    history: &mut Option<ItemsInHistory>,
    is_current: bool,
) {
    let mut failure = None;
    for hit in &mut scanned.hits {
        let (line, Some(item)) = hit.place else { continue };
        match holds(history, source, line, item) {
            Ok(holds) => hit.in_history = Some(holds),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    if is_current {
        scanned.hits.retain(|hit| hit.in_history != Some(false) && (hit.place.1.is_none() || hit.in_history.is_some()));
    }
    scanned.failure = scanned.failure.take().or(failure);
}

fn holds(
    history: &mut Option<ItemsInHistory>,
    source: &Arc<LineSource>,
    line: u64,
    item: u64,
) -> Result<bool, ReadError> {
    if history.is_none() {
        *history = Some(ItemsInHistory::find(source, 0, Mode::Lenient)?);
    }
    history.as_mut().map_or(Ok(true), |history| history.holds_some(line, item..item + 1))
}

/// A large file whose parts are scanned on all cores.
struct LargeFile {
    file: usize,
    opened: OpenedFile,
    segments: Segments<PartScanner>,
    /// For the first line.
    scanner: Scanner,
    /// Number of lines before the next part.
    lines: u64,
    has_hits: bool,
    history: Option<ItemsInHistory>,
}

impl LargeFile {
    fn new(file: usize, opened: OpenedFile, options: &Arc<ScanOptions>) -> Self {
        let make = || PartScanner { scanner: Scanner::new(options.clone()), source: Arc::downgrade(&opened.source) };
        let segments = Segments::new(equal_segments(&opened.source, 0), Threads::All, make);
        let scanner = Scanner::new(options.clone());
        LargeFile { file, opened, segments, scanner, lines: 0, has_hits: false, history: None }
    }

    fn next_part(&mut self) -> Part {
        let Some(mut scanned) = self.segments.next_output() else { return self.part(Vec::new(), None, true) };
        for hit in &mut scanned.hits {
            hit.line += self.lines;
        }
        self.lines += scanned.lines;
        mark_current_hits(&mut scanned, &self.opened.source, &mut self.history, self.scanner.options().is_current);
        let is_last = scanned.failure.is_some() || scanned.is_at_end;
        self.part(scanned.hits, scanned.failure, is_last)
    }

    /// Ends the scan, and returns when the file is closed.
    fn close(self) {
        let LargeFile { opened, segments, history, .. } = self;
        segments.end();
        drop(history);
        // Threads that have helped with the history are about to end.
        let waiting = Instant::now();
        while Arc::strong_count(&opened.source) > 1 && waiting.elapsed() < LAST_CLOSE {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn part(&mut self, hits: Vec<Hit>, failure: Option<ReadError>, is_last: bool) -> Part {
        if !hits.is_empty() && !std::mem::replace(&mut self.has_hits, true) && self.opened.session_id.is_none() {
            let session = session(&mut self.scanner, &self.opened.source);
            self.opened.session_id = session.ok().flatten().map(|session| session.id);
        }
        let failure = failure.or_else(|| damage_of(&self.opened.source));
        let fate = is_last.then(|| fate_of(failure, self.opened.size));
        let OpenedFile { session_id, is_archived, .. } = &self.opened;
        Part { file: self.file, session_id: session_id.clone(), is_archived: *is_archived, hits, fate }
    }
}
