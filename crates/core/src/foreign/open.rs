//! The door of readers of sessions: opens the file at a path, and converts it if it is a foreign session.

use std::path::{Path, PathBuf};

use super::Stop;
use super::convert::{Conversation, Conversion, ConvertOptions, Converted, Detected, convert, detect, list_conversations};
use super::format::ForeignFormat;
use crate::disk::files;
use crate::lines::{LineSource, ReadError};

/// Whether a reader accepts foreign sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Foreign {
    /// Every file is read as native.
    #[default]
    Refused,
    /// Foreign sessions are converted. With the id of the conversation to read, or of its agent, if one was chosen.
    Read(Option<String>),
}

/// An open session.
pub enum Opened {
    /// A file that is read as it is.
    Native(LineSource),
    /// A foreign session.
    Foreign(Box<Conversion>),
}

/// Opens the session at `path` with `open`. If there is nothing, and the path has the form `PATH#CONVERSATION`, that conversation of the foreign session
/// at `PATH` is opened.
pub fn open_source(
    path: &Path,
    foreign: &Foreign,
    open: impl Fn(&Path) -> Result<LineSource, ReadError>,
) -> Result<Opened, Stop> {
    let Foreign::Read(conversation) = foreign else { return Ok(Opened::Native(open(path)?)) };
    let options = ConvertOptions { conversation: conversation.clone(), ..ConvertOptions::default() };
    open_converted(path, &options, &mut |_, _| (), open)
}

/// Like [`open_source`], with the options of the conversion. `progress` is called with how many bytes are read, and their total.
pub fn open_converted(
    path: &Path,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(u64, u64),
    open: impl Fn(&Path) -> Result<LineSource, ReadError>,
) -> Result<Opened, Stop> {
    let missing = match open(path) {
        Ok(source) => {
            return match (convert(source, options, progress)?, &options.conversation) {
                (Converted::Foreign(conversion), _) => Ok(Opened::Foreign(conversion)),
                (Converted::Native(_), Some(chosen)) => Err(Stop::NoConversation(chosen.clone())),
                (Converted::Native(source), None) => Ok(Opened::Native(source)),
            };
        }
        Err(error) => error,
    };
    let split = split(path).filter(|_| options.conversation.is_none());
    let Some((file, chosen)) = split else { return Err(missing.into()) };
    let options = ConvertOptions { conversation: Some(chosen), ..options.clone() };
    match open(&file).map(|source| convert(source, &options, progress)) {
        Ok(Ok(Converted::Foreign(conversion))) => Ok(Opened::Foreign(conversion)),
        Ok(Err(stop)) => Err(stop),
        Err(_) | Ok(Ok(Converted::Native(_))) => Err(missing.into()),
    }
}

/// The file and the conversation of a path with the form `PATH#CONVERSATION`, if that file exists.
pub(super) fn split(path: &Path) -> Option<(PathBuf, String)> {
    let (file, conversation) = path.to_str()?.rsplit_once('#')?;
    (!conversation.is_empty() && files::is_file(Path::new(file))).then(|| (file.into(), conversation.to_owned()))
}

/// What the file at `path` is.
pub fn detect_at(path: &Path) -> Result<Detected, Stop> {
    detect(LineSource::open_unread(path)?)
}

/// The conversations of the foreign session at `path`. `None` if it is not one.
pub fn list_at(path: &Path) -> Result<Option<(ForeignFormat, Vec<Conversation>)>, Stop> {
    list_conversations(LineSource::open(path)?)
}
