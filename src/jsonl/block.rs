//! Sixteen bytes at a time: where in them the plain text of a JSON string ends.

/// How many bytes a block has.
pub const BLOCK_BYTES: usize = 16;

/// The bytes of a block.
pub type Block = [u8; BLOCK_BYTES];

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

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ends<const BEYOND_ASCII: bool>(block: &Block) -> usize {
    // SAFETY: every processor of this architecture has SSE2.
    let hits = unsafe { hits_mask::<BEYOND_ASCII>(block) };
    (hits | 1 << BLOCK_BYTES).trailing_zeros() as usize
}

/// A bit for each byte that ends plain text.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn hits_mask<const BEYOND_ASCII: bool>(block: &Block) -> i32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let (low, high) = halves(block);
    let bytes = _mm_set_epi64x(high as i64, low as i64);
    // As signed numbers, bytes beyond ASCII are less than all others.
    let control = if BEYOND_ASCII {
        _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20))
    } else {
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes)
    };
    let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
    _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash)))
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

    fn ends_plain(byte: u8) -> bool {
        byte == b'"' || byte == b'\\' || byte < 0x20
    }

    fn first(block: &Block, ends: impl Fn(u8) -> bool) -> usize {
        block.iter().position(|byte| ends(*byte)).unwrap_or(BLOCK_BYTES)
    }

    #[test]
    fn each_byte_at_each_place() {
        for byte in 0..=255 {
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
        fn any_bytes(block: Block) {
            prop_assert_eq!(plain(&block), first(&block, ends_plain));
            prop_assert_eq!(plain_ascii(&block), first(&block, |byte| ends_plain(byte) || byte >= 0x80));
        }
    }
}
