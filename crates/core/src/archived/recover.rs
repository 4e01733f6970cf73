//! What can be had of a damaged archive: the content of every frame that checks, wherever it is.

use std::io;
use std::ops::Range;

use super::frame::{decompress, has_checksum};
use super::packed::Packed;
use super::table::{Frame, read_table, table_bytes};
use super::unpack::{Copy, FrameEnd, FrameReader, Sink, failed};
use crate::disk::{File, OsError, sniff};

/// What is searched at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// How much may be decompressed in vain, in bytes, while a frame is searched for: what looks like the beginning of one may claim to be any size.
const MAX_VAIN_BYTES: u64 = 1 << 30;

/// What a vain attempt counts at least: what was read for it.
const LEAST_VAIN_BYTES: u64 = 128 << 10;

/// For a place at which something is missing within a line: without it, what is before and behind might read as one record. Whether it is inside a string
/// or not, one of its control characters is outside.
const BREAK: &[u8] = b"\n\"\x01\"\x01\n";

/// The content of a damaged archive.
pub(crate) struct Recovered {
    /// What was decompressed, in a file without a name.
    pub content: File,
    /// The parts of the archive that can't be decompressed.
    pub lost: Vec<Range<u64>>,
    /// The size of the content before the first of them, or before the archive breaks off.
    pub damage: Option<u64>,
}

/// Decompresses every frame of an archive of `size` bytes that checks. Frames behind damage are found by the seek table, and by their first bytes. Where none is
/// found behind the first frame, which may be the only one, what comes before the damage in it is kept.
pub(crate) fn recover(packed: &Packed, size: u64) -> Result<Recovered, OsError> {
    let table = read_table(packed, size)?;
    let end = table.as_ref().and_then(|frames| frames.last()).map_or(size, |last| last.packed_end());
    let frames = table.filter(|frames| frames.iter().all(Frame::is_small)).unwrap_or_default();
    let (mut copy, mut reader) = (Copy::default(), FrameReader::new(packed));
    // The number of frames with content, and the end of the last one.
    let (mut whole, mut content_end) = (0, 0);
    let mut search = Search { packed, frames: &frames, end, vain: 0 };
    let (mut at, mut lost, mut damage) = (0, Vec::new(), None);
    while at < end {
        let before = copy.size();
        let broken_at = match reader.read(at, &mut copy)? {
            FrameEnd::Whole { end } => {
                at = end;
                if copy.size() > before {
                    (whole, content_end) = (whole + 1, end);
                }
                continue;
            }
            FrameEnd::CutOff => end,
            FrameEnd::Damaged { before } => before.min(end),
        };
        if whole > 0 && end - content_end == table_bytes(whole) {
            // Only the table is damaged.
            copy.cut_back(before).map_err(|error| failed(&error))?;
            break;
        }
        let next = search.next(at + 1, &mut reader)?;
        let keeps_beginning = next.is_none() && (broken_at == end || before == 0);
        if !keeps_beginning {
            copy.cut_back(before).map_err(|error| failed(&error))?;
        }
        damage.get_or_insert(copy.size());
        let gap = (if keeps_beginning { broken_at } else { at })..next.unwrap_or(end);
        if !gap.is_empty() {
            lost.push(gap);
        }
        let Some(next) = next else { break };
        if !copy.ends_line().map_err(|error| failed(&error))? {
            copy.append(BREAK).map_err(|error| failed(&error))?;
        }
        at = next;
    }
    Ok(Recovered { content: copy.into_file().map_err(|error| failed(&error))?, lost, damage })
}

/// Searches for frames behind damage.
struct Search<'p> {
    packed: &'p Packed,
    /// What the seek table lists, if it adds up.
    frames: &'p [Frame],
    end: u64,
    /// What was decompressed in vain.
    vain: u64,
}

impl Search<'_> {
    /// The offset of the first frame from `from` on that checks.
    fn next(&mut self, from: u64, reader: &mut FrameReader<'_>) -> Result<Option<u64>, OsError> {
        let listed = self.frames[self.frames.partition_point(|frame| frame.packed_offset < from)..].iter();
        let mut found = None;
        for frame in listed {
            if decompress(self.packed, frame)?.is_some() {
                found = Some(frame.packed_offset);
                break;
            }
        }
        let until = found.unwrap_or(self.end);
        Ok(self.by_first_bytes(from..until, reader)?.or(found))
    }

    fn by_first_bytes(&mut self, range: Range<u64>, reader: &mut FrameReader<'_>) -> Result<Option<u64>, OsError> {
        let (mut block, mut at) = (vec![0; BLOCK_BYTES + HEADER_BYTES], range.start);
        while at < range.end && self.vain < MAX_VAIN_BYTES {
            let filled = self.packed.fill(&mut block, at)?;
            for index in memchr::memmem::find_iter(&block[..filled], &sniff::ZSTD_MAGIC) {
                let candidate = at + index as u64;
                if index >= BLOCK_BYTES || candidate >= range.end || self.vain >= MAX_VAIN_BYTES {
                    break;
                }
                if has_checksum(&block[index..filled]) && self.checks(candidate, reader)? {
                    return Ok(Some(candidate));
                }
            }
            at += BLOCK_BYTES as u64;
        }
        Ok(None)
    }

    fn checks(&mut self, at: u64, reader: &mut FrameReader<'_>) -> Result<bool, OsError> {
        let mut vain = Vain { size: 0, most: MAX_VAIN_BYTES - self.vain };
        match reader.read(at, &mut vain) {
            Ok(FrameEnd::Whole { .. }) => return Ok(true),
            Err(error) if !error.is_cancelled() && vain.size <= vain.most => return Err(error),
            Err(error) if error.is_cancelled() => return Err(error),
            _ => {}
        }
        self.vain += vain.size.max(LEAST_VAIN_BYTES);
        Ok(false)
    }
}

/// The bytes of a frame up to those that say whether it has a checksum.
const HEADER_BYTES: usize = 5;

/// Counts what is decompressed, up to a limit.
struct Vain {
    size: u64,
    most: u64,
}

impl Sink for Vain {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.size += bytes.len() as u64;
        if self.size > self.most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn cut_back(&mut self, size: u64) -> io::Result<()> {
        self.size = size;
        Ok(())
    }
}
