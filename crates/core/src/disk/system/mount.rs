//! Decides which file system a path belongs to.
//!
//! The path decides, as with the mounts of an operating system. A parameter would have to be passed through every function that
//! accesses a file in the end, and a thread-local would miss the threads of writers. In releases there is only one file system, so the
//! lookup compiles to nothing.

#[cfg(feature = "failpoints")]
pub(crate) use mounted::file_system;
#[cfg(feature = "failpoints")]
pub use mounted::{MountGuard, mount};
#[cfg(not(feature = "failpoints"))]
pub(crate) use only_real::file_system;

#[cfg(not(feature = "failpoints"))]
mod only_real {
    use std::path::Path;

    use crate::disk::system::real::Real;

    /// The file system that `path` belongs to.
    #[inline]
    pub(crate) fn file_system(_: &Path) -> &'static Real {
        &Real
    }
}

#[cfg(feature = "failpoints")]
mod mounted {
    use std::ops::Deref;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, LazyLock};

    use parking_lot::RwLock;

    use crate::disk::system::file_system::FileSystem;
    use crate::disk::system::real::Real;

    type Mount = (PathBuf, Arc<dyn FileSystem>);

    static REAL: LazyLock<Arc<dyn FileSystem>> = LazyLock::new(|| Arc::new(Real));
    static MOUNTS: RwLock<Vec<Mount>> = RwLock::new(Vec::new());

    /// The file system that `path` belongs to: the one that was last mounted at or above it.
    pub(crate) fn file_system(path: &Path) -> impl Deref<Target = impl FileSystem + ?Sized + use<>> + use<> {
        let mounts = MOUNTS.read();
        let mounted = mounts.iter().rev().find(|(prefix, _)| path.starts_with(prefix));
        mounted.map_or(&*REAL, |(_, mounted)| mounted).clone()
    }

    /// Mounts a file system: `prefix`, which must be absolute, and every path below it belong to it, on all threads, until the guard is
    /// dropped. The file system receives whole paths.
    pub fn mount(prefix: &Path, file_system: Arc<dyn FileSystem>) -> MountGuard {
        MOUNTS.write().push((prefix.to_path_buf(), file_system.clone()));
        MountGuard { prefix: prefix.to_path_buf(), file_system }
    }

    /// Unmounts the file system when it is dropped.
    #[must_use]
    pub struct MountGuard {
        prefix: PathBuf,
        file_system: Arc<dyn FileSystem>,
    }

    impl Drop for MountGuard {
        fn drop(&mut self) {
            let is_own = |(prefix, mounted): &Mount| *prefix == self.prefix && Arc::ptr_eq(mounted, &self.file_system);
            let mut mounts = MOUNTS.write();
            if let Some(own) = mounts.iter().rposition(is_own) {
                mounts.remove(own);
            }
        }
    }
}
