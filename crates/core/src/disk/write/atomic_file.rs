//! Files that are written under another name and renamed when they are complete. A crash leaves the old file or the new one, and
//! at worst a file with a name that all readers ignore.

use std::io::{self, Write as _};
use std::path::Path;

use super::new_directory;
use super::staged::StagedFile;
use crate::disk::open::parent;
use crate::disk::sync::{Durability, sync_entries};
use crate::disk::system::{BY_UMASK, OsError};

/// Writes `bytes` to `path`, replacing an existing file. Creates missing directories.
///
/// With [`Durability::Fsync`], the bytes are on stable storage when the function returns, and so are the directory entries from
/// `root` down to the file: another process may have created the directories in between without syncing them.
pub fn write_atomically(path: &Path, bytes: &[u8], root: &Path, durability: Durability) -> Result<(), OsError> {
    let failed = |syscall| move |error: io::Error| OsError::new(&error, syscall, Some(path));
    let directory = parent(path);
    // The caller knows the file, not the directories above it.
    new_directory::create(directory).map_err(|error| OsError { path: Some(path.to_path_buf()), ..error })?;
    let mut temporary = StagedFile::beside(path, StagedFile::NEW, BY_UMASK)?;
    temporary.file().write_all(bytes).map_err(failed("write"))?;
    if durability == Durability::Fsync {
        failpoint!("atomic_file::before_sync");
        temporary.file().sync_all().map_err(failed("fsync"))?;
    }
    failpoint!("atomic_file::before_rename");
    temporary.keep_owner_if_possible();
    temporary.replace()?;
    failpoint!("atomic_file::after_rename");
    if durability == Durability::Fsync {
        let directories = directory.ancestors().take_while(|above| above.starts_with(root));
        directories.into_iter().try_for_each(|directory| sync_entries(directory, path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn atomic_write_replaces_the_whole_file_and_leaves_no_others() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/c");
        for (bytes, durability) in [(&b"first"[..], Durability::Os), (b"", Durability::Fsync)] {
            write_atomically(&path, bytes, root.path(), durability).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn atomic_file_has_default_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        write_atomically(&root.path().join("atomic"), b"", root.path(), Durability::Os).unwrap();
        fs::write(root.path().join("plain"), b"").unwrap();
        let mode = |name| fs::metadata(root.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("atomic"), mode("plain"));
    }

    #[test]
    fn failed_atomic_write_keeps_the_old_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("taken");
        fs::create_dir_all(path.join("inner")).unwrap();
        let error = write_atomically(&path, b"x", root.path(), Durability::Os).unwrap_err();
        assert_eq!(error.syscall, "rename");
        assert!(path.join("inner").is_dir());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
