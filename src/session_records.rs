//! `readSessionRecords`: the lines of a session in [pages](super::pages).

use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::batch_builder::{describe, output_of};
use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::JobEnd;
use super::json::JsonText;
use super::pages::{NativePages, Paged};
use super::reading::open_bundle;
use super::tape::{TAPE_BYTES, TapeBuilder};
use session_tape_core::bundle::{OpenedBundle, is_bundle};
use session_tape_core::lines::ReadError;
use session_tape_core::session::format::Mode;
use session_tape_core::session::read::{LineStatus, RecordLine, RecordOptions, RecordReader};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::Cancellation;

/// Approximate number of bytes of the file whose values are built in one turn of the event loop.
const PAGE_BYTES: usize = TAPE_BYTES;

/// Maximum number of lines in a page, for files of very short lines.
const PAGE_LINES: usize = 8 << 10;

/// The options of a reading.
#[napi(object, object_to_js = false)]
pub struct NativeRecordOptions {
    pub strict: bool,
    pub history: bool,
    pub changes: bool,
    /// The types of the records that are read.
    pub types: Option<Vec<Utf16String>>,
    /// The number and the offset of the first line.
    pub line: f64,
    pub offset: f64,
}

/// The lines of the session at `path`. Nothing is opened before the first page is requested. A page has its lines as columns: the first `line`, or
/// `lines` if they do not follow one another; `offsets`, `lengths`, `statuses`, `histories`, and `changes` if these are wanted. The records are on the tape of its
/// job.
#[napi(catch_unwind)]
pub fn read_session_records(bundles: &NativeBundles, path: String, options: NativeRecordOptions) -> NativePages {
    let NativeRecordOptions { strict, history, changes, types, line, offset } = options;
    let options = RecordOptions {
        mode: if strict { Mode::Strict } else { Mode::Lenient },
        from: Some((line as u64, offset as u64)),
        types: types.map(|types| types.iter().map(|name| name.to_vec()).collect()),
        history,
        changes,
    };
    NativePages::new::<Records>(Request { path, options, bundles: bundles.shared() })
}

/// What is to be read.
pub struct Request {
    path: String,
    options: RecordOptions,
    bundles: Arc<Bundles>,
}

/// An open session.
pub struct Records {
    reader: RecordReader,
    page: Page,
    /// The error after the last page.
    failure: Option<ReadError>,
}

impl Paged for Records {
    type Request = Request;

    fn open(
        request: Request,
        cancellation: &Cancellation,
    ) -> std::result::Result<(Self, Option<Arc<Unpacked>>), Box<JobEnd>> {
        let Request { path, options, bundles } = request;
        let (file, opened) = session_log(&path, &bundles, cancellation)?;
        let unpacked = opened.map(|opened| bundles.keep(opened));
        let has_gaps = options.types.is_some();
        let page = Page { has_gaps, changes: options.changes.then(Vec::new), ..Page::default() };
        let reader = RecordReader::open(&file, options).map_err(|error| Box::new(failed(&error)))?;
        Ok((Records { reader, page, failure: None }, unpacked))
    }

    fn next_page(&mut self) -> JobEnd {
        if let Some(error) = self.failure.take() {
            return failed(&error);
        }
        self.page.clear();
        let is_last = loop {
            match self.reader.read(&mut |line| self.page.take(line)) {
                Ok(true) if self.page.is_full() => break false,
                Ok(true) => {}
                Ok(false) => break true,
                Err(error) if self.page.lines() == 0 => return failed(&error),
                Err(error) => {
                    self.failure = Some(error);
                    break false;
                }
            }
        };
        self.page.finish(is_last, self.reader.source().damage())
    }

    fn no_page() -> JobEnd {
        Page::default().finish(true, None)
    }
}

/// The file of the session at `path`, and the bundle that contains it. An error is the end of the job.
pub fn session_log(
    path: &str,
    bundles: &Bundles,
    cancellation: &Cancellation,
) -> std::result::Result<(PathBuf, Option<OpenedBundle>), Box<JobEnd>> {
    if !is_bundle(path.as_ref()) {
        return Ok((PathBuf::from(path), None));
    }
    let _guard = bundles.begin_reading(&[&path], cancellation);
    let opened = open_bundle(path, TrustedKeys::default(), cancellation, &mut |_| ());
    let opened = opened.and_then(|opened| opened.expect_session());
    let opened = opened.map_err(|refusal| Box::new(JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ))))?;
    Ok((opened.log(), Some(opened)))
}

pub fn failed(error: &ReadError) -> JobEnd {
    JobEnd::failed(&error_of(error))
}

pub fn error_of(error: &ReadError) -> ErrorJson<'_> {
    match error {
        ReadError::System(error) => error.into(),
        error => ErrorJson::new("ESESSIONREAD", error.to_string()),
    }
}

/// Some lines.
#[derive(Default)]
struct Page {
    /// Whether the lines need not follow one another.
    has_gaps: bool,
    numbers: Vec<u64>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    /// A letter for each line.
    statuses: String,
    histories: String,
    /// Four numbers for each change of the history, if they are wanted: the index of its line in the page, and those of the change.
    changes: Option<Vec<u64>>,
    tape: TapeBuilder,
    /// Number of bytes of JSON on the tape.
    bytes: usize,
    has_refused: bool,
}

impl Page {
    fn clear(&mut self) {
        self.numbers.clear();
        self.offsets.clear();
        self.lengths.clear();
        self.statuses.clear();
        self.histories.clear();
        self.changes.iter_mut().for_each(Vec::clear);
        self.tape.clear();
        (self.bytes, self.has_refused) = (0, false);
    }

    fn lines(&self) -> usize {
        self.numbers.len()
    }

    /// Whether a further chunk would not fit.
    fn is_full(&self) -> bool {
        self.has_refused || self.bytes > PAGE_BYTES / 2
    }

    /// Takes a line if there is room for it.
    fn take(&mut self, line: &RecordLine<'_>) -> bool {
        let taken = self.has_room(line) && line.json.is_none_or(|json| self.tape.push(json));
        self.has_refused = !taken;
        if taken {
            if let Some(changes) = &mut self.changes {
                let index = self.numbers.len() as u64;
                changes.extend(
                    line.changes.iter().flat_map(|change| [index, change.removed, change.added, change.behind]),
                );
            }
            self.bytes += line.json.map_or(0, <[u8]>::len);
            self.numbers.push(line.number);
            self.offsets.push(line.offset);
            self.lengths.push(line.length);
            self.statuses.push(status_letter(line.status));
            self.histories.push(match line.in_history {
                None => '-',
                Some(false) => '0',
                Some(true) => '1',
            });
        }
        taken
    }

    fn has_room(&self, line: &RecordLine<'_>) -> bool {
        let bytes = line.json.map_or(0, <[u8]>::len);
        self.lines() == 0
            || self.lines() < PAGE_LINES && self.bytes + bytes <= PAGE_BYTES && !self.tape.has_full_pools()
    }

    fn finish(&mut self, is_last: bool, damage: Option<u64>) -> JobEnd {
        let mut json = JsonText::with_capacity(32 * self.lines() + 1024);
        json.open();
        if self.has_gaps {
            json.member("lines", &self.numbers);
        } else {
            json.member("line", self.numbers.first().unwrap_or(&0));
        }
        json.member("offsets", &self.offsets);
        json.member("lengths", &self.lengths);
        json.member("statuses", &self.statuses);
        json.member("histories", &self.histories);
        if let Some(changes) = &self.changes {
            json.member("changes", changes);
        }
        json.member("last", &is_last);
        if let Some(damage) = damage {
            json.member("damage", &ReadError::Damaged(damage).to_string());
        }
        let tape = (self.tape.count() > 0).then(|| {
            let tape = self.tape.finish();
            describe(&mut json, &tape, [self.tape.count(), 0, 0, 0]);
            output_of(tape)
        });
        JobEnd::done_behind(json, tape, |json| json.raw(b"{}"))
    }
}

/// The letter for a status in a page, as in `read-records` of the JavaScript library.
fn status_letter(status: Option<LineStatus>) -> char {
    match status {
        None => '-',
        Some(LineStatus::Ok) => 'o',
        Some(LineStatus::Malformed) => 'm',
        Some(LineStatus::Unknown) => 'u',
        Some(LineStatus::Unparseable) => 'p',
        Some(LineStatus::Torn) => 't',
    }
}
