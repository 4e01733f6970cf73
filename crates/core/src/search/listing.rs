//! Finds the files to be searched.

use std::path::Path;

use crate::archived::{is_archive_name, resolve, session_of};
use crate::disk::{OsError, files};
use crate::foreign::split;

/// The end of the names of session files.
const EXTENSION: &str = ".jsonl";

/// The end of the names of receipts, which an import puts next to sessions.
const RECEIPT: &str = ".receipt.jsonl";

/// A file to be searched.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFile {
    /// Its name in its directory; empty for a file that was given itself.
    pub name: String,
    /// Whether the archive that stands for the given file was found instead of it.
    pub is_stand_in: bool,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in whole milliseconds since 1970.
    pub modified: f64,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A file, or the archive that stands for it.
    File(ListedFile),
    /// A directory, with its session files in the order of their names.
    Directory(Vec<ListedFile>),
    /// Nothing that can be read.
    Unreadable(OsError),
}

/// Finds the session files at a path: that file or the archive that stands for it, a conversation of a foreign session, or those of that directory.
pub fn find_files(path: &Path) -> Found {
    let at = resolve(path);
    let found = files::metadata(&at).or_else(|missing| match split(path) {
        Some((file, _)) => files::metadata(&file),
        None => Err(missing),
    });
    let found = match found {
        Ok(found) if found.is_directory() => return files_in(path).map_or_else(Found::Unreadable, Found::Directory),
        Ok(found) => found,
        Err(error) => return Found::Unreadable(error),
    };
    let is_stand_in = *at != *path;
    Found::File(ListedFile {
        name: String::new(),
        is_stand_in,
        size: found.size,
        modified: found.modified_milliseconds(),
    })
}

/// The session files of a directory: its sessions, and the archives of those whose files are not there.
fn files_in(directory: &Path) -> Result<Vec<ListedFile>, OsError> {
    let names = files::read_directory(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<_> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| (name.ends_with(EXTENSION) && !name.ends_with(RECEIPT)) || is_archive_name(Path::new(name)));
    names.sort_unstable();
    let has_file = |name: &str| {
        let session = session_of(Path::new(name));
        let session = session.as_deref().and_then(Path::to_str);
        session.is_some_and(|session| names.binary_search_by(|other| other.as_str().cmp(session)).is_ok())
    };
    let counts: Vec<_> = names.iter().filter(|name| !has_file(name)).collect();
    // What has gone in the meantime is left out.
    let listed = counts.into_iter().filter_map(|name| {
        let (size, modified) = match files::metadata(&directory.join(name)) {
            Ok(found) => (found.size, found.modified_milliseconds()),
            Err(error) if error.code == "ENOENT" => return None,
            // Opening it will tell why it can't be read.
            Err(_) => (0, 0.0),
        };
        Some(ListedFile { name: name.clone(), is_stand_in: false, size, modified })
    });
    Ok(listed.collect())
}
