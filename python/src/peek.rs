//! Peeks at recordings before they are exported: when each began, and what it is, to compare it with what was exported before.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use chrono::{DateTime, NaiveDate};
use session_tape::{FileHash, LineSource, Recording, SessionFold, SessionReader, read_run};

use crate::file_facts::FileFacts;
use crate::identity::Identity;
use crate::input::{Content, Input, is_archive, log_of, read_failed};
use crate::on_disk::{OnDisk, Refused};
use crate::options::Options;
use crate::values::{time, time_of_json};

/// A recording to be exported.
#[derive(Clone, Debug)]
pub struct Peeked {
    pub input: Input,
    /// The day on which it began, in UTC.
    pub date: Option<NaiveDate>,
    pub bytes: u64,
    /// `None` if it was not asked for, or the recording could not be copied to disk.
    pub identity: Option<Identity>,
}

/// Peeks at recordings.
pub struct Peeker<'p> {
    hash: bool,
    options: &'p Options,
    cancelled: &'p AtomicBool,
    reader: SessionReader,
}

/// When a recording began, in microseconds, and its identity if that is wanted.
type Found = (Option<i64>, Option<Identity>);

impl<'p> Peeker<'p> {
    /// Creates a peeker that determines identities if `hash`.
    pub fn new(hash: bool, options: &'p Options, cancelled: &'p AtomicBool) -> Self {
        Peeker { hash, options, cancelled, reader: SessionReader::default() }
    }

    /// Peeks at a recording.
    pub fn peek(&mut self, input: Input) -> Peeked {
        let input = input.settled();
        let (started, identity) = match &input.content {
            Content::Nothing(error) => (None, self.failed(&FileFacts::default(), error)),
            _ if self.options.is_of_runs() || input.is_packed() => self.recording(&input),
            _ => self.session(&input),
        };
        let date = started.and_then(DateTime::from_timestamp_micros).map(|time| time.date_naive());
        Peeked { bytes: input.size(), input, date, identity }
    }

    fn session(&mut self, input: &Input) -> Found {
        match if self.hash { input.open() } else { input.open_unread() } {
            Ok(source) if is_archive(&source) => self.recording(input),
            Ok(source) => {
                let started = start_of(&source, &mut self.reader);
                (started, self.hash.then(|| Identity::of_file(&FileHash::default().finish(&source).into())))
            }
            Err(error) => (None, self.failed(&FileFacts::default(), &read_failed(&error))),
        }
    }

    fn recording(&mut self, input: &Input) -> Found {
        // A copy that cannot be written is reported by the conversion.
        let Ok(file) = OnDisk::of(input, None) else { return (None, None) };
        let recording = match file.open(self.options.is_of_runs(), self.cancelled) {
            Ok(recording) => recording,
            Err(Refused { file, error }) => return (None, self.failed(&file, &error)),
        };
        let log = log_of(&recording);
        if recording.is_run() {
            let identity = || Identity::of_run(&FileFacts::of(log), &recording, self.options.verify);
            return (start_of_run(&recording), self.hash.then(identity));
        }
        let source = LineSource::open_unread(log).ok();
        let started = source.and_then(|source| start_of(&source, &mut self.reader));
        (started, self.hash.then(|| Identity::of_file(&FileFacts::of(log))))
    }

    fn failed(&self, file: &FileFacts, error: &str) -> Option<Identity> {
        self.hash.then(|| Identity::of_failure(file, error))
    }
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
