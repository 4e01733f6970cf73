//! Imports foreign sessions: writes a native session from which a CLI can resume, and a receipt that says where each record went (`docs/agents.md`).
//!
//! Both are written under temporary names and get their own once they are whole, so that a crash never leaves half a session.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::recorder::{FileNameForm, MAX_NAMES, file_name};
use crate::archived::{archive_of, is_archive_name};
use crate::disk::write::{Naming, StagedFile, new_directory, sync_entry};
use crate::disk::{File, Links, OWNER_ONLY, OsError, files};
use crate::foreign::{Conversion, ConvertOptions, OpenedSource, Stop, Summary, json_of_text, open_converted};
use crate::json::{Cursor, Nesting, Text, escape_line_separators, spells_any};
use crate::lines::{LineReader, LineSource, ReadError};
use crate::session::format::{EventType, Version, envelope};
use crate::session::media::{has_reference, may_have_reference};
use crate::session::read;
use crate::task::Task;

/// The temporary name of a new file until it is whole. Listings do not mistake it for a session.
const UNFINISHED: Naming = (".session-tape-", ".import");

/// How a receipt begins: with the format of its source.
const RECEIPT_BEGINNING: &[u8; 10] = b"{\"format\":";

/// Number of characters of the session's id with which the file's name ends.
const ID_CHARACTERS: usize = 8;

/// What is imported, and where to.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The directory of the session's file. It is created with its parents.
    pub chats_dir: PathBuf,
    /// The hash of the project.
    pub project_hash: String,
    /// The directories, if not those of the source.
    pub workspace_dirs: Option<Vec<String>>,
    /// The id of the session, if not that of the source.
    pub session_id: Option<String>,
    /// The conversation to import.
    pub conversation: Option<String>,
    /// Where the receipt goes, if not next to the session.
    pub receipt: Option<PathBuf>,
}

/// An imported session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The session's file.
    pub path: PathBuf,
    /// The receipt.
    pub receipt_path: PathBuf,
    /// The number of the last event.
    pub last_seq: u64,
    /// What became of the records.
    pub summary: Summary,
}

/// Why a foreign session was not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportFault {
    /// The source is a native session, or none that is known.
    #[error("{} is not the session of another program that is known", .0.display())]
    Format(PathBuf),
    /// Which conversation is meant is not clear.
    #[error("{message}")]
    Many {
        /// What is wrong.
        message: String,
        /// The ids of the conversations that there are.
        conversations: Vec<String>,
    },
    /// The source has no items.
    #[error("{} has no conversation: no record of it is part of one", .0.display())]
    Empty(PathBuf),
    /// The directory has a session with this id.
    #[error("A session with the id {id} is there already: {}. Import it with another id, or delete that one", .path.display())]
    Exists {
        /// The id.
        id: String,
        /// The file of the session.
        path: PathBuf,
    },
    /// The source can't be read, or the session can't be written.
    #[error("{0}")]
    Read(ReadError),
}

impl From<OsError> for ImportFault {
    fn from(error: OsError) -> Self {
        ImportFault::Read(ReadError::System(error))
    }
}

impl ImportFault {
    /// Why the conversation at `path` can't be converted.
    pub fn of_stop(stop: Stop, path: &Path) -> Self {
        let message = stop.to_string();
        match stop {
            Stop::Read(error) => ImportFault::Read(error),
            Stop::Several(conversations) => ImportFault::Many { message, conversations },
            Stop::NoConversation(_) => {
                let listed = crate::foreign::list_at(path).ok().flatten().map(|(_, listed)| listed);
                let conversations = listed.unwrap_or_default().iter().map(|one| one.id().to_owned()).collect();
                ImportFault::Many { message, conversations }
            }
        }
    }

    /// The code of the error in JavaScript.
    pub fn code(&self) -> &'static str {
        match self {
            ImportFault::Format(_) => "EFOREIGNFORMAT",
            ImportFault::Many { .. } => "EFOREIGNMANY",
            ImportFault::Empty(_) => "EFOREIGNEMPTY",
            ImportFault::Exists { .. } => "ESESSIONEXISTS",
            ImportFault::Read(ReadError::System(error)) => error.code,
            ImportFault::Read(_) => "ESESSIONREAD",
        }
    }
}

/// Imports the foreign session at `path`.
pub fn import_foreign(path: &Path, options: &ImportOptions, task: &mut Task<'_>) -> Result<Imported, ImportFault> {
    let convert = ConvertOptions {
        conversation: options.conversation.clone(),
        receipt: true,
        session_id: options.session_id.clone(),
        project_hash: Some(json_of_text(&options.project_hash)),
        workspace_dirs: options.workspace_dirs.as_deref().map(json_of_texts),
        ..ConvertOptions::default()
    };
    let cancellation = task.cancellation;
    let mut progress = |bytes, total| {
        // The conversion itself notices a cancellation.
        let _ = task.report_bytes(bytes, total);
    };
    let opened = cancellation.during(|| open_converted(path, &convert, &mut progress, LineSource::open));
    let mut conversion = match opened.map_err(|stop| ImportFault::of_stop(stop, path))? {
        OpenedSource::Foreign(conversion) => conversion,
        OpenedSource::Native(_) => return Err(ImportFault::Format(path.to_path_buf())),
    };
    if conversion.items == 0 {
        return Err(ImportFault::Empty(path.to_path_buf()));
    }
    new_directory::create(&options.chats_dir)?;
    if let Some(there) = session_with(&options.chats_dir, &conversion.session_id)? {
        return Err(ImportFault::Exists { id: conversion.session_id, path: there });
    }
    conversion.summary.session_id.clone_from(&conversion.session_id);
    write(&mut conversion, options, task)
}

fn json_of_texts(texts: &[String]) -> Vec<u8> {
    let texts: Vec<_> = texts.iter().map(|text| json_of_text(text)).collect();
    [b"[", &texts.join(&b","[..])[..], b"]"].concat()
}

/// The file in the directory whose session has this id.
fn session_with(directory: &Path, id: &str) -> Result<Option<PathBuf>, OsError> {
    for name in files::read_directory(directory)? {
        let path = directory.join(name?);
        let is_session = archive_of(&path).is_some() || is_archive_name(&path);
        let Ok(summary) = (if is_session { read::Summary::of_header(&path) } else { continue }) else { continue };
        if has_id(&summary.payload, id) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn has_id(payload: &[u8], id: &str) -> bool {
    let read = Cursor::new(payload).members(["sessionId"], &mut Nesting::default());
    let value = read.ok().and_then(|[id]| id).map(|id| id.of(payload));
    let inside = value.and_then(|value| value.strip_prefix(b"\"")?.strip_suffix(b"\""));
    inside.is_some_and(|inside| spells_any(inside, id))
}

fn session_path(conversion: &Conversion, options: &ImportOptions, number: u32) -> PathBuf {
    let id: Vec<u16> = conversion.session_id.encode_utf16().take(ID_CHARACTERS).collect();
    options.chats_dir.join(file_name(FileNameForm::Minutes, &conversion.start_time, &id, number))
}

fn write(conversion: &mut Conversion, options: &ImportOptions, task: &mut Task<'_>) -> Result<Imported, ImportFault> {
    let first = session_path(conversion, options, 1);
    let mut session = StagedFile::beside(&first, UNFINISHED, OWNER_ONLY)?;
    failpoint!("import::created");
    let last_seq = write_session(conversion, &mut session, &first)?;
    session.sync()?;
    let receipt_beside = options.receipt.clone().unwrap_or_else(|| receipt_of(&first));
    if options.receipt.is_some() {
        new_directory::create(files::parent(&receipt_beside))?;
    }
    let mut receipt = StagedFile::beside(&receipt_beside, UNFINISHED, OWNER_ONLY)?;
    write_receipt(conversion, &mut receipt, &receipt_beside)?;
    receipt.sync()?;
    failpoint!("import::written");
    task.conclude().map_err(|cancelled| OsError::new(&cancelled.into(), "write", Some(&first)))?;
    let names = (1..=MAX_NAMES).map(|number| session_path(conversion, options, number));
    // A file beside the archive of another session would hide it.
    let is_free = |path: &PathBuf| !archive_of(path).is_some_and(|archive| files::exists(&archive));
    let path = session.place_at_first(names.filter(is_free))?;
    failpoint!("import::placed");
    let receipt_path = options.receipt.clone().unwrap_or_else(|| receipt_of(&path));
    // A session without its receipt is not imported.
    let undo = |placed: &Path| drop(files::remove_file(placed));
    place_receipt(&mut receipt, &receipt_path, options.receipt.is_none()).inspect_err(|_| undo(&path))?;
    sync_entry(&receipt_path).and_then(|()| sync_entry(&path)).inspect_err(|_| {
        undo(&receipt_path);
        undo(&path);
    })?;
    Ok(Imported { path, receipt_path, last_seq, summary: conversion.summary.clone() })
}

/// Places the receipt. One that is beside the session already is that of a session which is gone: the name was free.
fn place_receipt(receipt: &mut StagedFile, path: &Path, is_beside: bool) -> Result<(), OsError> {
    match receipt.place_at(path) {
        Err(error) if error.code == "EEXIST" && is_beside && is_receipt(path) => {
            files::remove_file(path)?;
            receipt.place_at(path)
        }
        placed => placed,
    }
}

/// Whether a file begins as a receipt does.
fn is_receipt(path: &Path) -> bool {
    let mut beginning = [0; RECEIPT_BEGINNING.len()];
    let read = File::open_any(path, Links::Refused).map(|(file, _)| file.read_at(&mut beginning, 0));
    matches!(read, Ok(Ok(_))) && &beginning == RECEIPT_BEGINNING
}

fn receipt_of(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(".receipt.jsonl");
    PathBuf::from(name)
}

/// Writes the events, and a title if the source has none. Returns the number of the last event.
fn write_session(conversion: &Conversion, file: &mut StagedFile, path: &Path) -> Result<u64, ImportFault> {
    let failed = |error: io::Error| OsError::new(&error, "write", Some(path));
    let mut writer = BufWriter::new(file.file());
    let (mut reader, mut lines) = (LineReader::default(), Vec::new());
    reader.begin(0..conversion.native.size());
    while let Some(chunk) = reader.next_chunk(&conversion.native, 0).map_err(ImportFault::Read)? {
        lines.clear();
        lines.extend_from_slice(chunk.bytes);
        mark_references(&mut lines);
        escape_line_separators(&mut lines, 0);
        writer.write_all(&lines).map_err(failed)?;
    }
    let mut last_seq = conversion.last_seq;
    if let Some(title) = &conversion.title {
        last_seq += 1;
        let mut line = Vec::new();
        envelope::begin(&mut line, Version::One, last_seq as f64);
        envelope::describe(&mut line, &conversion.end_time, EventType::SessionMetadata.as_json().as_bytes());
        line.extend_from_slice(
            format!(",\"payload\":{{\"title\":\"{}\"}}}}\n", Text::from_plain(title).as_json()).as_bytes(),
        );
        escape_line_separators(&mut line, 0);
        writer.write_all(&line).map_err(failed)?;
    }
    writer.flush().map_err(failed)?;
    Ok(last_seq)
}

/// Gives the lines with a reference to media, which a tool may have been called with, the version of such lines.
fn mark_references(lines: &mut [u8]) {
    if !may_have_reference(lines) {
        return;
    }
    for line in lines.split_inclusive_mut(|byte| *byte == b'\n') {
        if has_reference(line) {
            envelope::set_version(line, 0, Version::Two);
        }
    }
}

fn write_receipt(conversion: &mut Conversion, file: &mut StagedFile, path: &Path) -> Result<(), ImportFault> {
    let failed = |error: io::Error| ImportFault::from(OsError::new(&error, "write", Some(path)));
    let mut writer = BufWriter::new(file.file());
    writeln!(writer, "{}", conversion.summary.json()).map_err(failed)?;
    while let Some(entry) = conversion.next_entry().map_err(|stop| ImportFault::of_stop(stop, path))? {
        writeln!(writer, "{}", entry.json()).map_err(failed)?;
    }
    writer.flush().map_err(failed)
}

#[cfg(test)]
mod tests;
