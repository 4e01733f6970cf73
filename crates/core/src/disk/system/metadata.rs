//! The metadata of files.

use std::time::{SystemTime, UNIX_EPOCH};

/// The metadata of what is at a path, or of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The type of the file.
    pub kind: FileKind,
    /// Size of a file in bytes.
    pub size: u64,
    /// Time of the last change of the content, if the system reports it.
    pub modified: Option<SystemTime>,
    /// The identity of the file. `None` if the system does not provide such numbers.
    pub inode: Option<Inode>,
}

impl Metadata {
    /// When the file was last written, in whole milliseconds since 1970; 0 if the system does not report it.
    pub fn modified_milliseconds(&self) -> f64 {
        let since_1970 = self.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since_1970.map_or(0.0, |time| time.as_millis() as f64)
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// The user and the group that it belongs to, if the system has such numbers.
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.inode.map(|inode| inode.owner)
    }

    /// Device and inode: the same for the same file, through whatever path it is reached.
    pub fn id(&self) -> Option<(u64, u64)> {
        self.inode.map(|inode| (inode.device, inode.number))
    }
}

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FileKind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    CharacterDevice,
    BlockDevice,
    Other,
}

/// The inode of a file, and its times in seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The device that it is on.
    pub device: u64,
    /// Its number on that device.
    pub number: u64,
    /// Time of the last change of the content. Programs can set it.
    pub modified: (i64, i64),
    /// Time of the last change of content or metadata. Programs can't set it.
    pub changed: (i64, i64),
    /// The number of its names. 0 for an open file that was removed.
    pub links: u64,
    /// The user and the group that it belongs to.
    pub owner: (u32, u32),
}
