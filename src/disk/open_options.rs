//! How a file is opened.

/// How a file is opened. To open waits for nothing, neither for the other end of a pipe nor for a device to be ready, and a terminal
/// does not become that of this process. By default neither reading nor writing is possible.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
    /// It can be written, always at its end.
    pub append: bool,
    /// What happens if it is missing.
    pub create: Create,
    /// Whether the last name of the path may be that of a symbolic link.
    pub links: Links,
    /// If it is created, only its owner may read and write it. By default the process's umask decides.
    #[cfg_attr(not(unix), expect(dead_code, reason = "Windows has no modes."))]
    pub owner_only: bool,
}

/// What happens if a file that is to be opened is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// An error.
    #[default]
    Never,
    /// It is created, empty.
    IfMissing,
    /// It is created, and must have been missing: an error if there is anything, be it a link that leads nowhere.
    New,
}

/// Whether the last name of a path may be that of a symbolic link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// It is followed.
    #[default]
    Followed,
    /// It is not opened, or it is what is opened: a link, as its metadata say, and no file.
    Refused,
}
