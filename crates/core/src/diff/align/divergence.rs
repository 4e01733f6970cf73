//! The first divergence of two recordings.

use crate::diff::comparable::Comparable;
use crate::diff::error::{DiffError, Side};
use crate::diff::projection::{Calls, Places, Pointer, Tree, trees_are_equal};
use crate::diff::stream::{Cursor, Event, Row, Source};
use crate::lines::ReadError;
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

/// An event at which two recordings diverge.
pub(crate) struct Parting {
    /// Where its parts are in its line.
    pub row: Row,
    /// Its place among the events compared.
    pub place: i64,
    /// The event as it is compared.
    pub tree: Tree<'static>,
}

/// The divergence of two recordings.
pub(crate) struct Divergence {
    /// The events, left and right. A side without one has ended.
    pub events: [Option<Parting>; 2],
    /// The places on each side, as far as the log was read.
    pub places: [Places; 2],
    /// Whether the recording that ended first is incomplete.
    pub is_cut_off: bool,
}

impl Divergence {
    /// The event on the left, or on the right if the left has ended.
    pub(crate) fn first(&self) -> Option<&Parting> {
        self.events.iter().flatten().next()
    }
}

/// The logical time at which the comparison of two runs begins: that of the first event of the run that begins later. 0 for sessions.
pub(crate) fn start_of(sources: [&Source; 2]) -> Result<u64, DiffError> {
    let first = |side: Side| {
        let source = sources[side as usize];
        source.first_time().map_err(|error| DiffError::of_run(error, source.place(Some(side))))
    };
    Ok(first(Side::Left)?.max(first(Side::Right)?))
}

/// The first divergence of two recordings. Returns `None` if they are equal.
pub(crate) fn divergence<S: Comparable>(
    sources: [&Source; 2],
    compared: &Compared,
    task: &mut Task<'_>,
) -> Result<Option<Divergence>, DiffError> {
    let start = start_of(sources)?;
    let open = |side: Side| Cursor::<S>::open(sources[side as usize], Some(side), start, compared.heartbeats);
    let (mut one, mut other) = (open(Side::Left)?, open(Side::Right)?);
    let mut calls = [Calls::default(), Calls::default()];
    loop {
        one.advance()?;
        other.advance()?;
        let events = [one.event(), other.event()];
        if !matches!(&events, [Some(left), Some(right)] if S::are_plainly_equal(left, right)) {
            let [left, right] = events;
            let mut project = |event: Option<Event<'_>>, side: Side| {
                let Some(event) = event else { return Ok(None) };
                let tree = S::project(&event, &mut calls[side as usize], &compared.ignore);
                let tree = tree.ok_or_else(|| sources[side as usize].unread(ReadError::Changed, Some(side)))?;
                Ok(Some(Parting { row: *event.row, place: event.place(), tree }))
            };
            let events = [project(left, Side::Left)?, project(right, Side::Right)?];
            let ended = |side: Side, is_torn, other: &Parting| {
                let last = other.row.number.saturating_sub(1);
                S::is_cut_off(sources[side as usize], side, last, is_torn, &calls[side as usize])
            };
            let is_cut_off = match &events {
                [None, None] => return Ok(None),
                [Some(left), Some(right)] if trees_are_equal(&left.tree, &right.tree) => None,
                [Some(_), Some(_)] => Some(false),
                [None, Some(right)] => Some(ended(Side::Left, one.is_torn, right)?),
                [Some(left), None] => Some(ended(Side::Right, other.is_torn, left)?),
            };
            if let Some(is_cut_off) = is_cut_off {
                return Ok(Some(Divergence { events, places: [one.places, other.places], is_cut_off }));
            }
        }
        if one.is_last_of_batch() {
            let (bytes, size) = (one.bytes + other.bytes, one.size + other.size);
            task.report_bytes(bytes, size).map_err(|Cancelled| DiffError::Cancelled)?;
        }
    }
}
