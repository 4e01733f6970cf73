//! What is known of a recording before it is exported: when it began, and whether it is one that was exported already.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use chrono::{DateTime, NaiveDate};
use session_tape::{FileHash, LineSource, Recording, SessionFold, SessionReader, read_run};

use crate::convert::{OnDisk, Refused, facts_of, open_recording, read_failed};
use crate::identity::Identity;
use crate::input::{Content, Input, is_archive, log_of};
use crate::options::Options;
use crate::session_table::FileFacts;
use crate::values::{time, time_of_json};

/// A recording that is to be exported.
#[derive(Clone, Debug)]
pub struct Peeked {
    pub input: Input,
    /// The day on which it began, in UTC.
    pub date: Option<NaiveDate>,
    pub bytes: u64,
    /// If it was asked for.
    pub identity: Option<Identity>,
}

/// Looks at a recording, and hashes it if that is wanted.
pub fn peek(input: Input, hash: bool, options: &Options, cancelled: &AtomicBool, reader: &mut SessionReader) -> Peeked {
    let input = input.settled();
    let (started, identity) = if let Content::Nothing(error) = &input.content {
        (None, hash.then(|| Identity::of_failure(&FileFacts::default(), error)))
    } else if options.is_of_runs() || input.is_packed() {
        peek_recording(&input, hash, options, cancelled, reader)
    } else {
        peek_session(&input, hash, options, cancelled, reader)
    };
    let date = started.and_then(DateTime::from_timestamp_micros).map(|time| time.date_naive());
    Peeked { bytes: input.size(), input, date, identity }
}

fn peek_session(
    input: &Input,
    hash: bool,
    options: &Options,
    cancelled: &AtomicBool,
    reader: &mut SessionReader,
) -> (Option<i64>, Option<Identity>) {
    match if hash { input.open() } else { input.open_unread() } {
        Ok(source) if is_archive(&source) => peek_recording(input, hash, options, cancelled, reader),
        Ok(source) => {
            let started = start_of(&source, reader);
            (started, hash.then(|| Identity::of_file(&FileHash::default().finish(&source).into())))
        }
        Err(error) => (None, hash.then(|| Identity::of_failure(&FileFacts::default(), &read_failed(&error)))),
    }
}

fn peek_recording(
    input: &Input,
    hash: bool,
    options: &Options,
    cancelled: &AtomicBool,
    reader: &mut SessionReader,
) -> (Option<i64>, Option<Identity>) {
    // What can't be written fails when it is converted.
    let Ok(file) = OnDisk::of(input, None) else { return (None, None) };
    match open_recording(&file.path(), options.is_of_runs(), cancelled) {
        Ok(recording) => {
            let log = log_of(&recording);
            let (started, identity): (_, &dyn Fn() -> Identity) = if recording.is_run() {
                (start_of_run(&recording), &|| Identity::of_run(&facts_of(log), &recording, options.verify))
            } else {
                let source = LineSource::open_unread(log).ok();
                (source.and_then(|source| start_of(&source, reader)), &|| Identity::of_file(&facts_of(log)))
            };
            (started, hash.then(identity))
        }
        Err(Refused { file, error }) => (None, hash.then(|| Identity::of_failure(&file, &error))),
    }
}

/// When a session began: as its first line says, or when that was written.
fn start_of(source: &LineSource, reader: &mut SessionReader) -> Option<i64> {
    let (mut ts, mut fold) = (None, SessionFold::default());
    // A line that begins at the first byte, or behind the byte order mark.
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
