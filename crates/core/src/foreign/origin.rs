//! Where events come from: the first record of the source that each one carries.

use std::sync::Arc;

use super::Stop;
use super::history::Node;
use super::records::RecordPlace;
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

/// The origin of an event while records are hashed: with the number of its record, from 0 in source order, in place of its hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbered {
    number: u64,
    place: RecordPlace,
    is_copy: bool,
}

/// Number of bytes of a stored origin: its numbers, and whether it is a copy.
const STORED_BYTES: usize = 4 * 8 + 1;

/// Number of bytes of hashes that are read at a time.
const HASHES_BYTES: u64 = 64 * size_of::<Hash>() as u64;

impl Numbered {
    pub(super) fn new(number: u64, place: RecordPlace) -> Self {
        Numbered { number, place, is_copy: false }
    }

    fn to_bytes(self) -> [u8; STORED_BYTES] {
        let RecordPlace { line, offset, length } = self.place;
        let mut bytes = [0; STORED_BYTES];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.number, line, offset, length]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[STORED_BYTES - 1] = u8::from(self.is_copy);
        bytes
    }

    /// The origin that was stored as these bytes; `None` if they are too few.
    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut numbers = bytes.chunks_exact(8).map(|number| number.try_into().map(u64::from_le_bytes).ok());
        let mut next = || numbers.next().flatten();
        let (number, line, offset, length) = (next()?, next()?, next()?, next()?);
        let is_copy = *bytes.get(STORED_BYTES - 1)? != 0;
        Some(Numbered { number, place: RecordPlace { line, offset, length }, is_copy })
    }
}

/// The origins of all events of a converted session.
pub struct Origins {
    start: Numbered,
    rest: LineSource,
    /// The hashes of the records of the source, in its order.
    hashes: Arc<Spool>,
}

impl Origins {
    /// Fills `origins` with those of the event with the number `seq` and of the ones behind it, as far as there are such.
    pub fn read(&self, seq: u64, origins: &mut [Origin]) -> Result<(), ReadError> {
        let mut hashes = SomeHashes { all: &self.hashes, start: 0, bytes: Vec::new() };
        let Some((first, mut rest)) = origins.split_first_mut() else { return Ok(()) };
        if seq <= 1 {
            *first = hashes.hashed(self.start)?;
        } else {
            rest = origins;
        }
        let mut stored = vec![0; rest.len() * STORED_BYTES];
        let offset = seq.max(2).saturating_sub(2).saturating_mul(STORED_BYTES as u64);
        let count = super::records::read_fully(&self.rest, &mut stored, offset)?;
        for (origin, stored) in rest.iter_mut().zip(stored[..count].chunks_exact(STORED_BYTES)) {
            *origin = hashes.hashed(Numbered::of_bytes(stored).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Hashes of records that are near each other in the source, as those of events one after the other are.
struct SomeHashes<'s> {
    all: &'s Spool,
    start: u64,
    bytes: Vec<u8>,
}

impl SomeHashes<'_> {
    fn hashed(&mut self, Numbered { number, place, is_copy }: Numbered) -> Result<Origin, ReadError> {
        let RecordPlace { line, offset, length } = place;
        Ok(Origin { line, offset, length, hash: self.of(number)?, is_copy })
    }

    /// The hash of a record; zeros if the source has no records.
    fn of(&mut self, number: u64) -> Result<Hash, ReadError> {
        let at = number * size_of::<Hash>() as u64;
        if at < self.start || at >= self.start + self.bytes.len() as u64 {
            let length = self.all.size().saturating_sub(at).min(HASHES_BYTES) as usize;
            self.bytes = self.all.read(at, length).map_err(Stop::into_read_error)?;
            self.start = at;
        }
        let hash = self.bytes.get((at - self.start) as usize..).and_then(<[u8]>::first_chunk);
        Ok(hash.copied().unwrap_or_default())
    }
}

/// Collects origins while events are written.
#[derive(Default)]
pub(super) struct OriginLog {
    /// That of the `session_start`, which is written before any record is read: the first record that sets a field of it.
    start: Option<Numbered>,
    /// Those of the events behind it.
    rest: Spool,
    /// The number of the event that has written an item first, by item; 0 if none has.
    written: Vec<u64>,
    /// The first record, and the one that was read last.
    records: Option<(Numbered, Numbered)>,
}

impl OriginLog {
    /// Notes that a record is read.
    pub(super) fn begin_record(&mut self, record: Numbered) {
        let first = self.records.map_or(record, |(first, _)| first);
        self.records = Some((first, record));
    }

    /// Notes that a record sets a field of the `session_start`.
    pub(super) fn sets_start(&mut self, record: Numbered) {
        self.start = Some(self.start.filter(|start| start.number <= record.number).unwrap_or(record));
    }

    /// Notes the event behind those so far. `record` is its first one; without one it comes from what was read last.
    pub(super) fn add(&mut self, record: Option<Numbered>) -> Result<(), Stop> {
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
    pub(super) fn of_copy(&self, item: Node) -> Result<Option<Numbered>, Stop> {
        let Some(behind) = self.written.get(item as usize).and_then(|seq| seq.checked_sub(2)) else { return Ok(None) };
        let stored = self.rest.read(behind * STORED_BYTES as u64, STORED_BYTES)?;
        Ok(Numbered::of_bytes(&stored).map(|origin| Numbered { is_copy: true, ..origin }))
    }

    /// The origins, once all events are written, with the hashes of the records.
    pub(super) fn finish(self, hashes: Arc<Spool>) -> Result<Origins, Stop> {
        let is_alone = self.rest.size() == 0;
        let second = if is_alone { None } else { Numbered::of_bytes(&self.rest.read(0, STORED_BYTES)?) };
        let start = self.start.or(second).or(self.records.map(|(first, _)| first)).unwrap_or_default();
        Ok(Origins { start, rest: self.rest.into_source()?, hashes })
    }
}
