//! Sixteen or sixty-four bytes at a time: where in them the plain text of a JSON string ends.

/// How many bytes a block has.
pub const BLOCK_BYTES: usize = 16;

/// The bytes of a block.
pub type Block = [u8; BLOCK_BYTES];

/// Whether a byte ends a run of plain string text: a quote, a backslash, a control character.
#[inline(always)]
pub fn ends_plain(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// How many bytes of the block come before the first quote, backslash or control character.
#[inline(always)]
pub fn plain(block: &Block) -> usize {
    ends::<false>(block)
}

/// How many come before the first of these or the first byte that is not ASCII.
#[inline(always)]
pub fn plain_ascii(block: &Block) -> usize {
    ends::<true>(block)
}

/// How many bytes a large block has.
pub const LARGE_BLOCK_BYTES: usize = 64;

/// Two bits for each byte of a large block, the lowest for the first: whether it ends a string or is a control character, and whether it
/// is a backslash.
#[inline(always)]
pub fn masks(block: &[u8; LARGE_BLOCK_BYTES]) -> (u64, u64) {
    let (blocks, _) = block.as_chunks::<BLOCK_BYTES>();
    blocks.iter().rev().fold((0, 0), |(ends, backslashes), block| {
        let (more_ends, more_backslashes) = block_masks(block);
        (ends << BLOCK_BYTES | u64::from(more_ends), backslashes << BLOCK_BYTES | u64::from(more_backslashes))
    })
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

    /// A bit for each byte that ends plain text.
    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn ends<const BEYOND_ASCII: bool>(block: &Block) -> i32 {
        let bytes = load(block);
        // As signed numbers, bytes beyond ASCII are less than all others.
        let control = if BEYOND_ASCII { _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)) } else { control(bytes) };
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(equal(bytes, b'"'), equal(bytes, b'\\'))))
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn masks(block: &Block) -> (u16, u16) {
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

/// The high bit of each byte that ends plain text; exact up to and including the lowest hit, which is the one that is used.
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

    fn first(block: &Block, ends: impl Fn(u8) -> bool) -> usize {
        block.iter().position(|byte| ends(*byte)).unwrap_or(BLOCK_BYTES)
    }

    #[test]
    fn each_byte_at_each_place() {
        // Miri takes minutes for all of them.
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

    proptest! {
        #[test]
        fn any_large_block(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(b'a'), any::<u8>()], LARGE_BLOCK_BYTES)) {
            let (ends, backslashes) = masks(bytes.first_chunk().unwrap());
            for (at, byte) in bytes.iter().enumerate() {
                let is_end = *byte == b'"' || *byte < 0x20;
                prop_assert_eq!((ends >> at & 1 == 1, backslashes >> at & 1 == 1), (is_end, *byte == b'\\'));
            }
        }

        #[test]
        fn any_bytes(block: Block) {
            prop_assert_eq!(plain(&block), first(&block, ends_plain));
            prop_assert_eq!(plain_ascii(&block), first(&block, |byte| ends_plain(byte) || byte >= 0x80));
        }
    }
}
