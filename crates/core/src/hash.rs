//! SHA-256, written as lower-case hex, so that `sha256sum` can check every hash that this crate stores.

use sha2::{Digest as _, Sha256};

/// Number of hex digits in a hash.
pub const HEX_BYTES: usize = 64;

/// A hash as it is stored: lower-case hex digits.
pub type HexHash = [u8; HEX_BYTES];

/// A hash as bytes.
pub type Hash = [u8; 32];

/// The hash of the concatenation of `parts`.
#[inline]
pub fn sha256<const PARTS: usize>(parts: [&[u8]; PARTS]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Messages that are collected on one thread and hashed later, on any.
#[derive(Clone, Debug, Default)]
pub struct HashBatch {
    messages: Vec<u8>,
    /// The end of each message in `messages`.
    ends: Vec<usize>,
}

impl HashBatch {
    /// Adds a message: the concatenation of `parts`.
    #[inline]
    pub fn push<const PARTS: usize>(&mut self, parts: [&[u8]; PARTS]) {
        self.write(|message| parts.iter().for_each(|part| message.extend_from_slice(part)));
    }

    /// Adds a message. `append` appends it to the buffer that it is given, and must not change the buffer otherwise.
    #[inline]
    pub fn write(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.messages);
        self.ends.push(self.messages.len());
    }

    /// Number of messages.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Removes all messages and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.ends.clear();
    }

    /// Hashes all messages. Replaces the content of `hashes` with their hashes, in the order of the messages.
    pub fn hash_into(&self, hashes: &mut Vec<Hash>) {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        hashes.clear();
        hashes.extend(starts.zip(&self.ends).map(|(start, &end)| sha256([&self.messages[start..end]])));
    }
}

/// The hash of the concatenation of `parts`, in hex.
#[inline]
pub fn sha256_hex<const PARTS: usize>(parts: [&[u8]; PARTS]) -> HexHash {
    to_hex(&sha256(parts))
}

/// A hash in hex.
#[inline]
pub fn to_hex(hash: &Hash) -> HexHash {
    let mut digits = [0; HEX_BYTES];
    // Fails only if the output is too short.
    let _ = const_hex::encode_to_slice(hash, &mut digits);
    digits
}

/// Parses 64 lower-case hex digits. Returns `None` for anything else.
pub fn from_hex(digits: &[u8]) -> Option<Hash> {
    let digits = <&HexHash>::try_from(digits).ok()?;
    // The decoder accepts upper-case digits too.
    if !is_lower_hex(digits) {
        return None;
    }
    let mut hash = Hash::default();
    const_hex::decode_to_slice(digits, &mut hash).ok()?;
    Some(hash)
}

/// The digits of a hash as text.
pub fn as_text(hash: &HexHash) -> &str {
    std::str::from_utf8(hash).unwrap_or_default()
}

/// Whether a text has the form of a stored hash.
pub fn is_hex_hash(text: &str) -> bool {
    text.len() == HEX_BYTES && is_lower_hex(text.as_bytes())
}

/// Whether a text consists of lower-case hex digits only.
#[inline]
pub fn is_lower_hex(text: &[u8]) -> bool {
    // No branch per byte, so that the compiler can vectorise the loop.
    text.iter().fold(true, |all, byte| all & (byte.is_ascii_digit() | matches!(byte, b'a'..=b'f')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(as_text(&sha256_hex([b""])), empty);
        assert_eq!(as_text(&sha256_hex([b"a", b"", b"bc"])), abc);
        assert_eq!(from_hex(abc.as_bytes()), Some(sha256([b"abc"])));
    }

    #[test]
    fn a_batch_has_the_hashes_of_its_messages() {
        let (mut batch, mut hashes) = (HashBatch::default(), vec![Hash::default(); 3]);
        batch.push([b"other"]);
        batch.clear();
        batch.push([b"a", b"", b"bc"]);
        batch.push([b""]);
        batch.hash_into(&mut hashes);
        assert_eq!((batch.count(), hashes), (2, vec![sha256([b"abc"]), sha256([b""])]));
    }

    #[test]
    fn only_64_lower_case_digits_are_a_hash() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(is_hex_hash(&digits));
        for other in [&digits[1..], &format!("{digits}0"), &digits.to_uppercase(), &digits.replace('0', "g"), ""] {
            assert!(!is_hex_hash(other), "{other}");
            assert_eq!(from_hex(other.as_bytes()), None, "{other}");
        }
    }
}
