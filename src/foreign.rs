//! `detectSessionFormat`, `listConversations`, `importSession` and `convertSession`: jobs that read sessions of other programs.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::NativeBundles;
use super::error_json::ErrorJson;
use super::job::{JobEnd, NativeJob, new_job};
use super::json::JsonText;
use super::writing_job::{Reports, start_writing};
use session_tape_core::foreign::{
    Conversion, ConvertOptions, Detected, Entry, OpenedSource, Stop, detect_at, list_at, open_converted,
};
use session_tape_core::lines::{LineSource, ReadError};
use session_tape_core::session::record::{ImportFault, ImportOptions, import_foreign};

/// About the size of a page of converted records, in bytes.
const PAGE_BYTES: usize = 256 << 10;

/// Options of an import, which JavaScript has validated.
#[napi(object, object_to_js = false)]
pub struct NativeImportOptions {
    pub chats_dir: String,
    pub project_hash: String,
    pub workspace_dirs: Option<Vec<String>>,
    pub session_id: Option<String>,
    pub conversation: Option<String>,
    pub receipt: Option<String>,
    pub progress: bool,
}

/// Detects what a file is. The result is `"native"`, the name of a format, or `null`.
#[napi(catch_unwind)]
pub fn start_detection(path: String, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| {
        let path = Path::new(&path);
        match detect_at(path) {
            Ok(detected) => JobEnd::done(|json| match detected {
                Detected::Native => json.value("native"),
                Detected::Foreign(format) => json.value(format.as_str()),
                Detected::Unknown => json.raw(b"null"),
            }),
            Err(stop) => failed(stop, path),
        }
    });
    Ok(job)
}

/// Lists the conversations of a foreign session. The result has `format` and `conversations`.
#[napi(catch_unwind)]
pub fn start_listing(path: String, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| {
        let path = Path::new(&path);
        match list_at(path) {
            Ok(Some((format, conversations))) => JobEnd::done_with(|json| {
                json.member("format", format.as_str());
                json.member("conversations", &conversations);
            }),
            Ok(None) => fault(&ImportFault::Format(path.to_path_buf())),
            Err(stop) => failed(stop, path),
        }
    });
    Ok(job)
}

/// Imports a foreign session. The result has `filePath`, `receiptPath`, `lastSeq` and `summary`.
#[napi(catch_unwind)]
pub fn start_foreign_import(
    bundles: &NativeBundles,
    path: String,
    options: NativeImportOptions,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    start_writing(bundles, on_ready, Reports::bytes(options.progress), move |task| {
        match import_foreign(Path::new(&path), &options.read(), task) {
            Ok(imported) => JobEnd::done_with(|json| {
                json.member("filePath", &imported.path.to_string_lossy());
                json.member("receiptPath", &imported.receipt_path.to_string_lossy());
                json.member("lastSeq", &imported.last_seq);
                json.key("summary").raw(imported.summary.json().as_bytes());
            }),
            Err(ImportFault::Read(ReadError::System(error))) if error.code == "ECANCELED" => JobEnd::cancelled(),
            Err(error) => fault(&error),
        }
    })
}

impl NativeImportOptions {
    fn read(self) -> ImportOptions {
        ImportOptions {
            chats_dir: self.chats_dir.into(),
            project_hash: self.project_hash,
            workspace_dirs: self.workspace_dirs,
            session_id: self.session_id,
            conversation: self.conversation,
            receipt: self.receipt.map(PathBuf::from),
        }
    }
}

/// A conversion whose records are read page by page.
#[napi]
pub struct NativeConversion {
    path: String,
    conversation: Option<String>,
    reading: Arc<Mutex<Option<Reading>>>,
}

/// What is left to read of a conversion.
struct Reading {
    conversion: Box<Conversion>,
    /// The offset in the native session of the next event.
    offset: u64,
    /// Its number.
    next_seq: u64,
    /// The entries that were read.
    entries: VecDeque<Entry>,
}

#[napi]
impl NativeConversion {
    /// The conversion of a conversation of the session at `path`. Nothing is read before the first page is requested.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, conversation: Option<String>) -> Self {
        NativeConversion { path, conversation, reading: Arc::default() }
    }

    /// Starts a job that reads the next records. The result has `rows`, an array of objects with `entry` and `events`; behind the last one `rows` is
    /// empty, and there is a `summary`.
    #[napi(catch_unwind)]
    pub fn next(&self, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        let (sender, job) = new_job(on_ready)?;
        let (path, conversation, reading) = (self.path.clone(), self.conversation.clone(), self.reading.clone());
        sender.run_in_background(move |_| {
            let path = Path::new(&path);
            let mut reading = reading.lock();
            if reading.is_none() {
                let options = ConvertOptions { conversation, receipt: true, ..ConvertOptions::default() };
                match open_converted(path, &options, &mut |_, _| (), LineSource::open) {
                    Ok(OpenedSource::Foreign(conversion)) => {
                        let entries = VecDeque::new();
                        *reading = Some(Reading { conversion, offset: 0, next_seq: 1, entries });
                    }
                    Ok(OpenedSource::Native(_)) => return fault(&ImportFault::Format(path.to_path_buf())),
                    Err(stop) => return failed(stop, path),
                }
            }
            let Some(reading) = reading.as_mut() else { return JobEnd::closed() };
            let mut read = Ok(());
            let page = JobEnd::done_with(|json| read = reading.page(json));
            read.map_or_else(|stop| failed(stop, path), |()| page)
        });
        Ok(job)
    }

    /// Lets go of what was converted.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        *self.reading.lock() = None;
    }
}

impl Reading {
    /// The next page.
    fn page(&mut self, json: &mut JsonText) -> std::result::Result<(), Stop> {
        let start = json.bytes();
        let rows = json.key("rows").array(|json| {
            let mut rows = 0;
            while json.bytes() - start < PAGE_BYTES {
                let Some(entry) = self.next_entry()? else { break };
                let is_last = self.peek()?.is_none();
                // Events come in their order, with the first record behind which they are complete.
                let until = if is_last { u64::MAX } else { entry.own_seq };
                json.open();
                json.key("entry").raw(entry.json().as_bytes());
                json.key("events").array(|json| self.append_events(json, until))?;
                json.close();
                rows += 1;
            }
            Ok::<_, Stop>(rows)
        })?;
        if rows == 0 {
            json.key("summary").raw(self.conversion.summary.json().as_bytes());
        }
        Ok(())
    }

    fn next_entry(&mut self) -> std::result::Result<Option<Entry>, Stop> {
        match self.entries.pop_front() {
            Some(entry) => Ok(Some(entry)),
            None => self.conversion.next_entry(),
        }
    }

    fn peek(&mut self) -> std::result::Result<Option<&Entry>, Stop> {
        if self.entries.is_empty() {
            let next = self.conversion.next_entry()?;
            self.entries.extend(next);
        }
        Ok(self.entries.front())
    }

    /// Appends the events up to the one with this number.
    fn append_events(&mut self, page: &mut JsonText, until: u64) -> std::result::Result<(), Stop> {
        while self.next_seq <= until && self.next_seq <= self.conversion.last_seq {
            let line = self.conversion.line_at(self.offset)?;
            page.raw(&line);
            self.offset += line.len() as u64 + 1;
            self.next_seq += 1;
        }
        Ok(())
    }
}

fn failed(stop: Stop, path: &Path) -> JobEnd {
    fault(&ImportFault::of_stop(stop, path))
}

fn fault(error: &ImportFault) -> JobEnd {
    match error {
        ImportFault::Read(ReadError::System(error)) => JobEnd::failed(&error.into()),
        ImportFault::Many { conversations, .. } => {
            JobEnd::failed(&ErrorJson::new(error.code(), error.to_string()).with_conversations(conversations))
        }
        ImportFault::Exists { path, .. } => {
            JobEnd::failed(&ErrorJson::new(error.code(), error.to_string()).at_path(path.to_string_lossy()))
        }
        error => JobEnd::failed(&ErrorJson::new(error.code(), error.to_string())),
    }
}
