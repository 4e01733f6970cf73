//! The list of the images of an archived session, `NAME.media.json` (`docs/session-format.md` section 10): programs that delete images which no file
//! names can't read archives.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::archive::{ArchiveError, UNFINISHED};
use crate::disk::write::{StagedFile, sync_entry};
use crate::disk::{File, Links, OsError, files};
use crate::session::media::NamedImages;

const BEGIN: &str = r#"{"references":["#;
const END: &str = "]}";
const ENTRY_BEGIN: &str = r#"{"contentId":""#;
const ENTRY_END: &str = r#""}"#;

/// The size of an id: `sha256:` and 64 digits.
const ID_BYTES: usize = 71;

/// The list beside a session.
pub(super) struct MediaList {
    path: PathBuf,
}

impl MediaList {
    /// The list of the session whose file is at this path.
    pub(super) fn of(session: &Path) -> Self {
        MediaList { path: session.with_extension("media.json") }
    }

    /// Writes the list, for good before this returns, with owner and permissions of a file; there is none if there are no images. A file of its name
    /// that is no list stays, which is an error.
    pub(super) fn put(&self, images: &NamedImages, like: &File) -> Result<(), ArchiveError> {
        if images.is_empty() {
            self.remove();
            return Ok(());
        }
        let is_replaced = self.is_there();
        let mut temporary = StagedFile::in_place_of(like, &self.path, UNFINISHED)?;
        let written = self.write(images, temporary.file());
        written.map_err(|error| OsError::new(&error, "write", Some(&self.path)))?;
        temporary.sync()?;
        failpoint!("archive::list_written");
        if is_replaced {
            temporary.replace()?;
        } else {
            temporary.place_at(&self.path).map_err(|error| match error.code {
                "EEXIST" => ArchiveError::NotAList(self.path.clone()),
                _ => error.into(),
            })?;
        }
        failpoint!("archive::list_placed");
        Ok(sync_entry(&self.path)?)
    }

    fn write(&self, images: &NamedImages, file: &mut File) -> io::Result<()> {
        let mut out = BufWriter::new(file);
        let mut before = BEGIN;
        for id in images.ids() {
            write!(out, "{before}{}", entry_of(&id))?;
            before = ",";
        }
        out.write_all(END.as_bytes())?;
        out.flush()
    }

    /// Removes the list. If that fails, images stay longer than they must.
    pub(super) fn remove(&self) {
        if self.is_there() {
            let _ = files::remove_file(&self.path);
        }
    }

    /// Whether there is a list, and not another file of its name.
    pub(super) fn is_there(&self) -> bool {
        File::open_any(&self.path, Links::Refused)
            .is_ok_and(|(file, metadata)| metadata.is_file() && is_list(BufReader::new(file)).unwrap_or(false))
    }
}

fn entry_of(id: &str) -> String {
    format!("{ENTRY_BEGIN}{id}{ENTRY_END}")
}

/// Whether a file is a list: nothing else has this form.
fn is_list(mut file: impl Read) -> io::Result<bool> {
    let mut begin = [0; BEGIN.len()];
    file.read_exact(&mut begin)?;
    let (mut is_list, mut next) = (begin == *BEGIN.as_bytes(), b',');
    while is_list && next == b',' {
        let mut entry = [0; ENTRY_BEGIN.len() + ID_BYTES + ENTRY_END.len() + 1];
        file.read_exact(&mut entry)?;
        next = entry[entry.len() - 1];
        is_list = is_entry(&entry[..entry.len() - 1]);
    }
    let mut rest = vec![next];
    file.take(END.len() as u64).read_to_end(&mut rest)?;
    Ok(is_list && rest == END.as_bytes())
}

fn is_entry(entry: &[u8]) -> bool {
    let id = entry.strip_prefix(ENTRY_BEGIN.as_bytes()).and_then(|rest| rest.strip_suffix(ENTRY_END.as_bytes()));
    id.and_then(|id| id.strip_prefix(b"sha256:"))
        .is_some_and(|digits| digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')))
}

#[cfg(test)]
mod tests;
