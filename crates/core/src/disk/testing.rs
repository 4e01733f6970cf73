//! What stands in for the operating system in tests implements and mounts.

#[cfg(all(test, feature = "failpoints"))]
pub(crate) use super::system::Real;
pub use super::system::{Create, FileSystem, Names, OpenFile};
#[cfg(feature = "failpoints")]
pub use super::system::{MountGuard, mount};
