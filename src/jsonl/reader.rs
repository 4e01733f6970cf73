//! Reading lines in order, whole lines at a time: those of a file that begin in some range of it.
//!
//! Ranges need not begin or end where lines do. Those that follow each other have each line exactly once, so a
//! file can be read in pieces by several threads.

use std::ops::Range;

#[cfg(not(test))]
use super::MAX_LINE_BYTES;
use super::source::{ReadError, Source};
use crate::cancellation::Cancellation;
use crate::disk::os_error::OsError;

/// Tests write lines that are too long.
#[cfg(test)]
const MAX_LINE_BYTES: usize = 12 << 20;

/// How much is read and handed out at a time: so little that it stays in the processor's cache while it is scanned.
const CHUNK_BYTES: usize = 256 << 10;

/// The least that is allocated, also for a file whose size the system does not tell.
const MIN_BUFFER_BYTES: usize = 1 << 14;

/// How much is read beyond the range, where its last line ends.
const OVERHANG_BYTES: u64 = 1 << 13;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line that does not parse, handed out for one that was passed over.
const STAND_IN: &[u8] = b"\0";

/// Some whole lines of a file.
pub struct Chunk<'a> {
    /// The lines. The file's last may lack its `\n`, and so does what stands in for a line that was passed over.
    pub bytes: &'a [u8],
    /// Where in the file they begin.
    pub offset: u64,
    /// Whether these are the file's first lines.
    pub at_start: bool,
    /// Whether this is the file's last line, and has no `\n`: it may still be written to.
    pub unterminated: bool,
}

/// Takes all bytes of the lines that are handed out or passed over, in order.
pub type Witness<'a> = &'a mut dyn FnMut(&[u8]);

/// Reads the lines of one range after the other. The buffer is kept: fresh memory costs more than the reading.
///
/// Reading fails once the work that made the reader is [cancelled](Cancellation), also in the middle of a line.
pub struct LineReader {
    /// The first `filled` bytes are the file's from offset `base` on; of these, `taken` were handed out.
    buffer: Vec<u8>,
    filled: usize,
    taken: usize,
    base: u64,
    /// Lines that begin here or further on belong to another range.
    limit: u64,
    /// The line that is under way at the start of the range belongs to the one before.
    skipping: bool,
    at_end: bool,
    cancellation: Cancellation,
}

impl Default for LineReader {
    fn default() -> Self {
        Self::with(Vec::new(), Cancellation::current())
    }
}

impl LineReader {
    fn with(buffer: Vec<u8>, cancellation: Cancellation) -> Self {
        LineReader { buffer, filled: 0, taken: 0, base: 0, limit: 0, skipping: false, at_end: false, cancellation }
    }

    /// Begins with the lines that begin in `range`. Its start need not be a line's.
    pub fn begin(&mut self, range: Range<u64>) {
        // The byte before tells whether a line begins right at the start.
        let before = range.start.saturating_sub(1);
        let kept = Self::with(std::mem::take(&mut self.buffer), std::mem::take(&mut self.cancellation));
        *self = LineReader { base: before, limit: range.end, skipping: range.start > 0, ..kept };
    }

    /// Where the next line begins: once all lines are handed out, that of the next range.
    pub fn position(&self) -> u64 {
        self.base + self.taken as u64
    }

    /// Whether the file ends at the position.
    pub fn is_at_end(&self) -> bool {
        self.at_end && self.taken == self.filled
    }

    /// Finds where the range's first line begins. `None` if no line begins in the range.
    pub fn first_line(&mut self, source: &Source) -> Result<Option<u64>, ReadError> {
        while self.skipping {
            // Also when it is asked again: lines behind the range belong to the reader of the next one.
            if self.at_end || self.position() >= self.limit {
                return Ok(None);
            }
            self.discard_taken();
            self.fill(source)?;
            match memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                Some(newline) => {
                    self.taken = newline + 1;
                    self.skipping = false;
                }
                None => self.taken = self.filled,
            }
        }
        Ok((self.position() < self.limit).then(|| self.position()))
    }

    /// The next whole lines, or `None` when there are no more in the range. `lines_before` is for the error that names a line.
    pub fn next_chunk(
        &mut self,
        source: &Source,
        lines_before: u64,
        witness: Witness<'_>,
    ) -> Result<Option<Chunk<'_>>, ReadError> {
        if self.first_line(source)?.is_none() {
            return Ok(None);
        }
        self.discard_taken();
        let mut searched = 0;
        let end = loop {
            if let Some(end) = self.end_of_lines(searched) {
                break end;
            }
            if self.at_end {
                break self.filled;
            }
            searched = self.filled;
            if self.filled >= CHUNK_BYTES && is_hopeless(&self.buffer[..self.filled]) {
                return self.pass_over_line(source, witness, |_| Ok(()));
            }
            if self.filled > MAX_LINE_BYTES {
                let line = lines_before + 1;
                let refuse = |torn| if torn { Ok(()) } else { Err(ReadError::LineTooLong { line }) };
                return self.pass_over_line(source, witness, refuse);
            }
            self.fill(source)?;
        };
        if end == 0 {
            return Ok(None);
        }
        if end > MAX_LINE_BYTES {
            self.refuse_long_lines(end, lines_before)?;
        }
        self.taken = end;
        witness(&self.buffer[..end]);
        let at_start = self.base == 0;
        let skip = if at_start && self.buffer[..end].starts_with(BOM) { BOM.len() } else { 0 };
        let bytes = &self.buffer[skip..end];
        let unterminated = self.at_end && end == self.filled && !bytes.ends_with(b"\n");
        Ok(Some(Chunk { bytes, offset: self.base + skip as u64, at_start, unterminated }))
    }

    /// Where the last whole line ends that is in the buffer and begins in the range. The first `searched` bytes have no newline.
    fn end_of_lines(&self, searched: usize) -> Option<usize> {
        let filled = &self.buffer[..self.filled];
        // The line with the range's last byte is its last line.
        let last = usize::try_from(self.limit - self.base).map_or(usize::MAX, |length| length - 1);
        if last < self.filled {
            let from = last.max(searched);
            if let Some(newline) = memchr::memchr(b'\n', &filled[from..]) {
                return Some(from + newline + 1);
            }
        }
        let until = last.min(self.filled).max(searched);
        memchr::memrchr(b'\n', &filled[searched..until]).map(|newline| searched + newline + 1)
    }

    /// Passes over a line without holding it, and hands out a stand-in. One that can't be JSON however it goes on: what some crashes
    /// leave behind is a file that ends in a gigabyte of zeros. Or one that is too long, if it is torn: `allow` decides, given whether it is torn.
    fn pass_over_line(
        &mut self,
        source: &Source,
        witness: Witness<'_>,
        allow: impl FnOnce(bool) -> Result<(), ReadError>,
    ) -> Result<Option<Chunk<'_>>, ReadError> {
        let offset = self.base;
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                self.taken = newline + 1;
                break;
            }
            self.taken = self.filled;
            if self.at_end {
                break;
            }
            witness(&self.buffer[..self.filled]);
            self.discard_taken();
            self.fill(source)?;
        }
        witness(&self.buffer[..self.taken]);
        let unterminated = self.at_end && self.buffer[..self.taken].last() != Some(&b'\n');
        allow(unterminated)?;
        Ok(Some(Chunk { bytes: STAND_IN, offset, at_start: offset == 0, unterminated }))
    }

    /// Moves what was not handed out to the front of the buffer.
    fn discard_taken(&mut self) {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.base += self.taken as u64;
            self.filled -= self.taken;
            self.taken = 0;
        }
    }

    /// Reads until the buffer is full, what is wanted is there or the file ends. A line that fills the buffer makes it grow.
    fn fill(&mut self, source: &Source) -> Result<(), ReadError> {
        if self.filled == self.buffer.len() {
            self.grow(source);
        }
        let until = self.wanted().max(self.filled + MIN_BUFFER_BYTES).min(self.buffer.len());
        while self.filled < until {
            self.cancellation.check().map_err(|error| ReadError::System(OsError::new(&error, "read", None)))?;
            let offset = self.base + self.filled as u64;
            match source.read_at(&mut self.buffer[self.filled..until], offset)? {
                0 => {
                    self.at_end = true;
                    break;
                }
                count => self.filled += count,
            }
        }
        Ok(())
    }

    /// How much of the file is wanted from `base` on: all of the range, and where a line leads beyond it, all of that.
    fn wanted(&self) -> usize {
        let in_range = self.limit.saturating_sub(self.base);
        if in_range <= self.filled as u64 {
            return usize::MAX;
        }
        usize::try_from(in_range.saturating_add(OVERHANG_BYTES)).unwrap_or(usize::MAX)
    }

    fn grow(&mut self, source: &Source) {
        let wanted = if self.buffer.is_empty() {
            // One byte more than the file has: the read that finds its end needs no second buffer.
            let all = usize::try_from(source.size()).map_or(CHUNK_BYTES, |size| size.saturating_add(1));
            all.clamp(MIN_BUFFER_BYTES, CHUNK_BYTES)
        } else {
            (self.filled * 2).clamp(CHUNK_BYTES, MAX_LINE_BYTES + 1)
        };
        self.buffer.resize(wanted, 0);
    }

    /// A buffer of this size is that of one long line, with or without its ending, and whatever came with it.
    fn refuse_long_lines(&self, end: usize, lines_before: u64) -> Result<(), ReadError> {
        let lines = super::lines::Lines::new(&self.buffer[..end]);
        for (index, (_, line)) in lines.enumerate() {
            if line.len() > MAX_LINE_BYTES {
                return Err(ReadError::LineTooLong { line: lines_before + index as u64 + 1 });
            }
        }
        Ok(())
    }
}

/// Whether a line that begins so is neither JSON nor blank.
pub fn is_hopeless(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let first = line.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c));
    first.is_some_and(|byte| {
        byte.is_ascii() && !matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn source_of(content: &[u8]) -> (Source, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        (Source::open(file.path()).unwrap(), file)
    }

    #[test]
    fn a_cancelled_reader_stops_in_the_middle_of_a_line() {
        // Zeros that take no room, for longer than any test lasts.
        let endless = |beginning: &[u8]| {
            let (source, file) = source_of(beginning);
            file.as_file().set_len(1 << 40).unwrap();
            drop(source);
            (Source::open(file.path()).unwrap(), file)
        };
        let (zeros, _one) = endless(b"");
        let (text, _other) = endless(b"{\"");
        for (source, range) in [(&zeros, 0..1 << 40), (&text, 0..1 << 40), (&text, 0..1), (&zeros, 7..1 << 40)] {
            let cancellation = Cancellation::default();
            let mut reader = cancellation.during(LineReader::default);
            reader.begin(range);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    cancellation.cancel();
                });
                match reader.next_chunk(source, 0, &mut |_| {}).err() {
                    Some(ReadError::System(error)) => assert!(error.is_cancelled()),
                    other => panic!("{other:?}"),
                }
            });
            assert!(reader.first_line(source).is_err() || !reader.skipping);
        }
    }

    /// Everything that is handed out of a range, checked for being whole lines and for its offsets.
    fn read_range(reader: &mut LineReader, source: &Source, content: &[u8], range: Range<u64>) -> Vec<u8> {
        let (mut seen, mut witnessed) = (Vec::new(), Vec::new());
        reader.begin(range);
        loop {
            let mut witness = |bytes: &[u8]| witnessed.extend_from_slice(bytes);
            let Some(chunk) = reader.next_chunk(source, 0, &mut witness).unwrap() else { break };
            let at = chunk.offset as usize;
            assert!(at == 0 || content[at - 1] == b'\n');
            assert_eq!(chunk.at_start, at == 0);
            assert_eq!(chunk.unterminated, !chunk.bytes.ends_with(b"\n"));
            assert!(!chunk.unterminated || at + chunk.bytes.len() == content.len());
            assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
            seen.extend_from_slice(chunk.bytes);
        }
        assert!(witnessed == seen);
        let position = reader.position();
        assert!(reader.next_chunk(source, 0, &mut |_| {}).unwrap().is_none());
        assert_eq!(reader.position(), position, "what lies behind the range is not read");
        seen
    }

    #[test]
    fn every_byte_is_handed_out_once_in_whole_lines() {
        let line = |length: usize| [vec![b'{'; length], vec![b'\n']].concat();
        let many: Vec<u8> = (0..3000).flat_map(|n| line(n % 1500)).collect();
        let c = CHUNK_BYTES;
        let across: Vec<u8> = [line(c - 1), line(c), line(6 * c), line(5), b"tail".to_vec()].concat();
        for content in
            [b"".to_vec(), b"\n".to_vec(), b"a".to_vec(), many, across, line(CHUNK_BYTES - 2), line(CHUNK_BYTES - 1)]
        {
            let (source, _file) = source_of(&content);
            let mut reader = LineReader::default();
            assert!(read_range(&mut reader, &source, &content, 0..u64::MAX) == content, "{} bytes", content.len());
            assert_eq!(reader.position(), content.len() as u64);
            assert!(reader.is_at_end());
        }
    }

    proptest! {
        #[test]
        fn ranges_that_follow_each_other_have_each_line_once(
            lines in proptest::collection::vec((0usize..40, any::<bool>()), 0..30),
            ended in any::<bool>(),
            mut cuts in proptest::collection::vec(0u64..700, 0..6),
        ) {
            let mut content: Vec<u8> = lines.iter().flat_map(|(length, _)| [vec![b'['; *length], vec![b'\n']].concat()).collect();
            if !ended {
                content.extend_from_slice(b"[1,2");
            }
            let (source, _file) = source_of(&content);
            cuts.sort_unstable();
            let ends = cuts.iter().copied().chain([u64::MAX]);
            let (mut reader, mut start, mut seen) = (LineReader::default(), 0, Vec::new());
            for end in ends {
                reader.begin(start..end);
                let first = reader.first_line(&source).unwrap();
                prop_assert!(first.is_none_or(|first| (start..end).contains(&first)));
                let read = read_range(&mut reader, &source, &content, start..end);
                prop_assert_eq!(first.is_some_and(|first| first < content.len() as u64), !read.is_empty());
                seen.extend(read);
                start = end;
            }
            prop_assert_eq!(seen, content);
        }
    }

    #[test]
    fn ranges_across_long_lines_have_each_line_once() {
        let c = CHUNK_BYTES;
        let line = |length: usize| [vec![b'['; length], vec![b'\n']].concat();
        let content = [line(10), line(5 * c + 3), line(1), line(c - 7), line(2 * c), b"[1".to_vec()].concat();
        let (source, _file) = source_of(&content);
        for step in [c / 2, c, c + 1, 3 * c] {
            let (mut reader, mut seen, mut start) = (LineReader::default(), Vec::new(), 0);
            while start < content.len() {
                seen.extend(read_range(&mut reader, &source, &content, start as u64..(start + step) as u64));
                start += step;
            }
            assert!(seen == content, "steps of {step}");
        }
    }

    #[test]
    fn a_line_that_is_no_json_is_passed_over_in_bounded_memory() {
        let zeros = vec![0; 5 * CHUNK_BYTES + 17];
        for (tail, lines) in [(&b""[..], 2), (b"\n", 2), (b"\nnext\nlast", 4)] {
            let content = [b"first\n", &zeros[..], tail].concat();
            let (source, _file) = source_of(&content);
            let mut reader = LineReader::default();
            reader.begin(0..u64::MAX);
            let (mut seen, mut witnessed, mut count) = (Vec::new(), Vec::new(), 0);
            let mut witness = |bytes: &[u8]| witnessed.extend_from_slice(bytes);
            while let Some(chunk) = reader.next_chunk(&source, count, &mut witness).unwrap() {
                let at = chunk.offset as usize;
                if chunk.bytes != STAND_IN {
                    assert_eq!(&content[at..at + chunk.bytes.len()], chunk.bytes);
                }
                assert_eq!(chunk.unterminated, count + 1 == lines && !content.ends_with(b"\n"));
                count += super::super::lines::Lines::new(chunk.bytes).count() as u64;
                seen.extend_from_slice(chunk.bytes);
            }
            assert_eq!(seen, [b"first\n", STAND_IN, tail.strip_prefix(b"\n").unwrap_or(tail)].concat());
            assert_eq!((count, reader.position()), (lines, content.len() as u64));
            assert!(witnessed == content);
            assert!(reader.buffer.len() <= 2 * CHUNK_BYTES, "{}", reader.buffer.len());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_if_it_is_torn() {
        let long = |length: usize| [b"{\"a\":\"", &vec![b'x'; length][..]].concat();
        for length in [MAX_LINE_BYTES - 6, MAX_LINE_BYTES - 5, MAX_LINE_BYTES, MAX_LINE_BYTES + (3 << 20)] {
            for (tail, is_torn) in [(&b""[..], true), (b"\n", false), (b"\nnext", false)] {
                let content = [b"{}\n", &long(length)[..], tail].concat();
                let (source, _file) = source_of(&content);
                let mut reader = LineReader::default();
                reader.begin(0..u64::MAX);
                assert_eq!(reader.next_chunk(&source, 0, &mut |_| {}).unwrap().unwrap().bytes, b"{}\n");
                let mut witnessed = 0;
                let mut witness = |bytes: &[u8]| witnessed += bytes.len();
                let next = reader.next_chunk(&source, 1, &mut witness).map(|chunk| {
                    let chunk = chunk.unwrap();
                    (chunk.bytes.len(), chunk.offset, chunk.unterminated)
                });
                let fits = length + 6 <= MAX_LINE_BYTES;
                match (fits, is_torn) {
                    (false, false) => assert_eq!(next, Err(ReadError::LineTooLong { line: 2 })),
                    (false, true) => assert_eq!(next, Ok((STAND_IN.len(), 3, true)), "{length}"),
                    (true, true) => assert_eq!(next, Ok((length + 6, 3, true))),
                    (true, false) => assert_eq!(next, Ok((length + 7, 3, false))),
                }
                if fits || is_torn {
                    assert_eq!(witnessed as u64, reader.position() - 3);
                    assert!(!is_torn || reader.is_at_end());
                }
            }
        }
    }

    #[test]
    fn a_bom_is_dropped_at_the_start_only() {
        let (source, _file) = source_of(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n");
        let mut reader = LineReader::default();
        reader.begin(0..u64::MAX);
        let chunk = reader.next_chunk(&source, 0, &mut |_| {}).unwrap().unwrap();
        assert_eq!((chunk.bytes, chunk.offset), (&b"a\n\xef\xbb\xbfb\n"[..], 3));
    }
}
