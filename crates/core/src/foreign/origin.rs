//! Where events come from: the first record of the source that each one carries.

use super::Stop;
use super::history::Node;
use super::receipt::Entry;
use super::spool::Spool;
use crate::hash::Hash;
use crate::lines::{LineSource, ReadError};

/// The record that an event comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The physical line of the record's first byte, from 1.
    pub line: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes, without the ending of its line.
    pub length: u64,
    /// Its SHA-256.
    pub hash: Hash,
    /// Whether the event writes an item again that an earlier one has written: it is the same item, which must not be counted twice.
    pub is_copy: bool,
}

/// Number of bytes of the numbers of a stored origin.
const NUMBER_BYTES: usize = 3 * 8;

/// Number of bytes of a stored origin: its numbers, whether it is a copy, and its hash.
const STORED_BYTES: usize = NUMBER_BYTES + 1 + 32;

impl Origin {
    fn to_bytes(self) -> [u8; STORED_BYTES] {
        let mut bytes = [0; STORED_BYTES];
        let (numbers, rest) = bytes.split_at_mut(NUMBER_BYTES);
        for (place, number) in numbers.chunks_exact_mut(8).zip([self.line, self.offset, self.length]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        rest[0] = u8::from(self.is_copy);
        rest[1..].copy_from_slice(&self.hash);
        bytes
    }

    /// The origin that was stored as these bytes; `None` if they are too few.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.split_at_checked(NUMBER_BYTES)?;
        let (is_copy, hash) = rest.split_first()?;
        let mut numbers = numbers.chunks_exact(8).map(|number| number.try_into().map(u64::from_le_bytes).ok());
        let mut next = || numbers.next().flatten();
        let (line, offset, length) = (next()?, next()?, next()?);
        Some(Origin { line, offset, length, hash: hash.try_into().ok()?, is_copy: *is_copy != 0 })
    }
}

impl From<&Entry> for Origin {
    fn from(entry: &Entry) -> Self {
        let Entry { line, offset, length, hash, .. } = *entry;
        Origin { line, offset, length, hash, is_copy: false }
    }
}

/// The origins of all events of a converted session.
pub struct Origins {
    start: Origin,
    rest: LineSource,
}

impl Origins {
    /// Fills `origins` with those of the event with the number `seq` and of the ones behind it, as far as there are such.
    pub fn read(&self, seq: u64, origins: &mut [Origin]) -> Result<(), ReadError> {
        let Some((first, mut rest)) = origins.split_first_mut() else { return Ok(()) };
        if seq <= 1 {
            *first = self.start;
        } else {
            rest = origins;
        }
        let mut stored = vec![0; rest.len() * STORED_BYTES];
        let offset = seq.max(2).saturating_sub(2).saturating_mul(STORED_BYTES as u64);
        let count = super::records::read_fully(&self.rest, &mut stored, offset)?;
        for (origin, stored) in rest.iter_mut().zip(stored[..count].chunks_exact(STORED_BYTES)) {
            *origin = Origin::of_bytes(stored).unwrap_or_default();
        }
        Ok(())
    }
}

/// Collects origins while events are written.
#[derive(Default)]
pub(super) struct OriginLog {
    /// That of the `session_start`, which is written before any record is read: the first record that sets a field of it.
    start: Option<Origin>,
    /// Those of the events behind it.
    rest: Spool,
    /// The number of the event that has written an item first, by item; 0 if none has.
    written: Vec<u64>,
    /// The first record, and the one that was read last.
    records: Option<(Origin, Origin)>,
}

impl OriginLog {
    /// Notes that a record is read.
    pub(super) fn begin_record(&mut self, record: Origin) {
        let first = self.records.map_or(record, |(first, _)| first);
        self.records = Some((first, record));
    }

    /// Notes that a record sets a field of the `session_start`.
    pub(super) fn sets_start(&mut self, record: Origin) {
        self.start = Some(self.start.filter(|start| start.offset <= record.offset).unwrap_or(record));
    }

    /// Notes the event behind those so far. `record` is its first one; without one it comes from what was read last.
    pub(super) fn add(&mut self, record: Option<Origin>) -> Result<(), Stop> {
        let record = record.or(self.records.map(|(_, last)| last)).unwrap_or_default();
        self.rest.append(&record.to_bytes())
    }

    /// Notes that the event with the number `seq` has written an item.
    pub(super) fn wrote(&mut self, item: Node, seq: u64) {
        let at = item as usize;
        if self.written.len() <= at {
            self.written.resize(at + 1, 0);
        }
        if self.written[at] == 0 {
            self.written[at] = seq;
        }
    }

    /// The origin of an event that writes an item again: that of the event which has written it first.
    pub(super) fn of_copy(&self, item: Node) -> Result<Option<Origin>, Stop> {
        let Some(behind) = self.written.get(item as usize).and_then(|seq| seq.checked_sub(2)) else { return Ok(None) };
        let stored = self.rest.read(behind * STORED_BYTES as u64, STORED_BYTES)?;
        Ok(Origin::of_bytes(&stored).map(|origin| Origin { is_copy: true, ..origin }))
    }

    /// The origins, once all events are written.
    pub(super) fn finish(self) -> Result<Origins, Stop> {
        let is_alone = self.rest.size() == 0;
        let second = if is_alone { None } else { Origin::of_bytes(&self.rest.read(0, STORED_BYTES)?) };
        let start = self.start.or(second).or(self.records.map(|(first, _)| first)).unwrap_or_default();
        Ok(Origins { start, rest: self.rest.into_source()? })
    }
}
