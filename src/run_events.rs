//! `readRunEvents`: the events of a log in [pages](super::pages).

use std::sync::Arc;

use napi_derive::napi;

use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::JobEnd;
use super::json::JsonText;
use super::opened_run::OpenedRun;
use super::pages::{NativePages, Paged, TEXT_PAGE_BYTES, text_page};
use session_tape_core::bundle::ImportError;
use session_tape_core::run::read::{Range, Trace};
use session_tape_core::run::{EventLine, Kind, RunError, event_id};
use session_tape_core::signature::TrustedKeys;
use session_tape_core::task::Cancellation;

/// What is to be read.
pub struct Request {
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

/// The events of the run at `path` from the logical time `from` up to and including `to`. Nothing is opened before the first page is requested.
/// `is_verified` says that `path` is the directory of a bundle that has already been verified. A page is an object with `events`, and with `last` or
/// `error` if there are no more.
#[napi(catch_unwind)]
pub fn read_run_events(
    bundles: &NativeBundles,
    path: String,
    is_verified: bool,
    from: f64,
    to: f64,
    kinds: Option<Vec<String>>,
) -> NativePages {
    let kinds = kinds.map(|kinds| kinds.iter().filter_map(|kind| Kind::parse(kind)).collect());
    let range = Range { from: from as u64, to: to as u64, kinds, ..Range::default() };
    NativePages::new::<Trace>(Request { path, range, bundles: bundles.shared(), is_verified })
}

impl Paged for Trace {
    type Request = Request;

    fn open(
        request: Request,
        cancellation: &Cancellation,
    ) -> std::result::Result<(Self, Option<Arc<Unpacked>>), Box<JobEnd>> {
        request.open(cancellation).map_err(|failure| Box::new(text_page("events", |_| Err(failure), Failure::shown)))
    }

    fn next_page(&mut self) -> JobEnd {
        text_page("events", |json| append_events(json, self), Failure::shown)
    }

    fn no_page() -> JobEnd {
        text_page("events", |_| Ok(true), Failure::shown)
    }
}

impl Failure {
    fn shown(&self) -> ErrorJson<'_> {
        match self {
            Failure::Run(error) => error.into(),
            Failure::Bundle(refusal) => ErrorJson::refusal(refusal, CANT_BE_READ),
        }
    }
}

/// Appends events until the page is full or there are no more. Returns whether there are no more.
fn append_events(json: &mut JsonText, trace: &mut Trace) -> std::result::Result<bool, Failure> {
    while json.bytes() < TEXT_PAGE_BYTES {
        let Some(event) = trace.next().transpose().map_err(Failure::Run)? else { return Ok(true) };
        json.object(|json| append_event(json, &event));
    }
    Ok(false)
}

impl Request {
    fn open(self, cancellation: &Cancellation) -> std::result::Result<(Trace, Option<Arc<Unpacked>>), Failure> {
        let _guard = self.bundles.begin_reading(&[&self.path], cancellation);
        let open = if self.is_verified { OpenedRun::open_verified } else { OpenedRun::open };
        let run = open(&self.path, TrustedKeys::default(), cancellation, &mut |_| ()).map_err(Failure::Bundle)?;
        let trace = run.trace(self.range.clone());
        let trace = trace.map_err(|error| Failure::Run(run.directory().explain_absence(error)))?;
        let unpacked = match run {
            OpenedRun::Plain(_) => None,
            OpenedRun::Bundle(opened) => Some(self.bundles.keep(*opened)),
        };
        Ok((trace, unpacked))
    }
}

fn append_event(json: &mut JsonText, event: &EventLine<'_>) {
    json.key("eventId").text(event.id().as_bytes());
    json.member("logicalTime", &event.time);
    json.key("ts").text(event.ts.as_bytes());
    json.key("kind").text(event.kind.as_bytes());
    match event.node {
        Some(node) => json.key("node").text(node.as_bytes()),
        None => json.key("node").raw(b"null"),
    }
    json.member("parent", &event.parent.map(event_id));
    json.key("payload").raw(event.payload.as_bytes());
    for (key, hash) in [("payloadHash", event.payload_hash), ("stateHash", event.state_hash), ("hash", event.hash)] {
        json.key(key).text(hash);
    }
}
