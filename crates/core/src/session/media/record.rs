//! The references of a record.

use std::ops::Range;

use super::walk::{Reference, could_have_reference, references_of};
use crate::json::Nesting;
use crate::session::format::{Envelope, number};

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
        let envelope = Envelope::of(line, &mut Nesting::default())?;
        let seq = envelope.seq.and_then(|seq| number(seq.of(line)));
        let references = references_of(envelope.payload()?.of(line));
        (!references.is_empty()).then_some(RecordReferences { seq, references })
    }
}

/// The places of all references in a line, also of those in a payload that another one of the line replaces.
pub(crate) fn reference_places(line: &[u8]) -> Vec<Range<usize>> {
    let references = if could_have_reference(line) { references_of(line) } else { Vec::new() };
    references.into_iter().map(|reference| reference.place).collect()
}
