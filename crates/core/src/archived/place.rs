//! Where a session is: in its own file or in the archive next to it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::content::open_packed;
use super::packed::Packed;
use crate::disk::{File, InputFile, Links, Metadata, OsError, files};

/// The end of the names of session files.
const SESSION: &str = ".jsonl";

/// The end of the names of archives, after the name of the session's file.
const ARCHIVE: &str = ".zst";

/// Whether a path has the name of an archived session.
pub fn is_archive_name(path: &Path) -> bool {
    session_of(path).is_some()
}

/// The archive that stands for the session file at `path`. `None` if the name is not that of a session file.
pub(crate) fn archive_of(path: &Path) -> Option<PathBuf> {
    let is_session = path.file_name()?.as_encoded_bytes().ends_with(SESSION.as_bytes());
    is_session.then(|| {
        let mut name = OsString::from(path);
        name.push(ARCHIVE);
        name.into()
    })
}

/// The session file that the archive at `path` stands for. `None` if the name is not that of an archived session.
pub fn session_of(path: &Path) -> Option<PathBuf> {
    let session = path.with_extension("");
    (path.extension()? == &ARCHIVE[1..] && archive_of(&session).is_some_and(|archive| archive == path))
        .then_some(session)
}

/// The file that a reader of `path` opens: its archive if only that exists, otherwise `path`.
pub fn resolve(path: &Path) -> Cow<'_, Path> {
    let is_missing = |path: &Path| files::metadata(path).is_err_and(|error| error.code == "ENOENT");
    match archive_of(path) {
        Some(archive) if is_missing(path) && files::exists(&archive) => Cow::Owned(archive),
        _ => Cow::Borrowed(path),
    }
}

/// Opens what is at `path`, or its archive if only that exists. Returns the archive's path in that case.
pub(crate) fn open_either(path: &Path, links: Links) -> Result<(File, Metadata, Option<PathBuf>), OsError> {
    let open = |at: &Path| File::open_any(at, links);
    let missing = match open(path) {
        Err(error) if error.code == "ENOENT" => error,
        opened => return opened.map(|(file, metadata)| (file, metadata, None)),
    };
    let Some(archive) = archive_of(path) else { return Err(missing) };
    match open(&archive) {
        Ok((file, metadata)) => Ok((file, metadata, Some(archive))),
        // The session may have been restored between the two looks.
        Err(error) if error.code == "ENOENT" => {
            open(path).map(|(file, metadata)| (file, metadata, None)).map_err(|_| missing)
        }
        Err(error) => Err(error),
    }
}

/// Whether there is an archived session at `path`: its content decides, and its name if it has no content that can be read.
pub(crate) fn is_archived(path: &Path) -> bool {
    let Ok(file) = InputFile::open(path) else { return false };
    let Ok(metadata) = file.metadata() else { return false };
    matches!(open_packed(Packed::File(file.into_file()), metadata.size, path), Ok(Ok(_)))
}
