//! Opens sessions: native ones as they are, also in bundles, and those of other programs converted.

use session_tape_core::foreign::{Conversion, ConvertOptions, Converted, Origins, Stop, Summary, convert};
use session_tape_core::{Cancellation, LineSource, Recording};

use crate::file_facts::FileFacts;
use crate::input::{Input, is_archive, log_of, read_failed};
use crate::on_disk::{IN_MEMORY, OnDisk, Refused};
use crate::rows::FileHash;
use crate::schema::COUNTED_STATUSES;

/// The format of sessions that are read as they are.
const NATIVE: &str = "native";

/// The id that a converted session has if its source has none: the same each time, so that its rows are.
const UNKNOWN_ID: &str = "unknown";

/// An open session.
pub struct OpenSession {
    /// Its lines, which are native.
    pub lines: LineSource,
    /// The format of its file.
    pub format: &'static str,
    /// What was found out when it was converted, if it is of another program.
    pub converted: Option<FromOther>,
    /// Keeps the unpacked files of a bundle.
    pub recording: Option<Recording>,
}

/// What the conversion of a session of another program has found out.
pub struct FromOther {
    /// The records that the events come from.
    pub origins: Origins,
    /// The file that was converted.
    pub file: FileFacts,
    /// Whether it states the id of the session.
    pub has_id: bool,
    /// The number of its records that can't be read, by status.
    pub damage: [i64; COUNTED_STATUSES.len()],
}

impl OpenSession {
    /// Opens a session. Cancelling stops its verification or conversion. `on_read` is called with how many bytes of a session of another program
    /// are read.
    pub fn open(input: &Input, cancelled: &Cancellation, on_read: &mut dyn FnMut(u64)) -> Result<Self, Refused> {
        if input.is_packed() {
            return Self::packed(input, cancelled, on_read);
        }
        match input.open() {
            Ok(source) if is_archive(&source) => Self::packed(input, cancelled, on_read),
            Ok(source) => Self::of(input, source, on_read),
            Err(error) => Err(Refused::unread(read_failed(&error))),
        }
    }

    /// Opens a session in a bundle.
    fn packed(input: &Input, cancelled: &Cancellation, on_read: &mut dyn FnMut(u64)) -> Result<Self, Refused> {
        let file = OnDisk::of(input).ok_or_else(|| Refused::unread(IN_MEMORY.to_owned()))?;
        let recording = file.open(false, cancelled)?;
        let failed = |error| Refused::unread(file.message_of(read_failed(&error)));
        if recording.foreign_format().is_some() {
            // It has only the name of a bundle.
            return Self::of(input, input.open().map_err(failed)?, on_read);
        }
        let lines = LineSource::open(log_of(&recording)).map_err(failed)?;
        Ok(OpenSession { recording: Some(recording), ..Self::native(lines) })
    }

    fn native(lines: LineSource) -> Self {
        OpenSession { lines, format: NATIVE, converted: None, recording: None }
    }

    fn of(input: &Input, source: LineSource, on_read: &mut dyn FnMut(u64)) -> Result<Self, Refused> {
        let unknown_id = Some(UNKNOWN_ID.to_owned());
        let wanted = ConvertOptions { origins: true, unknown_id, ..ConvertOptions::default() };
        match converted(input, source, &wanted, on_read) {
            Ok(Converted::Native(lines)) => Ok(Self::native(lines)),
            Ok(Converted::Foreign(conversion)) => Ok(Self::converted(*conversion)),
            Err(Stop::Read(error)) => Err(Refused::unread(read_failed(&error))),
            Err(stop) => {
                let hashed = input.open().map(|source| FileHash::default().with_sha256().finish(&source));
                Err(Refused { file: hashed.map(FileFacts::from).unwrap_or_default(), error: stop.to_string() })
            }
        }
    }

    fn converted(conversion: Conversion) -> Self {
        let Conversion { native: lines, summary, format, origins, is_torn, .. } = conversion;
        let file = FileFacts { bytes: summary.source_bytes, fingerprint: None, sha256: Some(summary.source_sha256) };
        let (has_id, damage) = (!summary.session_id.is_empty(), damage_of(&summary, is_torn));
        let converted = origins.map(|origins| FromOther { origins, file, has_id, damage });
        OpenSession { lines, format: format.as_str(), converted, recording: None }
    }
}

/// Converts a session if it is of another program: the conversation that its input names, if that names one.
pub fn converted(
    input: &Input,
    source: LineSource,
    wanted: &ConvertOptions,
    on_read: &mut dyn FnMut(u64),
) -> Result<Converted, Stop> {
    let options = ConvertOptions { conversation: input.conversation().map(str::to_owned), ..wanted.clone() };
    let result = convert(source, &options, &mut |read, _| on_read(read));
    match (result, options.conversation) {
        // What follows `#` in the name of an object may be just a part of that name.
        (Err(Stop::NoConversation(_)), Some(_)) if !input.has_path() => {
            convert(input.open()?, wanted, &mut |read, _| on_read(read))
        }
        (Ok(Converted::Native(_)), Some(chosen)) if input.has_path() => Err(Stop::NoConversation(chosen)),
        (result, _) => result,
    }
}

/// The number of records that can't be read, by the status that such lines have in a native session.
fn damage_of(summary: &Summary, is_torn: bool) -> [i64; COUNTED_STATUSES.len()] {
    let dropped = |reason: &str| summary.dropped_by.get(reason).map_or(0, |count| *count as i64);
    let torn = i64::from(is_torn);
    COUNTED_STATUSES.map(|status| match status {
        "malformed" => dropped("not-an-object"),
        "unparseable" => dropped("unparseable") + dropped("too-large") - torn,
        "torn" => torn,
        _ => 0,
    })
}
