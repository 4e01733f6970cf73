//! Which bytes are digits of base64 or base64url, and so of hex.

/// The number of bytes that are looked at together.
pub(super) const BLOCK_BYTES: usize = 64;

/// A bit for each byte, the lowest one for the first.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn digits(block: &[u8; BLOCK_BYTES]) -> u64 {
    // SAFETY: every processor of this architecture has SSE2.
    unsafe { simd::digits(block) }
}

/// A bit for each byte, the lowest one for the first.
#[cfg(not(target_arch = "x86_64"))]
pub fn digits(block: &[u8; BLOCK_BYTES]) -> u64 {
    block.iter().rev().fold(0, |digits, byte| digits << 1 | u64::from(super::is_digit(*byte)))
}

#[cfg(target_arch = "x86_64")]
mod simd {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };
    use std::hint::black_box;

    use super::BLOCK_BYTES;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(crate) fn digits(block: &[u8; BLOCK_BYTES]) -> u64 {
        let (parts, _) = block.as_chunks::<16>();
        // At level 3 the compiler would take the bits of the four parts apart, and put them together again with 500 instructions.
        // Without closures: they would not have the instructions of this function, and be called for each part.
        let low = black_box(digits_of(&parts[0])) | black_box(digits_of(&parts[1])) << 16;
        let high = black_box(digits_of(&parts[2])) | black_box(digits_of(&parts[3])) << 16;
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn digits_of(part: &[u8; 16]) -> u32 {
        let bytes = u128::from_le_bytes(*part);
        let bytes = _mm_set_epi64x((bytes >> 64) as i64, bytes as i64);
        let letters = within(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), b'a', 26);
        let numbers = within(bytes, b'/', 11);
        let marks = _mm_or_si128(equal(bytes, b'+'), _mm_or_si128(equal(bytes, b'-'), equal(bytes, b'_')));
        _mm_movemask_epi8(_mm_or_si128(letters, _mm_or_si128(numbers, marks))) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(bytes: __m128i, byte: u8) -> __m128i {
        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))
    }

    /// The bytes of a range. It is moved to the least numbers: those that are compared have a sign.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn within(bytes: __m128i, first: u8, count: u8) -> __m128i {
        let moved = _mm_add_epi8(bytes, _mm_set1_epi8(0x80u8.wrapping_sub(first) as i8));
        _mm_cmplt_epi8(moved, _mm_set1_epi8(count.wrapping_add(0x80) as i8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_at_every_offset() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK_BYTES {
                let mut block = [b' '; BLOCK_BYTES];
                block[place] = byte;
                assert_eq!(digits(&block), u64::from(super::super::is_digit(byte)) << place, "{byte} at {place}");
            }
        }
    }
}
