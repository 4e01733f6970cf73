//! Finds the files to be searched.

use std::path::Path;

use crate::disk::{OsError, files};
use crate::session::modified;

/// The end of the names of session files.
const EXTENSION: &str = ".jsonl";

/// A file to be searched.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFile {
    /// Its name in its directory; empty for a file that was given itself.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in whole milliseconds since 1970.
    pub modified: f64,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A file.
    File(ListedFile),
    /// A directory, with its session files in the order of their names.
    Directory(Vec<ListedFile>),
    /// Nothing that can be read.
    Unreadable(OsError),
}

/// Finds the session files at a path: that file, or those of that directory.
pub fn find_files(path: &Path) -> Found {
    let listed = |name: String, path: &Path| {
        files::metadata(path).map(|found| (ListedFile { name, size: found.size, modified: modified(&found) }, found))
    };
    match listed(String::new(), path) {
        Ok((_, found)) if found.is_directory() => {
            let names = files::read_directory(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let names = match names {
                Ok(names) => names,
                Err(error) => return Found::Unreadable(error),
            };
            let mut names: Vec<_> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
            names.retain(|name| name.ends_with(EXTENSION));
            names.sort_unstable();
            // What has gone in the meantime is left out.
            let found = names.into_iter().filter_map(|name| {
                let path = path.join(&name);
                listed(name, &path).ok().map(|(file, _)| file)
            });
            Found::Directory(found.collect())
        }
        Ok((file, _)) => Found::File(file),
        Err(error) => Found::Unreadable(error),
    }
}
