//! The bytes of an archive, and how they are read: by frames, or through an unpacked copy.

use std::path::Path;

use super::frame::TORN;
use super::framed::FramedFile;
use super::packed::{Packed, Unpacked, is_bundle_name};
use super::table::{Frame, read_table};
use super::unpack::{beginning_of, unpack_session};
use crate::disk::{OsError, sniff};

/// The offset of the format's name in a tar archive, and that name.
const TAR_NAME: (usize, &[u8]) = (257, b"ustar");

/// The upper bits of the number with which a skippable frame begins. Some programs begin a file with one.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// How the content of an archive is read.
pub enum Content {
    /// By frames.
    Framed(FramedFile),
    /// Through a copy; and the size of the content before a frame that did not check.
    Unpacked(Unpacked, Option<u64>),
}

/// Whether a file that begins with these bytes may be an archived session. No text begins like that.
pub fn may_be_archive(beginning: &[u8]) -> bool {
    sniff::is_archive(beginning) || (beginning.len() > 3 && beginning[0] >> 4 == 5 && beginning[1..4] == SKIPPABLE)
}

/// Recognises an archived session of `size` bytes at `path`. Returns what was given if it is none: the archive of a bundle, or no archive at all.
pub fn open_packed(packed: Packed, size: u64, path: &Path) -> Result<Result<Archive, Packed>, OsError> {
    let mut beginning = [0; 4];
    let count = packed.fill(&mut beginning, 0)?;
    if !may_be_archive(&beginning[..count]) {
        return Ok(Err(packed));
    }
    if let Some(frames) = read_table(&packed, size)? {
        let size = frames.last().map_or(0, Frame::end);
        let frames = frames.iter().all(Frame::is_small).then_some(frames);
        return Ok(Ok(Archive { packed, frames, size: Some(size) }));
    }
    let (name_at, name) = TAR_NAME;
    let is_session = match beginning_of(&packed, name_at + name.len())? {
        Some(content) => !content.get(name_at..).is_some_and(|rest| rest.starts_with(name)),
        // Only a name can say that it was a bundle.
        None => !is_bundle_name(path),
    };
    Ok(if is_session { Ok(Archive { packed, frames: None, size: None }) } else { Err(packed) })
}

/// An archived session, of which no content has been read.
pub struct Archive {
    packed: Packed,
    /// What its seek table lists, if all of that can be read at random.
    frames: Option<Vec<Frame>>,
    /// The size of the content by the seek table, if it has one.
    size: Option<u64>,
}

impl Archive {
    /// Whether it has a seek table of small frames, so that any part of it can be read alone.
    pub fn has_frames(&self) -> bool {
        self.frames.is_some()
    }

    /// The first `length` bytes of the content, or all of it, without decompressing much more. It may be damaged further on.
    pub fn beginning(&self, length: usize) -> Result<Vec<u8>, OsError> {
        Ok(beginning_of(&self.packed, length)?.unwrap_or_else(|| vec![TORN]))
    }

    /// The size of the content: from the seek table, or counted.
    pub fn size(&self) -> Result<u64, OsError> {
        self.size.map_or_else(|| super::unpack::count(&self.packed), Ok)
    }

    /// Prepares the content for reading. Without a seek table it is decompressed here, once.
    pub fn open(self) -> Result<Content, OsError> {
        match self.frames {
            Some(frames) => Ok(Content::Framed(FramedFile::new(self.packed, frames))),
            None => unpack_session(&self.packed).map(|(copy, damage)| Content::Unpacked(copy, damage)),
        }
    }
}
