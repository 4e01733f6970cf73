//! Directories that are made for files that must survive: who syncs such a file must sync the entries that are new with it.

use std::io;
use std::path::{Path, PathBuf};

use super::file_system::FileSystem;
use super::files::{exists, is_directory};
use super::mount::file_system;
use super::os_error::OsError;
use super::parent::parent;

/// Makes `directory`, and those above it that are missing. Returns the directories in which there is a new entry now.
pub fn create(directory: &Path) -> Result<Vec<PathBuf>, OsError> {
    let is_missing = |ancestor: &&Path| !ancestor.as_os_str().is_empty() && !exists(ancestor);
    let missing: Vec<&Path> = directory.ancestors().take_while(is_missing).collect();
    if missing.is_empty() && !is_directory(directory) {
        // What is there is in the way.
        make(directory)?;
    }
    missing.iter().rev().try_for_each(|missing| make(missing))?;
    Ok(missing.into_iter().map(|missing| parent(missing).to_path_buf()).collect())
}

/// Makes a directory, unless there is one: another process may have been quicker.
fn make(directory: &Path) -> Result<(), OsError> {
    match file_system(directory).create_directory(directory) {
        Err(_) if directory.as_os_str().is_empty() || is_directory(directory) => Ok(()),
        made => made.map_err(|error: io::Error| OsError::new(&error, "mkdir", Some(directory))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_missing_is_made_and_told() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        assert_eq!(create(&deep).unwrap(), [root.path().join("a"), root.path().to_path_buf()]);
        assert!(deep.is_dir());
        assert!(create(&deep).unwrap().is_empty());
        fs::write(deep.join("file"), "").unwrap();
        assert_eq!(create(&deep.join("file/c")).unwrap_err().code, "ENOTDIR");
    }
}
