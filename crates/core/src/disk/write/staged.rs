//! Files and directories that appear at their destination only when they are complete: built next to it under another name,
//! synced, and renamed.
//!
//! Anything that is dropped without being committed is removed. Nothing at the destination is ever replaced.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::new_directory;
use super::temporary::{Naming, TemporaryDirectory, TemporaryFile};
use crate::disk::open::{File, files, parent};
use crate::disk::sync::sync_directory;
use crate::disk::system::{BY_UMASK, OsError};

/// A directory under construction.
pub(crate) struct StagedDirectory {
    directory: TemporaryDirectory,
    destination: PathBuf,
    /// Whether the directory outlives this process, and so has to be on stable storage.
    is_to_stay: bool,
}

/// A file under construction.
pub(crate) struct StagedFile(TemporaryFile);

/// The reason something was not built.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// Something exists at the destination.
    #[error("There is something at {} already; nothing is ever replaced", .0.display())]
    Exists(PathBuf),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] OsError),
}

impl StagedDirectory {
    /// A directory for `destination`, which must not exist.
    pub(crate) fn new(destination: &Path) -> Result<Self, StageError> {
        Self::built_beside(destination, true)
    }

    /// The same for a reader that removes the directory after reading it, so that it need not be on stable storage.
    pub(crate) fn for_reader(destination: &Path) -> Result<Self, StageError> {
        Self::built_beside(destination, false)
    }

    fn built_beside(destination: &Path, is_to_stay: bool) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        let directory = TemporaryDirectory::new_in(parent(destination), TemporaryFile::NEW)
            .map_err(|error| OsError { path: Some(destination.to_path_buf()), ..error })?;
        Ok(StagedDirectory { directory, destination: destination.to_path_buf(), is_to_stay })
    }

    /// The path at which it is built.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Creates a new file in it, with missing parent directories.
    pub(crate) fn create(&self, path: &Path) -> Result<File, OsError> {
        new_directory::create(parent(path))?;
        files::create_new(path, BY_UMASK)
    }

    /// Syncs a file in it that is complete, unless the directory is for a reader.
    pub(crate) fn keep(&self, file: &File) -> Result<(), OsError> {
        failpoint!("staged::before_sync");
        if self.is_to_stay { files::sync_if_possible(file, &self.destination) } else { Ok(()) }
    }

    /// Moves the directory to its destination, where nothing is left if that fails. The files in it must be synced already.
    pub(crate) fn commit(self) -> Result<(), StageError> {
        let StagedDirectory { directory, destination, is_to_stay } = self;
        if !is_to_stay {
            return directory.place(&destination).map_err(|error| refused(error, &destination));
        }
        sync_directories(directory.path()).map_err(|error| about(error, &destination))?;
        failpoint!("staged::before_rename");
        directory.place_durably(&destination).map_err(|error| refused(error, &destination))
    }
}

/// Syncs a directory and those in it.
fn sync_directories(top: &Path) -> Result<(), OsError> {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for name in files::read_directory(&directory)? {
            let path = directory.join(name?);
            if files::symlink_metadata(&path)?.is_directory() {
                waiting.push(path);
            }
        }
        sync_directory(&directory)?;
    }
    Ok(())
}

impl StagedFile {
    /// A file for `destination`, which must not exist.
    pub(crate) fn new(destination: &Path) -> Result<Self, StageError> {
        Self::named(destination, TemporaryFile::NEW, BY_UMASK)
    }

    /// The same with a name of this form while it is built, and with these permissions, less the umask.
    pub(crate) fn named(destination: &Path, naming: Naming, mode: u32) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        Ok(StagedFile(TemporaryFile::beside(destination, naming, mode)?))
    }

    /// The path at which it is built.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Size of the file in bytes.
    pub(crate) fn size(&mut self) -> io::Result<u64> {
        Ok(self.0.file().metadata()?.size)
    }

    /// Syncs the file and moves it to its destination, where nothing is left if that fails.
    pub(crate) fn commit(mut self) -> Result<(), StageError> {
        failpoint!("staged::before_sync");
        let destination = self.0.destination().to_path_buf();
        files::sync_if_possible(self.0.file(), &destination)?;
        failpoint!("staged::before_rename");
        self.0.place_durably().map_err(|error| refused(error, &destination))
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn expect_nothing(destination: &Path) -> Result<(), StageError> {
    match files::symlink_metadata(destination) {
        Ok(_) => Err(StageError::Exists(destination.to_path_buf())),
        Err(error) if error.code == "ENOENT" => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The error with the path that the caller knows, instead of a temporary one or none.
fn about(error: OsError, destination: &Path) -> OsError {
    OsError { path: Some(destination.to_path_buf()), ..error }
}

fn refused(error: OsError, destination: &Path) -> StageError {
    match error.code {
        "EEXIST" => StageError::Exists(destination.to_path_buf()),
        _ => about(error, destination).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entries(root: &Path) -> Vec<String> {
        let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn dropping_an_unsealed_directory_removes_it() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedDirectory::new(&root.path().join("x")).unwrap();
        staged.create(&staged.path().join("a/b")).unwrap();
        drop(staged);
        drop(StagedFile::new(&root.path().join("x")).unwrap());
        assert!(entries(root.path()).is_empty());
    }

    #[test]
    fn sealing_never_replaces_an_existing_destination() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let (directory, file) = (StagedDirectory::new(&path).unwrap(), StagedFile::new(&path).unwrap());
        fs::write(&path, "mine").unwrap();
        let exists = StageError::Exists(path.clone());
        assert_eq!(
            [directory.commit(), file.commit()].map(Result::unwrap_err),
            [exists, StageError::Exists(path.clone())]
        );
        assert_eq!(StagedFile::new(&path).err(), Some(StageError::Exists(path.clone())));
        assert_eq!(StagedDirectory::new(&path).err(), Some(StageError::Exists(path.clone())));
        assert_eq!((entries(root.path()), fs::read(&path).unwrap()), (vec!["x".to_owned()], b"mine".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn staged_directory_has_default_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        StagedDirectory::new(&path("directory")).unwrap().commit().unwrap();
        StagedFile::new(&path("file")).unwrap().commit().unwrap();
        fs::create_dir(path("plain-directory")).unwrap();
        fs::write(path("plain-file"), "").unwrap();
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode();
        assert_eq!(mode("directory"), mode("plain-directory"));
        assert_eq!(mode("file"), mode("plain-file"));
    }
}
