//! Creates the file of a session, under a name that is not taken.

use std::io;
use std::path::PathBuf;

use super::{FileNameForm, RecorderConfig};
use crate::disk::append::Target;
use crate::disk::write::new_directory;
use crate::disk::{OsError, files};

/// Maximum number of names tried for one session before giving up.
pub(in super::super) const MAX_NAMES: u32 = 100_000;

/// Creates a new file for a session. The error is returned with the path that it is about.
pub(super) fn create_session_file(config: &RecorderConfig, now: &str) -> Result<Target, (OsError, PathBuf)> {
    let directory = &config.chats_dir;
    new_directory::create(directory).map_err(|error| (error, directory.clone()))?;
    for number in 1..=MAX_NAMES {
        let path = directory.join(file_name(config.file_name, now, &config.id_prefix, number));
        failpoint!("recorder::before_create");
        match files::create_new(&path, config.mode) {
            Ok(_) => {
                failpoint!("recorder::after_create");
                return Ok(Target::created(path));
            }
            Err(error) if error.code == "EEXIST" => {}
            Err(error) => return Err((error, path)),
        }
    }
    let taken = OsError::new(&io::ErrorKind::AlreadyExists.into(), "open", Some(directory));
    Err((taken, directory.clone()))
}

/// `session-2026-02-11T16-00-abcdefgh.jsonl`, and `session-2026-02-11T16-00-2-abcdefgh.jsonl` if that is taken: the number precedes
/// the id, so that a program that finds files by the end of their name finds these too. Before the year 0 and after 9999 the year has
/// a sign and six digits.
pub(in super::super) fn file_name(form: FileNameForm, now: &str, id_prefix: &[u16], number: u32) -> String {
    let end = match form {
        FileNameForm::Minutes => ':',
        FileNameForm::Seconds => '.',
    };
    let stamp = now.rsplit_once(end).map_or(now, |(stamp, _)| stamp).replace(':', "-");
    let id: String = char::decode_utf16(id_prefix.iter().copied()).map(|unit| unit.map_or('_', portable)).collect();
    match number {
        1 => format!("session-{stamp}-{id}.jsonl"),
        _ => format!("session-{stamp}-{number}-{id}.jsonl"),
    }
}

/// Sessions are copied between systems, so the name must be valid on every file system.
fn portable(c: char) -> char {
    match c {
        '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
        c if c.is_control() => '_',
        c => c,
    }
}
