//! Writes the final history of a session as one document in ATIF v1.8, the interchange format of agents' trajectories.
//!
//! The schema forbids members that it does not know, except in `extra`. What it has no place for goes to `extra.session_tape` of the same object,
//! from which reading the document restores the items as they were.

mod block;
mod media;
mod plan;
mod result;
mod step;
mod value;

use std::io::Write;
use std::path::Path;

use crate::disk::{BY_UMASK, OsError};

use crate::disk::write::{StageError, StagedFile};
use crate::foreign::{Conversion, Foreign, OpenedSource, open_source};
use crate::json::Nesting;
use crate::lines::{LineSource, ReadError};
use crate::session::media::MediaStore;
use crate::session::record::ImportFault;
use crate::task::{Cancelled, Task};
use media::{MediaFiles, withdraw};
use plan::{FileRange, Plan};
use step::Steps;
use value::{Members, ObjectWriter};

/// Number of bytes that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Number of steps.
    pub steps: u64,
    /// Number of files beside the document.
    pub media: u64,
    /// If the session is an archive that is damaged, the size of its content before that: what is behind it is not exported.
    pub damage: Option<u64>,
}

/// Why a document was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file is neither a native nor a known foreign session.
    #[error("It is no session: its first line is not a session_start, and no other format is recognised")]
    NoSession,
    /// Which conversation is meant is not clear.
    #[error("{message}")]
    Conversation {
        /// What is wrong.
        message: String,
        /// The ids of the conversations that there are.
        conversations: Vec<String>,
    },
    /// ATIF requires a step.
    #[error("The history of the session is empty, and an ATIF document needs at least one step")]
    Empty,
    /// The session could not be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A file could not be written.
    #[error("{0}")]
    System(#[from] OsError),
    /// The caller has cancelled the work.
    #[error("The work was cancelled")]
    Cancelled,
}

impl ExportError {
    /// The stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            ExportError::NoSession => "EFOREIGNFORMAT",
            ExportError::Conversation { .. } => "EFOREIGNMANY",
            ExportError::Empty => "EFOREIGNEMPTY",
            ExportError::Read(ReadError::System(error)) | ExportError::System(error) if error.is_cancelled() => {
                "Cancelled"
            }
            ExportError::Read(ReadError::System(error)) | ExportError::System(error) => error.code,
            ExportError::Read(_) => "ESESSIONREAD",
            ExportError::Cancelled => "Cancelled",
        }
    }

    /// The error of the system, if a call failed.
    pub fn system(&self) -> Option<&OsError> {
        match self {
            ExportError::Read(ReadError::System(error)) | ExportError::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Cancelled> for ExportError {
    fn from(_: Cancelled) -> Self {
        ExportError::Cancelled
    }
}

impl From<ImportFault> for ExportError {
    fn from(fault: ImportFault) -> Self {
        match fault {
            ImportFault::Read(error) => ExportError::Read(error),
            ImportFault::Many { message, conversations } => ExportError::Conversation { message, conversations },
            ImportFault::Format(_) | ImportFault::Empty(_) | ImportFault::Exists { .. } => ExportError::NoSession,
        }
    }
}

impl From<StageError> for ExportError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Exists(path) => {
                let exists = std::io::ErrorKind::AlreadyExists.into();
                ExportError::System(OsError::new(&exists, "rename", Some(&path)))
            }
            StageError::System(error) => ExportError::System(error),
        }
    }
}

/// Writes the final history of the session at `path`, which may be a foreign one with this `conversation`, to `destination`, and its media beside it,
/// to the directory `<destination>.media`. Neither may exist. A failure leaves nothing. `store` has the images that the session refers to.
///
/// The session is read twice. In memory are the places of its items, and one item at a time.
pub fn export(
    path: &Path,
    conversation: Option<String>,
    destination: &Path,
    store: MediaStore,
    task: &Task<'_>,
) -> Result<Exported, ExportError> {
    let mut file = StagedFile::new(destination, StagedFile::NEW, BY_UMASK)?;
    let opened = open_source(path, &Foreign::Read(conversation), LineSource::open);
    let (session, agent, damage) = match opened.map_err(|stop| ImportFault::of_stop(stop, path))? {
        OpenedSource::Native(source) => (source, Agent { name: "session-tape", version: None }, None),
        OpenedSource::Foreign(conversion) => {
            let Conversion { native, format, summary, damage, .. } = *conversion;
            (native, Agent { name: format.as_str(), version: summary.source_version }, damage)
        }
    };
    let (plan, source) = Plan::of(session, task)?;
    let mut document = Document { file: &mut file, destination, buffer: Vec::new() };
    let mut steps = Steps::new(&plan, MediaFiles::beside(destination, store));
    document.head(&plan, &agent);
    for number in 0..plan.steps.len() {
        task.check()?;
        if number > 0 {
            document.buffer.push(b',');
        }
        steps.write(&mut document.buffer, number, &source)?;
        document.flush(BUFFER_BYTES)?;
    }
    document.tail(&plan, &steps);
    document.flush(0)?;
    let damage = damage.or(source.damage());
    let exported = Exported { steps: plan.steps.len() as u64, media: steps.media.count(), damage };
    let media = steps.media.commit()?;
    file.commit().inspect_err(|_| {
        if let Some(directory) = &media {
            withdraw(directory);
        }
    })?;
    Ok(exported)
}

/// The program that a session is from.
struct Agent {
    name: &'static str,
    version: Option<String>,
}

/// Reads the bytes at a place.
fn bytes_at(source: &LineSource, place: FileRange) -> Result<Vec<u8>, ExportError> {
    let mut bytes = Vec::new();
    source.append_bytes_at(place.offset, place.length, &mut bytes)?;
    Ok(bytes)
}

/// The document, of which only the last part is in memory.
struct Document<'d> {
    file: &'d mut StagedFile,
    destination: &'d Path,
    buffer: Vec<u8>,
}

impl Document<'_> {
    fn head(&mut self, plan: &Plan, agent: &Agent) {
        let start = Members::of(&plan.start, &mut Nesting::default()).unwrap_or_default();
        let model = start.text("model").filter(|model| !model.is_empty() && model != "unknown");
        let mut document = ObjectWriter::open(&mut self.buffer);
        document.text("schema_version", "ATIF-v1.8");
        document.optional_text("session_id", start.text("sessionId").filter(|id| !id.is_empty()).as_deref());
        document.object("agent", |object| {
            object.text("name", agent.name);
            object.text("version", agent.version.as_deref().unwrap_or("unknown"));
            object.optional_text("model_name", model.as_deref().or(plan.model.as_deref()));
        });
        document.key("steps").push(b'[');
    }

    fn tail(&mut self, plan: &Plan, steps: &Steps<'_>) {
        self.buffer.extend_from_slice(b"],");
        let mut rest = Vec::new();
        let mut document = ObjectWriter::open(&mut rest);
        if plan.gone > 0 {
            let items = if plan.gone == 1 { "1 item that is" } else { &format!("{} items that are", plan.gone) };
            document
                .text("notes", &format!("Without {items} no longer in the history, after rewinds and compactions."));
        }
        document.object("final_metrics", |metrics| steps.totals.write(metrics, plan.steps.len()));
        document.object("extra", |extra| {
            extra.object("session_tape", |ours| {
                ours.raw("start", &plan.start);
                if let Some(title) = &plan.title {
                    ours.raw("title", title);
                }
            });
        });
        document.close();
        // The members continue the object that the head has opened.
        self.buffer.extend_from_slice(&rest[1..]);
        self.buffer.push(b'\n');
    }

    /// Writes the buffer, if it has more than `most` bytes.
    fn flush(&mut self, most: usize) -> Result<(), ExportError> {
        if self.buffer.len() > most {
            let written = self.file.write_all(&self.buffer);
            written.map_err(|error| OsError::new(&error, "write", Some(self.destination)))?;
            self.buffer.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
