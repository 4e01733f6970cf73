//! What the comparison of runs and that of sessions do differently.

use super::align::{Compared, Parting};
use super::ancestry::{Cause, cause};
use super::error::{DiffError, Side};
use super::projection::{
    Calls, CountCalls, Field, Pointer, Tree, events_are_plainly_equal, may_have_calls, project_event, project_record,
    records_are_plainly_equal,
};
use super::stream::{
    Batch, BatchReader, Cursor, Event, Members, Row, RunEvents, SessionRecords, Source, of_event, of_record,
    record_row, row_of, start_of,
};
use crate::json::{Nesting, Text, inside};
use crate::run::{EventLine, Kind};

/// Reads the log of a recording that can be compared with others of its kind.
pub(crate) trait Comparable: BatchReader<Batch = Batch, Error = DiffError> {
    /// The parts of the first event in which only executions of different workflows or projects differ.
    const HEADER: &'static [&'static str];

    /// Opens the log at the event at `start`. Returns the reader and the size of the log in bytes.
    fn open(source: &Source, side: Option<Side>, start: u64, heartbeats: bool) -> Result<(Self, u64), DiffError>
    where
        Self: Sized;

    /// The row of a line that was read before, given the references that were found in it.
    fn row(line: &[u8], references: &[(i64, u32)]) -> Option<Row>;

    /// Whether two events are found to be equal without parsing them. If `false`, they have to be projected, in order.
    fn are_plainly_equal(left: &Event<'_>, right: &Event<'_>) -> bool;

    /// Notes the calls in an event that need not be projected.
    fn pass(event: &Event<'_>, calls: &mut Calls);

    /// The event as it is compared. Returns `None` if it can't be parsed.
    fn project(event: &Event<'_>, calls: &mut impl CountCalls, ignore: &[Pointer]) -> Option<Tree<'static>>;

    /// Whether a recording is incomplete that has ended after the event with the number `last`.
    fn is_cut_off(source: &Source, side: Side, last: u64, is_torn: bool, calls: &Calls) -> Result<bool, DiffError>;

    /// The id of the execution, as the inside of a JSON string.
    fn id(source: &Source) -> Option<String>;

    /// The members to show of an event on a side.
    fn members(event: &Parting, fields: &[Field], side: Side) -> Members;

    /// The likely cause if two events differ.
    fn cause(events: [&Parting; 2], fields: &[Field], sources: [&Source; 2], compared: &Compared) -> Cause;
}

impl Comparable for RunEvents {
    const HEADER: &'static [&'static str] = &["/payload/workflow", "/payload/dagHash"];

    fn open(source: &Source, side: Option<Side>, start: u64, heartbeats: bool) -> Result<(Self, u64), DiffError> {
        RunEvents::open(source, side, start, heartbeats)
    }

    fn row(line: &[u8], references: &[(i64, u32)]) -> Option<Row> {
        let line = EventLine::split(std::str::from_utf8(line).ok()?).ok()?;
        let kind = Kind::parse(line.kind)?;
        // The call is the last reference of an event that ends one.
        let ends_call = matches!(kind, Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut);
        let invoked = references.last().map(|(place, _)| *place);
        let invoked = invoked.filter(|&place| ends_call && place != super::align::NOTHING);
        Some(Row { invoked, ..row_of(&line, 0, kind) })
    }

    #[inline]
    fn are_plainly_equal(left: &Event<'_>, right: &Event<'_>) -> bool {
        events_are_plainly_equal(left, right)
    }

    fn pass(_: &Event<'_>, _: &mut Calls) {}

    fn project(event: &Event<'_>, _: &mut impl CountCalls, ignore: &[Pointer]) -> Option<Tree<'static>> {
        project_event(event, ignore)
    }

    /// A finished run can't go on, so a log that ended earlier is incomplete.
    fn is_cut_off(_: &Source, _: Side, _: u64, _: bool, _: &Calls) -> Result<bool, DiffError> {
        Ok(true)
    }

    fn id(source: &Source) -> Option<String> {
        source.id_of_run()
    }

    fn members(event: &Parting, _: &[Field], _: Side) -> Members {
        of_event(event)
    }

    fn cause([left, right]: [&Parting; 2], fields: &[Field], sources: [&Source; 2], compared: &Compared) -> Cause {
        cause::of_events(left, right, fields, || cause::are_reordered([left, right], sources, compared))
    }
}

impl Comparable for SessionRecords {
    const HEADER: &'static [&'static str] = &["/payload/projectHash"];

    fn open(source: &Source, side: Option<Side>, _: u64, _: bool) -> Result<(Self, u64), DiffError> {
        SessionRecords::open(source, side)
    }

    fn row(line: &[u8], _: &[(i64, u32)]) -> Option<Row> {
        record_row(line, &mut Nesting::default())
    }

    fn are_plainly_equal(left: &Event<'_>, right: &Event<'_>) -> bool {
        records_are_plainly_equal(left, right)
    }

    fn pass(event: &Event<'_>, calls: &mut Calls) {
        if may_have_calls(event) {
            project_record(event, calls, &[]);
        }
    }

    fn project(event: &Event<'_>, calls: &mut impl CountCalls, ignore: &[Pointer]) -> Option<Tree<'static>> {
        project_record(event, calls, ignore)
    }

    /// Whether a line is torn, a call is open, or the last record is an item that the AI has not answered.
    fn is_cut_off(source: &Source, side: Side, last: u64, is_torn: bool, calls: &Calls) -> Result<bool, DiffError> {
        if is_torn || calls.are_open() {
            return Ok(true);
        }
        let mut cursor = Cursor::<Self>::open(source, Some(side), 0, false)?;
        while cursor.advance()? && cursor.event().is_some_and(|record| record.row.number < last) {}
        let tree = cursor.event().and_then(|record| project_record(&record, &mut Calls::default(), &[]));
        Ok(tree.is_some_and(|tree| {
            let speaker = tree.at(&["payload", "content", "speaker"]).and_then(|speaker| tree.string(speaker));
            speaker.is_some_and(|speaker| speaker.as_json() != "ai")
        }))
    }

    fn id(source: &Source) -> Option<String> {
        let mut cursor = Cursor::<Self>::open(source, None, 0, false).ok()?;
        cursor.advance().ok()?;
        let line = cursor.event()?.line;
        let id = start_of(line, &mut Nesting::default()).ok()?.session_id;
        let id = String::from_utf8_lossy(id.of(line)).into_owned();
        Some(Text::from_json(inside(&id)).as_json().to_owned())
    }

    fn members(event: &Parting, fields: &[Field], side: Side) -> Members {
        of_record(event, fields, side)
    }

    fn cause([left, right]: [&Parting; 2], _: &[Field], _: [&Source; 2], _: &Compared) -> Cause {
        cause::of_records(left, right)
    }
}
