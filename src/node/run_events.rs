//! `readRunEvents`: a log's events, some at a time, as JavaScript asks for them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::bindgen_prelude::{AsyncTask, Result};
use napi::{Env, Task};
use napi_derive::napi;

use super::bundle_json::append_refusal;
use super::bundle_source::{CANT_BE_READ, open_source};
use super::bundles::{NativeBundles, UnderWay, Unpacked};
use super::json::JsonText;
use super::panic::panicked;
use super::run_json::{append_error, append_key};
use super::text::Text;
use crate::bundle::import::ImportError;
use crate::bundle::open::Opened;
use crate::bundle::replay::trace;
use crate::run::absence::explain_not_a_run;
use crate::run::error::{RunError, event_id};
use crate::run::event::EventLine;
use crate::run::kind::Kind;
use crate::run::trace::{Range, Trace};
use crate::signature::TrustedKeys;

/// About how much text V8 parses in one turn of the event loop.
const PART_BYTES: usize = 256 << 10;

/// A log that is being read.
#[napi]
pub struct NativeRunTrace {
    reading: Arc<Mutex<Reading>>,
}

enum Reading {
    /// Nothing was asked for yet.
    Asked(String, Range, Arc<UnderWay>),
    /// The log, and the bundle that it is in.
    Open {
        trace: Box<Trace>,
        _unpacked: Arc<Unpacked>,
    },
    Closed,
}

/// Why there is no next event.
enum Failure {
    Run(RunError),
    Bundle(ImportError),
}

fn lock(reading: &Mutex<Reading>) -> MutexGuard<'_, Reading> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}

#[napi]
impl NativeRunTrace {
    /// The events of the run at `path` from the time `from` on, up to and including `to`. Nothing is opened before the first is asked for.
    #[napi(constructor, catch_unwind)]
    pub fn new(bundles: &NativeBundles, path: String, from: f64, to: f64, kinds: Option<Vec<String>>) -> Self {
        let kinds = kinds.map(|kinds| kinds.iter().filter_map(|kind| Kind::parse(kind)).collect());
        let range = Range { from: from as u64, to: to as u64, kinds, ..Range::default() };
        NativeRunTrace { reading: Arc::new(Mutex::new(Reading::Asked(path, range, bundles.under_way()))) }
    }

    /// The next events: the JSON text `{"events"}`, also with `last` or `error` if none come behind these; or `{"panicked"}`.
    #[napi(catch_unwind, ts_return_type = "Promise<string>")]
    pub fn next(&self) -> AsyncTask<NextEvents> {
        AsyncTask::new(NextEvents(self.reading.clone()))
    }

    /// Closes the log.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        *lock(&self.reading) = Reading::Closed;
    }
}

/// Reads the next events on Node's own thread pool.
pub struct NextEvents(Arc<Mutex<Reading>>);

impl Task for NextEvents {
    type Output = Text;
    type JsValue = Text;

    fn compute(&mut self) -> Result<Text> {
        // A panic on this thread would take the process down.
        Ok(catch_unwind(AssertUnwindSafe(|| lock(&self.0).next())).unwrap_or_else(|panic| panicked(&*panic)))
    }

    fn resolve(&mut self, _: Env, text: Text) -> Result<Text> {
        Ok(text)
    }
}

impl Reading {
    fn next(&mut self) -> Text {
        let mut json = JsonText::with_capacity(PART_BYTES + PART_BYTES / 4);
        json.syntax("{\"events\":[");
        let end = self.append_events(&mut json);
        json.syntax("]");
        match end {
            Ok(false) => {}
            Ok(true) => json.syntax(",\"last\":true"),
            Err(error) => {
                append_key(&mut json, "error");
                match error {
                    Failure::Run(error) => append_error(&mut json, &error),
                    Failure::Bundle(refusal) => append_refusal(&mut json, &refusal, CANT_BE_READ),
                }
            }
        }
        json.syntax("}");
        json.finish()
    }

    /// Appends events, until there are enough or no more; whether there are no more.
    fn append_events(&mut self, json: &mut JsonText) -> std::result::Result<bool, Failure> {
        if let Reading::Asked(path, range, under_way) = self {
            let (trace, unpacked) = open(path, range.clone(), under_way)?;
            *self = Reading::Open { trace: Box::new(trace), _unpacked: unpacked };
        }
        let Reading::Open { trace, .. } = self else { return Ok(true) };
        let mut separator = "";
        while json.bytes() < PART_BYTES {
            let Some(event) = trace.next().transpose().map_err(Failure::Run)? else { return Ok(true) };
            json.syntax(separator);
            append_event(json, &event);
            separator = ",";
        }
        Ok(false)
    }
}

fn open(path: &str, range: Range, under_way: &UnderWay) -> std::result::Result<(Trace, Arc<Unpacked>), Failure> {
    let begun = under_way.begin_reading(&[path]);
    let opened = open_source(path, TrustedKeys::default(), begun.work(), &mut |_| ());
    let opened = opened.and_then(Opened::of_run).map_err(Failure::Bundle)?;
    let trace =
        trace(&opened, range).map_err(|error| Failure::Run(explain_not_a_run(&opened.run_directory(), error)))?;
    Ok((trace, under_way.keep(opened)))
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
    append_key(json, "payload");
    json.raw(event.payload.as_bytes());
    for (key, hash) in [("payloadHash", event.payload_hash), ("stateHash", event.state_hash), ("hash", event.hash)] {
        append_inside(json, key, crate::hash::as_text(hash));
    }
    json.syntax("}");
}

/// Appends a member, behind others, whose value is at hand as the inside of a JSON string.
fn append_inside(json: &mut JsonText, key: &str, inside: &str) {
    append_key(json, key);
    json.syntax("\"");
    json.raw(inside.as_bytes());
    json.syntax("\"");
}
