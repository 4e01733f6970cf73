//! Scans a segment of a session file and folds its lines to one effect.

use std::ops::Range;
use std::sync::Arc;

use super::item_layout::ItemLayout;
use crate::lines::{LineReader, LineSource, ReadError};
use crate::session::fold::{ALL, Effect, Fold, FoldOptions};
use crate::task::Worker;

/// The result of scanning a segment.
pub(super) struct Scanned<L: ItemLayout> {
    /// The offset of the first line that begins in the segment; `None` if none does.
    pub begin: Option<u64>,
    /// The offset after the last scanned line.
    pub end: u64,
    /// The effect of the lines.
    pub effect: Effect,
    /// Items of that effect that are laid out.
    pub laid_out: L::LaidOut,
    /// Whether the scan reached the end of the file.
    pub at_end: bool,
    /// The error that stopped the scan.
    pub error: Option<ReadError>,
}

/// Scans the segments of one worker thread.
pub(super) struct Scanner<L> {
    source: Arc<LineSource>,
    reader: LineReader,
    fold: Fold,
    layout: Option<L>,
}

impl<L: ItemLayout> Scanner<L> {
    /// A scanner of `source` that folds with `options`, and lays out items if there is a `layout`.
    pub(crate) fn new(source: Arc<LineSource>, options: FoldOptions, layout: Option<L>) -> Self {
        Scanner { source, reader: LineReader::default(), fold: Fold::new(options), layout }
    }

    fn scan(&mut self, scanned: &mut Scanned<L>) -> Result<(), ReadError> {
        scanned.begin = self.reader.first_line(&self.source)?;
        while !scanned.effect.stopped {
            let Some(chunk) = self.reader.next_chunk(&self.source, scanned.effect.lines)? else { break };
            let length = scanned.effect.history.items().len();
            let effect = match &mut self.layout {
                Some(layout) => {
                    layout.begin_chunk(chunk.offset, length);
                    self.fold.effect_into(layout, chunk.bytes, chunk.offset, chunk.at_start)
                }
                None => self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start),
            };
            let kept = effect.history.kept_of(length);
            let is_emptied = effect.history.plain.drop == ALL;
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
        }
        Ok(())
    }
}

impl<L: ItemLayout> Worker for Scanner<L> {
    type Job = Range<u64>;
    type Output = Scanned<L>;

    fn work(&mut self, segment: Range<u64>) -> Scanned<L> {
        let mut scanned = Scanned {
            begin: None,
            end: segment.start,
            effect: Effect::default(),
            laid_out: L::LaidOut::default(),
            at_end: false,
            error: None,
        };
        self.reader.begin(segment);
        scanned.error = self.scan(&mut scanned).err();
        scanned.laid_out = self.layout.as_mut().map(L::finish).unwrap_or_default();
        scanned.end = self.reader.position();
        scanned.at_end = self.reader.is_at_end();
        scanned
    }
}
