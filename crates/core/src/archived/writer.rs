//! Writes archives: frames of whole lines and the seek table.

use std::io::{self, Write};
use std::mem::replace;

use super::frame::{checksum_of, compressor};
use super::long::LongFrameWriter;
use super::survey::Survey;
use super::table::{Frame, append_table};
use crate::task::{InOrder, Pipeline, Worker, spare_cores};
use zstd::bulk::Compressor;

/// Maximum size of the content of a frame, in bytes. It ends at the last line that ends within it, or in the middle of a line that is longer.
pub(crate) const FRAME_BYTES: usize = 4 << 20;

/// Maximum number of threads besides the caller's. Each needs about 35 MiB.
const MAX_HELPERS: usize = 1;

/// Writes an archive. Its bytes depend neither on the sizes of single writes nor on the number of threads.
pub(crate) enum ArchiveWriter<W: Write> {
    /// Of an ordinary session.
    Short(FrameWriter<W>),
    /// Of one that repeats long strings.
    Long(LongFrameWriter<W>),
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins the archive of a session that was surveyed.
    pub(crate) fn new(out: W, survey: &Survey) -> io::Result<Self> {
        Ok(match survey.long_frames() {
            Some(sizes) => ArchiveWriter::Long(LongFrameWriter::new(out, sizes)?),
            None => ArchiveWriter::Short(FrameWriter::new(out)?),
        })
    }

    /// Adds content.
    pub(crate) fn add(&mut self, content: &[u8]) -> io::Result<()> {
        match self {
            ArchiveWriter::Short(writer) => writer.add(content),
            ArchiveWriter::Long(writer) => writer.add(content),
        }
    }

    /// Writes the last frame and the seek table. Returns the size of the archive in bytes.
    pub(crate) fn finish(self) -> io::Result<u64> {
        match self {
            ArchiveWriter::Short(writer) => writer.finish(),
            ArchiveWriter::Long(writer) => writer.finish(),
        }
    }
}

/// Writes frames that are compressed on several cores.
pub(crate) struct FrameWriter<W: Write> {
    out: W,
    pipeline: Pipeline<FrameCompressor>,
    room: usize,
    in_order: InOrder<io::Result<CompressedFrame>>,
    /// Content that waits for the end of its frame.
    waiting: Vec<u8>,
    frames: Vec<Frame>,
    written: u64,
}

struct FrameCompressor(Compressor<'static>);

struct CompressedFrame {
    bytes: Vec<u8>,
    length: u32,
    checksum: u32,
}

impl Worker for FrameCompressor {
    type Job = Vec<u8>;
    type Output = io::Result<CompressedFrame>;

    fn work(&mut self, content: Vec<u8>) -> Self::Output {
        let bytes = self.0.compress(&content)?;
        Ok(CompressedFrame { bytes, length: content.len() as u32, checksum: checksum_of(&content) })
    }
}

impl<W: Write> FrameWriter<W> {
    /// Begins an archive.
    pub(super) fn new(out: W) -> io::Result<Self> {
        let helpers = spare_cores().min(MAX_HELPERS);
        let workers = (0..helpers).map(|_| compressor().map(FrameCompressor)).collect::<io::Result<Vec<_>>>()?;
        let room = 2 * helpers + 1;
        Ok(FrameWriter {
            out,
            pipeline: Pipeline::parallel(FrameCompressor(compressor()?), workers, room),
            room,
            in_order: InOrder::default(),
            waiting: Vec::new(),
            frames: Vec::new(),
            written: 0,
        })
    }

    /// Adds content.
    pub(super) fn add(&mut self, mut content: &[u8]) -> io::Result<()> {
        while !content.is_empty() {
            let (now, later) = content.split_at(content.len().min(FRAME_BYTES - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            if self.waiting.len() == FRAME_BYTES {
                let end = memchr::memrchr(b'\n', &self.waiting).map_or(FRAME_BYTES, |newline| newline + 1);
                let mut rest = Vec::with_capacity(FRAME_BYTES);
                rest.extend_from_slice(&self.waiting[end..]);
                self.waiting.truncate(end);
                self.begin_frame(rest)?;
            }
            content = later;
        }
        Ok(())
    }

    /// Writes the last frame and the seek table. Returns the size of the archive in bytes.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        // Empty content has a frame too, so that every archive begins as one.
        if !self.waiting.is_empty() || self.in_order.next_number() == 0 && self.pipeline.under_way() == 0 {
            self.begin_frame(Vec::new())?;
        }
        while self.write_frame()? {}
        let mut table = Vec::new();
        append_table(&self.frames, &mut table);
        self.out.write_all(&table)?;
        self.out.flush()?;
        Ok(self.written + table.len() as u64)
    }

    /// Hands over the content that waits. `rest` waits from now on.
    fn begin_frame(&mut self, rest: Vec<u8>) -> io::Result<()> {
        while self.pipeline.is_full() || self.pipeline.under_way() + self.in_order.waiting() >= self.room {
            self.write_frame()?;
        }
        self.pipeline.push(replace(&mut self.waiting, rest));
        Ok(())
    }

    /// Writes the next frame. Returns whether there was one.
    fn write_frame(&mut self) -> io::Result<bool> {
        let pipeline = &mut self.pipeline;
        let Some(frame) = self.in_order.next(|| pipeline.next_output()) else { return Ok(false) };
        let CompressedFrame { bytes, length, checksum } = frame?;
        self.out.write_all(&bytes)?;
        self.frames.push(Frame {
            packed_offset: self.written,
            packed: bytes.len() as u32,
            offset: self.frames.last().map_or(0, Frame::end),
            length,
            checksum: Some(checksum),
        });
        self.written += bytes.len() as u64;
        Ok(true)
    }
}
