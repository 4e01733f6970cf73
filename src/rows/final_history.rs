//! Which items of a large session are in its final history, before the session is read part by part.
//!
//! Only rewinds and compressions remove items, so only the parts that may have some are read. What is known of a part is how many of its
//! own items remain at the end: always the first ones of those that it has not removed itself.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use memchr::{memchr_iter, memmem::Finder};

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
    /// Of the file whose parts these are, in order. A part of more than `most_lines` lines is cut into several: what a line needs besides its
    /// bytes is more than a short line has. Returns the parts that there are then, too.
    pub fn find(
        source: &Arc<LineSource>,
        parts: Vec<Range<u64>>,
        most_lines: usize,
    ) -> Result<(Vec<Range<u64>>, Self), ReadError> {
        let make = || Folder {
            source: source.clone(),
            reader: LineReader::default(),
            fold: Fold::new(FoldOptions::default()),
            most_lines: most_lines.max(1),
        };
        let mut folded = Segments::new(parts, Threads::All, make);
        let (mut parts, mut effects) = (Vec::new(), Vec::new());
        while let Some(cut) = folded.next_output() {
            for (part, effect) in cut? {
                parts.push(part);
                effects.push(effect);
            }
        }
        let (mut folder, mut remaining) = (make(), vec![u64::MAX; parts.len()]);
        // What the parts behind remove.
        let mut later = Truncation::Last(0);
        for (at, part) in parts.iter().enumerate().rev() {
            let effect = match (effects[at], later) {
                (_, Truncation::All) => PartEffect::default(),
                (Some(effect), _) => effect,
                (None, Truncation::Last(0)) => continue,
                (None, _) => folder.effect(part.clone())?,
            };
            (remaining[at], later) = effect.before(later);
        }
        Ok((parts, FinalHistory { remaining }))
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
    most_lines: usize,
}

impl Worker for Folder {
    type Job = Range<u64>;
    /// The parts that a part is cut into. Those in which no item can be removed need no effect.
    type Output = Result<Vec<(Range<u64>, Option<PartEffect>)>, ReadError>;

    fn work(&mut self, part: Range<u64>) -> Self::Output {
        let (parts, may_remove) = self.cut(part)?;
        let effect = |part: Range<u64>| {
            let effect = if may_remove { Some(self.effect(part.clone())?) } else { None };
            Ok((part, effect))
        };
        parts.into_iter().map(effect).collect()
    }
}

impl Folder {
    /// What a part does to the history.
    fn effect(&mut self, part: Range<u64>) -> Result<PartEffect, ReadError> {
        let mut whole = HistoryEffect::default();
        self.reader.begin(part);
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0, &mut |_| {})? {
            whole.append(self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start).history);
        }
        Ok(PartEffect::of(&whole))
    }

    /// The parts of a part of which none has too many lines, and whether some line may remove items. Most parts have none, and a search is much
    /// faster than reading.
    fn cut(&mut self, part: Range<u64>) -> Result<(Vec<Range<u64>>, bool), ReadError> {
        let (mut parts, mut begin, mut lines, mut may_remove) = (Vec::new(), part.start, 0, false);
        self.reader.begin(part.clone());
        while let Some(chunk) = self.reader.next_chunk(&self.source, 0, &mut |_| {})? {
            may_remove = may_remove || REMOVALS.iter().any(|removal| removal.find(chunk.bytes).is_some());
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
        Ok((parts, may_remove))
    }
}

/// The types of what removes items, and how every escape of an ASCII letter begins. One search for each: in ordinary text all three at once
/// come across one of their letters every few bytes. The quotation marks are those of a type: a text has an escape before its own.
static REMOVALS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [r#""compressed""#, r#""rewind""#, r"\u00"].map(Finder::new));
