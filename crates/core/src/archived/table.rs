//! The seek table of zstd's seekable format: a skippable frame at the end of a file that lists the frames before it.
//!
//! It is not trusted: a table that does not add up counts as none, and frames that are not what it says count as damaged.

use super::packed::Packed;
use crate::disk::OsError;

/// The number with which the skippable frame of a seek table begins.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a5e;

/// The number with which a seek table ends.
const SEEKABLE_MAGIC: u32 = 0x8f92_eab1;

/// Set in the descriptor if each entry has a checksum.
const HAS_CHECKSUMS: u8 = 1 << 7;

/// Bits of the descriptor that are reserved.
const RESERVED: u8 = 0b0111_1100;

const HEADER_BYTES: usize = 8;
const FOOTER_BYTES: usize = 9;

/// Maximum size of a table in bytes. A larger one, of a session of more than a terabyte, counts as none.
const MAX_TABLE_BYTES: u64 = 16 << 20;

/// Maximum size of the content of a frame that is read at random, in bytes.
pub(super) const MAX_FRAME_BYTES: u32 = 16 << 20;

/// Maximum size of a compressed frame: content that can't be compressed becomes slightly larger.
const MAX_PACKED_BYTES: u32 = MAX_FRAME_BYTES + (MAX_FRAME_BYTES >> 7) + 1024;

/// A frame of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its offset in the archive.
    pub packed_offset: u64,
    /// Its size in the archive.
    pub packed: u32,
    /// The offset of its content.
    pub offset: u64,
    /// The size of its content.
    pub length: u32,
    /// The lower half of the XXH64 of its content, if the table has checksums.
    pub checksum: Option<u32>,
}

impl Frame {
    /// Whether it can be read at random. Of an archive with a larger frame the table says only how large the content is.
    pub(super) fn is_small(&self) -> bool {
        self.packed <= MAX_PACKED_BYTES && self.length <= MAX_FRAME_BYTES
    }

    /// The offset of the end of its content.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }

    /// The offset of its end in the archive.
    pub(super) fn packed_end(&self) -> u64 {
        self.packed_offset + u64::from(self.packed)
    }
}

/// The size of the skippable frame with the table of so many frames, with checksums.
pub(super) fn table_bytes(frames: u64) -> u64 {
    frames * 12 + (HEADER_BYTES + FOOTER_BYTES) as u64
}

/// Appends the table of these frames.
pub(super) fn append_table(frames: &[Frame], bytes: &mut Vec<u8>) {
    let size = frames.len() * 12 + FOOTER_BYTES;
    let mut number = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    number(SKIPPABLE_MAGIC);
    number(size as u32);
    for frame in frames {
        number(frame.packed);
        number(frame.length);
        number(frame.checksum.unwrap_or_default());
    }
    number(frames.len() as u32);
    bytes.push(HAS_CHECKSUMS);
    bytes.extend_from_slice(&SEEKABLE_MAGIC.to_le_bytes());
}

/// The frames with content that the table at the end of an archive lists. `None` if there is no table that adds up.
pub(super) fn read_table(packed: &Packed, size: u64) -> Result<Option<Vec<Frame>>, OsError> {
    let Some(footer) = read::<FOOTER_BYTES>(packed, size, FOOTER_BYTES as u64)? else { return Ok(None) };
    let descriptor = footer[4];
    if number_at(&footer, 5) != SEEKABLE_MAGIC || descriptor & RESERVED != 0 {
        return Ok(None);
    }
    let entry_bytes = if descriptor & HAS_CHECKSUMS != 0 { 12 } else { 8 };
    let entries = u64::from(number_at(&footer, 0)) * entry_bytes;
    let table = entries + FOOTER_BYTES as u64;
    let Some(end) = size.checked_sub(table + HEADER_BYTES as u64).filter(|_| table <= MAX_TABLE_BYTES) else {
        return Ok(None);
    };
    let header = read::<HEADER_BYTES>(packed, size, table + HEADER_BYTES as u64)?.unwrap_or_default();
    if number_at(&header, 0) != SKIPPABLE_MAGIC || u64::from(number_at(&header, 4)) != table {
        return Ok(None);
    }
    let mut bytes = vec![0; entries as usize];
    if packed.fill(&mut bytes, end + HEADER_BYTES as u64)? < bytes.len() {
        return Ok(None);
    }
    Ok(frames_of(&bytes, entry_bytes as usize, end))
}

/// The frames with content. `None` unless together they fill the archive up to `end`.
fn frames_of(entries: &[u8], entry_bytes: usize, end: u64) -> Option<Vec<Frame>> {
    let (mut frames, mut packed_offset, mut offset) = (Vec::new(), 0, 0);
    for entry in entries.chunks_exact(entry_bytes) {
        let (packed, length) = (number_at(entry, 0), number_at(entry, 4));
        let checksum = (entry_bytes > 8).then(|| number_at(entry, 8));
        if length > 0 {
            frames.push(Frame { packed_offset, packed, offset, length, checksum });
        }
        packed_offset += u64::from(packed);
        offset += u64::from(length);
    }
    (packed_offset == end).then_some(frames)
}

/// The first `N` of the last `from_end` bytes of an archive.
fn read<const N: usize>(packed: &Packed, size: u64, from_end: u64) -> Result<Option<[u8; N]>, OsError> {
    let Some(offset) = size.checked_sub(from_end) else { return Ok(None) };
    let mut bytes = [0; N];
    Ok((packed.fill(&mut bytes, offset)? == N).then_some(bytes))
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_of(lengths: &[(u32, u32)]) -> (Vec<u8>, Vec<Frame>) {
        let (mut packed_offset, mut offset) = (0, 0);
        let frames: Vec<_> = lengths
            .iter()
            .map(|&(packed, length)| {
                let frame = Frame { packed_offset, packed, offset, length, checksum: Some(packed ^ length) };
                packed_offset += u64::from(packed);
                offset += u64::from(length);
                frame
            })
            .collect();
        let mut bytes = vec![7; packed_offset as usize];
        append_table(&frames, &mut bytes);
        (bytes, frames)
    }

    fn read_back(bytes: Vec<u8>) -> Option<Vec<Frame>> {
        let size = bytes.len() as u64;
        read_table(&Packed::Memory(bytes), size).unwrap()
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        for lengths in [&[][..], &[(9, 0)], &[(20, 100), (30, 4 << 20), (1, 1)]] {
            let (bytes, frames) = table_of(lengths);
            let with_content: Vec<_> = frames.into_iter().filter(|frame| frame.length > 0).collect();
            assert_eq!(read_back(bytes), Some(with_content));
        }
    }

    #[test]
    fn a_table_that_does_not_add_up_counts_as_none() {
        let (bytes, _) = table_of(&[(20, 100), (30, 200)]);
        assert!(read_back(bytes.clone()).is_some());
        assert_eq!(read_back(bytes[1..].to_vec()), None, "a byte is missing at the beginning");
        assert_eq!(read_back([b"x", &bytes[..]].concat()), None, "there is another byte at the beginning");
        assert_eq!(read_back(bytes[..bytes.len() - 1].to_vec()), None);
        let (oversized, _) = table_of(&[(20, MAX_FRAME_BYTES + 1)]);
        assert!(!read_back(oversized).unwrap()[0].is_small());
        for at in [bytes.len() - 9, bytes.len() - 6, bytes.len() - 5] {
            let mut claimed = bytes.clone();
            claimed[at] |= 0x7c;
            assert_eq!(read_back(claimed), None, "byte {at}");
        }
    }
}
