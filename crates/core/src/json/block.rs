//! Finds the end of the plain text of a JSON string in 16, 32 or 64 bytes at a time.

use super::simple_escape::is_simple_escape;

/// Size of a block in bytes.
pub(super) const BLOCK_BYTES: usize = 16;

/// The bytes of a block.
pub(crate) type Block = [u8; BLOCK_BYTES];

/// Whether a byte ends a run of plain string text: a quote, a backslash, a control character.
#[inline(always)]
pub(super) fn ends_plain(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// The number of bytes in the block before the first quote, backslash or control character.
#[inline(always)]
pub(super) fn plain(block: &Block) -> usize {
    ends::<false>(block)
}

/// The number of bytes in the block before the first quote, backslash, control character or byte that is not ASCII.
#[inline(always)]
pub(super) fn plain_ascii(block: &Block) -> usize {
    ends::<true>(block)
}

/// Size of a large block in bytes.
pub(super) const LARGE_BLOCK_BYTES: usize = 64;

/// The bytes of a large block.
pub(super) type LargeBlock = [u8; LARGE_BLOCK_BYTES];

/// The bytes of two blocks.
pub(super) type TwoBlocks = [u8; 2 * BLOCK_BYTES];

/// The same operations on larger blocks, for different instruction sets of the processor.
pub(super) trait Instructions: Copy {
    /// Two masks with a bit for each byte, the lowest bit for the first byte: quotes and control characters; backslashes.
    fn masks(self, block: &LargeBlock) -> (u64, u64);

    /// The number of bytes in two blocks before the first quote, backslash, control character or byte that is not ASCII.
    fn plain_ascii(self, blocks: &TwoBlocks) -> usize;

    /// Whether each of the marked bytes is a character that makes an escape of two characters when it follows a backslash.
    fn are_simple_escapes(self, block: &LargeBlock, marked: u64) -> bool;
}

/// The instructions that every processor has.
#[derive(Clone, Copy)]
pub(super) struct Baseline;

impl Instructions for Baseline {
    #[inline(always)]
    fn masks(self, block: &LargeBlock) -> (u64, u64) {
        let (blocks, _) = block.as_chunks::<BLOCK_BYTES>();
        blocks.iter().rev().fold((0, 0), |(ends, backslashes), block| {
            let (more_ends, more_backslashes) = block_masks(block);
            (ends << BLOCK_BYTES | u64::from(more_ends), backslashes << BLOCK_BYTES | u64::from(more_backslashes))
        })
    }

    #[inline(always)]
    fn plain_ascii(self, blocks: &TwoBlocks) -> usize {
        let ([low, high], _) = blocks.as_chunks() else { return 0 };
        match ends::<true>(low) {
            BLOCK_BYTES => BLOCK_BYTES + ends::<true>(high),
            plain => plain,
        }
    }

    /// Checks every marked byte: an early exit would cost a branch misprediction.
    #[inline(always)]
    fn are_simple_escapes(self, block: &LargeBlock, marked: u64) -> bool {
        let (mut left, mut are_simple) = (marked, true);
        while left != 0 {
            are_simple &= is_simple_escape(block[left.trailing_zeros() as usize]);
            left &= left - 1;
        }
        are_simple
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Avx2;

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn block_masks(block: &Block) -> (u16, u16) {
    // SAFETY: every processor of this architecture has SSE2.
    unsafe { simd::masks(block) }
}

#[cfg(not(target_arch = "x86_64"))]
fn block_masks(block: &Block) -> (u16, u16) {
    let mask = |is: fn(u8) -> bool| block.iter().rev().fold(0, |mask, byte| mask << 1 | u16::from(is(*byte)));
    (mask(|byte| byte == b'"' || byte < 0x20), mask(|byte| byte == b'\\'))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ends<const BEYOND_ASCII: bool>(block: &Block) -> usize {
    // SAFETY: every processor of this architecture has SSE2.
    let hits = unsafe { simd::ends::<BEYOND_ASCII>(block) };
    (hits | 1 << BLOCK_BYTES).trailing_zeros() as usize
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_srli_epi16,
    };

    use super::{Instructions, LargeBlock, TwoBlocks};

    /// Half a large block.
    const HALF_BYTES: usize = 32;

    /// The instructions of AVX2. A value exists only on processors that have them.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        /// The instructions, if this processor has them.
        #[inline(always)]
        pub(crate) fn find() -> Option<Self> {
            is_x86_feature_detected!("avx2").then_some(Avx2(()))
        }
    }

    impl Instructions for Avx2 {
        #[inline(always)]
        fn masks(self, block: &LargeBlock) -> (u64, u64) {
            // SAFETY: a value exists only on processors that have AVX2.
            unsafe { masks(block) }
        }

        #[inline(always)]
        fn plain_ascii(self, blocks: &TwoBlocks) -> usize {
            // SAFETY: a value exists only on processors that have AVX2.
            unsafe { plain_ascii(blocks) }
        }

        #[inline(always)]
        fn are_simple_escapes(self, block: &LargeBlock, marked: u64) -> bool {
            // SAFETY: a value exists only on processors that have AVX2.
            marked & !unsafe { simple_escapes(block) } == 0
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks(block: &LargeBlock) -> (u64, u64) {
        let [low, high] = halves(block);
        let ends = |bytes| {
            let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
            _mm256_or_si256(control, equal(bytes, b'"'))
        };
        (mask(ends(low), ends(high)), mask(equal(low, b'\\'), equal(high, b'\\')))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn plain_ascii(blocks: &TwoBlocks) -> usize {
        let bytes = load(blocks);
        // As signed numbers, bytes that are not ASCII are less than all others.
        let others = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);
        let ends = _mm256_or_si256(others, _mm256_or_si256(equal(bytes, b'"'), equal(bytes, b'\\')));
        (_mm256_movemask_epi8(ends) as u32).trailing_zeros() as usize
    }

    /// A bit for each byte that is one of `"/\bfnrt`. The lower and the upper half of a byte are looked up in a table each; the byte is one of them if
    /// the two entries have a bit in common.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn simple_escapes(block: &LargeBlock) -> u64 {
        let by_low = twice([0, 0, 0b1101, 0, 0b1000, 0, 0b100, 0, 0, 0, 0, 0, 0b10, 0, 0b100, 1]);
        let by_high = twice([0, 0, 1, 0, 0, 0b10, 0b100, 0b1000, 0, 0, 0, 0, 0, 0, 0, 0]);
        let [low, high] = halves(block).map(|bytes| {
            let lower = _mm256_and_si256(bytes, _mm256_set1_epi8(0xf));
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0xf));
            let common = _mm256_and_si256(_mm256_shuffle_epi8(by_low, lower), _mm256_shuffle_epi8(by_high, upper));
            _mm256_cmpeq_epi8(common, _mm256_setzero_si256())
        });
        !mask(low, high)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &LargeBlock) -> [__m256i; 2] {
        let (halves, _) = block.as_chunks::<HALF_BYTES>();
        [load(&halves[0]), load(&halves[1])]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &TwoBlocks) -> __m256i {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
        _mm256_set_epi64x(word(24), word(16), word(8), word(0))
    }

    /// A lookup table in the form that the shuffle instruction expects: once in each half of the register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn twice(table: [u8; 16]) -> __m256i {
        let bytes = u128::from_le_bytes(table);
        let (low, high) = (bytes as i64, (bytes >> 64) as i64);
        _mm256_set_epi64x(high, low, high, low)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal(bytes: __m256i, byte: u8) -> __m256i {
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask(low: __m256i, high: __m256i) -> u64 {
        let bits = |bytes| u64::from(_mm256_movemask_epi8(bytes) as u32);
        bits(high) << HALF_BYTES | bits(low)
    }
}

#[cfg(target_arch = "x86_64")]
mod simd {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };

    use super::{Block, halves};

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(block: &Block) -> __m128i {
        let (low, high) = halves(block);
        _mm_set_epi64x(high as i64, low as i64)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn control(bytes: __m128i) -> __m128i {
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes)
    }

    /// A mask of the bytes that end plain text.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn ends<const BEYOND_ASCII: bool>(block: &Block) -> i32 {
        let bytes = load(block);
        // As signed numbers, bytes that are not ASCII are less than all others.
        let control = if BEYOND_ASCII { _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)) } else { control(bytes) };
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(equal(bytes, b'"'), equal(bytes, b'\\'))))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn masks(block: &Block) -> (u16, u16) {
        let bytes = load(block);
        let ends = _mm_movemask_epi8(_mm_or_si128(control(bytes), equal(bytes, b'"')));
        (ends as u16, _mm_movemask_epi8(equal(bytes, b'\\')) as u16)
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ends<const BEYOND_ASCII: bool>(block: &Block) -> usize {
    let (low, high) = halves(block);
    let hits = |word| ends_mask(word) | if BEYOND_ASCII { word & HIGH } else { 0 };
    let first = hits(low).trailing_zeros() as usize / 8;
    if first < 8 { first } else { 8 + hits(high).trailing_zeros() as usize / 8 }
}

fn halves(block: &Block) -> (u64, u64) {
    let bytes = u128::from_le_bytes(*block);
    (bytes as u64, (bytes >> 64) as u64)
}

#[cfg(not(target_arch = "x86_64"))]
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that ends plain text. Exact only up to and including the lowest hit; callers use no other.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ends_mask(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_bytes = |v: u64| v.wrapping_sub(ONES) & !v;
    let quote = zero_bytes(word ^ (ONES * b'"' as u64));
    let backslash = zero_bytes(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIMPLE: &[u8] = b"\"\\/bfnrt";

    fn first(block: &Block, ends: impl Fn(u8) -> bool) -> usize {
        block.iter().position(|byte| ends(*byte)).unwrap_or(BLOCK_BYTES)
    }

    #[test]
    fn each_byte_at_each_place() {
        // Miri takes minutes for all 256.
        let bytes = if cfg!(miri) { b"\0\x1f\x20\"\\a\x7f\x80\xff".to_vec() } else { (0..=255).collect() };
        for byte in bytes {
            for (at, behind) in (0..BLOCK_BYTES).flat_map(|at| [(at, b'a'), (at, b'"'), (at, 0xff)]) {
                let mut block = [b'a'; BLOCK_BYTES];
                block[at] = byte;
                block[at + 1..].fill(behind);
                assert_eq!(plain(&block), first(&block, ends_plain), "{block:?}");
                assert_eq!(plain_ascii(&block), first(&block, |byte| ends_plain(byte) || byte >= 0x80), "{block:?}");
            }
        }
    }

    fn agrees(instructions: impl Instructions, block: &LargeBlock, marked: u64) -> Result<(), TestCaseError> {
        let (ends, backslashes) = instructions.masks(block);
        for (at, byte) in block.iter().enumerate() {
            let is_end = *byte == b'"' || *byte < 0x20;
            prop_assert_eq!((ends >> at & 1 == 1, backslashes >> at & 1 == 1), (is_end, *byte == b'\\'));
            prop_assert_eq!(instructions.are_simple_escapes(block, 1 << at), SIMPLE.contains(byte));
        }
        let simple =
            (0..LARGE_BLOCK_BYTES).map(|at| u64::from(SIMPLE.contains(&block[at])) << at).fold(0, |all, bit| all | bit);
        prop_assert_eq!(instructions.are_simple_escapes(block, marked), marked & !simple == 0);
        prop_assert!(instructions.are_simple_escapes(block, marked & simple));
        let (two_blocks, _) = block.as_chunks();
        for blocks in two_blocks {
            let plain = blocks.iter().position(|byte| ends_plain(*byte) || !byte.is_ascii()).unwrap_or(blocks.len());
            prop_assert_eq!(instructions.plain_ascii(blocks), plain);
        }
        Ok(())
    }

    fn all_agree(block: &LargeBlock, marked: u64) -> Result<(), TestCaseError> {
        agrees(Baseline, block, marked)?;
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::find() {
            agrees(avx2, block, marked)?;
        }
        Ok(())
    }

    #[test]
    fn each_byte_ends_plain_ascii_or_does_not_at_each_place() {
        let bytes = if cfg!(miri) { b"\0\x1f\x20\"\\a\x7f\x80\xff".to_vec() } else { (0..=255).collect() };
        for byte in bytes {
            for at in 0..LARGE_BLOCK_BYTES {
                let mut block = [b'a'; LARGE_BLOCK_BYTES];
                block[at] = byte;
                all_agree(&block, 0).unwrap();
            }
        }
    }

    #[test]
    fn each_byte_is_a_simple_escape_or_none() {
        for first in (0..=u8::MAX).step_by(LARGE_BLOCK_BYTES) {
            let block = std::array::from_fn(|at| first + at as u8);
            all_agree(&block, 0).unwrap();
        }
    }

    proptest! {
        #[test]
        fn any_large_block(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(b'a'), any::<u8>()], LARGE_BLOCK_BYTES), marked: u64) {
            all_agree(bytes.first_chunk().unwrap(), marked)?;
        }

        #[test]
        fn any_bytes(block: Block) {
            prop_assert_eq!(plain(&block), first(&block, ends_plain));
            prop_assert_eq!(plain_ascii(&block), first(&block, |byte| ends_plain(byte) || byte >= 0x80));
        }
    }
}
