//! What is done with files and directories by their paths. What the system refuses is an error in Node's words.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::boot::Boot;
use super::file::File;
use super::file_system::FileSystem;
use super::metadata::Metadata;
use super::mount::file_system;
use super::open_options::{Create, OpenOptions};
use super::os_error::OsError;

/// Opens what is at `path`.
pub fn open(path: &Path, options: &OpenOptions) -> Result<File, OsError> {
    file_system(path).open(path, options).map_err(failed("open", path))
}

/// Creates a file where there is nothing.
pub fn create_new(path: &Path) -> Result<File, OsError> {
    open(path, &OpenOptions { write: true, create: Create::New, ..OpenOptions::default() })
}

/// The beginning of the regular file at `path`, as much of it as `buffer` has room for and is in memory. `None`: it can't be had
/// without waiting, or not at all; which of the two, and why, it does not say.
pub fn read_cached<'b>(path: &Path, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let read = file_system(path).read_cached(path, buffer)?;
    buffer.get(..read.length)
}

/// The whole of the regular file at `path`, if it has at most `limit` bytes and is in memory; otherwise `None`, as for [`read_cached`].
pub fn read_whole_cached(path: &Path, limit: usize) -> Option<Vec<u8>> {
    let mut content = vec![0; limit + 1];
    let read = file_system(path).read_cached(path, &mut content)?;
    if read.length > limit || (read.length as u64) < read.size {
        return None;
    }
    content.truncate(read.length);
    Some(content)
}

/// Which start of the system this is, for what is at `path`: see [`FileSystem::boot`].
pub fn boot(path: &Path) -> Option<Boot> {
    file_system(path).boot()
}

/// What is at `path`, before it is opened. Links are followed.
pub fn metadata(path: &Path) -> Result<Metadata, OsError> {
    file_system(path).metadata(path).map_err(failed("open", path))
}

/// What is at `path`, which may be a link.
pub fn symlink_metadata(path: &Path) -> Result<Metadata, OsError> {
    file_system(path).symlink_metadata(path).map_err(failed("lstat", path))
}

/// Whether there is anything at `path`.
pub fn exists(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok()
}

/// Whether there is a regular file at `path`.
pub fn is_file(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Whether there is a directory at `path`.
pub fn is_directory(path: &Path) -> bool {
    file_system(path).metadata(path).is_ok_and(|metadata| metadata.is_directory())
}

/// The path of what is at `path` without links, before it is opened.
pub fn canonicalize(path: &Path) -> Result<PathBuf, OsError> {
    file_system(path).canonicalize(path).map_err(failed("open", path))
}

/// The names in a directory, in no order.
pub fn read_directory(path: &Path) -> Result<impl Iterator<Item = Result<OsString, OsError>>, OsError> {
    let names = file_system(path).read_directory(path).map_err(failed("scandir", path))?;
    Ok(names.map(move |name| name.map_err(failed("scandir", path))))
}

/// Removes a file.
pub fn remove_file(path: &Path) -> Result<(), OsError> {
    file_system(path).remove_file(path).map_err(failed("unlink", path))
}

fn failed(syscall: &'static str, path: &Path) -> impl Fn(io::Error) -> OsError {
    move |error| OsError::new(&error, syscall, Some(path))
}
