//! Files and directories that come into being whole where there was nothing: built beside their destination under another name,
//! synced, renamed.
//!
//! What is dropped before it is committed is gone, and what is at the destination already is never touched.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::file::File;
use super::files;
use super::new_directory;
use super::os_error::OsError;
use super::parent::parent;
use super::sync_directory::sync_directory;
use super::temporary::{NEW, TemporaryDirectory, TemporaryFile};

/// A directory that is being built.
pub struct StagedDirectory {
    directory: TemporaryDirectory,
    destination: PathBuf,
    /// Whether it is to outlive this process, and so to be on stable storage.
    is_to_stay: bool,
}

/// A file that is being built.
pub struct StagedFile(TemporaryFile);

/// Why something was not built.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// There is something at the destination.
    #[error("There is something at {} already; nothing is ever replaced", .0.display())]
    Exists(PathBuf),
    /// The system refused.
    #[error("{0}")]
    System(#[from] OsError),
}

impl StagedDirectory {
    /// A directory that will be at `destination`, where there must be nothing.
    pub fn new(destination: &Path) -> Result<Self, StageError> {
        Self::built_beside(destination, true)
    }

    /// The same for a reader, who removes it when it was read: it need not be on stable storage.
    pub fn for_reader(destination: &Path) -> Result<Self, StageError> {
        Self::built_beside(destination, false)
    }

    fn built_beside(destination: &Path, is_to_stay: bool) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        let directory = TemporaryDirectory::new_in(parent(destination), NEW)
            .map_err(|error| OsError { path: Some(destination.to_path_buf()), ..error })?;
        Ok(StagedDirectory { directory, destination: destination.to_path_buf(), is_to_stay })
    }

    /// Where it is built.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a new file in it, and the directories above.
    pub fn create(&self, path: &Path) -> Result<File, OsError> {
        new_directory::create(parent(path))?;
        files::create_new(path)
    }

    /// A file in it was written to its end.
    pub fn keep(&self, file: &File) -> Result<(), OsError> {
        failpoint!("staged::before_sync");
        if self.is_to_stay { sync(file) } else { Ok(()) }
    }

    /// Puts it at the destination. The files in it are synced already.
    pub fn commit(self) -> Result<(), StageError> {
        if !self.is_to_stay {
            return place(self.directory, &self.destination);
        }
        let mut waiting = vec![self.path().to_path_buf()];
        while let Some(directory) = waiting.pop() {
            for name in files::read_directory(&directory)? {
                let path = directory.join(name?);
                if files::symlink_metadata(&path)?.is_directory() {
                    waiting.push(path);
                }
            }
            sync_directory(&directory)?;
        }
        failpoint!("staged::before_rename");
        place(self.directory, &self.destination)?;
        failpoint!("staged::after_rename");
        Ok(sync_directory(parent(&self.destination))?)
    }
}

impl StagedFile {
    /// A file that will be at `destination`, where there must be nothing.
    pub fn new(destination: &Path) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        Ok(StagedFile(TemporaryFile::beside(destination, NEW, false)?))
    }

    /// How many bytes it has.
    pub fn size(&mut self) -> io::Result<u64> {
        Ok(self.0.file().metadata()?.size)
    }

    /// Puts it at the destination.
    pub fn commit(mut self) -> Result<(), StageError> {
        failpoint!("staged::before_sync");
        sync(self.0.file())?;
        let destination = self.0.destination().to_path_buf();
        failpoint!("staged::before_rename");
        self.0.place().map_err(|error| refused(error, &destination))?;
        failpoint!("staged::after_rename");
        Ok(sync_directory(parent(&destination))?)
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

fn sync(file: &File) -> Result<(), OsError> {
    file.sync_all().map_err(|error| OsError::new(&error, "fsync", None))
}

fn place(directory: TemporaryDirectory, destination: &Path) -> Result<(), StageError> {
    directory.place(destination).map_err(|error| refused(error, destination))
}

fn refused(error: OsError, destination: &Path) -> StageError {
    match error.code {
        "EEXIST" => StageError::Exists(destination.to_path_buf()),
        _ => error.into(),
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
    fn what_is_not_sealed_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedDirectory::new(&root.path().join("x")).unwrap();
        staged.create(&staged.path().join("a/b")).unwrap();
        drop(staged);
        drop(StagedFile::new(&root.path().join("x")).unwrap());
        assert!(entries(root.path()).is_empty());
    }

    #[test]
    fn nothing_is_replaced_not_even_what_came_meanwhile() {
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
    fn others_may_read_it_as_anything_else() {
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
