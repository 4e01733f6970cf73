//! The references of a record.

use std::ops::Range;

use super::walk::{Reference, could_have_reference, references_of};
use crate::json::{Cursor, Nesting, Span};
use crate::session::format::number;

/// A record with references in its payload.
pub struct RecordReferences<'a> {
    /// Its `seq`, if that is a number.
    pub seq: Option<f64>,
    /// At least one.
    pub references: Vec<Reference<'a>>,
}

impl<'a> RecordReferences<'a> {
    /// Those of a line, given without its ending. `None` for a line that has none, or is no record.
    pub fn of_line(line: &'a [u8]) -> Option<Self> {
        if !could_have_reference(line) {
            return None;
        }
        let (seq, payload) = parts_of(line)?;
        let references = references_of(payload.of(line));
        (!references.is_empty()).then_some(RecordReferences { seq, references })
    }
}

/// The places of all references in a line, also of those in a payload that another one of the line replaces.
pub(crate) fn reference_places(line: &[u8]) -> Vec<Range<usize>> {
    let references = if could_have_reference(line) { references_of(line) } else { Vec::new() };
    references.into_iter().map(|reference| reference.place).collect()
}

/// The `seq` and the payload of a line that is a JSON object.
fn parts_of(line: &[u8]) -> Option<(Option<f64>, Span)> {
    let mut cursor = Cursor::new(line);
    cursor.white_space();
    let [seq, payload] = cursor.members(["seq", "payload"], &mut Nesting::default()).ok()?;
    cursor.finish().ok()?;
    Some((seq.and_then(|seq| number(seq.of(line))), payload?))
}
