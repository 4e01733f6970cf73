//! The edit list of two runs.

use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

use super::run_stream::RunCursor;
use super::source::Source;
use crate::cancellation::Cancellation;
use crate::diff::align::{Compared, Digested, Edits, NOTHING, edits};
use crate::diff::error::{DiffError, Side};
use crate::diff::projection::{Facts, FieldOptions, Places, Tree, project_event, project_facts};
use crate::disk::{InputFile, OsError};
use crate::lines::ReadError;
use crate::run::{ErrorCode, EventLine, Kind, RunError};
use crate::threading::scoped_builder;

/// Number of events digested between two checks for cancellation.
const EVENTS_AT_A_TIME: usize = 4096;

/// The edit list of two runs whose first `skipped` compared events are equal.
pub(crate) fn edit_runs(
    (left, right): (&Source, &Source),
    (start, skipped): (u64, i64),
    compared: &Compared,
    cancelled: &AtomicBool,
) -> Result<Edits, DiffError> {
    let digest = |source: &Source, side| {
        let place = source.place(Some(side));
        digest(source, start, skipped, compared, cancelled).map_err(|error| DiffError::of_run(error, place))
    };
    let ((one, left_places), (other, right_places)) = std::thread::scope(|scope| {
        let cancellation = Cancellation::current();
        let thread = scoped_builder().spawn_scoped(scope, move || cancellation.during(|| digest(left, Side::Left)));
        let right = digest(right, Side::Right);
        let left = match thread.map(|thread| thread.join()) {
            Ok(Ok(left)) => left,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => digest(left, Side::Left),
        };
        Ok::<_, DiffError>((left?, right?))
    })?;
    let open = |source: &Source, side| {
        let file = InputFile::open(&source.log).map_err(RunError::from);
        file.map_err(|error| DiffError::of_run(error, source.place(Some(side))))
    };
    let (mut left_file, mut right_file) = (open(left, Side::Left)?, open(right, Side::Right)?);
    let options = FieldOptions { redacted: left.is_redacted || right.is_redacted };
    edits(&one, &other, skipped, options, cancelled, &mut |side, index| {
        let (source, file, list, places) = match side {
            Side::Left => (left, &mut left_file, &one, &left_places),
            Side::Right => (right, &mut right_file, &other, &right_places),
        };
        let tree = read_again(file, list, index, places, compared);
        tree.map_err(|error| DiffError::of_run(error, source.place(Some(side))))
    })
}

fn digest(
    source: &Source,
    start: u64,
    skipped: i64,
    compared: &Compared,
    cancelled: &AtomicBool,
) -> Result<(Digested, Places), RunError> {
    let mut cursor = RunCursor::open(source, start, compared.heartbeats)?;
    let mut list = Digested::behind(skipped);
    let mut count = 0;
    while cursor.advance()? {
        let Some(event) = cursor.event() else { break };
        if event.place() >= skipped {
            let tree = project_event(&event, &compared.ignore).ok_or_else(changed)?;
            list.add(&tree, event.row.time, event.offset());
        }
        count += 1;
        if count % EVENTS_AT_A_TIME == 0 && cancelled.load(Ordering::Relaxed) {
            return Err(RunError::new(ErrorCode::Cancelled, "The comparison was cancelled"));
        }
    }
    Ok((list, cursor.places))
}

fn changed() -> RunError {
    RunError::new(ErrorCode::InvalidField, ReadError::Changed.to_string())
}

fn read_again(
    file: &mut InputFile,
    list: &Digested,
    index: usize,
    places: &Places,
    compared: &Compared,
) -> Result<Tree<'static>, RunError> {
    let (offset, length) = list.lines[index];
    let mut line = vec![0; length as usize];
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut line));
    read.map_err(|error| OsError::new(&error, "read", None))?;
    let line = std::str::from_utf8(&line).map_err(|_| changed())?;
    let event = EventLine::split(line)?;
    let kind = Kind::parse(event.kind).ok_or_else(changed)?;
    // The call is the last reference of an event that ends one.
    let ends_call = matches!(kind, Kind::ToolCompleted | Kind::ToolFailed | Kind::ToolTimedOut);
    let invoked = list.references_of(index).last().map(|(place, _)| *place);
    let invoked = invoked.filter(|&place| ends_call && place != NOTHING);
    let (node, payload) = (event.node.map(str::as_bytes), event.payload.as_bytes());
    project_facts(&Facts { kind, node, parent: event.parent, invoked, payload, places }, &compared.ignore)
        .ok_or_else(changed)
}
