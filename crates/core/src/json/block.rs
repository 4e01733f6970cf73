//! Finds the end of the plain text of a JSON string in 16, 32 or 64 bytes at a time.

use super::simple_escape::is_simple_escape;

/// Size of a block in bytes.
pub(super) const BLOCK_BYTES: usize = 16;

/// The bytes of a block.
pub(super) type Block = [u8; BLOCK_BYTES];

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

/// Two masks with a bit for each byte, the lowest bit for the first byte: quotes and control characters; backslashes.
#[inline(always)]
pub(super) fn masks(block: &LargeBlock) -> (u64, u64) {
    let (blocks, _) = block.as_chunks::<BLOCK_BYTES>();
    blocks.iter().rev().fold((0, 0), |(ends, backslashes), block| {
        let (more_ends, more_backslashes) = block_masks(block);
        (ends << BLOCK_BYTES | u64::from(more_ends), backslashes << BLOCK_BYTES | u64::from(more_backslashes))
    })
}

/// The number of bytes in two blocks before the first quote, backslash, control character or byte that is not ASCII.
#[inline(always)]
pub(super) fn plain_ascii_of_two(blocks: &TwoBlocks) -> usize {
    let ([low, high], _) = blocks.as_chunks() else { return 0 };
    match plain_ascii(low) {
        BLOCK_BYTES => BLOCK_BYTES + plain_ascii(high),
        plain => plain,
    }
}

/// Whether each of the marked bytes is a character that makes an escape of two characters when it follows a backslash. Checks every marked byte:
/// an early exit would cost a branch misprediction.
#[inline(always)]
pub(super) fn are_simple_escapes(block: &LargeBlock, marked: u64) -> bool {
    let (mut left, mut are_simple) = (marked, true);
    while left != 0 {
        are_simple &= is_simple_escape(block[left.trailing_zeros() as usize]);
        left &= left - 1;
    }
    are_simple
}

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
    fn classifies_each_byte_at_each_offset() {
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

    fn agrees(block: &LargeBlock, marked: u64) -> Result<(), TestCaseError> {
        let (ends, backslashes) = masks(block);
        for (at, byte) in block.iter().enumerate() {
            let is_end = *byte == b'"' || *byte < 0x20;
            prop_assert_eq!((ends >> at & 1 == 1, backslashes >> at & 1 == 1), (is_end, *byte == b'\\'));
            prop_assert_eq!(are_simple_escapes(block, 1 << at), SIMPLE.contains(byte));
        }
        let simple =
            (0..LARGE_BLOCK_BYTES).map(|at| u64::from(SIMPLE.contains(&block[at])) << at).fold(0, |all, bit| all | bit);
        prop_assert_eq!(are_simple_escapes(block, marked), marked & !simple == 0);
        prop_assert!(are_simple_escapes(block, marked & simple));
        let (two_blocks, _) = block.as_chunks();
        for blocks in two_blocks {
            let plain = blocks.iter().position(|byte| ends_plain(*byte) || !byte.is_ascii()).unwrap_or(blocks.len());
            prop_assert_eq!(plain_ascii_of_two(blocks), plain);
        }
        Ok(())
    }

    #[test]
    fn finds_the_end_of_plain_ascii_at_each_offset() {
        let bytes = if cfg!(miri) { b"\0\x1f\x20\"\\a\x7f\x80\xff".to_vec() } else { (0..=255).collect() };
        for byte in bytes {
            for at in 0..LARGE_BLOCK_BYTES {
                let mut block = [b'a'; LARGE_BLOCK_BYTES];
                block[at] = byte;
                agrees(&block, 0).unwrap();
            }
        }
    }

    #[test]
    fn simple_escapes_match_their_definition() {
        for first in (0..=u8::MAX).step_by(LARGE_BLOCK_BYTES) {
            let block = std::array::from_fn(|at| first + at as u8);
            agrees(&block, 0).unwrap();
        }
    }

    proptest! {
        #[test]
        fn large_block_masks_match_a_byte_loop(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(b'a'), any::<u8>()], LARGE_BLOCK_BYTES), marked: u64) {
            agrees(bytes.first_chunk().unwrap(), marked)?;
        }

        #[test]
        fn block_masks_match_a_byte_loop(block: Block) {
            prop_assert_eq!(plain(&block), first(&block, ends_plain));
            prop_assert_eq!(plain_ascii(&block), first(&block, |byte| ends_plain(byte) || byte >= 0x80));
        }
    }
}
