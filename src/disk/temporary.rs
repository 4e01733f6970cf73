//! Files and directories under names of their own, removed when they are dropped: what has not become whole is gone.

use std::io;
use std::path::{Path, PathBuf};

use super::file::File;
use super::file_system::FileSystem;
use super::mount::file_system;
use super::open_options::{Create, OpenOptions};
use super::os_error::OsError;
use super::parent::parent;
pub use super::real::unnamed;

/// How names begin and end that no reader takes for anything.
pub type Naming = (&'static str, &'static str);

/// What is written beside its destination.
pub const NEW: Naming = (".new-", ".tmp");

/// How many names are tried.
const MOST_ATTEMPTS: u32 = 1000;

/// A file that is written beside its destination and renamed then.
#[derive(Debug)]
pub struct TemporaryFile {
    path: PathBuf,
    destination: PathBuf,
    file: File,
    is_in_place: bool,
}

impl TemporaryFile {
    /// A file in the directory of `destination`. If `owner_only`, no other user may read it, else the umask decides.
    pub fn beside(destination: &Path, naming: Naming, owner_only: bool) -> Result<Self, OsError> {
        let options =
            OpenOptions { read: true, write: true, create: Create::New, owner_only, ..OpenOptions::default() };
        let open = |path: &Path| file_system(path).open(path, &options);
        let (path, file) = create_unique(parent(destination), naming, open)
            .map_err(|error| OsError::new(&error, "open", Some(destination)))?;
        Ok(TemporaryFile { path, destination: destination.to_path_buf(), file, is_in_place: false })
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Where it is to be.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Puts it in the place of what may be at the destination.
    pub fn replace(self) -> Result<(), OsError> {
        self.rename(|from, to| file_system(from).rename(from, to))
    }

    /// Puts it at the destination, if there is nothing: else the error has the code `EEXIST`.
    pub fn place(self) -> Result<(), OsError> {
        self.rename(|from, to| file_system(from).rename_new(from, to))
    }

    /// Puts it at another destination in the same directory, if there is nothing: else the error has the code `EEXIST`, and there may be
    /// another attempt.
    pub fn place_at(&mut self, destination: &Path) -> Result<(), OsError> {
        file_system(&self.path)
            .rename_new(&self.path, destination)
            .map_err(|error| OsError::new(&error, "rename", Some(destination)))?;
        self.is_in_place = true;
        Ok(())
    }

    fn rename(mut self, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<(), OsError> {
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

/// A directory that is removed with everything in it.
#[derive(Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    is_in_place: bool,
}

impl TemporaryDirectory {
    /// A directory in `directory`.
    pub fn new_in(directory: &Path, naming: Naming) -> Result<Self, OsError> {
        let create = |path: &Path| file_system(path).create_directory(path);
        let (path, ()) =
            create_unique(directory, naming, create).map_err(|error| OsError::new(&error, "mkdir", Some(directory)))?;
        Ok(TemporaryDirectory { path, is_in_place: false })
    }

    /// A directory in that of the system for such.
    pub fn new() -> Result<Self, OsError> {
        Self::new_in(&std::env::temp_dir(), (".tmp", ""))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it at `destination`, if there is nothing: else the error has the code `EEXIST`.
    pub fn place(mut self, destination: &Path) -> Result<(), OsError> {
        let renamed = file_system(&self.path).rename_new(&self.path, destination);
        renamed.map_err(|error| match error.kind() {
            // That of a rename that would replace an empty directory.
            io::ErrorKind::DirectoryNotEmpty => {
                OsError::new(&io::ErrorKind::AlreadyExists.into(), "rename", Some(destination))
            }
            _ => OsError::new(&error, "rename", Some(destination)),
        })?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = file_system(&self.path).remove_tree(&self.path);
        }
    }
}

/// Creates something of a name that nothing has. Its path is absolute, so that it is found again from another working directory.
fn create_unique<T>(
    directory: &Path,
    (prefix, suffix): Naming,
    create: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let directory = std::path::absolute(directory)?;
    for _ in 0..MOST_ATTEMPTS {
        let path = directory.join(format!("{prefix}{}{suffix}", random_name()?));
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|created| (path, created)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Six digits and letters.
fn random_name() -> io::Result<String> {
    const SIGNS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let bits = getrandom::u32().map_err(io::Error::other)?;
    Ok((0..6).map(|index| char::from(SIGNS[(bits >> (index * 5)) as usize % SIGNS.len()])).collect())
}
