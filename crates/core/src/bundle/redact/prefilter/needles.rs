//! Searches a text for many short strings at once.
//!
//! Three bytes of each needle are looked for, the rarest ones. A table says of any three bytes of which needles they may be those, and
//! of most that they are of none. So a byte of the text costs about five instructions, however many needles there are, on any processor.

/// The number of bytes of a needle that are looked for.
const GRAM_BYTES: usize = 3;

/// The binary logarithm of the size of the table. It has to stay in the processor's nearest cache.
const MARK_BITS: u32 = 15;

/// The multiplier of the hash: of some thousand, one by which few frequent bytes of prose, code and JSON have the hash of a needle's.
const MULTIPLIER: u32 = 0x3ac9_bf53;

/// The number of places that are looked at together.
const PLACES: usize = 16;

/// The number of bytes that are read for them: four for each, because four are read at once.
const BLOCK_BYTES: usize = PLACES + GRAM_BYTES;

type Block = [u8; BLOCK_BYTES];

/// A needle, and how far into it the bytes are that are looked for.
type Part = (usize, usize);

/// Strings to search for.
#[derive(Debug)]
pub(super) struct Needles {
    needles: Vec<Vec<u8>>,
    /// The bucket of each hash of three bytes; 0 if no needle has them.
    marks: Box<[u8; 1 << MARK_BITS]>,
    /// The parts of needles with the same mark. The first is empty.
    buckets: Vec<Vec<Part>>,
}

impl Needles {
    /// A search for strings of at least three bytes.
    pub(crate) fn new(needles: Vec<Vec<u8>>) -> Self {
        let (mut marks, mut buckets) = (Box::new([0; 1 << MARK_BITS]), vec![Vec::new()]);
        for (number, needle) in needles.iter().enumerate() {
            let grams = needle.windows(GRAM_BYTES).enumerate();
            let Some((offset, gram)) = grams.min_by_key(|(_, gram)| frequency(gram)) else { continue };
            let mark = &mut marks[slot([gram[0], gram[1], gram[2], 0])];
            if *mark == 0 {
                // If there are too many, the last one is shared.
                if buckets.len() <= usize::from(u8::MAX) {
                    buckets.push(Vec::new());
                }
                *mark = (buckets.len() - 1) as u8;
            }
            buckets[usize::from(*mark)].push((number, offset));
        }
        Needles { needles, marks, buckets }
    }

    /// The offset of an occurrence from `from` on that `accepts`, which is given the needle and the offset of its first byte. Another
    /// one may begin before it only if they overlap.
    pub(crate) fn find(&self, text: &[u8], from: usize, accepts: impl Fn(&[u8], usize) -> bool) -> Option<usize> {
        let mut at = from;
        while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
            if self.is_marked(block)
                && let Some(start) = self.in_block(text, from, at, block, &accepts)
            {
                return Some(start);
            }
            at += PLACES;
        }
        let rest = text.get(at..)?;
        let mut last = [0; PLACES + BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        let found = self.in_block(text, from, at, last.first_chunk()?, &accepts);
        found.or_else(|| self.in_block(text, from, at + PLACES, last.last_chunk()?, &accepts))
    }

    /// Whether there may be bytes of a needle at any place of a block.
    #[inline(always)]
    fn is_marked(&self, block: &Block) -> bool {
        let mark = |at| self.mark(block, at);
        let four = |at| mark(at) | mark(at + 1) | mark(at + 2) | mark(at + 3);
        const { assert!(PLACES == 16) };
        four(0) | four(4) | four(8) | four(12) != 0
    }

    #[inline(always)]
    fn mark(&self, block: &Block, at: usize) -> u8 {
        block[at..].first_chunk().map_or(0, |bytes| self.marks[slot(*bytes)])
    }

    /// The accepted occurrence whose bytes are in the block at `at`.
    #[inline(never)]
    fn in_block(
        &self,
        text: &[u8],
        from: usize,
        at: usize,
        block: &Block,
        accepts: &impl Fn(&[u8], usize) -> bool,
    ) -> Option<usize> {
        for place in 0..PLACES {
            let mark = self.mark(block, place);
            if mark == 0 {
                continue;
            }
            for (number, offset) in &self.buckets[usize::from(mark)] {
                let needle = &self.needles[*number];
                let Some(start) = (at + place).checked_sub(*offset).filter(|start| *start >= from) else { continue };
                if text.get(start..).is_some_and(|text| text.starts_with(needle)) && accepts(needle, start) {
                    return Some(start);
                }
            }
        }
        None
    }
}

/// The place of three bytes in the table. The fourth does not count: four bytes are read at once.
#[inline(always)]
fn slot(bytes: [u8; 4]) -> usize {
    let gram = u32::from_le_bytes(bytes) << 8;
    (gram.wrapping_mul(MULTIPLIER) >> (u32::BITS - MARK_BITS)) as usize
}

/// Parts of words that are more frequent than their letters are.
const FREQUENT: [&[u8]; 27] = [
    b"-st", b"SEC", b"are", b"byg", b"cod", b"cur", b"dif", b"ear", b"el_", b"equ", b"glo", b"ial", b"ify", b"ili",
    b"log", b"oke", b"ong", b"ook", b"pas", b"qui", b"red", b"rep", b"sec", b"tok", b"uir", b"ver", b"wil",
];

/// How frequent three bytes are in prose and code, roughly: a product of how frequent each is.
fn frequency(bytes: &[u8]) -> u64 {
    let more = if FREQUENT.contains(&bytes) { 1000 } else { 1 };
    let of = |byte: &u8| match byte {
        b' ' | b'e' => 100,
        b'a' | b'i' | b'n' | b'o' | b'r' | b's' | b't' => 60,
        b'c' | b'd' | b'h' | b'l' | b'u' | b'm' | b'p' => 30,
        b'f' | b'g' | b'y' | b'b' | b'w' | b'"' | b'\\' | b'.' | b'_' | b'/' => 15,
        b'v' | b'k' | b'0'..=b'9' | b'-' | b':' | b',' => 8,
        byte if byte.is_ascii() => 4,
        _ => 2,
    };
    bytes.iter().map(of).product::<u64>() * more
}
