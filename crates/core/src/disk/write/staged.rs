//! Files and directories that appear at their destination only when they are complete: built next to it under another name, synced, and renamed.
//!
//! Anything that is dropped before that is removed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::new_directory;
use crate::disk::lock::mark_in_use;
use crate::disk::open::{File, files, parent};
use crate::disk::sync::sync_directory;
use crate::disk::system::{
    BY_UMASK, Create, FileSystem, Metadata, OWNER_ONLY, OpenOptions, OsError, file_system, of_directory,
};

/// A prefix and a suffix of names that all readers ignore.
pub(crate) type Naming = (&'static str, &'static str);

/// Maximum number of names that are tried.
const MAX_ATTEMPTS: u32 = 1000;

/// A file under construction. The system's lock on it distinguishes it from what a process that has ended left over.
#[derive(Debug)]
pub(crate) struct StagedFile {
    path: PathBuf,
    destination: PathBuf,
    file: File,
    is_in_place: bool,
}

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

impl StagedFile {
    /// The names of files and directories that are built next to their destination.
    pub(crate) const NEW: Naming = (".new-", ".tmp");

    /// A file for `destination`, where nothing may be, with these permissions less the umask.
    pub(crate) fn new(destination: &Path, naming: Naming, mode: u32) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        Ok(Self::beside(destination, naming, mode)?)
    }

    /// A file for `destination`, or another name in its directory, with these permissions less the umask.
    pub(crate) fn beside(destination: &Path, naming: Naming, mode: u32) -> Result<Self, OsError> {
        let options =
            OpenOptions { read: true, write: true, create: Create::New, mode: Some(mode), ..OpenOptions::default() };
        let open = |path: &Path| file_system(path).open(path, &options);
        let (path, file) = create_unique(parent(destination), naming, open)
            .map_err(|error| OsError::new(&error, "open", Some(destination)))?;
        mark_in_use(&file);
        Ok(StagedFile { path, destination: destination.to_path_buf(), file, is_in_place: false })
    }

    /// A file for `destination` that takes the place of another one: with its owner, its group and its permissions. Fails if the
    /// system refuses them.
    pub(crate) fn in_place_of(replaced: &File, destination: &Path, naming: Naming) -> Result<Self, OsError> {
        let staged = Self::beside(destination, naming, OWNER_ONLY)?;
        let failed = |syscall| move |error: io::Error| OsError::new(&error, syscall, Some(destination));
        if let Some(owner) = replaced.metadata().map_err(failed("fstat"))?.owner() {
            staged.give_to(owner).map_err(failed("fchown"))?;
        }
        // After the owner, with whom some systems change them.
        if let Some(mode) = replaced.mode().filter(|mode| staged.file.mode() != Some(*mode)) {
            staged.file.set_mode(mode).map_err(failed("fchmod"))?;
        }
        Ok(staged)
    }

    /// The file.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The path at which it is built.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file to the owner of the one that it replaces, if the system allows that: for what can be made again, and may be shared.
    pub(crate) fn keep_owner_if_possible(&self) {
        let replaced = file_system(&self.destination).symlink_metadata(&self.destination);
        if let Some(owner) = replaced.ok().filter(Metadata::is_file).and_then(|replaced| replaced.owner()) {
            let _ = self.give_to(owner);
        }
    }

    fn give_to(&self, owner: (u32, u32)) -> io::Result<()> {
        if self.file.metadata()?.owner() == Some(owner) { Ok(()) } else { self.file.set_owner(owner) }
    }

    /// Syncs the file, if its file system can.
    pub(crate) fn sync(&self) -> Result<(), OsError> {
        files::sync_if_possible(&self.file, &self.destination)
    }

    /// Moves the file to its destination, and replaces a file there.
    pub(crate) fn replace(&mut self) -> Result<(), OsError> {
        file_system(&self.path)
            .rename(&self.path, &self.destination)
            .map_err(|error| OsError::new(&error, "rename", Some(&self.destination)))?;
        self.is_in_place = true;
        Ok(())
    }

    /// Moves the file to a destination in the same directory. Fails with the code `EEXIST` if anything exists there; then the caller can try
    /// another destination.
    pub(crate) fn place_at(&mut self, destination: &Path) -> Result<(), OsError> {
        file_system(&self.path)
            .rename_new(&self.path, destination)
            .map_err(|error| OsError::new(&error, "rename", Some(destination)))?;
        self.is_in_place = true;
        Ok(())
    }

    /// Moves the file to the first of these destinations at which nothing is.
    pub(crate) fn place_at_first(
        &mut self,
        destinations: impl IntoIterator<Item = PathBuf>,
    ) -> Result<PathBuf, OsError> {
        let taken = io::ErrorKind::AlreadyExists.into();
        let mut refused = OsError::new(&taken, "rename", Some(parent(&self.destination)));
        for destination in destinations {
            match self.place_at(&destination) {
                Ok(()) => return Ok(destination),
                Err(error) if error.code == "EEXIST" => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }

    /// Syncs the file and moves it to its destination, where nothing is left if that fails. Replaces nothing.
    pub(crate) fn commit(mut self) -> Result<(), StageError> {
        failpoint!("staged::before_sync");
        self.sync()?;
        failpoint!("staged::before_rename");
        let destination = self.destination.clone();
        self.place_at(&destination).map_err(|error| refused(error, &destination))?;
        failpoint!("staged::after_rename");
        sync_entry(&destination).map_err(|error| about(error, &destination).into())
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = file_system(&self.path).remove_file(&self.path);
        }
    }
}

/// Syncs the entry of a file that was just placed. Removes the file if that fails: the caller reports that there is none, and another
/// attempt must not meet it.
pub(crate) fn sync_entry(placed: &Path) -> Result<(), OsError> {
    sync_directory(parent(placed)).inspect_err(|_| {
        let _ = file_system(placed).remove_file(placed);
    })
}

/// A directory that is removed with its content when it is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
    is_in_place: bool,
}

impl TemporaryDirectory {
    /// A new directory next to what is built from it.
    pub(crate) fn new_in(directory: &Path) -> Result<Self, OsError> {
        Self::named(directory, StagedFile::NEW, BY_UMASK)
    }

    /// A new directory in the system's directory for temporary files, which no other user can enter.
    pub(crate) fn new() -> Result<Self, OsError> {
        Self::named(&std::env::temp_dir(), (".tmp", ""), OWNER_ONLY)
    }

    fn named(directory: &Path, naming: Naming, mode: u32) -> Result<Self, OsError> {
        let create = |path: &Path| file_system(path).create_directory(path, of_directory(mode));
        let (path, ()) =
            create_unique(directory, naming, create).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))?;
        Ok(TemporaryDirectory { path, is_in_place: false })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the directory back, to remove it. It loses its name first: a removal that a crash ends would leave a part of it there.
    fn withdraw(&mut self, destination: &Path) {
        if file_system(destination).rename_new(destination, &self.path).is_err() {
            self.path = destination.to_path_buf();
        }
        self.is_in_place = false;
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = file_system(&self.path).remove_tree(&self.path);
        }
    }
}

/// A directory under construction.
pub(crate) struct StagedDirectory {
    directory: TemporaryDirectory,
    destination: PathBuf,
    /// Whether the directory outlives this process, and so has to be on stable storage.
    is_to_stay: bool,
}

impl StagedDirectory {
    /// A directory for `destination`, which must not exist. One that is not to stay is removed by who reads it, so that it need not be on stable
    /// storage.
    pub(crate) fn new(destination: &Path, is_to_stay: bool) -> Result<Self, StageError> {
        expect_nothing(destination)?;
        let directory = TemporaryDirectory::new_in(parent(destination)).map_err(|error| about(error, destination))?;
        Ok(StagedDirectory { directory, destination: destination.to_path_buf(), is_to_stay })
    }

    /// A directory that is read where it is built, in the system's directory for temporary files.
    pub(crate) fn temporary() -> Result<Self, OsError> {
        let directory = TemporaryDirectory::new()?;
        Ok(StagedDirectory { destination: directory.path.clone(), directory, is_to_stay: false })
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

    /// Syncs a file in it that is complete.
    pub(crate) fn keep(&self, file: &File) -> Result<(), OsError> {
        failpoint!("staged::before_sync");
        if self.is_to_stay { files::sync_if_possible(file, &self.destination) } else { Ok(()) }
    }

    /// Moves the directory to its destination, where nothing is left if that fails. The files in it must be synced already.
    pub(crate) fn commit(mut self) -> Result<(), StageError> {
        let destination = &self.destination;
        if self.is_to_stay {
            sync_directories(self.directory.path()).map_err(|error| about(error, destination))?;
            failpoint!("staged::before_rename");
        }
        let path = &self.directory.path;
        file_system(path).rename_new(path, destination).map_err(|error| match error.kind() {
            // What a plain rename reports, which would replace an empty directory only.
            io::ErrorKind::DirectoryNotEmpty => StageError::Exists(destination.clone()),
            _ => refused(OsError::new(&error, "rename", Some(destination)), destination),
        })?;
        self.directory.is_in_place = true;
        if self.is_to_stay {
            failpoint!("staged::after_rename");
            sync_directory(parent(destination)).map_err(|error| {
                self.directory.withdraw(destination);
                about(error, destination)
            })?;
        }
        Ok(())
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

fn expect_nothing(destination: &Path) -> Result<(), StageError> {
    if files::is_there(destination)? { Err(StageError::Exists(destination.to_path_buf())) } else { Ok(()) }
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

/// Creates something with a name that is not taken. Its path is absolute, so that it stays valid when the working directory changes.
fn create_unique<T>(
    directory: &Path,
    (prefix, suffix): Naming,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let directory = std::path::absolute(directory)?;
    for _ in 0..MAX_ATTEMPTS {
        let path = directory.join(format!("{prefix}{}{suffix}", random_name()?));
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|created| (path, created)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Six random digits and letters.
fn random_name() -> io::Result<String> {
    const SIGNS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let bits = getrandom::u32().map_err(io::Error::other)?;
    Ok((0..6).map(|index| char::from(SIGNS[(bits >> (index * 5)) as usize % SIGNS.len()])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entries(root: &Path) -> Vec<String> {
        let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn staged_file(destination: &Path) -> Result<StagedFile, StageError> {
        StagedFile::new(destination, StagedFile::NEW, BY_UMASK)
    }

    #[test]
    fn dropping_an_unsealed_directory_removes_it() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedDirectory::new(&root.path().join("x"), true).unwrap();
        staged.create(&staged.path().join("a/b")).unwrap();
        drop(staged);
        drop(staged_file(&root.path().join("x")).unwrap());
        assert!(entries(root.path()).is_empty());
    }

    #[test]
    fn sealing_never_replaces_an_existing_destination() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let (directory, file) = (StagedDirectory::new(&path, true).unwrap(), staged_file(&path).unwrap());
        fs::write(&path, "mine").unwrap();
        let exists = StageError::Exists(path.clone());
        assert_eq!(
            [directory.commit(), file.commit()].map(Result::unwrap_err),
            [exists, StageError::Exists(path.clone())]
        );
        assert_eq!(staged_file(&path).err(), Some(StageError::Exists(path.clone())));
        assert_eq!(StagedDirectory::new(&path, true).err(), Some(StageError::Exists(path.clone())));
        assert_eq!((entries(root.path()), fs::read(&path).unwrap()), (vec!["x".to_owned()], b"mine".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn staged_directory_has_default_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        StagedDirectory::new(&path("directory"), true).unwrap().commit().unwrap();
        staged_file(&path("file")).unwrap().commit().unwrap();
        fs::create_dir(path("plain-directory")).unwrap();
        fs::write(path("plain-file"), "").unwrap();
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode();
        assert_eq!(mode("directory"), mode("plain-directory"));
        assert_eq!(mode("file"), mode("plain-file"));
    }
}
