//! `readSessionMedia`, in [pages](super::pages), and `verifySessionMedia`.

use std::path::Path;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;

use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::job::{JobEnd, NativeJob};
use super::json::JsonText;
use super::pages::{NativePages, Paged, TEXT_PAGE_BYTES, text_page};
use super::reading::start_reading;
use super::session_records::{error_of, failed, session_log};
use session_tape_core::bundle::media_store;
use session_tape_core::session::media::{MediaStore, RecordReferences, Stored, check_media};
use session_tape_core::session::read::{RecordLine, RecordOptions, RecordReader};
use session_tape_core::task::Cancellation;

/// The references of the session at `path`, two entries for each: one for each role. Nothing is opened before the first page is requested. A page is an
/// object with `entries`, and with `last` or `error` if there are no more.
#[napi(catch_unwind)]
pub fn read_session_media(bundles: &NativeBundles, path: String) -> NativePages {
    NativePages::new::<References>(Request { path, bundles: bundles.shared() })
}

/// Checks the objects that the session at `path` refers to. The result has `present`, `missing` and `corrupt`.
#[napi(catch_unwind)]
pub fn verify_session_media(
    bundles: &NativeBundles,
    path: String,
    media_dir: Option<String>,
    on_ready: Function<'_, (), ()>,
) -> Result<NativeJob> {
    let shared = bundles.shared();
    start_reading(bundles, on_ready, vec![path], false, move |paths, reporter| {
        let opened =
            paths.iter().map(|path| check(path, media_dir.as_deref(), &shared, reporter.cancellation())).next();
        opened.unwrap_or_else(JobEnd::cancelled)
    })
}

fn check(path: &str, media_dir: Option<&str>, bundles: &Bundles, cancellation: &Cancellation) -> JobEnd {
    let (file, _opened) = match session_log(path, bundles, cancellation) {
        Ok(opened) => opened,
        Err(end) => return *end,
    };
    let store = match media_dir.map(Path::new) {
        // Only there.
        Some(given) => MediaStore::of_session(Some(given), Path::new(path)),
        None => media_store(None, Path::new(path), &file),
    };
    match cancellation.during(|| check_media(&file, &store)) {
        Ok(checked) => JobEnd::done(|json| json.value(&checked)),
        Err(error) => failed(&error),
    }
}

/// What is to be read.
pub struct Request {
    path: String,
    bundles: Arc<Bundles>,
}

/// The references of an open session.
pub struct References(RecordReader);

impl Paged for References {
    type Request = Request;

    fn open(
        Request { path, bundles }: Request,
        cancellation: &Cancellation,
    ) -> std::result::Result<(Self, Option<Arc<Unpacked>>), Box<JobEnd>> {
        let (file, opened) = session_log(&path, &bundles, cancellation)?;
        let unpacked = opened.map(|opened| bundles.keep(opened));
        let reader = RecordReader::open(&file, RecordOptions::default()).map_err(|error| Box::new(failed(&error)))?;
        Ok((References(reader), unpacked))
    }

    fn next_page(&mut self) -> JobEnd {
        let append = |json: &mut JsonText| {
            while json.bytes() < TEXT_PAGE_BYTES {
                let mut take = |line: &RecordLine<'_>| {
                    let has_room = json.bytes() < TEXT_PAGE_BYTES;
                    if has_room && let Some(record) = line.json.and_then(RecordReferences::of_line) {
                        append_record(json, line.number, &record);
                    }
                    has_room
                };
                if !self.0.read(&mut take)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        text_page("entries", append, error_of)
    }

    fn no_page() -> JobEnd {
        text_page("entries", |_| Ok(true), error_of)
    }
}

fn append_record(json: &mut JsonText, line: u64, record: &RecordReferences<'_>) {
    for reference in &record.references {
        for (role, object) in [("original", &reference.original), ("selected", &reference.selected)] {
            json.object(|json| append_entry(json, line, record.seq, role, object));
        }
    }
}

fn append_entry(json: &mut JsonText, line: u64, seq: Option<f64>, role: &str, object: &Stored<'_>) {
    json.member("contentId", &object.id());
    match seq.filter(|seq| seq.is_finite()) {
        Some(seq) => json.key("seq").number(seq),
        None => json.key("seq").raw(b"null"),
    }
    json.member("line", &line);
    json.member("role", role);
    json.member("byteLength", &object.byte_length());
    json.key("mimeType").text(object.mime_type());
}
