//! Where the bytes of media are: in the store beside the sessions, `objects/sha256/<64 digits>`, or in a bundle.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::objects::Named;
use crate::disk::write::{StageError, StagedFile, new_directory};
use crate::disk::{File, InputFile, Links, OWNER_ONLY, OsError, files, sync_entries};
use crate::hash::{Hash, as_text, to_hex};

/// The directory of a bundle with its media. Paths in it: `media/<first 2 digits>/<64 digits>`.
pub(crate) const IN_BUNDLE: &str = "media";

/// The directories in which objects are looked for, in this order.
#[derive(Clone, Debug, Default)]
pub struct MediaStore {
    places: Vec<Place>,
    /// Why it is not known whether there is a store.
    locked: Option<OsError>,
}

#[derive(Clone, Debug)]
enum Place {
    /// The directory that has `objects/sha256`.
    Store(PathBuf),
    /// A bundle's directory.
    Bundle(PathBuf),
}

/// What there is of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// The file.
    Present(PathBuf),
    Missing,
    /// It has another size or other bytes, or is no file.
    Corrupt,
}

/// Why an object was not put into a store.
pub(crate) enum PutError {
    /// Something else has its name.
    Corrupt(PathBuf),
    System(OsError),
}

impl MediaStore {
    /// The store at `given`, else the one that a CLI has beside a directory of sessions, if there is one: `<directory>/../media`.
    pub fn of(given: Option<&Path>, directory: &Path) -> Self {
        // A CLI takes the path as it is written; what is linked may have its store where it is.
        let directories = [std::path::absolute(directory).ok(), files::canonicalize(directory).ok()];
        let beside = || {
            let media = directories.iter().flatten().map(|directory| files::parent(directory).join("media"));
            media.into_iter().find(|media| is_store(media))
        };
        let place = given.map(Path::to_path_buf).or_else(beside);
        let locked = directories.iter().flatten().filter(|_| place.is_none()).find_map(|directory| {
            let found = files::metadata(&objects_of(&files::parent(directory).join("media")));
            found.err().filter(|error| !matches!(error.code, "ENOENT" | "ENOTDIR"))
        });
        MediaStore { places: place.into_iter().map(Place::Store).collect(), locked }
    }

    /// Why a default store could not be looked into.
    pub(crate) fn locked(&self) -> Option<&OsError> {
        self.locked.as_ref()
    }

    /// The same for the session at `path`: its file, or a directory with it.
    pub fn of_session(given: Option<&Path>, path: &Path) -> Self {
        Self::of(given, if files::is_directory(path) { path } else { files::parent(path) })
    }

    /// The same, behind the media in the bundle at `directory`.
    #[must_use]
    pub fn behind_bundle(mut self, directory: &Path) -> Self {
        self.places.insert(0, Place::Bundle(directory.to_path_buf()));
        self
    }

    /// Finds an object, and its size. Its bytes are not looked at.
    pub(crate) fn find(&self, object: &Named) -> Result<Object, OsError> {
        for place in &self.places {
            let path = place.path_of(&object.hash);
            match files::symlink_metadata(&path) {
                Ok(found) if !found.is_file() || found.size != object.bytes || object.contradicted.is_some() => {
                    return Ok(Object::Corrupt);
                }
                Ok(_) => return Ok(Object::Present(path)),
                Err(error) if matches!(error.code, "ENOENT" | "ENOTDIR") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Object::Missing)
    }

    /// Finds an object, and checks its bytes.
    pub(crate) fn check(&self, object: &Named) -> Result<Object, OsError> {
        let found = self.find(object)?;
        match &found {
            Object::Present(path) if hash_of(path)? != object.hash => Ok(Object::Corrupt),
            _ => Ok(found),
        }
    }

    /// Copies the object in the file `from` into the store, for good before this returns, unless it is there. Does nothing without a store.
    pub(crate) fn put(&self, hash: &Hash, from: &Path) -> Result<(), PutError> {
        let Some(Place::Store(store)) = self.places.first() else { return Ok(()) };
        let path = object_in(store, hash);
        if is_there(&path, hash)? {
            return Ok(());
        }
        make(store)?;
        match copy(from, &path) {
            // Another process was faster.
            Err(StageError::Exists(_)) if is_there(&path, hash)? => Ok(()),
            Err(StageError::Exists(path)) => Err(PutError::Corrupt(path)),
            Err(StageError::System(error)) => Err(error.into()),
            Ok(()) => Ok(()),
        }
    }
}

impl Place {
    fn path_of(&self, hash: &Hash) -> PathBuf {
        match self {
            Place::Store(store) => object_in(store, hash),
            Place::Bundle(root) => path_in_bundle(hash).split('/').fold(root.clone(), |path, part| path.join(part)),
        }
    }
}

impl From<OsError> for PutError {
    fn from(error: OsError) -> Self {
        PutError::System(error)
    }
}

/// The path of an object in a bundle.
pub(crate) fn path_in_bundle(hash: &Hash) -> String {
    let digits = to_hex(hash);
    let digits = as_text(&digits);
    format!("{IN_BUNDLE}/{}/{digits}", &digits[..2])
}

fn object_in(store: &Path, hash: &Hash) -> PathBuf {
    objects_of(store).join(as_text(&to_hex(hash)))
}

fn is_store(media: &Path) -> bool {
    files::is_directory(&objects_of(media))
}

fn objects_of(store: &Path) -> PathBuf {
    store.join("objects/sha256")
}

/// Makes a store, for good before this returns.
fn make(store: &Path) -> Result<(), OsError> {
    if is_store(store) {
        return Ok(());
    }
    for directory in [store.to_path_buf(), store.join("objects"), store.join("objects/sha256")] {
        new_directory::create_for_files(&directory, OWNER_ONLY)?;
        sync_entries(files::parent(&directory), &directory)?;
    }
    Ok(())
}

/// Whether an object is there. Something else of its name is an error.
fn is_there(path: &Path, hash: &Hash) -> Result<bool, PutError> {
    match files::symlink_metadata(path) {
        Err(error) if error.code == "ENOENT" => Ok(false),
        Err(error) => Err(error.into()),
        Ok(found) if found.is_file() && hash_of(path)? == *hash => Ok(true),
        Ok(_) => Err(PutError::Corrupt(path.to_path_buf())),
    }
}

fn hash_of(path: &Path) -> Result<Hash, OsError> {
    let read = InputFile::of(File::open_any(path, Links::Refused)?.0).sha256(u64::MAX);
    read.map(|(hash, _)| hash).map_err(|error| OsError::new(&error, "read", Some(path)))
}

/// Copies a file to where nothing is, complete and on stable storage before it has its name.
fn copy(from: &Path, to: &Path) -> Result<(), StageError> {
    let mut staged = StagedFile::new(to, StagedFile::NEW, OWNER_ONLY)?;
    let copied = io::copy(&mut InputFile::open(from)?, &mut staged).and_then(|_| staged.flush());
    copied.map_err(|error| OsError::new(&error, "write", Some(to)))?;
    staged.commit()
}
