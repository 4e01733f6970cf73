//! What is known of a recording before it is exported: when it began, and whether it is one that was exported already.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use chrono::{DateTime, NaiveDate};
use session_tape::{FileHash, LineSource, Recording, SessionFold, SessionReader, read_run};

use crate::convert::facts_of;
use crate::input::{Content, Input, log_of};
use crate::values::{time, time_of_json};

/// A recording that is to be exported.
#[derive(Clone, Debug)]
pub struct Peeked {
    pub input: Input,
    /// The day on which it began, in UTC.
    pub date: Option<NaiveDate>,
    pub bytes: u64,
    /// If it was asked for.
    pub sha256: Option<[u8; 32]>,
}

/// Looks at a recording, and hashes it if that is wanted.
pub fn peek(input: Input, hash: bool, reader: &mut SessionReader, cancelled: &AtomicBool) -> Peeked {
    let mut started = None;
    let mut sha256 = None;
    let packed = match &input.content {
        Content::Path(path) if input.is_packed() => Recording::open(path, cancelled).ok(),
        _ => None,
    };
    if let Some(recording) = &packed {
        started = match recording.is_run() {
            true => start_of_run(recording),
            false => LineSource::open_unread(log_of(recording)).ok().and_then(|source| start_of(&source, reader)),
        };
        sha256 = if hash { facts_of(log_of(recording)).sha256 } else { None };
    } else if !input.is_packed() {
        let source = if hash { input.open() } else { input.open_unread() };
        if let Ok(source) = &source {
            started = start_of(source, reader);
            sha256 = if hash { Some(FileHash::default().finish(source).1) } else { None };
        }
    }
    let date = started.and_then(DateTime::from_timestamp_micros).map(|time| time.date_naive());
    Peeked { bytes: input.size(), input, date, sha256 }
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
