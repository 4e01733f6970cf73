//! Operations on files and directories by path. Errors of the system are reported as Node.js does.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::system::File;
use crate::disk::system::{Create, FileSystem, Metadata, OpenOptions, OsError, file_system, is_no_sync};

/// The directory that contains `path`: the working directory if the path has only one component.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens what is at `path`.
pub fn open(path: &Path, options: &OpenOptions) -> Result<File, OsError> {
    file_system(path).open(path, options).map_err(failed("open", path))
}

/// Creates a file at a path that does not exist yet, with these permissions, less the umask.
pub fn create_new(path: &Path, mode: u32) -> Result<File, OsError> {
    open(path, &OpenOptions { write: true, create: Create::New, mode: Some(mode), ..OpenOptions::default() })
}

/// Makes a file durable that this library syncs on its own account. Succeeds if its file system can't sync files: then the file is as
/// durable as any other there.
pub fn sync_if_possible(file: &File, path: &Path) -> Result<(), OsError> {
    match file.sync_all().map_err(failed("fsync", path)) {
        Err(error) if is_no_sync(&error) => Ok(()),
        synced => synced,
    }
}

/// The metadata of what is at `path`. Follows links. Errors name `open` as the system call, which is what the caller does next.
pub fn metadata(path: &Path) -> Result<Metadata, OsError> {
    file_system(path).metadata(path).map_err(failed("open", path))
}

/// The metadata of what is at `path`, which may be a link.
pub fn symlink_metadata(path: &Path) -> Result<Metadata, OsError> {
    file_system(path).symlink_metadata(path).map_err(failed("lstat", path))
}

/// Whether anything exists at `path`.
pub fn exists(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok()
}

/// Whether anything is at `path`, a link too. Fails if that can't be seen.
pub(crate) fn is_there(path: &Path) -> Result<bool, OsError> {
    match symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.code == "ENOENT" => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is a regular file at `path`.
pub fn is_file(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether there is a directory at `path`.
pub fn is_directory(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok_and(|metadata| metadata.is_directory())
}

/// The path without links. Errors name `open` as the system call, which is what the caller does next.
pub fn canonicalize(path: &Path) -> Result<PathBuf, OsError> {
    file_system(path).canonicalize(path).map_err(failed("open", path))
}

/// Lists the names in a directory, in any order.
pub fn read_directory(path: &Path) -> Result<impl Iterator<Item = Result<OsString, OsError>>, OsError> {
    let names = file_system(path).read_directory(path).map_err(failed("scandir", path))?;
    Ok(names.map(move |name| name.map_err(failed("scandir", path))))
}

/// Removes a file.
pub fn remove_file(path: &Path) -> Result<(), OsError> {
    file_system(path).remove_file(path).map_err(failed("unlink", path))
}

/// Renames a file, replacing one at `to`. Errors name `to`.
pub fn rename(from: &Path, to: &Path) -> Result<(), OsError> {
    file_system(from).rename(from, to).map_err(failed("rename", to))
}

/// Removes a directory with its content.
pub fn remove_tree(path: &Path) -> Result<(), OsError> {
    file_system(path).remove_tree(path).map_err(failed("rmdir", path))
}

fn failed(syscall: &'static str, path: &Path) -> impl Fn(io::Error) -> OsError {
    move |error| OsError::new(&error, syscall, Some(path))
}
