//! Single frames: compressed, and decompressed only if everything about them checks.

use twox_hash::XxHash64;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

use super::packed::Packed;
use super::table::Frame;
use crate::disk::OsError;

/// What stands for everything from the first damaged frame on: no line of JSON contains it, so a reader finds a torn line there.
pub(crate) const TORN: u8 = 0;

pub(super) const LEVEL: i32 = 9;

/// The base-2 logarithm of the size of the compressor's hash table: with that of the level, two threads would need more than 100 MiB.
pub(super) const HASH_LOG: u32 = 21;

/// A compressor of frames.
pub(super) fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
    compressor.set_parameter(CParameter::HashLog(HASH_LOG))?;
    Ok(compressor)
}

/// The checksum of a frame's content in a seek table.
pub(super) fn checksum_of(content: &[u8]) -> u32 {
    XxHash64::oneshot(0, content) as u32
}

/// The content of a frame. `None` if it is not what the table says, or does not check.
pub(super) fn decompress(packed: &Packed, frame: &Frame) -> Result<Option<Vec<u8>>, OsError> {
    let mut bytes = vec![0; frame.packed as usize];
    if packed.fill(&mut bytes, frame.packed_offset)? < bytes.len() {
        return Ok(None);
    }
    // The size of both is limited by constants, whatever the table says.
    let mut content = Vec::with_capacity(frame.length as usize);
    let decompressed = Decompressor::new().and_then(|mut one| one.decompress_to_buffer(&bytes, &mut content));
    let checks = decompressed.is_ok_and(|length| length == frame.length as usize)
        // A frame that checks by itself is whole, whatever has become of the table.
        && (has_checksum(&bytes) || frame.checksum.is_none_or(|expected| checksum_of(&content) == expected));
    Ok(checks.then_some(content))
}

/// Whether a frame that begins with these bytes has a checksum of its own.
pub(super) fn has_checksum(beginning: &[u8]) -> bool {
    const CHECKSUM_FLAG: u8 = 1 << 2;
    beginning.get(4).is_some_and(|descriptor| descriptor & CHECKSUM_FLAG != 0)
}
