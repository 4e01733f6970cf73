//! The media of a session as files beside the document.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64ct::{Base64, Base64Unpadded, Base64UrlUnpadded, Encoding};

use super::ExportError;
use super::value::plain;
use crate::disk::write::StagedDirectory;
use crate::disk::{File, InputFile, OsError, files};
use crate::hash::Hash;
use crate::session::media::{MediaStore, Named, Object, Stored};

/// A type of media that ATIF knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MediaType {
    /// The type of a content part: `image` or `audio`.
    pub(super) part: &'static str,
    /// The name that ATIF accepts.
    pub(super) name: &'static str,
}

/// MIME types, the name that ATIF has for them if it has one, and the extension of a file.
const TYPES: [(&str, Option<&str>, &str); 26] = [
    ("image/png", Some("image/png"), "png"),
    ("image/jpeg", Some("image/jpeg"), "jpg"),
    ("image/jpg", Some("image/jpeg"), "jpg"),
    ("image/gif", Some("image/gif"), "gif"),
    ("image/webp", Some("image/webp"), "webp"),
    ("audio/wav", Some("audio/wav"), "wav"),
    ("audio/x-wav", Some("audio/wav"), "wav"),
    ("audio/wave", Some("audio/wav"), "wav"),
    ("audio/vnd.wave", Some("audio/wav"), "wav"),
    ("audio/mpeg", Some("audio/mpeg"), "mp3"),
    ("audio/mp3", Some("audio/mpeg"), "mp3"),
    ("audio/mpga", Some("audio/mpeg"), "mp3"),
    ("audio/x-mpeg", Some("audio/mpeg"), "mp3"),
    ("audio/mp4", Some("audio/mp4"), "m4a"),
    ("audio/m4a", Some("audio/mp4"), "m4a"),
    ("audio/x-m4a", Some("audio/mp4"), "m4a"),
    ("audio/aac", Some("audio/aac"), "aac"),
    ("audio/x-aac", Some("audio/aac"), "aac"),
    ("audio/ogg", Some("audio/ogg"), "ogg"),
    ("audio/flac", Some("audio/flac"), "flac"),
    ("audio/x-flac", Some("audio/flac"), "flac"),
    ("audio/webm", Some("audio/webm"), "webm"),
    ("audio/aiff", Some("audio/aiff"), "aiff"),
    ("audio/x-aiff", Some("audio/aiff"), "aiff"),
    ("application/pdf", None, "pdf"),
    ("text/plain", None, "txt"),
];

impl MediaType {
    /// The type that a MIME type names, if ATIF knows it.
    pub(super) fn of(mime: &str) -> Option<Self> {
        let (_, name, _) = known(mime)?;
        let part = if mime.trim().to_ascii_lowercase().starts_with("image/") { "image" } else { "audio" };
        name.map(|name| MediaType { part, name })
    }
}

fn known(mime: &str) -> Option<(&'static str, Option<&'static str>, &'static str)> {
    let mime = mime.trim().to_ascii_lowercase();
    TYPES.into_iter().find(|(known, ..)| *known == mime)
}

/// The files beside a document that is being written.
pub(super) struct MediaFiles {
    /// The directory, which is made for the first file.
    destination: PathBuf,
    staged: Option<StagedDirectory>,
    count: u64,
    /// Where the objects are that the session refers to.
    store: MediaStore,
    /// The paths of those that are written, by hash and number of bytes; `None` for those that are not there.
    objects: HashMap<(Hash, u64), Option<String>>,
}

impl MediaFiles {
    /// For the document at `destination`.
    pub(super) fn beside(destination: &Path, store: MediaStore) -> Self {
        let mut name = destination.file_name().unwrap_or_default().to_owned();
        name.push(".media");
        MediaFiles {
            destination: destination.with_file_name(name),
            staged: None,
            count: 0,
            store,
            objects: HashMap::new(),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Writes base64 data to a file. Returns its path, relative to the document; `None` if the data is no base64.
    pub(super) fn add(&mut self, mime: &str, base64: &str) -> Result<Option<String>, ExportError> {
        let Some(bytes) = decoded(base64) else { return Ok(None) };
        self.write(mime, |file| file.write_all(&bytes)).map(Some)
    }

    /// Writes an object to a file, once. Returns its path, relative to the document; `None` if the store does not have it as the session says.
    pub(super) fn add_object(&mut self, object: &Stored<'_>) -> Result<Option<String>, ExportError> {
        let (hash, bytes) = (object.hash(), object.byte_length());
        if let Some(known) = self.objects.get(&(hash, bytes)) {
            return Ok(known.clone());
        }
        let path = match self.store.check(&Named { hash, bytes, line: 0, contradicted: None })? {
            Object::Present(from) => {
                let mut input = InputFile::open(&from)?;
                Some(self.write(&mime_of(object), |file| io::copy(&mut input, file).map(drop))?)
            }
            Object::Missing | Object::Corrupt => None,
        };
        self.objects.insert((hash, bytes), path.clone());
        Ok(path)
    }

    /// Writes the next file, of this type. Returns its path, relative to the document.
    fn write(&mut self, mime: &str, content: impl FnOnce(&mut File) -> io::Result<()>) -> Result<String, ExportError> {
        let extension = known(mime).map_or("bin", |(.., extension)| extension);
        let staged = match &mut self.staged {
            Some(staged) => staged,
            none => none.insert(StagedDirectory::new(&self.destination, true)?),
        };
        let name = format!("{}.{extension}", self.count + 1);
        let mut file = staged.create(&staged.path().join(&name))?;
        content(&mut file).map_err(|error| OsError::new(&error, "write", Some(&self.destination.join(&name))))?;
        staged.keep(&file)?;
        self.count += 1;
        let directory = self.destination.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{directory}/{name}"))
    }

    /// Moves the directory to its destination, if there are files. Returns where it is.
    pub(super) fn commit(self) -> Result<Option<PathBuf>, ExportError> {
        let Some(staged) = self.staged else { return Ok(None) };
        staged.commit()?;
        Ok(Some(self.destination))
    }
}

/// The MIME type of an object.
pub(super) fn mime_of(object: &Stored<'_>) -> String {
    plain(object.mime_type())
}

/// Removes the committed directory of a document that could not be written.
pub(super) fn withdraw(directory: &Path) {
    let _ = files::remove_tree(directory);
}

/// Decodes base64 in any of the forms that JavaScript accepts: with the alphabet for URLs, without padding, with white space.
fn decoded(base64: &str) -> Option<Vec<u8>> {
    if let Ok(bytes) = Base64::decode_vec(base64) {
        return Some(bytes);
    }
    let compact: String = base64.chars().filter(|each| !each.is_ascii_whitespace()).collect();
    let compact = compact.trim_end_matches('=');
    Base64Unpadded::decode_vec(compact).or_else(|_| Base64UrlUnpadded::decode_vec(compact)).ok()
}

/// The MIME type and the base64 data of a `data:` URL.
pub(super) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?.split(';').next().unwrap_or_default(), data))
}
