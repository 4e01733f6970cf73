//! Writes the archive of a session that repeats long strings: frames of up to 64 MiB, in which repeats are found at any distance.

use std::collections::VecDeque;
use std::hash::Hasher as _;
use std::io::{self, Write};

use twox_hash::XxHash64;
use zstd::Encoder;
use zstd::zstd_safe::CParameter;

use super::frame::{HASH_LOG, LEVEL};
use super::table::{Frame, append_table};

/// The base-2 logarithm of the window, which spans a frame.
const WINDOW_LOG: u32 = super::survey::LONG_FRAME_BYTES.ilog2();

/// Writes frames of given sizes, each in a stream: a thread for each of them would need the memory of all of them.
pub(crate) struct LongFrameWriter<W: Write> {
    /// The frame that is being written; there is none after an error.
    current: Option<Current<W>>,
    sizes: VecDeque<u64>,
    frames: Vec<Frame>,
}

struct Current<W: Write> {
    encoder: Encoder<'static, Counted<W>>,
    checksum: XxHash64,
    /// The size of its content, and what is missing of it.
    size: u64,
    missing: u64,
}

/// Counts the bytes of an archive.
struct Counted<W> {
    out: W,
    count: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Current<W> {
    fn begin(out: Counted<W>, size: u64) -> io::Result<Self> {
        let mut encoder = Encoder::new(out, LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.include_contentsize(true)?;
        encoder.set_parameter(CParameter::HashLog(HASH_LOG))?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
        encoder.set_pledged_src_size(Some(size))?;
        Ok(Current { encoder, checksum: XxHash64::with_seed(0), size, missing: size })
    }
}

impl<W: Write> LongFrameWriter<W> {
    /// Begins an archive whose frames have these sizes.
    pub(super) fn new(out: W, sizes: Vec<u64>) -> io::Result<Self> {
        let mut sizes = VecDeque::from(sizes);
        let first = sizes.pop_front().unwrap_or_default();
        let current = Some(Current::begin(Counted { out, count: 0 }, first)?);
        Ok(LongFrameWriter { current, sizes, frames: Vec::new() })
    }

    pub(super) fn add(&mut self, mut content: &[u8]) -> io::Result<()> {
        while !content.is_empty() {
            let Some(current) = self.current.as_mut().filter(|current| current.missing > 0) else {
                return Err(more_than_announced());
            };
            let room = usize::try_from(current.missing).unwrap_or(usize::MAX);
            let (now, later) = content.split_at(content.len().min(room));
            current.encoder.write_all(now)?;
            current.checksum.write(now);
            current.missing -= now.len() as u64;
            if current.missing == 0
                && let Some(size) = self.sizes.pop_front()
            {
                let out = self.end_frame()?;
                self.current = Some(Current::begin(out, size)?);
            }
            content = later;
        }
        Ok(())
    }

    /// Writes the end of the last frame and the seek table. Returns the size of the archive in bytes.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let mut out = self.end_frame()?;
        let mut table = Vec::new();
        append_table(&self.frames, &mut table);
        out.write_all(&table)?;
        out.flush()?;
        Ok(out.count)
    }

    fn end_frame(&mut self) -> io::Result<Counted<W>> {
        let Current { encoder, checksum, size, .. } = self.current.take().ok_or_else(more_than_announced)?;
        let out = encoder.finish()?;
        let packed_offset = self.frames.last().map_or(0, |frame| frame.packed_offset + u64::from(frame.packed));
        self.frames.push(Frame {
            packed_offset,
            packed: (out.count - packed_offset) as u32,
            offset: self.frames.last().map_or(0, Frame::end),
            length: size as u32,
            checksum: Some(checksum.finish() as u32),
        });
        Ok(out)
    }
}

fn more_than_announced() -> io::Error {
    io::Error::other("the session has more bytes than it had")
}
