//! Reads a log once, front to back, for export and verification: checks the hash chain, and collects what manifest and metadata
//! contain about it and which blobs it names. Whether the state allows the events is checked by a replay, not here.

use std::collections::HashSet;
use std::io::Read;

use super::io_error::read_failed;
use super::long_line::{LongLine, TooLarge};
use crate::bundle::format::{BundleCode, BundleError, Limits, LogExtent, of_run};
use crate::disk::{BOM, read_up_to};
use crate::hash::{Hash, HexHash, from_hex};
use crate::json::{Nesting, Text, quoted};
use crate::lines::cannot_be_json;
use crate::run::read::LogReader;
use crate::run::{ErrorCode, EventLine, Kind, Payload, RunError, event_id};
use crate::session::format::Line;
use crate::session::media::NamedObjects;

/// The maximum number of events without a salt. No `redactions.json` within the limits lists more.
const MAX_UNSALTED: usize = 1 << 20;

/// The longest line of a session that is searched for `ts`, except for the first line of a source.
const MAX_TIMED_LINE_BYTES: u64 = 1 << 20;

/// A checked log of a run.
#[derive(Default)]
pub(crate) struct CheckedLog {
    /// The entry of the manifest for this log.
    pub extent: LogExtent,
    /// The blobs that the log names.
    pub blobs: HashSet<Hash>,
    /// The first blob name in the log that is not a hash.
    pub invalid_blob: Option<String>,
    /// The logical times of events without a salt, ascending.
    pub unsalted: Vec<u64>,
    /// The run's id, and its workflow's name and version; `None` if the log does not begin with RunCreated.
    pub created: Option<[Text<'static>; 3]>,
    /// The status of the run after the last event.
    pub status: Option<&'static str>,
    /// `ts` of the first event, as written in the line.
    pub started_at: Option<String>,
    /// `ts` of the event that ended the run.
    pub completed_at: Option<String>,
    /// The first line of a log that does not begin at time 0. The snapshot contains the hash that it is chained to.
    pub first_line: Option<String>,
    /// The number of bytes after the last complete line.
    pub torn_bytes: u64,
    nesting: Nesting,
}

impl CheckedLog {
    /// Reads and checks a log. After an error the fields describe the lines before it.
    pub(crate) fn read(&mut self, input: &mut dyn Read, limits: &Limits) -> Result<(), BundleError> {
        let mut reader = LogReader::new(input, 0);
        let mut spare = Vec::new();
        while let Some(chunk) = reader.next_chunk(spare).map_err(invalid)? {
            for line in chunk.lines() {
                let checked = line.and_then(|(_, line)| self.line(line, limits));
                checked.map_err(|error| self.with_event_id(error))?;
                if self.blobs.len() as u64 > limits.files || self.unsalted.len() > MAX_UNSALTED {
                    let message =
                        "It names more blobs, or has more events without a salt, than a bundle can have files";
                    return Err(BundleError::new(BundleCode::TooManyFiles, message));
                }
            }
            spare = chunk.into_spare();
        }
        self.torn_bytes = reader.torn().bytes;
        Ok(())
    }

    fn with_event_id(&self, error: RunError) -> BundleError {
        let place = event_id(self.extent.last_time.map_or(0, |last| last + 1));
        let error = invalid(error);
        BundleError { message: format!("at {place}: {}", error.message), ..error }
    }

    fn line(&mut self, line: &str, limits: &Limits) -> Result<(), RunError> {
        if line.len() as u64 > limits.line_bytes {
            return Err(RunError::new(
                ErrorCode::TooLarge,
                format!("A line is longer than {} bytes", limits.line_bytes),
            ));
        }
        let event = EventLine::split(line)?;
        self.check_place(&event)?;
        if event.salt.is_none() {
            self.unsalted.push(event.time);
        }
        let Some(kind) = Kind::parse(event.kind) else {
            return Err(RunError::new(
                ErrorCode::UnknownKind,
                format!("There is no kind '{}' of events", quoted(event.kind)),
            ));
        };
        self.collect(kind, &event)?;
        let extent = &mut self.extent;
        extent.count += 1;
        extent.first_time = extent.first_time.or(Some(event.time));
        extent.last_time = Some(event.time);
        extent.head = Some(*event.hash);
        Ok(())
    }

    fn check_place(&mut self, event: &EventLine<'_>) -> Result<(), RunError> {
        let expected = self.extent.last_time.map_or(event.time, |last| last + 1);
        if expected != event.time {
            let message = format!("{} stands where {} should", event.id(), event_id(expected));
            return Err(RunError::new(ErrorCode::TimeGap, message));
        }
        let previous = match (self.extent.head, event.time) {
            (Some(previous), _) => Some(previous),
            (None, 0) => None,
            (None, _) => {
                self.first_line = Some(event.line.to_owned());
                return Ok(());
            }
        };
        event.check_hashes(previous.as_ref()).map(drop)
    }

    /// Checks the hash of the first line of a log that begins after a snapshot; `previous` is the line hash from the snapshot.
    pub(crate) fn check_first_line(&self, previous: &HexHash) -> Result<(), BundleError> {
        let Some(line) = &self.first_line else { return Ok(()) };
        EventLine::split(line).and_then(|event| event.check_hashes(Some(previous))).map(drop).map_err(invalid)
    }

    fn collect(&mut self, kind: Kind, event: &EventLine<'_>) -> Result<(), RunError> {
        if self.extent.count == 0 {
            self.started_at = Some(event.ts.to_owned());
        }
        match kind {
            Kind::RunCreated => self.status = Some("Created"),
            Kind::RunStarted => self.status = Some("Running"),
            Kind::RunCompleted | Kind::RunFailed => {
                self.status = Some(if kind == Kind::RunCompleted { "Completed" } else { "Failed" });
                self.completed_at = Some(event.ts.to_owned());
            }
            Kind::BlobStored | Kind::ToolCompleted => {}
            _ => return Ok(()),
        }
        match Payload::parse(kind, event.payload, &mut self.nesting)? {
            Payload::RunCreated { run_id, workflow_name, workflow_version, .. } => {
                self.created = Some([run_id, workflow_name, workflow_version].map(Text::into_owned));
            }
            Payload::BlobStored { blob: name, .. } | Payload::ToolCompleted { raw_hash: name, .. } => {
                match from_hex(name.as_json().as_bytes()) {
                    Some(hash) => drop(self.blobs.insert(hash)),
                    None => self.invalid_blob = self.invalid_blob.take().or_else(|| Some(quoted(name.as_json()))),
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn invalid(error: RunError) -> BundleError {
    let code = match error.code {
        ErrorCode::TooLarge => BundleCode::LineTooLong,
        ErrorCode::UnsupportedVersion => BundleCode::UnsupportedVersion,
        _ => BundleCode::LogInvalid,
    };
    of_run(code, error)
}

/// The checked lines of a session. Their content is not checked, because a replay accepts any damage that a crash can leave.
#[derive(Default)]
pub(crate) struct CheckedSession {
    /// The number of lines, including a last one without `\n`.
    pub lines: u64,
    /// `ts` of the first line if it is a string, without the quotes and with its escapes.
    pub started_at: Option<String>,
    /// `ts` of the last line that has one.
    pub completed_at: Option<String>,
    /// The session's id; `None` if the first line is not a `session_start` with an id, or too long to be buffered.
    pub session_id: Option<Text<'static>>,
    /// The objects that its references name.
    pub objects: NamedObjects,
    /// The current line, if it is longer than what is buffered.
    long: LongLine,
    /// Whether the first line is buffered whatever its length.
    buffers_first_line: bool,
}

impl CheckedSession {
    /// Creates the reader for a session to export. It reads the first line whatever its length, as a replay does, and takes as much memory.
    pub(crate) fn for_export() -> Self {
        CheckedSession { buffers_first_line: true, ..CheckedSession::default() }
    }

    /// Reads a session. A line longer than the limit is an error.
    pub(crate) fn read(&mut self, input: &mut dyn Read, limits: &Limits) -> Result<(), BundleError> {
        let mut block = vec![0; 256 << 10];
        // The current line and the last one with a time, both only up to the length that is searched for `ts`.
        let (mut line, mut last, mut length) = (Vec::new(), Vec::new(), 0u64);
        loop {
            let count = read_up_to(input, &mut block).map_err(read_failed)?;
            let mut rest = &block[..count];
            while !rest.is_empty() {
                let newline = memchr::memchr(b'\n', rest);
                let piece = &rest[..newline.unwrap_or(rest.len())];
                self.add(piece, &mut line, &mut length);
                if length > limits.session_line_bytes() && !limits.skips_line(&line) {
                    let limit = limits.session_line_bytes();
                    let message = format!("Line {} is longer than {limit} bytes", self.lines + 1);
                    return Err(BundleError::new(BundleCode::LineTooLong, message));
                }
                rest = newline.map_or(&[], |newline| &rest[newline + 1..]);
                if newline.is_some() {
                    self.end_line(&mut line, &mut last, length)?;
                    self.check_objects(limits)?;
                    length = 0;
                }
            }
            if count < block.len() {
                break;
            }
        }
        if length > 0 {
            self.end_line(&mut line, &mut last, length)?;
            self.check_objects(limits)?;
        }
        self.completed_at = time_of(&last).or_else(|| self.started_at.clone());
        Ok(())
    }

    /// Adds a piece of the current line, of which `length` bytes were read.
    fn add(&mut self, piece: &[u8], line: &mut Vec<u8>, length: &mut u64) {
        let was_buffered = *length <= self.max_buffered_bytes();
        *length += piece.len() as u64;
        if *length <= self.max_buffered_bytes() {
            line.extend_from_slice(piece);
        } else if !cannot_be_json(line) {
            if was_buffered {
                let mark = if self.lines == 0 && line.starts_with(BOM) { BOM.len() } else { 0 };
                self.long.add(&line[mark..]);
            }
            self.long.add(piece);
        }
    }

    fn check_objects(&self, limits: &Limits) -> Result<(), BundleError> {
        if self.objects.most() as u64 <= limits.files {
            return Ok(());
        }
        Err(BundleError::new(BundleCode::TooManyFiles, "It refers to more objects than a bundle can have files"))
    }

    fn max_buffered_bytes(&self) -> u64 {
        if self.lines == 0 && self.buffers_first_line { u64::MAX } else { MAX_TIMED_LINE_BYTES }
    }

    fn end_line(&mut self, line: &mut Vec<u8>, last: &mut Vec<u8>, length: u64) -> Result<(), BundleError> {
        let is_whole = length <= self.max_buffered_bytes();
        self.lines += 1;
        if self.lines == 1 {
            let mark = if line.starts_with(BOM) { BOM.len() } else { 0 };
            line.drain(..mark);
            if is_whole {
                self.started_at = time_of(line);
                self.session_id = Line::session_id(line).map(|id| text_of(id.of(line)));
            }
        }
        let long = std::mem::take(&mut self.long);
        if is_whole {
            self.objects.add_line(self.lines, line);
        } else {
            let objects = long.objects().map_err(|TooLarge| {
                let message = format!("Line {} is too long to be searched for references to images", self.lines);
                BundleError::new(BundleCode::LineTooLong, message)
            })?;
            self.objects.add(self.lines, objects);
        }
        if length <= MAX_TIMED_LINE_BYTES && line.trim_ascii_end().ends_with(b"}") {
            std::mem::swap(line, last);
        }
        line.clear();
        line.shrink_to(MAX_TIMED_LINE_BYTES as usize);
        Ok(())
    }
}

/// The `ts` of a line if it has one, without the quotes and with its escapes.
fn time_of(line: &[u8]) -> Option<String> {
    Line::time(line).map(|time| text_of(time.of(line)).as_json().to_owned())
}

/// The text of a JSON string, given without its quotes. Invalid UTF-8 becomes U+FFFD, as in a replay.
fn text_of(inside: &[u8]) -> Text<'static> {
    Text::from_json(&String::from_utf8_lossy(inside)).into_owned()
}

#[cfg(test)]
mod tests;
