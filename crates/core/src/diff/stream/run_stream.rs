//! The events of a run, one after the other, as they are compared.
//!
//! [`EventReader`] checks that each line is an event. Hashes are not checked: that is the task of `verifyRun`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::feed::{BatchReader, Feed};
use super::source::Source;
use crate::diff::projection::Places;
use crate::json::Text;
use crate::run::read::{Chunk, EventReader, ReadEvent};
use crate::run::{EventLine, Kind, Payload, RunError};

/// The start and end of a range of bytes in a batch.
type Range = (u32, u32);

/// An event of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Logical time.
    pub time: u64,
    /// The event's kind.
    pub kind: Kind,
    /// The logical time of the cause.
    pub parent: Option<u64>,
    /// For an event that ends a call, the logical time of the event that opened it.
    pub invoked: Option<u64>,
    line: Range,
    payload: Range,
    node: Option<Range>,
    /// The id of the call in the payload, if it is written without escapes.
    call: Option<Range>,
}

/// A batch of events.
#[derive(Default)]
pub(super) struct RunBatch {
    chunk: Option<Chunk>,
    rows: Vec<Row>,
    /// The times of the events that are not compared.
    left_out: Vec<u64>,
    /// The error of the line after the batch.
    fault: Option<RunError>,
    /// Offset in the log at which the batch ends.
    end: u64,
    /// Size of the torn last line in bytes. Known at the end of the log.
    torn: u64,
}

impl RunBatch {
    fn slice(&self, (start, end): Range) -> &[u8] {
        let bytes = self.chunk.as_ref().map_or(&[][..], Chunk::bytes);
        bytes.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// Reads a log.
pub(super) struct RunReader {
    reader: EventReader<'static>,
    rules: ComparedEvents,
    calls: OpenCalls,
    is_over: bool,
}

/// The events that are compared.
#[derive(Clone, Copy, Default)]
pub(crate) struct ComparedEvents {
    /// The time of the first one.
    pub start: u64,
    /// Whether heartbeats are compared.
    pub heartbeats: bool,
}

impl RunReader {
    /// Opens the log at the event at `start`.
    fn open(source: &Source, start: u64, heartbeats: bool) -> Result<Self, RunError> {
        let first = source.first_time()?;
        let reader = EventReader::open(&source.log, Some(first), start, Cow::Owned(source.redactions.clone()))?;
        let (rules, calls) = (ComparedEvents { start, heartbeats }, OpenCalls::default());
        Ok(RunReader { reader, rules, calls, is_over: false })
    }

    /// Adds the events of a chunk to the batch. An error is that of the line after them.
    fn take(&mut self, batch: &mut RunBatch, chunk: &Chunk) -> Result<(), RunError> {
        let RunReader { reader, rules, calls, .. } = self;
        reader.decode(chunk, |event| {
            if rules.compares(event.event.kind()) && event.line.time >= rules.start {
                batch.rows.push(row(event, calls));
            } else if event.line.time >= rules.start {
                batch.left_out.push(event.line.time);
            }
            ControlFlow::Continue(())
        })
    }
}

#[inline]
fn row(read: &ReadEvent<'_>, calls: &mut OpenCalls) -> Row {
    let ReadEvent { start, line, event } = read;
    let start = *start as u32;
    let place = |inside: &str| range_in(line.line, inside).map(|(from, to)| (start + from, start + to));
    let (invoked, call) = calls.call_of(line, &event.payload);
    Row {
        time: line.time,
        kind: event.kind(),
        parent: line.parent,
        invoked,
        line: (start, start + line.line.len() as u32),
        payload: place(line.payload).unwrap_or_default(),
        node: line.node.and_then(place),
        call: call.and_then(|call| place(call.as_json())),
    }
}

impl ComparedEvents {
    /// Whether events of a kind are compared.
    pub(crate) fn compares(self, kind: Kind) -> bool {
        match kind {
            Kind::SnapshotCreated | Kind::SnapshotRestored | Kind::BlobStored => false,
            Kind::Heartbeat => self.heartbeats,
            _ => true,
        }
    }
}

/// The open calls by node and id, with the times of their ToolInvoked events.
#[derive(Default)]
pub(crate) struct OpenCalls(HashMap<(String, String), u64>);

impl OpenCalls {
    /// Returns the time of the event that opened the call that `event` ends, and the id of the call. Notes a call that
    /// `event` opens.
    #[inline]
    pub(crate) fn call_of<'p, 'a>(
        &mut self,
        event: &EventLine<'_>,
        payload: &'p Payload<'a>,
    ) -> (Option<u64>, Option<&'p Text<'a>>) {
        let key = |call: &Text<'_>| (event.node.unwrap_or_default().to_owned(), call.as_json().to_owned());
        match payload {
            Payload::ToolInvoked { call, .. } => {
                self.0.insert(key(call), event.time);
                (None, Some(call))
            }
            Payload::ToolCompleted { call, .. }
            | Payload::ToolFailed { call, .. }
            | Payload::ToolTimedOut { call, .. } => (self.0.remove(&key(call)), Some(call)),
            _ => (None, None),
        }
    }
}

impl BatchReader for RunReader {
    type Batch = RunBatch;
    type Error = RunError;

    fn read(&mut self, spare: Option<RunBatch>) -> Result<Option<RunBatch>, RunError> {
        let mut batch = spare.unwrap_or_default();
        if self.is_over {
            return Ok(None);
        }
        let buffer = batch.chunk.take().map(Chunk::into_spare).unwrap_or_default();
        batch.rows.clear();
        batch.left_out.clear();
        let chunk = match self.reader.next_chunk(buffer) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => {
                self.is_over = true;
                batch.torn = self.reader.torn_bytes();
                // A last batch without events reports the torn line.
                return Ok((batch.torn > 0).then_some(batch));
            }
            Err(error) => return Err(error),
        };
        batch.fault = self.take(&mut batch, &chunk).err();
        self.is_over = batch.fault.is_some();
        batch.end = self.reader.offset();
        batch.chunk = Some(chunk);
        Ok(Some(batch))
    }
}

/// The range of `part` in `text`. Returns `None` if it is not a slice of `text`.
fn range_in(text: &str, part: &str) -> Option<Range> {
    let from = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (from + part.len() <= text.len()).then_some((from as u32, (from + part.len()) as u32))
}

/// Reads a log event by event.
pub(crate) struct RunCursor {
    feed: Feed<RunReader>,
    batch: RunBatch,
    at: usize,
    /// The places of all events up to at least the end of the batch.
    pub places: Places,
    /// Approximate number of bytes compared so far.
    pub bytes: u64,
    /// Size of the log in bytes.
    pub size: u64,
    /// Whether the log ends with a torn line. Known at the end of the log.
    pub is_torn: bool,
    seen: bool,
}

impl RunCursor {
    /// Opens the log at the event at `start`.
    pub(crate) fn open(source: &Source, start: u64, heartbeats: bool) -> Result<Self, RunError> {
        let reader = RunReader::open(source, start, heartbeats)?;
        let size = reader.reader.size()?;
        let feed = Feed::new(reader, size);
        let places = Places::from(start);
        Ok(RunCursor { feed, batch: RunBatch::default(), at: 0, places, bytes: 0, size, is_torn: false, seen: false })
    }

    /// Moves to the next event; the first call moves to the first one. Returns `false` at the end. Fails if the log has no
    /// events.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, RunError> {
        self.at += 1;
        while self.at >= self.batch.rows.len() {
            if !self.next_batch()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[cold]
    fn next_batch(&mut self) -> Result<bool, RunError> {
        if let Some(fault) = self.batch.fault.take() {
            return Err(fault);
        }
        self.seen |= !self.batch.rows.is_empty() || !self.batch.left_out.is_empty();
        let spare = std::mem::take(&mut self.batch);
        match self.feed.next(Some(spare))? {
            Some(batch) => {
                self.is_torn |= batch.torn > 0;
                batch.left_out.iter().for_each(|time| self.places.leave_out(*time));
                self.bytes = self.bytes.max(batch.end);
                (self.batch, self.at) = (batch, 0);
                Ok(true)
            }
            None if !self.seen && self.places.start() == 0 => Err(RunError::empty_log()),
            None => Ok(false),
        }
    }

    /// Whether the current event is the last one of its batch.
    pub(crate) fn is_last_of_batch(&self) -> bool {
        self.at + 1 == self.batch.rows.len()
    }

    /// The current event. `None` before the first and after the last one.
    #[inline]
    pub(crate) fn event(&self) -> Option<RunEvent<'_>> {
        self.batch.rows.get(self.at).map(|row| RunEvent { row, batch: &self.batch, places: &self.places })
    }
}

/// An event of a run in its batch.
#[derive(Clone, Copy)]
pub(crate) struct RunEvent<'b> {
    /// The decoded fields.
    pub row: &'b Row,
    batch: &'b RunBatch,
    /// The places of the event's log.
    pub places: &'b Places,
}

impl<'b> RunEvent<'b> {
    /// The payload as it is in the log.
    #[inline]
    pub(crate) fn payload(&self) -> &'b [u8] {
        self.batch.slice(self.row.payload)
    }

    /// The node, as the inside of its JSON string.
    #[inline]
    pub(crate) fn node(&self) -> Option<&'b [u8]> {
        self.row.node.map(|node| self.batch.slice(node))
    }

    /// Its place among the events compared.
    #[inline]
    pub(crate) fn place(&self) -> i64 {
        self.places.of(self.row.time)
    }

    /// The place of the cause.
    #[inline]
    pub(crate) fn parent(&self) -> Option<i64> {
        self.row.parent.map(|time| self.places.of(time))
    }

    /// For an event that ends a call, the place of the event that opened it.
    #[inline]
    pub(crate) fn invoked(&self) -> Option<i64> {
        self.row.invoked.map(|time| self.places.of(time))
    }

    /// The payload before and after the id of the call. `None` if the event has no call, or its id is written with
    /// escapes.
    #[inline]
    pub(crate) fn around_call(&self) -> Option<(&'b [u8], &'b [u8])> {
        let (start, end) = self.row.call?;
        let (from, to) = self.row.payload;
        Some((self.batch.slice((from, start)), self.batch.slice((end, to))))
    }

    /// Offset and length of the line in the log.
    pub(crate) fn offset(&self) -> (u64, u32) {
        let (start, end) = self.row.line;
        (self.batch.chunk.as_ref().map_or(0, |chunk| chunk.offset) + u64::from(start), end - start)
    }
}
