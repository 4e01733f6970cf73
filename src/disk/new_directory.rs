//! Creates directories for files that must survive a power cut. Syncing such a file also means syncing the new directory entries above it.

use std::io;
use std::path::{Path, PathBuf};

use super::file_system::FileSystem;
use super::files::{exists, is_directory};
use super::mount::file_system;
use super::os_error::OsError;
use super::parent::parent;

/// Creates `directory` and the missing ones above it. Returns the directories that were missing one: they have a new entry now.
pub fn create(directory: &Path) -> Result<Vec<PathBuf>, OsError> {
    let is_missing = |ancestor: &&Path| !ancestor.as_os_str().is_empty() && !exists(ancestor);
    let new_in = directory.ancestors().take_while(is_missing).map(|missing| parent(missing).to_path_buf()).collect();
    create_all(directory).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))?;
    Ok(new_in)
}

/// Tries the directory itself first, so that the error is the system's about the whole path: `ELOOP`, for example.
fn create_all(directory: &Path) -> io::Result<()> {
    if directory.as_os_str().is_empty() {
        return Ok(());
    }
    match create_one(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_all(directory.parent().ok_or(error)?)?;
            create_one(directory)
        }
        created => created,
    }
}

/// A directory that exists is no error, also if another process has just created it.
fn create_one(directory: &Path) -> io::Result<()> {
    match file_system(directory).create_directory(directory) {
        Err(_) if is_directory(directory) => Ok(()),
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_directories_are_created_and_returned() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        assert_eq!(create(&deep).unwrap(), [root.path().join("a"), root.path().to_path_buf()]);
        assert!(deep.is_dir());
        assert!(create(&deep).unwrap().is_empty());
        fs::write(deep.join("file"), "").unwrap();
        assert_eq!(create(&deep.join("file/c")).unwrap_err().code, "ENOTDIR");
    }
}
