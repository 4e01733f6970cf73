//! The edit list of two sessions.

use std::sync::atomic::{AtomicBool, Ordering};

use super::session_stream::{Record, SessionCursor, parts_of};
use super::source::Source;
use crate::diff::align::{Compared, Digested, Edits, edits};
use crate::diff::error::{DiffError, SessionFault, Side};
use crate::diff::projection::{Calls, FieldOptions, Known, Tree, project_record};
use crate::json::Nesting;
use crate::lines::{LineSource, ReadError};

/// The edit list of two sessions whose first `skipped` records are equal.
pub(crate) fn edit_sessions(
    left: &Source,
    right: &Source,
    skipped: i64,
    compared: &Compared,
    cancelled: &AtomicBool,
) -> Result<Edits, DiffError> {
    let failed = |source: &Source, side| {
        let place = source.place(Some(side));
        move |error| DiffError::of_session(error, place.clone())
    };
    let (left_failed, right_failed) = (failed(left, Side::Left), failed(right, Side::Right));
    let digest = |source| digest(source, skipped, compared, cancelled);
    let one = digest(left).map_err(&left_failed)?;
    let other = digest(right).map_err(&right_failed)?;
    let open = |source: &Source| LineSource::open(&source.log).map_err(SessionFault::Read);
    let (left_file, right_file) = (open(left).map_err(&left_failed)?, open(right).map_err(&right_failed)?);
    let options = FieldOptions { redacted: left.is_redacted || right.is_redacted };
    edits(&one, &other, skipped, options, cancelled, &mut |side, index| match side {
        Side::Left => read_again(&left_file, &one, index, compared).map_err(&left_failed),
        Side::Right => read_again(&right_file, &other, index, compared).map_err(&right_failed),
    })
}

fn digest(
    source: &Source,
    skipped: i64,
    compared: &Compared,
    cancelled: &AtomicBool,
) -> Result<Digested, SessionFault> {
    let mut cursor = SessionCursor::open(source)?;
    let (mut list, mut calls) = (Digested::behind(skipped), Calls::default());
    while cursor.advance()? && !cancelled.load(Ordering::Relaxed) {
        let Some(record) = cursor.record() else { break };
        let tree = project_record(&record, &mut calls, &compared.ignore).ok_or(ReadError::Changed)?;
        if record.place >= skipped {
            list.add(&tree, record.place as u64, (record.offset, record.line.len() as u32));
        }
    }
    Ok(list)
}

fn read_again(
    file: &LineSource,
    list: &Digested,
    index: usize,
    compared: &Compared,
) -> Result<Tree<'static>, SessionFault> {
    let (offset, length) = list.lines[index];
    let mut scratch = Vec::new();
    let line = file.bytes_at(offset, length as usize, &mut scratch)?;
    let parts = parts_of(line, &mut Nesting::default()).ok_or(ReadError::Changed)?;
    let record = Record { line, parts, place: list.numbers[index] as i64, offset };
    let mut known = Known(list.references_of(index).iter());
    Ok(project_record(&record, &mut known, &compared.ignore).ok_or(ReadError::Changed)?)
}
