//! A log, read once from front to back: what the manifest and the metadata say of it, and whether its chain is whole.
//!
//! Whether the state allows its events is a replay's affair. Here every line is proven to be one that was recorded at its
//! place, and the blobs that it names are noted.

use std::collections::HashSet;
use std::io::Read;

use serde::Deserialize;

use super::error::{BundleCode, BundleError, of_run};
use super::limits::Limits;
use super::manifest::LogExtent;
use crate::hash::{Hash, HexHash, from_hex};
use crate::jsonl::lines::Lines;
use crate::jsonl::scan::Nesting;
use crate::run::chain::{self, GENESIS};
use crate::run::error::{ErrorCode, RunError, event_id, quoted};
use crate::run::event::EventLine;
use crate::run::kind::Kind;
use crate::run::log::LogReader;
use crate::run::payload::Payload;
use crate::run::text::Text;

/// How many events without a salt are noted. There are no more in a list of redactions that is read.
const MAX_UNSALTED: usize = 1 << 20;

/// The longest line of a session in which a time is looked for.
const MAX_TIMED_LINE_BYTES: usize = 1 << 20;

/// The log of a run.
#[derive(Default)]
pub struct CheckedLog {
    /// What the manifest says of it.
    pub extent: LogExtent,
    /// The blobs that it names.
    pub blobs: HashSet<Hash>,
    /// What stands where the name of a blob should, and is none.
    pub no_blob: Option<String>,
    /// The times of events without a salt, in order.
    pub unsalted: Vec<u64>,
    /// The run's id, and its workflow's name and version; None if the log does not begin with RunCreated.
    pub created: Option<[Text<'static>; 3]>,
    /// How the run stands at the end.
    pub status: Option<&'static str>,
    /// `ts` of the first event, as it stands in the line.
    pub started_at: Option<String>,
    /// `ts` of the event that ended the run.
    pub completed_at: Option<String>,
    /// The first line, if it is not the first event: what it is chained to stands in a snapshot.
    pub first_line: Option<String>,
    /// How many bytes stand behind the last whole line.
    pub torn_bytes: u64,
    nesting: Nesting,
}

impl CheckedLog {
    /// Reads a log. An error says what is wrong with it; what was noted until then stays.
    pub fn read(&mut self, input: &mut dyn Read, limits: &Limits) -> Result<(), BundleError> {
        let mut reader = LogReader::new(input, 0);
        let mut spare = Vec::new();
        while let Some(chunk) = reader.next_chunk(spare).map_err(invalid)? {
            let (text, fault) = chunk.text();
            for (start, line) in Lines::new(text.as_bytes()) {
                self.line(text.get(start..start + line.len()).unwrap_or_default(), limits)
                    .map_err(|error| self.placed(error))?;
                if self.blobs.len() as u64 > limits.files || self.unsalted.len() > MAX_UNSALTED {
                    let message =
                        "It names more blobs, or has more events without a salt, than a bundle can have files";
                    return Err(BundleError::new(BundleCode::TooManyFiles, message));
                }
            }
            if let Some(fault) = fault {
                return Err(self.placed(fault));
            }
            spare = chunk.into_spare();
        }
        self.torn_bytes = reader.torn_bytes();
        Ok(())
    }

    fn placed(&self, error: RunError) -> BundleError {
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
        self.note(kind, &event)?;
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
            (Some(previous), _) => previous,
            (None, 0) => GENESIS,
            (None, _) => {
                self.first_line = Some(event.line.to_owned());
                return Ok(());
            }
        };
        chain::check(&previous, &event.sealed()).map(drop)
    }

    /// Checks the first line of a log that begins behind a snapshot, which has the hash of the line before.
    pub fn check_first_line(&self, previous: &HexHash) -> Result<(), BundleError> {
        let Some(line) = &self.first_line else { return Ok(()) };
        EventLine::split(line).and_then(|event| chain::check(previous, &event.sealed())).map(drop).map_err(invalid)
    }

    fn note(&mut self, kind: Kind, event: &EventLine<'_>) -> Result<(), RunError> {
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
                    None => self.no_blob = self.no_blob.take().or_else(|| Some(quoted(name.as_json()))),
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

/// The lines of a session. What they say is the replay's affair: it takes whatever a crash has left.
#[derive(Default)]
pub struct CheckedSession {
    /// How many lines there are, a last one without `\n` included.
    pub lines: u64,
    /// `ts` of the first line, as it stands there; None if it has none.
    pub started_at: Option<String>,
    /// `ts` of the last line that has one.
    pub completed_at: Option<String>,
    /// The session's id; None if the first line is no `session_start` that has one.
    pub session_id: Option<Text<'static>>,
}

#[derive(Deserialize)]
struct TimedLine {
    ts: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    payload: Option<StartPayload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartPayload {
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct OnlyTime {
    ts: Option<String>,
}

impl CheckedSession {
    /// Reads a session. A line over the limit is an error.
    pub fn read(&mut self, input: &mut dyn Read, limits: &Limits) -> Result<(), BundleError> {
        let mut block = vec![0; 256 << 10];
        // The line under way, as much of it as a time is looked for in.
        let (mut line, mut last, mut length) = (Vec::new(), Vec::new(), 0u64);
        loop {
            let count = super::container::read_up_to(input, &mut block).map_err(super::container::read_failed)?;
            let mut rest = &block[..count];
            while !rest.is_empty() {
                let newline = memchr::memchr(b'\n', rest);
                let piece = &rest[..newline.unwrap_or(rest.len())];
                length += piece.len() as u64;
                if length > limits.line_bytes {
                    let message = format!("Line {} is longer than {} bytes", self.lines + 1, limits.line_bytes);
                    return Err(BundleError::new(BundleCode::LineTooLong, message));
                }
                if length <= MAX_TIMED_LINE_BYTES as u64 {
                    line.extend_from_slice(piece);
                }
                rest = newline.map_or(&[], |newline| &rest[newline + 1..]);
                if newline.is_some() {
                    self.end_line(&mut line, &mut last, length);
                    length = 0;
                }
            }
            if count < block.len() {
                break;
            }
        }
        if length > 0 {
            self.end_line(&mut line, &mut last, length);
        }
        let time = serde_json::from_slice(&last).ok().and_then(|line: OnlyTime| line.ts);
        self.completed_at = time.map(|time| inside(&time)).or_else(|| self.started_at.clone());
        Ok(())
    }

    fn end_line(&mut self, line: &mut Vec<u8>, last: &mut Vec<u8>, length: u64) {
        self.lines += 1;
        if self.lines == 1 {
            self.first_line(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
        }
        if length <= MAX_TIMED_LINE_BYTES as u64 && line.trim_ascii_end().ends_with(b"}") {
            std::mem::swap(line, last);
        }
        line.clear();
    }

    fn first_line(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<TimedLine>(line) else { return };
        self.started_at = line.ts.map(|time| inside(&time));
        if line.kind.as_deref() == Some("session_start") {
            let id = line.payload.and_then(|payload| payload.session_id).filter(|id| !id.is_empty());
            self.session_id = id.map(|id| Text::from_plain(&id).into_owned());
        }
    }
}

fn inside(text: &str) -> String {
    Text::from_plain(text).as_json().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::recorded::Recorded;
    use crate::run::sample::SampleOptions;

    fn read(log: &[u8]) -> (CheckedLog, Option<BundleCode>) {
        let mut checked = CheckedLog::default();
        let result = checked.read(&mut &log[..], &Limits::default());
        (checked, result.err().map(|error| error.code))
    }

    #[test]
    fn a_whole_log_tells_where_it_begins_and_ends() {
        let recorded = Recorded::new(SampleOptions::default());
        let log = recorded.log();
        let (checked, code) = read(&log);
        assert_eq!(code, None);
        let extent = &checked.extent;
        assert_eq!((extent.count, extent.first_time), (recorded.records.len() as u64, Some(0)));
        assert_eq!(extent.last_time, Some(recorded.last()));
        assert!(checked.created.is_some() && checked.unsalted.is_empty() && checked.no_blob.is_none());
        assert_eq!(checked.started_at.as_deref(), Some("2026-02-11T16:00:00.000Z"));
        let (torn, code) = read(&log[..log.len() - 1]);
        assert_eq!((code, torn.extent.count, torn.torn_bytes > 0), (None, extent.count - 1, true));
    }

    #[test]
    fn any_changed_byte_of_a_line_is_found() {
        let recorded = Recorded::new(SampleOptions { max_events: 4, ..SampleOptions::default() });
        let log = recorded.log();
        for at in 0..log.len() {
            let mut damaged = log.clone();
            damaged[at] ^= 1;
            let (checked, code) = read(&damaged);
            // The last \n: what stands before it is no line any more.
            let torn = at == log.len() - 1 && checked.torn_bytes > 0;
            // The digit of `"v":1` makes another version.
            let other = code == Some(BundleCode::UnsupportedVersion) && damaged[..at].ends_with(b"{\"v\":");
            assert!(code == Some(BundleCode::LogInvalid) || torn || other, "byte {at}: {code:?}");
        }
    }

    #[test]
    fn lines_that_are_lost_moved_or_too_long_are_found() {
        let recorded = Recorded::new(SampleOptions::default());
        let log = recorded.log();
        let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(read(&lines[1..].concat()).1, None, "it could follow a snapshot");
        assert!(read(&lines[1..].concat()).0.first_line.is_some());
        assert_eq!(read(&[&lines[..3], &lines[4..]].concat().concat()).1, Some(BundleCode::LogInvalid));
        assert_eq!(read(&[lines[0], lines[2], lines[1]].concat()).1, Some(BundleCode::LogInvalid));
        assert_eq!(read(&[lines[0], b"\xff\n"].concat()).1, Some(BundleCode::LogInvalid));
        let limits = Limits { line_bytes: 100, ..Limits::default() };
        let error = CheckedLog::default().read(&mut &log[..], &limits).unwrap_err();
        assert_eq!(error.code, BundleCode::LineTooLong);
    }

    #[test]
    fn a_session_tells_its_lines_and_times() {
        let mut checked = CheckedSession::default();
        let text = "\u{feff}{\"v\":1,\"seq\":1,\"ts\":\"T1\",\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\"}}\nx\n\n{\"ts\":\"T2\"}\n{\"ts\":\"T3";
        checked.read(&mut text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(checked.lines, 5);
        assert_eq!(checked.session_id.as_ref().map(|id| id.as_json()), Some("s"));
        assert_eq!((checked.started_at.as_deref(), checked.completed_at.as_deref()), (Some("T1"), Some("T2")));
        let limits = Limits { line_bytes: 20, ..Limits::default() };
        let error = CheckedSession::default().read(&mut text.as_bytes(), &limits).unwrap_err();
        assert_eq!(error.code, BundleCode::LineTooLong);
    }
}
