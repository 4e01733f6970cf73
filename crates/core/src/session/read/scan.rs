//! Scans a segment of a session file and folds its lines to one effect.

use std::ops::Range;
use std::sync::Arc;

use super::layout::{ItemTapes, Layout};
use crate::lines::{Abridged, Block, Chunk, Digest, LineReader, LineSource, Passed, ReadError};
use crate::session::fold::{Effect, Fold, FoldOptions, Truncation};
use crate::task::Worker;

/// The result of scanning a segment.
pub(super) struct Scanned {
    /// The offset of the first line that begins in the segment; `None` if none does.
    pub begin: Option<u64>,
    /// The offset after the last scanned line.
    pub end: u64,
    /// The effect of the lines that end with `\n`.
    pub effect: Effect,
    /// Items of that effect that are laid out.
    pub tapes: ItemTapes,
    /// The effect of a last line without `\n`, which may still be incomplete.
    pub unterminated: Option<Effect>,
    /// The digest of the lines that end with `\n`, if digests are requested, and the offset after them. `None` if one of them has a hole.
    pub block: Option<Block>,
    /// Whether the scan reached the end of the file.
    pub at_end: bool,
    /// The error that stopped the scan.
    pub error: Option<ReadError>,
}

/// Scans the segments of one worker thread.
pub(super) struct Scanner {
    source: Arc<LineSource>,
    reader: LineReader,
    fold: Fold,
    digests: bool,
    layout: Option<Layout>,
}

impl Scanner {
    /// A scanner of `source` that folds with `options`, computes digests if `digests` is set, and lays out items if there is a `layout`.
    pub(crate) fn new(source: Arc<LineSource>, options: FoldOptions, digests: bool, layout: Option<Layout>) -> Self {
        // Items are laid out while their lines are scanned, so these are needed as a whole.
        let reader = LineReader::default();
        let reader = if layout.is_some() { reader } else { reader.abridging() };
        Scanner { source, reader, fold: Fold::new(options), digests, layout }
    }

    fn scan(&mut self, scanned: &mut Scanned) -> Result<(), ReadError> {
        scanned.begin = self.reader.first_line(&self.source)?;
        let mut digest = self.digests.then(Digest::default);
        while !scanned.effect.stopped {
            let before = digest.clone();
            let mut observe = |passed: Passed<'_>| match (passed, &mut digest) {
                (Passed::Bytes(bytes), Some(digest)) => digest.add(bytes),
                // Computing the digest of a hole takes as long as reading it.
                (Passed::Hole, digest) => *digest = None,
                (_, None) => {}
            };
            let Some(chunk) = self.reader.next_chunk(&self.source, scanned.effect.lines, &mut observe)? else { break };
            let length = scanned.effect.history.items().len();
            let effect = match &mut self.layout {
                Some(layout) if !chunk.unterminated => {
                    layout.begin_chunk(chunk.offset, length);
                    self.fold.effect_into(layout, chunk.bytes, chunk.offset, chunk.at_start)
                }
                _ => match chunk.abridged {
                    None => self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start),
                    Some(abridged) => abridged_effect(&mut self.fold, &chunk, abridged, &self.source)?,
                },
            };
            if chunk.unterminated {
                scanned.unterminated = Some(effect);
                digest = before;
            } else {
                let kept = effect.history.kept_of(length);
                let is_emptied = effect.history.plain.drop == Truncation::All;
                scanned.effect = std::mem::take(&mut scanned.effect).then(effect);
                if let Some(layout) = &mut self.layout {
                    if is_emptied {
                        layout.pause_after(chunk.offset);
                    }
                    if scanned.effect.history.has_edits() {
                        layout.give_up(kept);
                    } else {
                        layout.add(&chunk, kept, scanned.effect.history.items());
                    }
                }
                let end = self.reader.position();
                scanned.block = digest.as_ref().map(|digest| Block { end, digest: digest.value() });
            }
        }
        Ok(())
    }
}

/// The effect of a line in its abridged form.
fn abridged_effect(
    fold: &mut Fold,
    chunk: &Chunk<'_>,
    abridged: &Abridged,
    source: &LineSource,
) -> Result<Effect, ReadError> {
    let mut effect = fold.effect(chunk.bytes, chunk.offset, chunk.at_start);
    if !effect.keeps_only_short_values() {
        let (length, mut whole) = (abridged.whole_offset(chunk.bytes.len() as u64) as usize, Vec::new());
        return Ok(fold.effect(source.bytes_at(chunk.offset, length, &mut whole)?, chunk.offset, chunk.at_start));
    }
    effect.move_places(chunk.offset, |offset| abridged.whole_offset(offset));
    Ok(effect)
}

impl Worker for Scanner {
    type Job = Range<u64>;
    type Output = Scanned;

    fn work(&mut self, segment: Range<u64>) -> Scanned {
        let mut scanned = Scanned {
            begin: None,
            end: segment.start,
            effect: Effect::default(),
            tapes: ItemTapes::default(),
            unterminated: None,
            block: None,
            at_end: false,
            error: None,
        };
        self.reader.begin(segment);
        scanned.error = self.scan(&mut scanned).err();
        scanned.tapes = self.layout.as_mut().map(Layout::finish).unwrap_or_default();
        scanned.end = self.reader.position();
        scanned.at_end = self.reader.is_at_end();
        scanned
    }
}
