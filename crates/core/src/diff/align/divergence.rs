//! The first divergence of two recordings.

use crate::diff::error::{DiffError, SessionFault, Side};
use crate::diff::projection::{Calls, Places, Pointer, Tree, may_have_calls, run_projection, session_projection};
use crate::diff::stream::{Record, RunCursor, RunEvent, SessionCursor, Source};
use crate::run::{Kind, RunError};
use crate::task::{Cancelled, Task};

/// The kind of a divergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DivergenceKind {
    EventMismatch,
    LeftEnded,
    RightEnded,
    HeaderMismatch,
}

impl DivergenceKind {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            DivergenceKind::EventMismatch => "EventMismatch",
            DivergenceKind::LeftEnded => "LeftEnded",
            DivergenceKind::RightEnded => "RightEnded",
            DivergenceKind::HeaderMismatch => "HeaderMismatch",
        }
    }
}

/// Which events and values are compared.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Whether heartbeats are compared too.
    pub heartbeats: bool,
    /// Pointers to values that are not compared.
    pub ignore: Vec<Pointer>,
}

/// An event at which two runs diverge.
pub(crate) struct PartingEvent {
    /// Logical time.
    pub time: u64,
    /// Its place among the events compared.
    pub place: i64,
    /// The event's kind.
    pub kind: Kind,
    /// For an event that ends a call, the place of the event that opened it.
    pub invoked: Option<i64>,
    /// The event as it is compared.
    pub tree: Tree<'static>,
}

/// The divergence of two runs. A side without an event has ended.
pub(crate) struct RunDivergence {
    /// The event on the left.
    pub left: Option<PartingEvent>,
    /// The event on the right.
    pub right: Option<PartingEvent>,
    /// The places on the left, as far as the log was read.
    pub left_places: Places,
    /// The places on the right, as far as the log was read.
    pub right_places: Places,
}

/// A record at which two sessions diverge.
pub(crate) struct PartingRecord {
    /// Its place among the records.
    pub place: u64,
    /// The record as it is compared.
    pub tree: Tree<'static>,
}

/// The divergence of two sessions. A side without a record has ended.
pub(crate) struct SessionDivergence {
    /// The record on the left.
    pub left: Option<PartingRecord>,
    /// The record on the right.
    pub right: Option<PartingRecord>,
    /// Whether the session that ended first is incomplete.
    pub is_cut_off: bool,
}

/// The logical time at which the comparison of two runs begins: that of the first event of the run that begins later.
pub(crate) fn start_of(left: &Source, right: &Source) -> Result<u64, DiffError> {
    let first =
        |source: &Source, side| source.first_time().map_err(|error| DiffError::of_run(error, source.place(Some(side))));
    Ok(first(left, Side::Left)?.max(first(right, Side::Right)?))
}

/// Reports the progress of both sides together, in bytes. Fails if the comparison was cancelled.
pub(super) fn report_progress(task: &mut Task<'_>, bytes: u64, size: u64) -> Result<(), DiffError> {
    task.report_bytes(bytes, size).map_err(|Cancelled| DiffError::Cancelled)
}

/// The first divergence of two runs. Returns `None` if they are equal.
pub(crate) fn diverging_events(
    left: &Source,
    right: &Source,
    compared: &Compared,
    task: &mut Task<'_>,
) -> Result<Option<RunDivergence>, DiffError> {
    let start = start_of(left, right)?;
    let of = |side, source: &Source| {
        let place = source.place(Some(side));
        move |error: RunError| DiffError::of_run(error, place.clone())
    };
    let (left_failed, right_failed) = (of(Side::Left, left), of(Side::Right, right));
    let mut one = RunCursor::open(left, start, compared.heartbeats).map_err(&left_failed)?;
    let mut other = RunCursor::open(right, start, compared.heartbeats).map_err(&right_failed)?;
    loop {
        let has_left = one.advance().map_err(&left_failed)?;
        let has_right = other.advance().map_err(&right_failed)?;
        let (left_event, right_event) = (one.event(), other.event());
        let is_same = match (&left_event, &right_event) {
            (None, None) => return Ok(None),
            (Some(left), Some(right)) => {
                let same = run_projection::are_equal(left, right, &compared.ignore);
                same.ok_or_else(|| left_failed(changed(left.row.time)))?
            }
            _ => false,
        };
        if !is_same || !has_left || !has_right {
            let parting =
                |event: Option<RunEvent<'_>>| event.map(|event| parting_event(&event, &compared.ignore)).transpose();
            let (left, right) =
                (parting(left_event).map_err(&left_failed)?, parting(right_event).map_err(&right_failed)?);
            let (left_places, right_places) = (std::mem::take(&mut one.places), std::mem::take(&mut other.places));
            return Ok(Some(RunDivergence { left, right, left_places, right_places }));
        }
        if one.is_last_of_batch() {
            report_progress(task, one.bytes + other.bytes, one.size + other.size)?;
        }
    }
}

fn parting_event(event: &RunEvent<'_>, ignore: &[Pointer]) -> Result<PartingEvent, RunError> {
    let tree = run_projection::project_event(event, ignore).ok_or_else(|| changed(event.row.time))?;
    let (time, kind) = (event.row.time, event.row.kind);
    let (place, invoked) = (event.place(), event.invoked());
    Ok(PartingEvent { time, place, kind, invoked, tree })
}

/// The error for a payload that can't be parsed, although the reader has found it to be JSON.
fn changed(time: u64) -> RunError {
    RunError::new(crate::run::ErrorCode::NotAJsonLine, "The event's payload can't be taken apart").at(time)
}

/// The first divergence of two sessions. Returns `None` if they are equal.
pub(crate) fn diverging_records(
    left: &Source,
    right: &Source,
    compared: &Compared,
    task: &mut Task<'_>,
) -> Result<Option<SessionDivergence>, DiffError> {
    let fault = |side, source: &Source| {
        let place = source.place(Some(side));
        move |error| DiffError::of_session(error, place.clone())
    };
    let (left_failed, right_failed) = (fault(Side::Left, left), fault(Side::Right, right));
    let mut one = SessionCursor::open(left).map_err(&left_failed)?;
    let mut other = SessionCursor::open(right).map_err(&right_failed)?;
    let (mut left_calls, mut right_calls) = (Calls::default(), Calls::default());
    loop {
        one.advance().map_err(&left_failed)?;
        other.advance().map_err(&right_failed)?;
        let (left_record, right_record) = (one.record(), other.record());
        let unread = |side: Side| {
            let (failed, error) = (if side == Side::Left { left } else { right }, crate::lines::ReadError::Changed);
            DiffError::of_session(error.into(), failed.place(Some(side)))
        };
        let (left_tree, right_tree) = match (&left_record, &right_record) {
            (None, None) => return Ok(None),
            (Some(left), Some(right)) if are_plainly_equal(left, right) => {
                if one.is_last_of_batch() {
                    report_progress(task, one.bytes + other.bytes, one.size + other.size)?;
                }
                continue;
            }
            (left, right) => {
                let project = |record: &Option<Record<'_>>, calls: &mut Calls, side| match record {
                    Some(record) => {
                        let tree = session_projection::project_record(record, calls, &compared.ignore);
                        tree.ok_or_else(|| unread(side)).map(Some)
                    }
                    None => Ok(None),
                };
                (project(left, &mut left_calls, Side::Left)?, project(right, &mut right_calls, Side::Right)?)
            }
        };
        if let (Some(left), Some(right)) = (&left_tree, &right_tree)
            && run_projection::trees_are_equal(left, right)
        {
            if one.is_last_of_batch() {
                report_progress(task, one.bytes + other.bytes, one.size + other.size)?;
            }
            continue;
        }
        let is_cut_off = match (&left_tree, &right_tree) {
            (None, _) => {
                one.is_torn || left_calls.are_open() || ends_unanswered(left, one.place).map_err(&left_failed)?
            }
            (_, None) => {
                other.is_torn || right_calls.are_open() || ends_unanswered(right, other.place).map_err(&right_failed)?
            }
            _ => false,
        };
        let parting = |record: Option<Record<'_>>, tree: Option<Tree<'static>>| {
            record.zip(tree).map(|(record, tree)| PartingRecord { place: record.place as u64, tree })
        };
        let (left, right) = (parting(left_record, left_tree), parting(right_record, right_tree));
        return Ok(Some(SessionDivergence { left, right, is_cut_off }));
    }
}

/// Whether two records are found to be equal without parsing them. If `false`, they have to be parsed, for example because of
/// a call.
fn are_plainly_equal(left: &Record<'_>, right: &Record<'_>) -> bool {
    left.name() == right.name()
        && left.payload() == right.payload()
        && std::mem::discriminant(&left.parts) == std::mem::discriminant(&right.parts)
        && !may_have_calls(left)
}

/// Whether the last record of a session is an item that the AI has not answered.
fn ends_unanswered(source: &Source, last: i64) -> Result<bool, SessionFault> {
    let mut cursor = SessionCursor::open(source)?;
    while cursor.place < last && cursor.advance()? {}
    let tree =
        cursor.record().and_then(|record| session_projection::project_record(&record, &mut Calls::default(), &[]));
    Ok(tree.is_some_and(|tree| {
        let speaker = tree.at(&["payload", "content", "speaker"]).and_then(|speaker| tree.string(speaker));
        speaker.is_some_and(|speaker| speaker.as_json() != "ai")
    }))
}
