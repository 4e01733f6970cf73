//! SHA-256 of several messages at a time, on x86-64 processors with SHA instructions.
//!
//! An instruction computes two rounds and takes several cycles. The next one for the same message needs its result, but one for another
//! message can begin in the meantime.

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi64, _mm_set_epi8, _mm_set_epi64x, _mm_sha256msg1_epu32,
    _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi8, _mm_shuffle_epi32,
};

/// Number of messages hashed at a time. The sixteen vector registers suffice for the rounds of two messages, but not of three.
pub(super) const LANES: usize = 2;

/// Proof that the processor has the instructions.
#[derive(Clone, Copy)]
pub(super) struct Lanes(());

impl Lanes {
    /// Returns `None` if the processor does not have them.
    pub(crate) fn detect() -> Option<Self> {
        let has_them =
            is_x86_feature_detected!("sha") && is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("sse4.1");
        has_them.then_some(Lanes(()))
    }

    /// Hashes the blocks of each lane into its state. All lanes must have the same number of blocks.
    pub(crate) fn compress(self, states: &mut [LaneState; LANES], blocks: [&[[u8; 64]]; LANES]) {
        // SAFETY: `self` exists, so the processor has the instructions.
        unsafe { compress(states, blocks) };
    }
}

// Macros, because the compiler neither unrolls loops over rounds nor inlines closures that need the instructions.

/// Four rounds of both lanes, with the words of the schedules in slot `$group % 4`.
macro_rules! four_rounds {
    ($group:literal, $schedules:ident, $vectors:ident) => {
        let constants = of_u128(CONSTANTS[$group]);
        let [first, second] = &mut $vectors;
        let first_sums = _mm_add_epi32($schedules[0][$group % 4], constants);
        let second_sums = _mm_add_epi32($schedules[1][$group % 4], constants);
        first.cdgh = _mm_sha256rnds2_epu32(first.cdgh, first.abef, first_sums);
        second.cdgh = _mm_sha256rnds2_epu32(second.cdgh, second.abef, second_sums);
        first.abef = _mm_sha256rnds2_epu32(first.abef, first.cdgh, _mm_shuffle_epi32(first_sums, 0b1110));
        second.abef = _mm_sha256rnds2_epu32(second.abef, second.cdgh, _mm_shuffle_epi32(second_sums, 0b1110));
    };
}

/// For each group, replaces the oldest four words of the schedules, and then does four rounds of both lanes.
macro_rules! further_rounds {
    ($($group:literal)+, $schedules:ident, $vectors:ident) => {$(
        for schedule in &mut $schedules {
            let [oldest, second, third, newest] =
                [schedule[$group % 4], schedule[($group + 1) % 4], schedule[($group + 2) % 4], schedule[($group + 3) % 4]];
            let sums = _mm_add_epi32(_mm_sha256msg1_epu32(oldest, second), _mm_alignr_epi8(newest, third, 4));
            schedule[$group % 4] = _mm_sha256msg2_epu32(sums, newest);
        }
        four_rounds!($group, $schedules, $vectors);
    )+};
}

#[target_feature(enable = "sha,ssse3,sse4.1")]
fn compress(states: &mut [LaneState; LANES], blocks: [&[[u8; 64]]; LANES]) {
    let mut vectors = [Vectors::of(&states[0]), Vectors::of(&states[1])];
    for (first, second) in blocks[0].iter().zip(blocks[1]) {
        let mut schedules = [load(first), load(second)];
        let before = vectors;
        four_rounds!(0, schedules, vectors);
        four_rounds!(1, schedules, vectors);
        four_rounds!(2, schedules, vectors);
        four_rounds!(3, schedules, vectors);
        further_rounds!(4 5 6 7 8 9 10 11 12 13 14 15, schedules, vectors);
        for (vectors, before) in vectors.iter_mut().zip(before) {
            vectors.abef = _mm_add_epi32(vectors.abef, before.abef);
            vectors.cdgh = _mm_add_epi32(vectors.cdgh, before.cdgh);
        }
    }
    for (state, Vectors { abef, cdgh }) in states.iter_mut().zip(vectors) {
        *state = LaneState { abef: to_u128(abef), cdgh: to_u128(cdgh) };
    }
}

/// The hash state of a message in the order that the instructions use; the last letter of a field's name is in the lowest bits. It keeps
/// this form from block to block: a vector load of words that were stored one by one would have to wait for these stores.
#[derive(Clone, Copy)]
pub struct LaneState {
    abef: u128,
    cdgh: u128,
}

impl From<[u32; 8]> for LaneState {
    fn from([a, b, c, d, e, f, g, h]: [u32; 8]) -> Self {
        let join = |words: [u32; 4]| words.into_iter().fold(0, |joined, word| joined << 32 | u128::from(word));
        LaneState { abef: join([a, b, e, f]), cdgh: join([c, d, g, h]) }
    }
}

impl From<LaneState> for [u32; 8] {
    fn from(LaneState { abef, cdgh }: LaneState) -> Self {
        let split = |joined: u128| [(joined >> 96) as u32, (joined >> 64) as u32, (joined >> 32) as u32, joined as u32];
        let ([a, b, e, f], [c, d, g, h]) = (split(abef), split(cdgh));
        [a, b, c, d, e, f, g, h]
    }
}

/// The state of a message in registers.
#[derive(Clone, Copy)]
struct Vectors {
    abef: __m128i,
    cdgh: __m128i,
}

impl Vectors {
    #[inline]
    #[target_feature(enable = "sse2")]
    fn of(state: &LaneState) -> Self {
        Vectors { abef: of_u128(state.abef), cdgh: of_u128(state.cdgh) }
    }
}

/// Loads the sixteen words of a block, which are big-endian.
#[inline]
#[target_feature(enable = "sha,ssse3,sse4.1")]
fn load(block: &[u8; 64]) -> [__m128i; 4] {
    let (quarters, _) = block.as_chunks::<16>();
    [load_words(&quarters[0]), load_words(&quarters[1]), load_words(&quarters[2]), load_words(&quarters[3])]
}

#[inline]
#[target_feature(enable = "ssse3")]
fn load_words(bytes: &[u8; 16]) -> __m128i {
    let swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    _mm_shuffle_epi8(of_u128(u128::from_le_bytes(*bytes)), swap)
}

#[inline]
#[target_feature(enable = "sse2")]
fn of_u128(value: u128) -> __m128i {
    _mm_set_epi64x((value >> 64) as i64, value as i64)
}

#[inline]
#[target_feature(enable = "sse4.1")]
fn to_u128(vector: __m128i) -> u128 {
    let (low, high) = (_mm_extract_epi64(vector, 0) as u64, _mm_extract_epi64(vector, 1) as u64);
    u128::from(high) << 64 | u128::from(low)
}

/// The round constants: four rounds per element, the first of them in the lowest bits.
const CONSTANTS: [u128; 16] = [
    0xe9b5_dba5_b5c0_fbcf_7137_4491_428a_2f98,
    0xab1c_5ed5_923f_82a4_59f1_11f1_3956_c25b,
    0x550c_7dc3_2431_85be_1283_5b01_d807_aa98,
    0xc19b_f174_9bdc_06a7_80de_b1fe_72be_5d74,
    0x240c_a1cc_0fc1_9dc6_efbe_4786_e49b_69c1,
    0x76f9_88da_5cb0_a9dc_4a74_84aa_2de9_2c6f,
    0xbf59_7fc7_b003_27c8_a831_c66d_983e_5152,
    0x1429_2967_06ca_6351_d5a7_9147_c6e0_0bf3,
    0x5338_0d13_4d2c_6dfc_2e1b_2138_27b7_0a85,
    0x9272_2c85_81c2_c92e_766a_0abb_650a_7354,
    0xc76c_51a3_c24b_8b70_a81a_664b_a2bf_e8a1,
    0x106a_a070_f40e_3585_d699_0624_d192_e819,
    0x34b0_bcb5_2748_774c_1e37_6c08_19a4_c116,
    0x682e_6ff3_5b9c_ca4f_4ed8_aa4a_391c_0cb3,
    0x8cc7_0208_84c8_7814_78a5_636f_748f_82ee,
    0xc671_78f2_bef9_a3f7_a450_6ceb_90be_fffa,
];
