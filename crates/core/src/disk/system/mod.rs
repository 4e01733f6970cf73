//! What the operating system does: the trait behind which it is, its errors, and what stands in for it in tests.

mod file;
mod file_system;
mod metadata;
mod mode;
mod mount;
mod open_file;
mod open_options;
mod os_error;
mod real;
mod unsupported;

pub use file::File;
pub(crate) use file::read_up_to;
pub use file_system::{FileSystem, Names};
pub use metadata::{FileKind, Inode, Metadata};
pub(super) use mode::of_directory;
pub(crate) use mode::{BY_UMASK, OWNER_ONLY};
pub(super) use mount::file_system;
#[cfg(feature = "failpoints")]
pub use mount::{MountGuard, mount};
pub use open_file::OpenFile;
pub(crate) use open_options::Links;
pub use open_options::{Create, OpenOptions};
pub use os_error::OsError;
#[cfg(all(test, feature = "failpoints"))]
pub(crate) use real::Real;
pub(super) use unsupported::{is_no_directory_sync, is_no_lock, is_no_sync};
