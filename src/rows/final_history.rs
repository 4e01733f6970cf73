//! Which items of a large session are in its final history, before the session is read part by part.
//!
//! Only rewinds and compressions remove items, so only the parts that may have some are read. What is known of a part is how many of its
//! own items remain at the end: always the first ones of those that it has not removed itself.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;

use crate::jsonl::reader::LineReader;
use crate::jsonl::segments::{Segments, Threads};
use crate::jsonl::source::{LineSource, ReadError};
use crate::pipeline::Worker;
use crate::session::fold::{Fold, FoldOptions};
use crate::session::history::{HistoryEffect, Truncation};

/// What remains of each part's items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalHistory {
    remaining: Vec<u64>,
}

impl FinalHistory {
    /// Of the file whose parts these are, in order.
    pub fn find(source: &Arc<LineSource>, parts: &[Range<u64>]) -> Result<Self, ReadError> {
        let make = |needs_search| Folder {
            source: source.clone(),
            reader: LineReader::default(),
            fold: Fold::new(FoldOptions::default()),
            needs_search,
        };
        let mut folded = Segments::new(parts.to_vec(), Threads::All, || make(true));
        let mut effects = Vec::with_capacity(parts.len());
        while let Some(effect) = folded.next_output() {
            effects.push(effect?);
        }
        let mut remaining = vec![u64::MAX; parts.len()];
        // What the parts behind remove.
        let mut later = Truncation::Last(0);
        for (at, part) in parts.iter().enumerate().rev() {
            let effect = match (effects[at], later) {
                (_, Truncation::All) => PartEffect::default(),
                (Some(effect), _) => effect,
                (None, Truncation::Last(0)) => continue,
                (None, _) => make(false).work(part.clone())?.unwrap_or_default(),
            };
            (remaining[at], later) = effect.before(later);
        }
        Ok(FinalHistory { remaining })
    }

    /// Of a session of one part.
    pub fn of_one() -> Self {
        FinalHistory { remaining: vec![u64::MAX] }
    }

    /// How many of the items that a part adds and does not remove again are in the final history: no more than these.
    pub fn remaining(&self, part: usize) -> u64 {
        self.remaining.get(part).copied().unwrap_or(u64::MAX)
    }
}

/// What a part does to the history.
#[derive(Clone, Copy, Debug)]
struct PartEffect {
    drop: Truncation,
    own: u64,
}

impl Default for PartEffect {
    fn default() -> Self {
        PartEffect { drop: Truncation::Last(0), own: 0 }
    }
}

impl PartEffect {
    fn of(effect: &HistoryEffect) -> Self {
        PartEffect { drop: effect.drop, own: effect.items.len() as u64 }
    }

    /// How many of its own items remain behind a later truncation, and what of earlier items is removed by both.
    fn before(self, later: Truncation) -> (u64, Truncation) {
        match (self.drop, later) {
            (_, Truncation::All) => (0, Truncation::All),
            (Truncation::All, Truncation::Last(count)) => (self.own.saturating_sub(count), Truncation::All),
            (Truncation::Last(own), Truncation::Last(count)) => {
                let beyond = count.saturating_sub(self.own);
                (self.own.saturating_sub(count), Truncation::Last(own.saturating_add(beyond)))
            }
        }
    }
}

struct Folder {
    source: Arc<LineSource>,
    reader: LineReader,
    fold: Fold,
    /// Parts in which no item can be removed need no result.
    needs_search: bool,
}

impl Worker for Folder {
    type Job = Range<u64>;
    type Output = Result<Option<PartEffect>, ReadError>;

    fn work(&mut self, part: Range<u64>) -> Self::Output {
        if self.needs_search && !self.may_remove(part.clone())? {
            return Ok(None);
        }
        let mut whole = HistoryEffect::default();
        self.reader.begin(part);
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0, &mut |_| {})? {
            whole.append(self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start).history);
        }
        Ok(Some(PartEffect::of(&whole)))
    }
}

impl Folder {
    /// Whether some line may remove items. Most parts have none, and a search is much faster than reading.
    fn may_remove(&mut self, part: Range<u64>) -> Result<bool, ReadError> {
        self.reader.begin(part);
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0, &mut |_| {})? {
            if REMOVALS.iter().any(|removal| removal.find(chunk.bytes).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The types of what removes items, and how every escape of an ASCII letter begins. One search for each: in ordinary text all three at once
/// come across one of their letters every few bytes. The quotation marks are those of a type: a text has an escape before its own.
static REMOVALS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [r#""compressed""#, r#""rewind""#, r"\u00"].map(Finder::new));
