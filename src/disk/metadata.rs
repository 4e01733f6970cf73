//! What a file system says of what is at a path.

use std::time::SystemTime;

/// What is at a path, or open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What sort of thing it is.
    pub kind: FileKind,
    /// Bytes in a file.
    pub size: u64,
    /// When its content was last changed, where the system tells.
    pub modified: Option<SystemTime>,
    /// Which file it is. `None` where the system has no such numbers.
    pub inode: Option<Inode>,
}

impl Metadata {
    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }

    /// Device and number of its inode: the same for the same file, whatever path leads to it.
    pub fn id(&self) -> Option<(u64, u64)> {
        self.inode.map(|inode| (inode.device, inode.number))
    }
}

/// What sort of thing is at a path.
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

/// The inode of a file, and its times: in seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The device that it is on.
    pub device: u64,
    /// Its number on that device.
    pub number: u64,
    /// When the content was last changed. Programs can set it.
    pub modified: (i64, i64),
    /// When content or metadata were last changed. Programs can't set it.
    pub changed: (i64, i64),
}
