//! The door of readers of sessions: opens the file at a path, and converts it if it is a foreign session.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Stop;
use super::convert::{Conversation, Conversion, ConvertOptions, Converted, convert, list_conversations};
use super::formats::ForeignFormat;
use crate::archived::resolve;
use crate::disk::write::TemporaryDirectory;
use crate::disk::{OWNER_ONLY, OsError, files};
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
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and lives shortly")]
pub enum OpenedSource {
    /// A file that is read as it is.
    Native(LineSource),
    /// A foreign session.
    Foreign(Box<Conversion>),
}

/// Opens the session at `path` with `open`. If there is nothing, and the path has the form `PATH#CONVERSATION`, that conversation of the foreign session
/// at `PATH` is opened.
pub(crate) fn open_source(
    path: &Path,
    foreign: &Foreign,
    open: impl Fn(&Path) -> Result<LineSource, ReadError>,
) -> Result<OpenedSource, Stop> {
    let Foreign::Read(conversation) = foreign else { return Ok(OpenedSource::Native(open(path)?)) };
    let options = ConvertOptions { conversation: conversation.clone(), ..ConvertOptions::default() };
    open_converted(path, &options, &mut |_, _| (), open)
}

/// Opens the lines of the session at `path` with `open`, or those that a foreign session becomes.
pub(crate) fn open_lines(
    path: &Path,
    open: impl Fn(&Path) -> Result<LineSource, ReadError>,
) -> Result<LineSource, ReadError> {
    match open_source(path, &Foreign::Read(None), open).map_err(Stop::into_read_error)? {
        OpenedSource::Native(source) => Ok(source),
        OpenedSource::Foreign(conversion) => Ok(conversion.native),
    }
}

/// Like [`open_source`], with the options of the conversion. `progress` is called with how many bytes are read, and their total.
pub fn open_converted(
    path: &Path,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(u64, u64),
    open: impl Fn(&Path) -> Result<LineSource, ReadError>,
) -> Result<OpenedSource, Stop> {
    let missing = match open(path) {
        Ok(source) => {
            return match (convert(source, options, progress)?, &options.conversation) {
                (Converted::Foreign(conversion), _) => Ok(OpenedSource::Foreign(conversion)),
                (Converted::Native(_), Some(chosen)) => Err(Stop::NoConversation(chosen.clone())),
                (Converted::Native(source), None) => Ok(OpenedSource::Native(source)),
            };
        }
        Err(error) => error,
    };
    let split = split(path).filter(|_| options.conversation.is_none());
    let Some((file, chosen)) = split else { return Err(missing.into()) };
    let options = ConvertOptions { conversation: Some(chosen), ..options.clone() };
    match open(&file).map(|source| convert(source, &options, progress)) {
        Ok(Ok(Converted::Foreign(conversion))) => Ok(OpenedSource::Foreign(conversion)),
        Ok(Err(stop)) => Err(stop),
        Err(_) | Ok(Ok(Converted::Native(_))) => Err(missing.into()),
    }
}

/// The file and the conversation of a path with the form `PATH#CONVERSATION`, if that file exists, or its archive does.
pub fn split(path: &Path) -> Option<(PathBuf, String)> {
    let (file, conversation) = path.to_str()?.rsplit_once('#')?;
    let is_there = !conversation.is_empty() && files::is_file(&resolve(Path::new(file)));
    is_there.then(|| (file.into(), conversation.to_owned()))
}

/// The conversations of the foreign session at `path`. `None` if it is not one.
pub fn list_at(path: &Path) -> Result<Option<(ForeignFormat, Vec<Conversation>)>, Stop> {
    list_conversations(LineSource::open(path)?)
}

/// A foreign session that was converted to a file, which is removed when this is dropped.
pub struct ConvertedFile {
    _directory: TemporaryDirectory,
    log: PathBuf,
    receipt: PathBuf,
    original: PathBuf,
    format: ForeignFormat,
    damage: Option<u64>,
}

impl ConvertedFile {
    /// If the source is an archive that is damaged, the size of its content before that.
    pub fn damage(&self) -> Option<u64> {
        self.damage
    }

    /// The native session.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The receipt, as JSONL.
    pub fn receipt(&self) -> &Path {
        &self.receipt
    }

    /// The file that was converted.
    pub fn original(&self) -> &Path {
        &self.original
    }

    /// The format of the source.
    pub fn format(&self) -> ForeignFormat {
        self.format
    }
}

/// Number of bytes copied at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Converts the foreign session at `path`, for readers that need a file. `None` if it is not one.
pub fn convert_to_file(path: &Path) -> Result<Option<ConvertedFile>, Stop> {
    let path = &*resolve(path);
    let is_there = files::is_file(path);
    if !is_there && split(path).is_none() {
        return Ok(None);
    }
    let options = ConvertOptions { receipt: true, ..ConvertOptions::default() };
    let OpenedSource::Foreign(mut conversion) =
        open_converted(path, &options, &mut |_, _| (), LineSource::open_unread)?
    else {
        return Ok(None);
    };
    let original = if is_there { path.to_path_buf() } else { split(path).map_or_else(PathBuf::new, |(file, _)| file) };
    let directory = TemporaryDirectory::new()?;
    let (log, receipt) = (directory.path().join("converted.jsonl"), directory.path().join("receipt.jsonl"));
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| OsError::new(&error, "write", Some(&path))
    };
    let (mut file, mut at, mut block) = (files::create_new(&log, OWNER_ONLY)?, 0, vec![0; BLOCK_BYTES]);
    loop {
        let count = super::records::read_fully(&conversion.native, &mut block, at)?;
        file.write_all(&block[..count]).map_err(failed(&log))?;
        at += count as u64;
        if count < block.len() {
            break;
        }
    }
    let mut lines = std::io::BufWriter::new(files::create_new(&receipt, OWNER_ONLY)?);
    writeln!(lines, "{}", conversion.summary.json()).map_err(failed(&receipt))?;
    while let Some(entry) = conversion.next_entry()? {
        writeln!(lines, "{}", entry.json()).map_err(failed(&receipt))?;
    }
    lines.flush().map_err(failed(&receipt))?;
    let (format, damage) = (conversion.format, conversion.damage);
    Ok(Some(ConvertedFile { _directory: directory, log, receipt, original, format, damage }))
}
