//! Peeks at recordings before they are written to tables: when each began, and what it is, to compare it with what was written before.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::ops::ControlFlow;
use std::path::Path;

use chrono::{DateTime, NaiveDate};
use session_tape_core::foreign::{ConvertOptions, Converted};
use session_tape_core::{LineSource, Recording, is_archive_beginning};

use crate::file_facts::FileFacts;
use crate::identity::Identity;
use crate::input::{Content, Input, RUN_LOG, SESSION_LOG, log_of, read_failed};
use crate::on_disk::{IN_MEMORY, OnDisk, Refused};
use crate::open_session::converted;
use crate::options::Options;
use crate::rows::{FileHash, SessionFold, SessionReader, read_run};
use crate::values::{time, time_of_json};
use session_tape_core::Cancellation;

/// A recording to be written.
#[derive(Clone, Debug)]
pub struct Peeked {
    pub input: Input,
    /// The day on which it began, in UTC.
    pub date: Option<NaiveDate>,
    pub identity: Identity,
    /// Whether it, or a file that it consists of, can't be opened at present, or not be read to its end.
    pub is_unreadable: bool,
}

/// Peeks at recordings.
pub struct Peeker<'p> {
    options: &'p Options,
    cancelled: &'p Cancellation,
    reader: SessionReader,
}

/// What was found of a recording.
struct Found {
    /// When it began, in microseconds.
    started: Option<i64>,
    identity: Identity,
    is_unreadable: bool,
}

impl<'p> Peeker<'p> {
    /// Creates a peeker for the tables that `options` selects.
    pub fn new(options: &'p Options, cancelled: &'p Cancellation) -> Self {
        Peeker { options, cancelled, reader: SessionReader::default() }
    }

    /// Peeks at a recording.
    pub fn peek(&mut self, input: Input) -> Peeked {
        let input = input.named();
        let found = match &input.content {
            Content::Nothing(error) => failed(&FileFacts::default(), error, true),
            _ if self.options.is_of_runs() || input.is_packed() => self.recording(&input),
            _ => self.session(&input),
        };
        let date = found.started.and_then(DateTime::from_timestamp_micros).map(|time| time.date_naive());
        let Found { identity, is_unreadable, .. } = found;
        Peeked { input, date, identity, is_unreadable }
    }

    fn session(&mut self, input: &Input) -> Found {
        match input.open() {
            Ok(source) => {
                let beginning = beginning_of(&source);
                if is_archive_beginning(&beginning) {
                    return self.recording(input);
                }
                let facts = FileFacts::from(FileHash::default().finish(&source));
                // The hash covers the bytes before the first one that can't be read.
                let is_unreadable = facts.bytes < source.size();
                let started = self.start_of_session(input, source, beginning);
                Found { started, identity: Identity::of_file(&facts), is_unreadable }
            }
            Err(error) => failed(&FileFacts::default(), &read_failed(&error), true),
        }
    }

    /// When a session began, given the first bytes of its file.
    fn start_of_session(&mut self, input: &Input, source: LineSource, beginning: Vec<u8>) -> Option<i64> {
        let wanted = ConvertOptions { start_only: true, ..ConvertOptions::default() };
        match converted(input, source, &wanted, &mut |_| ()).ok()? {
            // Without a time, a conversion begins at the epoch.
            Converted::Foreign(conversion) => time(&conversion.start_time).filter(|time| *time != 0),
            Converted::Native(source) => match memchr::memchr(b'\n', &beginning) {
                Some(_) => start_of(&LineSource::in_memory(beginning), &mut self.reader),
                None => start_of(&source, &mut self.reader),
            },
        }
    }

    fn recording(&mut self, input: &Input) -> Found {
        let Some(file) = OnDisk::of(input) else { return failed(&FileFacts::default(), IN_MEMORY, false) };
        let recording = match file.open(self.options.is_of_runs(), self.cancelled) {
            Ok(recording) => recording,
            Err(Refused { file, error }) => return failed(&file, &error, is_unreadable(input)),
        };
        let log = log_of(&recording);
        let started = match recording.is_run() {
            true => start_of_run(&recording),
            false => LineSource::open_unread(log).ok().and_then(|source| start_of(&source, &mut self.reader)),
        };
        let facts = FileFacts::of(log, FileHash::default());
        let identity = match recording.is_run() {
            true => Identity::of_run(&facts, &recording, self.options.verify),
            false => Identity::of_file(&facts),
        };
        Found { started, identity, is_unreadable: facts.fingerprint.is_none() }
    }
}

fn failed(file: &FileFacts, error: &str, is_unreadable: bool) -> Found {
    Found { started: None, identity: Identity::of_failure(file, error), is_unreadable }
}

/// Whether the file of a recording, or one of the main files in its directory, can't be opened and read, whatever is in it.
fn is_unreadable(input: &Input) -> bool {
    let Content::Path(path) = &input.content else { return false };
    let read = |path: &Path| fs::File::open(path).and_then(|mut file| file.read(&mut [0]));
    if !path.is_dir() {
        return read(path).is_err();
    }
    let is_refused = |name: &&str| read(&path.join(name)).is_err_and(|error| error.kind() != ErrorKind::NotFound);
    path.read_dir().is_err() || [RUN_LOG, SESSION_LOG, "manifest.json"].iter().any(is_refused)
}

/// Number of bytes in which the first line is looked for. If it is longer, it is read again.
const BEGINNING_BYTES: usize = 4 << 10;

/// The first bytes of a session; none if it can't be read.
fn beginning_of(source: &LineSource) -> Vec<u8> {
    let mut beginning = vec![0; BEGINNING_BYTES];
    let count = source.read_at(&mut beginning, 0).unwrap_or(0);
    beginning.truncate(count);
    beginning
}

/// When a session began: the start time of its header, or else the timestamp of its first line.
fn start_of(source: &LineSource, reader: &mut SessionReader) -> Option<i64> {
    let (mut ts, mut fold) = (None, SessionFold::default());
    // Reads the line that begins at the first byte, or after the byte order mark.
    let part = reader.read(source, 0..1, None, &mut |row| {
        ts = ts.or(row.ts.and_then(time_of_json));
    });
    fold.add(part.ok()?);
    fold.finish(0).start_time.as_deref().and_then(time).or(ts)
}

fn start_of_run(recording: &Recording) -> Option<i64> {
    let mut ts = None;
    let read = read_run(recording, &mut |row| {
        ts = time(row.line.ts);
        ControlFlow::Break(())
    });
    read.ok().and(ts)
}
