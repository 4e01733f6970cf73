//! How a bundle comes into being whole: built beside its destination under another name, synced, renamed.
//!
//! What is dropped before it is sealed is gone, and what is at the destination already is never touched.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use super::error::{BundleCode, BundleError};
use crate::disk::sync_directory::sync_directory;

/// A directory that is being built.
pub struct StagedDirectory {
    directory: TempDir,
    destination: PathBuf,
    /// Whether it is to outlive this process, and so to be on stable storage.
    is_to_stay: bool,
}

/// A file that is being built.
pub struct StagedFile {
    file: NamedTempFile,
    destination: PathBuf,
}

impl StagedDirectory {
    /// A directory that will be at `destination`, where there must be nothing.
    pub fn new(destination: &Path) -> Result<Self, BundleError> {
        Self::built_beside(destination, true)
    }

    /// The same for a reader, who removes it when it was read: it need not be on stable storage.
    pub fn for_reader(destination: &Path) -> Result<Self, BundleError> {
        Self::built_beside(destination, false)
    }

    fn built_beside(destination: &Path, is_to_stay: bool) -> Result<Self, BundleError> {
        let parent = free(destination)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".new-").suffix(".tmp");
        #[cfg(unix)]
        // As any directory that a program makes: the umask decides who may read it.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let directory =
            builder.tempdir_in(parent).map_err(|error| BundleError::system(&error, "mkdir", Some(destination)))?;
        Ok(StagedDirectory { directory, destination: destination.to_path_buf(), is_to_stay })
    }

    /// Where it is built.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a new file in it, and the directories above.
    pub fn create(&self, path: &Path) -> Result<File, BundleError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| BundleError::system(&error, "mkdir", Some(parent)))?;
        }
        File::create_new(path).map_err(|error| BundleError::system(&error, "open", Some(path)))
    }

    /// A file in it was written to its end.
    pub fn keep(&self, file: &File) -> Result<(), BundleError> {
        if !self.is_to_stay {
            return Ok(());
        }
        file.sync_all().map_err(|error| BundleError::system(&error, "fsync", None))
    }

    /// Puts it at the destination. The files in it are synced already.
    pub fn commit(self) -> Result<(), BundleError> {
        let mut waiting = vec![self.path().to_path_buf()];
        while let Some(directory) = waiting.pop() {
            let failed = |error: io::Error| BundleError::system(&error, "scandir", Some(&directory));
            for entry in fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                if entry.file_type().map_err(failed)?.is_dir() {
                    waiting.push(entry.path());
                }
            }
            if self.is_to_stay {
                sync_directory(&directory)?;
            }
        }
        rename(self.path(), &self.destination).map_err(|error| refused(&error, &self.destination))?;
        // It has another name now; there is nothing left to be removed.
        let _ = self.directory.keep();
        if self.is_to_stay {
            sync_directory(parent(&self.destination))?;
        }
        Ok(())
    }
}

impl StagedFile {
    /// A file that will be at `destination`, where there must be nothing.
    pub fn new(destination: &Path) -> Result<Self, BundleError> {
        let parent = free(destination)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".new-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file =
            builder.tempfile_in(parent).map_err(|error| BundleError::system(&error, "open", Some(destination)))?;
        Ok(StagedFile { file, destination: destination.to_path_buf() })
    }

    /// The file, to write to it.
    pub fn file(&self) -> Result<File, BundleError> {
        self.file.as_file().try_clone().map_err(|error| BundleError::system(&error, "dup", None))
    }

    /// Puts it at the destination.
    pub fn commit(self) -> Result<(), BundleError> {
        self.file.as_file().sync_all().map_err(|error| BundleError::system(&error, "fsync", None))?;
        let destination = self.destination;
        self.file.persist_noclobber(&destination).map_err(|error| refused(&error.error, &destination))?;
        Ok(sync_directory(parent(&destination))?)
    }
}

/// The directory of a destination at which there is nothing.
fn free(destination: &Path) -> Result<&Path, BundleError> {
    match fs::symlink_metadata(destination) {
        Ok(_) => Err(exists(destination)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(parent(destination)),
        Err(error) => Err(BundleError::system(&error, "lstat", Some(destination))),
    }
}

/// The directory in which a path is.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn exists(destination: &Path) -> BundleError {
    let message = format!("There is something at {} already; nothing is ever replaced", destination.display());
    BundleError::new(BundleCode::DestinationExists, message)
}

fn refused(error: &io::Error, destination: &Path) -> BundleError {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => exists(destination),
        _ => BundleError::system(error, "rename", Some(destination)),
    }
}

/// Renames a directory to where there is nothing. Elsewhere than on Linux an empty directory made at the last moment is replaced.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system that does not know the flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            result => return Ok(result?),
        }
    }
    fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let codes = [directory.commit(), file.commit()].map(|result| result.unwrap_err().code);
        assert_eq!(codes, [BundleCode::DestinationExists; 2]);
        assert_eq!(StagedFile::new(&path).err().unwrap().code, BundleCode::DestinationExists);
        assert_eq!(StagedDirectory::new(&path).err().unwrap().code, BundleCode::DestinationExists);
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
