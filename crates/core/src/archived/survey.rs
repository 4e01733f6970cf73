//! Looks through a session before it is archived: whether it repeats long strings, such as an image that is sent again and again, and where its frames
//! end then.

use std::collections::HashSet;
use std::hash::Hasher as _;

use twox_hash::XxHash64;

/// Maximum size of the content of a frame of a session that repeats long strings, in bytes. Repeats are found within a frame.
pub(super) const LONG_FRAME_BYTES: u64 = 64 << 20;

/// The least size of a long string, in bytes.
const LONG_STRING_BYTES: u64 = 16 << 10;

/// A chunk of a long string ends after each byte beyond the least size with a chance of one in two to the power of this: after 64 KiB on average.
const CHUNK_BITS: u32 = 16;

/// Spreads the values of bytes over all bits: two to the power of 64, divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The maximum number of chunks that are remembered: with that the set takes 0.6 MiB.
const MAX_KNOWN: usize = 57_000;

/// A part of the session that is repeated, of which its compression makes use: a tenth.
const WORTHWHILE: u64 = 10;

/// What is known of a session, which comes in pieces.
#[derive(Default)]
pub(crate) struct Survey {
    strings: Strings,
    bytes: u64,
    /// The end of the last line.
    line_end: u64,
    /// Where frames of [`LONG_FRAME_BYTES`] end: at the last line that ends within them.
    ends: Vec<u64>,
}

impl Survey {
    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.strings.add(piece);
        let mut rest = piece;
        while !rest.is_empty() {
            let start = self.ends.last().copied().unwrap_or_default();
            let room = usize::try_from(start + LONG_FRAME_BYTES - self.bytes).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(rest.len().min(room));
            if let Some(newline) = memchr::memrchr(b'\n', now) {
                self.line_end = self.bytes + newline as u64 + 1;
            }
            self.bytes += now.len() as u64;
            if self.bytes == start + LONG_FRAME_BYTES {
                self.ends.push(if self.line_end > start { self.line_end } else { self.bytes });
            }
            rest = later;
        }
    }

    /// The sizes of long frames, if the session repeats so much that they are worthwhile.
    pub(super) fn long_frames(&self) -> Option<Vec<u64>> {
        let ends = self.ends.iter().copied().chain([self.bytes]);
        let sizes = ends.scan(0, |start, end| Some(end - std::mem::replace(start, end)));
        (self.strings.repeated * WORTHWHILE > self.bytes).then(|| sizes.filter(|size| *size > 0).collect())
    }
}

/// Counts the bytes of long strings that were there before. A string is divided into chunks by its content, so that an image is found again whatever
/// stands around it in the same string; equal strings have equal chunks.
#[derive(Default)]
struct Strings {
    /// The hashes of chunks.
    known: HashSet<u64>,
    repeated: u64,
    /// The string that is being read.
    current: Option<LongString>,
    /// Whether the next byte is escaped.
    is_escaped: bool,
}

/// A string, as long as it may turn out.
struct LongString {
    length: u64,
    /// The chunk that is being read: its hash and its length.
    hasher: XxHash64,
    chunk: u64,
    /// The hash of the last 64 bytes, which decides where a chunk ends.
    rolling: u64,
}

impl Default for LongString {
    fn default() -> Self {
        LongString { length: 0, hasher: XxHash64::with_seed(0), chunk: 0, rolling: 0 }
    }
}

impl LongString {
    /// Reads a part of the string up to the end of a chunk, or all of it. Returns how much, and whether a chunk ends there.
    fn read(&mut self, text: &[u8]) -> (usize, bool) {
        // Nearly all strings end before that, and cost no more than their hash.
        let first = usize::try_from(LONG_STRING_BYTES.saturating_sub(self.chunk)).unwrap_or(usize::MAX);
        let searched = text.get(first..).unwrap_or_default();
        let end = searched.iter().position(|byte| {
            self.rolling = (self.rolling << 1).wrapping_add((u64::from(*byte) + 1).wrapping_mul(SPREAD));
            self.rolling >> (u64::BITS - CHUNK_BITS) == 0
        });
        let count = end.map_or(text.len(), |end| first + end + 1);
        self.hasher.write(&text[..count]);
        self.chunk += count as u64;
        self.length += count as u64;
        (count, end.is_some())
    }

    /// Ends a chunk. Returns its hash and its length.
    fn end_chunk(&mut self) -> (u64, u64) {
        let chunk = (self.hasher.finish(), self.chunk);
        *self = LongString { length: self.length, ..LongString::default() };
        chunk
    }
}

impl Strings {
    fn add(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            if self.current.is_none() {
                let Some(quote) = memchr::memchr(b'"', text) else { return };
                self.current = Some(LongString::default());
                text = &text[quote + 1..];
                continue;
            }
            let skipped = usize::from(std::mem::take(&mut self.is_escaped));
            let end = memchr::memchr3(b'"', b'\\', b'\n', &text[skipped..]).map_or(text.len(), |at| skipped + at);
            self.is_escaped = text.get(end) == Some(&b'\\');
            let (inside, rest) = text.split_at(end + usize::from(self.is_escaped));
            self.continue_string(inside);
            text = rest;
            // The end of the string, or of a line that is no JSON.
            if !self.is_escaped && !text.is_empty() {
                self.end_string();
                text = &text[1..];
            }
        }
    }

    fn continue_string(&mut self, mut inside: &[u8]) {
        while let Some(current) = self.current.as_mut().filter(|_| !inside.is_empty()) {
            let (count, is_end) = current.read(inside);
            inside = &inside[count..];
            if is_end {
                let chunk = current.end_chunk();
                self.count(chunk);
            }
        }
    }

    fn end_string(&mut self) {
        if let Some(mut current) = self.current.take().filter(|current| current.length >= LONG_STRING_BYTES) {
            self.count(current.end_chunk());
        }
    }

    fn count(&mut self, (hash, length): (u64, u64)) {
        if self.known.contains(&hash) {
            self.repeated += length;
        } else if self.known.len() < MAX_KNOWN {
            self.known.insert(hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn survey(text: &[u8], piece: usize) -> Survey {
        let mut survey = Survey::default();
        for piece in text.chunks(piece) {
            survey.add(piece);
        }
        survey
    }

    proptest! {
        /// Whatever the pieces are, a string counts by its text between unescaped quotes.
        #[test]
        fn repeats_are_those_of_a_plain_reader(
            picks in prop::collection::vec((0..4usize, prop::bool::ANY), 1..12), piece in 1..40_000usize,
        ) {
            let strings = ["short".to_owned(), "a".repeat(20_000), "\\\"\\\\x".repeat(5_000), "b".repeat(16_383)];
            let mut text = String::new();
            let (mut known, mut repeated) = (HashSet::new(), 0);
            for (pick, ends_line) in &picks {
                text.push_str(&format!("\"{}\":", strings[*pick]));
                if *ends_line {
                    text.push('\n');
                }
                if strings[*pick].len() >= 16 << 10 && !known.insert(*pick) {
                    repeated += strings[*pick].len() as u64;
                }
            }
            let survey = survey(text.as_bytes(), piece);
            prop_assert_eq!(survey.strings.repeated, repeated);
            prop_assert_eq!(survey.long_frames().is_some(), repeated * 10 > text.len() as u64);
        }
    }

    #[test]
    fn an_image_is_found_again_whatever_stands_around_it() {
        let mut noise = 1_u64;
        let image: String = (0..1_400_000)
            .map(|_| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[(noise >> 58) as usize])
            })
            .collect();
        let text: String =
            (0..4).map(|round| format!("\"{}{image} seen {round} times\"\n", "x".repeat(round * 7))).collect();
        let repeated = survey(text.as_bytes(), 256 << 10).strings.repeated;
        assert!(repeated as usize > 2 * image.len(), "{repeated}");
    }

    #[test]
    fn frames_end_with_lines_and_only_longer_lines_are_divided() {
        let image = format!("\"{}\"\n", "i".repeat((1 << 20) - 3));
        let text = format!("{}{}{}", image.repeat(63), "y".repeat((1 << 20) + 1), image.repeat(70));
        let sizes = survey(text.as_bytes(), 100_000).long_frames().unwrap();
        assert_eq!(sizes.iter().sum::<u64>(), text.len() as u64);
        assert_eq!(sizes[0], 63 << 20, "the line that does not fit begins the next frame");
        assert!(sizes.iter().all(|size| *size <= LONG_FRAME_BYTES));
        let one_line = format!("{}\"{}", image.replace('\n', ",").repeat(130), "z");
        let sizes = survey(one_line.as_bytes(), 1 << 20).long_frames().unwrap();
        assert_eq!(&sizes[..2], [LONG_FRAME_BYTES, LONG_FRAME_BYTES]);
    }

    #[test]
    fn no_more_than_a_mebibyte_is_remembered() {
        let mut strings = Strings::default();
        for number in 0..MAX_KNOWN + 1_000 {
            strings.count((number as u64, 1));
        }
        assert_eq!(strings.known.len(), MAX_KNOWN);
        assert!(strings.known.capacity() * 9 * 8 / 7 <= 1 << 20);
    }
}
