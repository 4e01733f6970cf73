//! Directories that are made for files that must survive: who syncs such a file must sync the entries that are new with it.

use std::fs;
use std::path::{Path, PathBuf};

use super::os_error::OsError;

/// Makes `directory`, and those above it that are missing. Returns the directories in which there is a new entry now.
pub fn create(directory: &Path) -> Result<Vec<PathBuf>, OsError> {
    let new_in = parents_of_missing(directory);
    fs::create_dir_all(directory).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))?;
    Ok(new_in)
}

fn parents_of_missing(directory: &Path) -> Vec<PathBuf> {
    let missing = directory.ancestors().take_while(|ancestor| !ancestor.exists());
    missing
        .filter_map(|ancestor| ancestor.parent())
        .filter(|parent| parent.as_os_str() != "")
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
