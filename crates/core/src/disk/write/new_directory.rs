//! Creates directories. Their entries are synced together with the file that they are created for.

use std::io;
use std::path::Path;

use crate::disk::open::is_directory;
use crate::disk::system::{BY_UMASK, FileSystem, OsError, file_system, of_directory};

/// Creates `directory` and its missing parents. The umask decides who may enter them.
pub(crate) fn create(directory: &Path) -> Result<(), OsError> {
    create_for_files(directory, BY_UMASK)
}

/// Creates `directory` for files with the permissions `mode`, less the umask, and its missing parents, whose permissions the umask decides.
pub(crate) fn create_for_files(directory: &Path, mode: u32) -> Result<(), OsError> {
    create_all(directory, of_directory(mode)).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))
}

/// Tries the directory itself first, so that the error is the system's for the whole path: `ELOOP`, for example.
fn create_all(directory: &Path, mode: u32) -> io::Result<()> {
    if directory.as_os_str().is_empty() {
        return Ok(());
    }
    match create_one(directory, mode) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_all(directory.parent().ok_or(error)?, of_directory(BY_UMASK))?;
            create_one(directory, mode)
        }
        created => created,
    }
}

/// An existing directory is not an error, even if another process has just created it.
fn create_one(directory: &Path, mode: u32) -> io::Result<()> {
    match file_system(directory).create_directory(directory, mode) {
        Err(_) if is_directory(directory) => Ok(()),
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_directories_are_created() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        create(&deep).unwrap();
        assert!(deep.is_dir());
        create(&deep).unwrap();
        fs::write(deep.join("file"), "").unwrap();
        assert_eq!(create(&deep.join("file/c")).unwrap_err().code, "ENOTDIR");
    }
}
