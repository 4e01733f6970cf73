//! Finds which items of a large session are in its final history, before the session is read part by part.
//!
//! Only rewinds, compressions and purges remove items, so parts that have none are parsed only if a later part may remove items of theirs. The
//! result for a part is the number of its own items that remain at the end: always the first of those that the part has not removed itself.
//!
//! If some event edits items through their keys, there is no such number: the whole history is then computed, with the place of each item.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use memchr::{memchr_iter, memmem::Finder};

use super::records_of_parts::Records;
use crate::lines::{LineReader, LineSource, ReadError, Segments, Threads};
use crate::session::fold::{self, History, HistoryEffect, KeyedItem, LinePosition, Plain};
use crate::session::format::{Body, Mode};
use crate::task::Worker;

/// How many items of each part remain at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalHistory {
    remaining: Vec<u64>,
    /// Of an edited history, the offset in the file and the index of each item, ascending.
    edited: Option<Vec<(u64, u64)>>,
}

impl FinalHistory {
    /// More items than any part has.
    pub const ALL: u64 = u64::MAX;

    /// Computes it for a file, whose parts are given in order. A part of more than `most_lines` lines is split, since a short line needs more
    /// memory than its bytes. Also returns the resulting parts.
    pub fn find(
        source: &Arc<LineSource>,
        parts: Vec<Range<u64>>,
        most_lines: usize,
    ) -> Result<(Vec<Range<u64>>, Self), ReadError> {
        Self::find_with(parts, most_lines, || Records::new(source.clone(), LineReader::default(), Mode::Lenient))
    }

    /// Like [`find`](Self::find), with readers that `make` makes.
    pub fn find_with(
        parts: Vec<Range<u64>>,
        most_lines: usize,
        make: impl Fn() -> Records,
    ) -> Result<(Vec<Range<u64>>, Self), ReadError> {
        let make = || Cutter { records: make(), most_lines: most_lines.max(1) };
        let mut folded = Segments::new(parts, Threads::All, make);
        let (mut parts, mut effects, mut has_edits) = (Vec::new(), Vec::new(), false);
        while let Some(cut) = folded.next_output() {
            for (part, effect) in cut? {
                parts.push(part);
                has_edits |= matches!(effect, Some((_, true)));
                effects.push(effect);
            }
        }
        if has_edits {
            let edited = Some(make().records.edited(&parts)?);
            return Ok((parts, FinalHistory { remaining: Vec::new(), edited }));
        }
        let (mut records, mut remaining) = (make().records, vec![Self::ALL; parts.len()]);
        // The effect of the later parts.
        let mut later = Plain::default();
        for (at, effect) in effects.into_iter().enumerate().rev() {
            let mut effect = match effect {
                Some((effect, _)) => effect,
                None if later == Plain::default() => continue,
                None if later.drop == fold::ALL => Plain::default(),
                None => records.counted(parts[at].clone())?.0,
            };
            effect.append(later);
            remaining[at] = effect.items.len() as u64;
            later = Plain { items: Vec::new(), ..effect };
        }
        Ok((parts, FinalHistory { remaining, edited: None }))
    }

    /// For a session that is read in one part.
    pub fn of_one(source: &Arc<LineSource>) -> Result<Self, ReadError> {
        let mut cutter = Cutter {
            records: Records::new(source.clone(), LineReader::default(), Mode::Lenient),
            most_lines: usize::MAX,
        };
        let whole = 0..source.size().max(1);
        let (_, found) = cutter.cut(whole.clone())?;
        let edited = if found.may_edit { cutter.records.edited(&[whole])? } else { Vec::new() };
        Ok(FinalHistory { remaining: vec![Self::ALL], edited: Some(edited).filter(|_| found.may_edit) })
    }

    /// The number of items, if the history is edited. The numbers of [`remaining`](Self::remaining) items then mean nothing.
    pub fn edited_length(&self) -> Option<u64> {
        self.edited.as_ref().map(|items| items.len() as u64)
    }

    /// The lowest index of the items of an edited history whose text, apart from a marker that was set, begins within these bytes of the file. `None`
    /// if there is none.
    pub fn edited_index(&self, bytes: Range<u64>) -> Option<u64> {
        let items = self.edited.as_deref().unwrap_or_default();
        let first = items.partition_point(|(offset, _)| *offset < bytes.start);
        items[first..].iter().take_while(|(offset, _)| *offset < bytes.end).map(|(_, index)| *index).min()
    }

    /// How many of the items that a part adds and does not remove again are in the final history: at most the first ones, up to this number.
    /// [`ALL`](Self::ALL) for a part none of whose items is ever removed.
    pub fn remaining(&self, part: usize) -> u64 {
        self.remaining.get(part).copied().unwrap_or(Self::ALL)
    }
}

impl Records {
    /// The effect of a part on the history.
    pub fn effect(&mut self, part: Range<u64>) -> Result<HistoryEffect, ReadError> {
        let mut history = HistoryEffect::default();
        self.each(part, |_| true, |body, place| place.change_history(body, 0, &mut history))?;
        Ok(history)
    }

    /// The same with items that only count, and whether some event edits items.
    fn counted(&mut self, part: Range<u64>) -> Result<(Plain<()>, bool), ReadError> {
        let effect = self.effect(part)?;
        Ok((Plain { drop: effect.plain.drop, items: vec![(); effect.items().len()] }, effect.has_edits()))
    }

    /// The history that parts, from the beginning of the file on, leave.
    pub(crate) fn history(
        &mut self,
        parts: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<History<KeyedItem>, ReadError> {
        let mut history = History::default();
        let mut apply = |body: &Body, place: &LinePosition<'_>| {
            if let Some(change) = body.change(|span| place.keyed(span)) {
                history.apply(change);
            }
        };
        for part in parts {
            self.each(part, |_| true, &mut apply)?;
        }
        Ok(history)
    }

    /// The offset in the file and the index of each item of that history, ascending.
    fn edited(&mut self, parts: &[Range<u64>]) -> Result<Vec<(u64, u64)>, ReadError> {
        let mut items: Vec<_> = self.history(parts.iter().cloned())?.iter().map(|item| item.offset).zip(0..).collect();
        items.sort_unstable();
        Ok(items)
    }
}

/// Splits parts, and computes the effects of those in which items may be removed.
struct Cutter {
    records: Records,
    most_lines: usize,
}

impl Worker for Cutter {
    type Job = Range<u64>;
    /// The parts that a part is split into, each with its effect and whether it edits items; `None` if it only adds items.
    type Output = Result<Vec<(Range<u64>, Option<(Plain<()>, bool)>)>, ReadError>;

    fn work(&mut self, part: Range<u64>) -> Self::Output {
        let (parts, found) = self.cut(part)?;
        let effect = |part: Range<u64>| {
            let may_change = found.may_remove || found.may_edit;
            let effect = if may_change { Some(self.records.counted(part.clone())?) } else { None };
            Ok((part, effect))
        };
        parts.into_iter().map(effect).collect()
    }
}

impl Cutter {
    /// Splits a part so that no part has too many lines, and returns what its lines may do. Most parts have no such line, and a search is much
    /// faster than parsing.
    fn cut(&mut self, part: Range<u64>) -> Result<(Vec<Range<u64>>, Found), ReadError> {
        let (mut parts, mut begin, mut lines, mut found) = (Vec::new(), part.start, 0, Found::default());
        let Records { source, reader, .. } = &mut self.records;
        reader.begin(part.clone());
        while let Some(chunk) = reader.next_chunk(source, 0)? {
            let has_any = |types: &[Finder<'_>]| types.iter().any(|name| name.find(chunk.bytes).is_some());
            found.may_remove = found.may_remove || has_any(&*REMOVALS);
            found.may_edit = found.may_edit || has_any(&*EDITS) || has_any(std::slice::from_ref(&*ESCAPE));
            let more = memchr_iter(b'\n', chunk.bytes).count();
            if lines + more <= self.most_lines {
                lines += more;
                continue;
            }
            for newline in memchr_iter(b'\n', chunk.bytes) {
                lines += 1;
                let end = chunk.offset + newline as u64 + 1;
                if lines >= self.most_lines && end < part.end {
                    parts.push(begin..end);
                    (begin, lines) = (end, 0);
                }
            }
        }
        parts.push(begin..part.end);
        Ok((parts, found))
    }
}

/// What the lines of a part may do, besides adding items.
#[derive(Clone, Copy, Default)]
struct Found {
    may_remove: bool,
    may_edit: bool,
}

/// The types of events that remove items. Each has its own search: in ordinary text, a
/// search for all three at once would stop at one of their letters every few bytes. The quotation marks exclude text within a longer string,
/// where they would be escaped.
static REMOVALS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [r#""compressed""#, r#""rewind""#, r#""semantic_media_purge""#].map(Finder::new));

/// What tells of events that edit items: their types, and the key of a `rewind` that names an item.
static EDITS: LazyLock<[Finder<'static>; 4]> = LazyLock::new(|| {
    [r#""density_mutation""#, r#""synthetic_insert""#, r#""chronology_bind""#, r#""cutSeq""#].map(Finder::new)
});

/// The beginning of every escape of an ASCII letter.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u00"));
