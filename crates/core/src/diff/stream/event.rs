//! An event of a run or a record of a session in its line, as far as it can be compared without parsing it.

use crate::diff::projection::Places;
use crate::json::Span;
use crate::run::Kind;

/// Where the parts of an event are. The spans of its parts are relative to its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The line in its batch, without its ending.
    pub line: Span,
    /// The logical time of a run's event, or the place of a session's record.
    pub number: u64,
    /// The node of a run's event, or the type of a record.
    pub head: Option<Span>,
    /// The payload, or a whole record that is not an object.
    pub payload: Option<Span>,
    /// Whether the record is not an object.
    pub is_value: bool,
    /// The kind of a run's event.
    pub kind: Option<Kind>,
    /// The logical time of the cause that a run's event names.
    pub parent: Option<u64>,
    /// For an event that ends a call, the place of the event that opened it.
    pub invoked: Option<i64>,
    /// The id of the call in the payload of a run's event, if it is written without escapes.
    pub call: Option<Span>,
}

impl Row {
    /// A line without any parts.
    pub(crate) fn of(line: Span, number: u64) -> Self {
        let (head, payload, is_value, kind, parent, invoked, call) = (None, None, false, None, None, None, None);
        Row { line, number, head, payload, is_value, kind, parent, invoked, call }
    }
}

/// A row with its line.
#[derive(Clone, Copy)]
pub(crate) struct Event<'b> {
    /// Where its parts are.
    pub row: &'b Row,
    /// Its line, without its ending.
    pub line: &'b [u8],
    /// The places of the events of its log.
    pub places: &'b Places,
}

impl<'b> Event<'b> {
    /// A record that was not read by a [`Cursor`](super::Cursor).
    pub(crate) fn record(row: &'b Row, line: &'b [u8]) -> Self {
        Event { row, line, places: Places::ALL }
    }

    /// The JSON text of the node or type.
    #[inline]
    pub(crate) fn head(&self) -> Option<&'b [u8]> {
        self.row.head.map(|head| head.of(self.line))
    }

    /// The JSON text of the payload, or of a whole record that is not an object.
    #[inline]
    pub(crate) fn payload(&self) -> Option<&'b [u8]> {
        self.row.payload.map(|payload| payload.of(self.line))
    }

    /// Its place among the events compared.
    #[inline]
    pub(crate) fn place(&self) -> i64 {
        self.places.of(self.row.number)
    }

    /// The place of the cause.
    #[inline]
    pub(crate) fn parent(&self) -> Option<i64> {
        self.row.parent.map(|time| self.places.of(time))
    }

    /// The payload before and after the id of the call. `None` if the event has no call, or its id is written with escapes.
    #[inline]
    pub(crate) fn around_call(&self) -> Option<(&'b [u8], &'b [u8])> {
        let (call, payload) = (self.row.call?, self.row.payload?);
        Some((
            &self.line[payload.start as usize..call.start as usize],
            &self.line[call.end as usize..payload.end as usize],
        ))
    }
}
