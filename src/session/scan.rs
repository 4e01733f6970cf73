//! Scanning a segment of a session file: its lines made into one effect.

use std::ops::Range;
use std::sync::Arc;

use super::fold::{Effect, Fold, FoldOptions};
use crate::jsonl::digest::{Block, Digest};
use crate::jsonl::reader::LineReader;
use crate::jsonl::source::{LineSource, ReadError};
use crate::pipeline::Worker;

/// What the lines of a segment came to.
pub struct Scanned {
    /// Where the first of them begins; `None` if none begins in the segment.
    pub begin: Option<u64>,
    /// Where the lines end.
    pub end: u64,
    /// Their effect.
    pub effect: Effect,
    /// The effect of the file's last line if it has no `\n`. It may still be written to.
    pub unterminated: Option<Effect>,
    /// The digest of the lines that end with `\n`, if digests are wanted, and where these lines end.
    pub block: Option<Block>,
    /// Whether the file ended there.
    pub at_end: bool,
    /// Why the lines could not be read to their end.
    pub error: Option<ReadError>,
}

/// Scans segments.
pub struct Scanner {
    source: Arc<LineSource>,
    reader: LineReader,
    fold: Fold,
    digests: bool,
}

impl Scanner {
    /// A scanner of `source` for a fold with these options, which makes `digests` of what it scans or doesn't.
    pub fn new(source: Arc<LineSource>, options: FoldOptions, digests: bool) -> Self {
        Scanner { source, reader: LineReader::default(), fold: Fold::new(options), digests }
    }

    fn scan(&mut self, scanned: &mut Scanned) -> Result<(), ReadError> {
        scanned.begin = self.reader.first_line(&self.source)?;
        let mut digest = self.digests.then(Digest::default);
        while !scanned.effect.stopped {
            let before = digest.clone();
            let mut witness = |bytes: &[u8]| digest.iter_mut().for_each(|digest| digest.add(bytes));
            let Some(chunk) = self.reader.next_chunk(&self.source, scanned.effect.lines, &mut witness)? else { break };
            let effect = self.fold.effect(chunk.bytes, chunk.offset, chunk.at_start);
            if chunk.unterminated {
                scanned.unterminated = Some(effect);
                digest = before;
            } else {
                scanned.effect = std::mem::take(&mut scanned.effect).then(effect);
                let end = self.reader.position();
                scanned.block = digest.as_ref().map(|digest| Block { end, digest: digest.value() });
            }
        }
        Ok(())
    }
}

impl Worker for Scanner {
    type Job = Range<u64>;
    type Output = Scanned;

    fn work(&mut self, segment: Range<u64>) -> Scanned {
        let mut scanned = Scanned {
            begin: None,
            end: segment.start,
            effect: Effect::default(),
            unterminated: None,
            block: None,
            at_end: false,
            error: None,
        };
        self.reader.begin(segment);
        scanned.error = self.scan(&mut scanned).err();
        scanned.end = self.reader.position();
        scanned.at_end = self.reader.is_at_end();
        scanned
    }
}
