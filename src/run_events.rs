//! `readRunEvents`: the events of a log in pages, on demand. A job of its own reads each page, so that a paused iteration occupies no thread,
//! and neither a bundle that is verified nor a long search for rare events occupies Node's thread pool.

use std::sync::Arc;

use napi::bindgen_prelude::{Function, Result};
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob, new_job};
use super::json::JsonText;
use super::opened_run::OpenedRun;
use session_tape_core::background;
use session_tape_core::bundle::ImportError;
use session_tape_core::cancellation::Cancellation;
use session_tape_core::run::{EventLine, Kind, Range, RunError, Trace, event_id, explain_not_a_run};
use session_tape_core::signature::TrustedKeys;

/// Approximate size, in bytes, of the text that V8 parses in one turn of the event loop.
const PAGE_BYTES: usize = 256 << 10;

/// A log that is being read.
#[napi]
pub struct NativeRunTrace {
    reading: Arc<Mutex<Reading>>,
    /// Of all pages: the files stay open from one to the next.
    cancellation: Cancellation,
}

enum Reading {
    /// Nothing has been requested yet.
    Asked(Request),
    /// The log, and the bundle that contains it.
    Open {
        trace: Box<Trace>,
        unpacked: Option<Arc<Unpacked>>,
    },
    Closed,
}

/// What is to be read.
struct Request {
    path: String,
    range: Range,
    bundles: Arc<Bundles>,
    /// Whether the path is the directory of a bundle that has been verified and not changed since.
    is_verified: bool,
}

/// An error that ends the events.
enum Failure {
    Run(RunError),
    Bundle(ImportError),
}

#[napi]
impl NativeRunTrace {
    /// The events of the run at `path` from the logical time `from` up to and including `to`. Nothing is opened before the first page is
    /// requested. `is_verified` says that `path` is the directory of a bundle that has already been verified.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        bundles: &NativeBundles,
        path: String,
        is_verified: bool,
        from: f64,
        to: f64,
        kinds: Option<Vec<String>>,
    ) -> Self {
        let kinds = kinds.map(|kinds| kinds.iter().filter_map(|kind| Kind::parse(kind)).collect());
        let range = Range { from: from as u64, to: to as u64, kinds, ..Range::default() };
        let request = Request { path, range, bundles: bundles.shared(), is_verified };
        NativeRunTrace { reading: Arc::new(Mutex::new(Reading::Asked(request))), cancellation: Cancellation::default() }
    }

    /// Starts a job that reads the next events. The result is an object with `events`, and with `last` or `error` if there are no more.
    #[napi(catch_unwind)]
    pub fn next(&self, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        let (reading, cancellation) = (self.reading.clone(), self.cancellation.clone());
        start(on_ready, move || {
            cancellation.during(|| JobEnd::done(|json| reading.lock().append_page(json, &cancellation)))
        })
    }

    /// Closes the log at once, if nothing is reading it and there is nothing to remove. Returns whether it is closed.
    #[napi(catch_unwind)]
    pub fn close_at_once(&self) -> bool {
        let Some(mut reading) = self.reading.try_lock() else { return false };
        if reading.has_unpacked() {
            return false;
        }
        *reading = Reading::Closed;
        true
    }

    /// Closes the log, after ending a read in progress, without telling when. What was unpacked is removed elsewhere: this may be the JavaScript
    /// thread.
    #[napi(catch_unwind)]
    pub fn abandon(&self) {
        if !self.close_at_once() {
            self.cancellation.cancel();
            let reading = self.reading.clone();
            background::spawn_helper(move || reading.lock().close());
        }
    }

    /// Ends a read in progress, and starts a job that closes the log and removes what was unpacked.
    #[napi(catch_unwind)]
    pub fn close(&self, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        self.cancellation.cancel();
        let reading = self.reading.clone();
        start(on_ready, move || {
            reading.lock().close();
            JobEnd::done(|json| json.syntax("null"))
        })
    }
}

impl Drop for NativeRunTrace {
    /// An iteration was left without an end, or its environment ends.
    fn drop(&mut self) {
        self.abandon();
    }
}

fn start(on_ready: Function<'_, (), ()>, work: impl FnOnce() -> JobEnd + Send + 'static) -> Result<NativeJob> {
    let (sender, job) = new_job(on_ready)?;
    sender.run_in_background(move |_| work());
    Ok(job)
}

impl Reading {
    fn has_unpacked(&self) -> bool {
        matches!(self, Reading::Open { unpacked: Some(unpacked), .. } if unpacked.has_files())
    }

    fn close(&mut self) {
        if let Reading::Open { trace, unpacked: Some(unpacked) } = std::mem::replace(self, Reading::Closed) {
            // Some systems do not remove an open file.
            drop(trace);
            unpacked.remove();
        }
    }

    fn append_page(&mut self, json: &mut JsonText, cancellation: &Cancellation) {
        json.reserve(PAGE_BYTES + PAGE_BYTES / 4);
        json.open();
        json.key("events");
        json.syntax("[");
        let end = self.append_events(json, cancellation);
        json.syntax("]");
        match end {
            Ok(false) => {}
            Ok(true) => json.member("last", &true),
            Err(Failure::Run(error)) => json.member("error", &ErrorJson::from(&error)),
            Err(Failure::Bundle(refusal)) => json.member("error", &ErrorJson::refusal(&refusal, CANT_BE_READ)),
        }
        json.close();
    }

    /// Appends events until the page is full or there are no more. Returns whether there are no more.
    fn append_events(
        &mut self,
        json: &mut JsonText,
        cancellation: &Cancellation,
    ) -> std::result::Result<bool, Failure> {
        if let Reading::Asked(request) = self {
            *self = request.open(cancellation)?;
        }
        let Reading::Open { trace, .. } = self else { return Ok(true) };
        let mut separator = "";
        while json.bytes() < PAGE_BYTES {
            let Some(event) = trace.next().transpose().map_err(Failure::Run)? else { return Ok(true) };
            json.syntax(separator);
            append_event(json, &event);
            separator = ",";
        }
        Ok(false)
    }
}

impl Request {
    fn open(&self, cancellation: &Cancellation) -> std::result::Result<Reading, Failure> {
        let _guard = self.bundles.begin_reading(&[&self.path], cancellation);
        let open = if self.is_verified { OpenedRun::open_verified } else { OpenedRun::open };
        let run = open(&self.path, TrustedKeys::default(), cancellation, &mut |_| ()).map_err(Failure::Bundle)?;
        let trace = run.trace(self.range.clone());
        let trace = trace.map_err(|error| Failure::Run(explain_not_a_run(&run.directory(), error)))?;
        let unpacked = match run {
            OpenedRun::Plain(_) => None,
            OpenedRun::Bundle(opened) => Some(self.bundles.keep(*opened)),
        };
        Ok(Reading::Open { trace: Box::new(trace), unpacked })
    }
}

fn append_event(json: &mut JsonText, event: &EventLine<'_>) {
    json.syntax("{\"eventId\":\"");
    json.syntax(&event.id());
    json.syntax("\",\"logicalTime\":");
    json.number(event.time as f64);
    append_inside(json, "ts", event.ts);
    append_inside(json, "kind", event.kind);
    match event.node {
        Some(node) => append_inside(json, "node", node),
        None => json.syntax(",\"node\":null"),
    }
    match event.parent {
        Some(parent) => append_inside(json, "parent", &event_id(parent)),
        None => json.syntax(",\"parent\":null"),
    }
    json.key("payload");
    json.raw(event.payload.as_bytes());
    for (key, hash) in [("payloadHash", event.payload_hash), ("stateHash", event.state_hash), ("hash", event.hash)] {
        append_inside(json, key, session_tape_core::hash::as_text(hash));
    }
    json.syntax("}");
}

/// Appends a member whose value is a string, given the inside of its JSON text.
fn append_inside(json: &mut JsonText, key: &str, inside: &str) {
    json.key(key);
    json.syntax("\"");
    json.raw(inside.as_bytes());
    json.syntax("\"");
}
