//! The events of a run, as they are compared.
//!
//! [`EventReader`] checks that each line is an event. Hashes are not checked: that is the task of `verifyRun`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::cursor::Batch;
use super::event::Row;
use super::feed::BatchReader;
use super::source::Source;
use crate::diff::error::{Damage, DiffError, Side};
use crate::json::{Span, Text};
use crate::run::read::{Chunk, EventReader, ReadEvent};
use crate::run::{EventLine, Kind, Payload, RunError};

/// Reads the log of a run.
pub(crate) struct RunEvents {
    reader: EventReader<'static>,
    place: Damage,
    start: u64,
    heartbeats: bool,
    calls: OpenCalls,
    /// Whether no event was read yet.
    is_empty: bool,
    /// The place of the next event.
    next: i64,
    is_over: bool,
}

impl RunEvents {
    /// Opens the log at the event at `start`. Returns the reader and the size of the log in bytes.
    pub(crate) fn open(
        source: &Source,
        side: Option<Side>,
        start: u64,
        heartbeats: bool,
    ) -> Result<(Self, u64), DiffError> {
        let place = source.place(side);
        let reader = source.first_time().and_then(|first| {
            EventReader::open(&source.log, Some(first), start, Cow::Owned(source.redactions.clone()))
        });
        let sized = reader.and_then(|reader| Ok((reader.size()?, reader)));
        let (size, reader) = sized.map_err(|error| DiffError::of_run(error, place.clone()))?;
        let calls = OpenCalls::default();
        Ok((RunEvents { reader, place, start, heartbeats, calls, is_empty: true, next: 0, is_over: false }, size))
    }

    /// Adds the events of a chunk to the batch. An error is that of the line after them.
    fn take(&mut self, batch: &mut Batch, chunk: &Chunk) -> Result<(), RunError> {
        let RunEvents { reader, start, heartbeats, calls, is_empty, next, .. } = self;
        reader.decode(chunk, |event| {
            let time = event.line.time;
            *is_empty &= time < *start;
            let is_compared = is_compared(event.event.kind(), *heartbeats);
            if time >= *start && is_compared {
                batch.rows.push(calls.row(event, *next));
                *next += 1;
            } else if time >= *start {
                batch.left_out.push(time);
            }
            ControlFlow::Continue(())
        })
    }
}

/// Whether events of a kind are compared.
pub(crate) fn is_compared(kind: Kind, heartbeats: bool) -> bool {
    match kind {
        Kind::SnapshotCreated | Kind::SnapshotRestored | Kind::BlobStored => false,
        Kind::Heartbeat => heartbeats,
        _ => true,
    }
}

/// The open calls by node and id, with the places of their ToolInvoked events.
#[derive(Default)]
pub(crate) struct OpenCalls(HashMap<(String, String), i64>);

impl OpenCalls {
    /// The row of an event. Notes a call that the event at `place` opens.
    #[inline]
    pub(crate) fn row(&mut self, read: &ReadEvent<'_>, place: i64) -> Row {
        let ReadEvent { start, line, event } = read;
        let (invoked, call) = self.call_of(line, &event.payload, place);
        let call = call.and_then(|call| span_in(line.line, call.as_json()));
        Row { invoked, call, ..row_of(line, *start, event.kind()) }
    }

    /// Returns the place of the event that opened the call that `event` ends, and the id of the call.
    #[inline]
    fn call_of<'p, 'a>(
        &mut self,
        event: &EventLine<'_>,
        payload: &'p Payload<'a>,
        place: i64,
    ) -> (Option<i64>, Option<&'p Text<'a>>) {
        let key = |call: &Text<'_>| (event.node.unwrap_or_default().to_owned(), call.as_json().to_owned());
        match payload {
            Payload::ToolInvoked { call, .. } => {
                self.0.insert(key(call), place);
                (None, Some(call))
            }
            Payload::ToolCompleted { call, .. }
            | Payload::ToolFailed { call, .. }
            | Payload::ToolTimedOut { call, .. } => (self.0.remove(&key(call)), Some(call)),
            _ => (None, None),
        }
    }
}

/// The row of a line at `start` in its batch, without its call.
#[inline]
pub(crate) fn row_of(line: &EventLine<'_>, start: usize, kind: Kind) -> Row {
    let span = Span { start: start as u32, end: (start + line.line.len()) as u32 };
    Row {
        head: line
            .node
            .and_then(|node| span_in(line.line, node))
            .map(|Span { start, end }| Span { start: start - 1, end: end + 1 }),
        payload: span_in(line.line, line.payload),
        kind: Some(kind),
        parent: line.parent,
        ..Row::of(span, line.time)
    }
}

/// The span of `part` in `text`. Returns `None` if it is not a slice of `text`.
#[inline]
fn span_in(text: &str, part: &str) -> Option<Span> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (start + part.len() <= text.len()).then_some(Span { start: start as u32, end: (start + part.len()) as u32 })
}

impl BatchReader for RunEvents {
    type Batch = Batch;
    type Error = DiffError;

    fn read(&mut self, spare: Option<Batch>) -> Result<Option<Batch>, DiffError> {
        let mut batch = spare.unwrap_or_default();
        batch.rows.clear();
        batch.left_out.clear();
        let failed = |error| DiffError::of_run(error, self.place.clone());
        let buffer = std::mem::take(&mut batch.bytes);
        let chunk = if self.is_over { None } else { self.reader.next_chunk(buffer).map_err(failed)? };
        let Some(chunk) = chunk else {
            let is_empty = self.is_empty && !self.is_over && self.start == 0;
            return if is_empty { Err(failed(RunError::empty_log())) } else { Ok(None) };
        };
        let fault = self.take(&mut batch, &chunk).err();
        batch.fault = fault.map(|error| DiffError::of_run(error, self.place.clone()));
        self.is_over = batch.fault.is_some();
        (batch.offset, batch.end) = (chunk.offset, self.reader.offset());
        batch.bytes = chunk.into_spare();
        Ok(Some(batch))
    }
}
