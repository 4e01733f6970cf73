//! Files and directories under temporary names, which are removed when they are dropped before they are complete.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::lock::mark_in_use;
use crate::disk::open::{File, parent};
use crate::disk::sync::sync_directory;
use crate::disk::system::{
    BY_UMASK, Create, FileSystem, Metadata, OWNER_ONLY, OpenOptions, OsError, file_system, of_directory,
};

/// A prefix and a suffix of names that all readers ignore.
pub(crate) type Naming = (&'static str, &'static str);

/// Maximum number of names that are tried.
const MAX_ATTEMPTS: u32 = 1000;

/// A file that is written next to its destination and then renamed. Who sweeps the left-overs of processes that have ended sees by the system's lock on
/// it that it is none.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    path: PathBuf,
    destination: PathBuf,
    file: File,
    is_in_place: bool,
}

impl TemporaryFile {
    /// The names of files and directories that are built next to their destination.
    pub(crate) const NEW: Naming = (".new-", ".tmp");

    /// A new file in the directory of `destination`, with these permissions less the umask.
    pub(crate) fn beside(destination: &Path, naming: Naming, mode: u32) -> Result<Self, OsError> {
        let options =
            OpenOptions { read: true, write: true, create: Create::New, mode: Some(mode), ..OpenOptions::default() };
        let open = |path: &Path| file_system(path).open(path, &options);
        let (path, file) = create_unique(parent(destination), naming, open)
            .map_err(|error| OsError::new(&error, "open", Some(destination)))?;
        mark_in_use(&file);
        Ok(TemporaryFile { path, destination: destination.to_path_buf(), file, is_in_place: false })
    }

    /// A new file in the directory of `destination` that takes the place of another one: with its owner, its group and its permissions. Fails if the
    /// system refuses them.
    pub(crate) fn in_place_of(replaced: &File, destination: &Path, naming: Naming) -> Result<Self, OsError> {
        let temporary = Self::beside(destination, naming, OWNER_ONLY)?;
        let failed = |syscall| move |error: io::Error| OsError::new(&error, syscall, Some(destination));
        if let Some(owner) = replaced.metadata().map_err(failed("fstat"))?.owner() {
            temporary.give_to(owner).map_err(failed("fchown"))?;
        }
        // After the owner, with whom some systems change them.
        if let Some(mode) = replaced.mode().filter(|mode| temporary.file.mode() != Some(*mode)) {
            temporary.file.set_mode(mode).map_err(failed("fchmod"))?;
        }
        Ok(temporary)
    }

    /// The file.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The path that it has until then.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path that it will be renamed to.
    pub(crate) fn destination(&self) -> &Path {
        &self.destination
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

    /// Moves the file to its destination, and replaces a file there.
    pub(crate) fn replace(&mut self) -> Result<(), OsError> {
        self.rename(|from, to| file_system(from).rename(from, to))
    }

    /// Moves the file to its destination. Fails with the code `EEXIST` if anything exists there.
    pub(crate) fn place(&mut self) -> Result<(), OsError> {
        self.rename(|from, to| file_system(from).rename_new(from, to))
    }

    /// Moves the file to another destination in the same directory. Fails with the code `EEXIST` if anything exists there; then the
    /// caller can try another destination.
    pub(crate) fn place_at(&mut self, destination: &Path) -> Result<(), OsError> {
        file_system(&self.path)
            .rename_new(&self.path, destination)
            .map_err(|error| OsError::new(&error, "rename", Some(destination)))?;
        self.is_in_place = true;
        Ok(())
    }

    /// Like [`place`](Self::place), and syncs the entry. If that fails, nothing is left at the destination.
    pub(crate) fn place_durably(&mut self) -> Result<(), OsError> {
        let destination = self.destination.clone();
        self.place()?;
        failpoint!("staged::after_rename");
        sync_entry(&destination)
    }

    fn rename(&mut self, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<(), OsError> {
        rename(&self.path, &self.destination)
            .map_err(|error| OsError::new(&error, "rename", Some(&self.destination)))?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
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
    /// A new directory in `directory`.
    pub(crate) fn new_in(directory: &Path, naming: Naming) -> Result<Self, OsError> {
        Self::with_mode(directory, naming, of_directory(BY_UMASK))
    }

    fn with_mode(directory: &Path, naming: Naming, mode: u32) -> Result<Self, OsError> {
        let create = |path: &Path| file_system(path).create_directory(path, mode);
        let (path, ()) =
            create_unique(directory, naming, create).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))?;
        Ok(TemporaryDirectory { path, is_in_place: false })
    }

    /// A new directory in the system's directory for temporary files, which no other user can enter.
    pub(crate) fn new() -> Result<Self, OsError> {
        Self::with_mode(&std::env::temp_dir(), (".tmp", ""), of_directory(OWNER_ONLY))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the directory to `destination`. Fails with the code `EEXIST` if anything exists there.
    pub(crate) fn place(mut self, destination: &Path) -> Result<(), OsError> {
        self.place_at(destination)
    }

    /// Like [`place`](Self::place), and syncs the entry. If that fails, nothing is left at `destination`.
    pub(crate) fn place_durably(mut self, destination: &Path) -> Result<(), OsError> {
        self.place_at(destination)?;
        failpoint!("staged::after_rename");
        sync_directory(parent(destination)).inspect_err(|_| self.withdraw(destination))
    }

    fn place_at(&mut self, destination: &Path) -> Result<(), OsError> {
        let renamed = file_system(&self.path).rename_new(&self.path, destination);
        renamed.map_err(|error| match error.kind() {
            // The error of a plain rename, which would replace an empty directory only.
            io::ErrorKind::DirectoryNotEmpty => {
                OsError::new(&io::ErrorKind::AlreadyExists.into(), "rename", Some(destination))
            }
            _ => OsError::new(&error, "rename", Some(destination)),
        })?;
        self.is_in_place = true;
        Ok(())
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
