//! `readRunEvents`: the events of a log in pages, on demand. A job on Node's own thread pool reads each page, so that a paused iteration
//! occupies no thread.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, PoolJob};
use super::json::JsonText;
use super::opened_run::OpenedRun;
use crate::bundle::import::ImportError;
use crate::cancellation::Cancellation;
use crate::run::absence::explain_not_a_run;
use crate::run::error::{RunError, event_id};
use crate::run::event::EventLine;
use crate::run::kind::Kind;
use crate::run::trace::{Range, Trace};
use crate::signature::TrustedKeys;

/// Approximate size, in bytes, of the text that V8 parses in one turn of the event loop.
const PAGE_BYTES: usize = 256 << 10;

/// A log that is being read.
#[napi]
pub struct NativeRunTrace {
    reading: Arc<Mutex<Reading>>,
}

enum Reading {
    /// Nothing has been requested yet.
    Asked(String, Range, Arc<Bundles>),
    /// The log, and the bundle that contains it.
    Open {
        trace: Box<Trace>,
        _unpacked: Option<Arc<Unpacked>>,
    },
    Closed,
}

/// An error that ends the events.
enum Failure {
    Run(RunError),
    Bundle(ImportError),
}

#[napi]
impl NativeRunTrace {
    /// The events of the run at `path` from the logical time `from` up to and including `to`. Nothing is opened before the first page is
    /// requested.
    #[napi(constructor, catch_unwind)]
    pub fn new(bundles: &NativeBundles, path: String, from: f64, to: f64, kinds: Option<Vec<String>>) -> Self {
        let kinds = kinds.map(|kinds| kinds.iter().filter_map(|kind| Kind::parse(kind)).collect());
        let range = Range { from: from as u64, to: to as u64, kinds, ..Range::default() };
        NativeRunTrace { reading: Arc::new(Mutex::new(Reading::Asked(path, range, bundles.shared()))) }
    }

    /// Reads the next events. The result is an object with `events`, and with `last` or `error` if there are no more.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn next(&self) -> AsyncTask<PoolJob> {
        let reading = self.reading.clone();
        PoolJob::start(move || JobEnd::done(|json| reading.lock().append_page(json)))
    }

    /// Closes the log, after waiting for a read in progress.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        *self.reading.lock() = Reading::Closed;
    }
}

impl Reading {
    fn append_page(&mut self, json: &mut JsonText) {
        json.reserve(PAGE_BYTES + PAGE_BYTES / 4);
        json.open();
        json.key("events");
        json.syntax("[");
        let end = self.append_events(json);
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
    fn append_events(&mut self, json: &mut JsonText) -> std::result::Result<bool, Failure> {
        if let Reading::Asked(path, range, bundles) = self {
            let (trace, unpacked) = open(path, range.clone(), bundles)?;
            *self = Reading::Open { trace: Box::new(trace), _unpacked: unpacked };
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

fn open(path: &str, range: Range, bundles: &Bundles) -> std::result::Result<(Trace, Option<Arc<Unpacked>>), Failure> {
    // Not the thread's own cancellation: the thread belongs to Node's pool and also does other work.
    let cancellation = Cancellation::default();
    let _guard = bundles.begin_reading(&[path], &cancellation);
    let run = cancellation.during(|| OpenedRun::open(path, TrustedKeys::default(), &cancellation, &mut |_| ()));
    let run = run.map_err(Failure::Bundle)?;
    let trace = run.trace(range).map_err(|error| Failure::Run(explain_not_a_run(&run.directory(), error)))?;
    let unpacked = match run {
        OpenedRun::Plain(_) => None,
        OpenedRun::Bundle(opened) => Some(bundles.keep(*opened)),
    };
    Ok((trace, unpacked))
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
        append_inside(json, key, crate::hash::as_text(hash));
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
