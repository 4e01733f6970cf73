//! Options for opening a file.

/// Options for opening a file. Opening never waits, neither for the other end of a pipe nor for a device to be ready, and a terminal
/// does not become the terminal of this process. By default the file can be neither read nor written.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Open for reading.
    pub read: bool,
    /// Open for writing.
    pub write: bool,
    /// Open for writing at the end only.
    pub append: bool,
    /// What to do if the file is missing.
    pub create: Create,
    /// What to do if the last component of the path is a symbolic link.
    pub links: Links,
    /// The permissions of the file if it is created, less the umask of the process. By default the umask alone decides.
    #[cfg_attr(not(unix), expect(dead_code, reason = "Windows has no modes."))]
    pub mode: Option<u32>,
}

/// What to do if a file is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// Fail.
    #[default]
    Never,
    /// Create an empty file.
    IfMissing,
    /// Always create the file: fail if anything exists at the path, even a link that leads nowhere.
    New,
}

/// What to do if the last component of a path is a symbolic link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Follow it.
    #[default]
    Followed,
    /// Do not follow it: either opening fails, or the link itself is opened, whose metadata say that it is a link.
    Refused,
}
