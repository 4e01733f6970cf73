//! The events of a recording that are compared, one after the other.

use super::event::{Event, Row};
use super::feed::Feed;
use super::source::Source;
use crate::diff::comparable::Comparable;
use crate::diff::error::{DiffError, Side};
use crate::diff::projection::Places;

/// Lines of a log, and those of them that are compared.
#[derive(Default)]
pub(crate) struct Batch {
    /// The lines. What follows the last one does not count.
    pub bytes: Vec<u8>,
    /// Offset of the lines in the log.
    pub offset: u64,
    /// The events that are compared.
    pub rows: Vec<Row>,
    /// The times of the events that are not compared.
    pub left_out: Vec<u64>,
    /// Offset in the log at which the batch ends.
    pub end: u64,
    /// Whether the last line of a session does not parse.
    pub is_torn: bool,
    /// The error of the line after the batch.
    pub fault: Option<DiffError>,
}

/// Reads a log event by event.
pub(crate) struct Cursor<S: Comparable> {
    feed: Feed<S>,
    batch: Batch,
    at: usize,
    /// The places of all events up to at least the end of the batch.
    pub places: Places,
    /// Approximate number of bytes compared so far.
    pub bytes: u64,
    /// Size of the log in bytes.
    pub size: u64,
    /// Whether a session ends with a line that does not parse. Known at the end of the file.
    pub is_torn: bool,
}

impl<S: Comparable> Cursor<S> {
    /// Opens the log at the event at `start`.
    pub(crate) fn open(source: &Source, side: Option<Side>, start: u64, heartbeats: bool) -> Result<Self, DiffError> {
        let (reader, size) = S::open(source, side, start, heartbeats)?;
        let (feed, places) = (Feed::new(reader, size), Places::from(start));
        Ok(Cursor { feed, batch: Batch::default(), at: 0, places, bytes: 0, size, is_torn: false })
    }

    /// Moves to the next event; the first call moves to the first one. Returns `false` at the end. Fails if the log has no
    /// events.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, DiffError> {
        self.at += 1;
        while self.at >= self.batch.rows.len() {
            if !self.next_batch()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[cold]
    fn next_batch(&mut self) -> Result<bool, DiffError> {
        if let Some(fault) = self.batch.fault.take() {
            return Err(fault);
        }
        let spare = std::mem::take(&mut self.batch);
        let Some(batch) = self.feed.next(Some(spare))? else { return Ok(false) };
        batch.left_out.iter().for_each(|time| self.places.leave_out(*time));
        (self.bytes, self.is_torn) = (batch.end, batch.is_torn);
        (self.batch, self.at) = (batch, 0);
        Ok(true)
    }

    /// Whether the current event is the last one of its batch.
    pub(crate) fn is_last_of_batch(&self) -> bool {
        self.at + 1 == self.batch.rows.len()
    }

    /// The current event. `None` before the first and after the last one.
    #[inline]
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        let row = self.batch.rows.get(self.at)?;
        Some(Event { row, line: row.line.of(&self.batch.bytes), places: &self.places })
    }

    /// Offset and length of the current event's line in the log.
    pub(crate) fn line(&self) -> (u64, u32) {
        let line = self.batch.rows.get(self.at).map(|row| row.line);
        line.map_or((0, 0), |line| (self.batch.offset + u64::from(line.start), line.len() as u32))
    }
}
