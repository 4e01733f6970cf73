//! The events of a run in columns, for the pages of the command line.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Function, Result};
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::{Bundles, NativeBundles, Unpacked};
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob};
use super::json::JsonText;
use super::opened_run::OpenedRun;
use super::reading::start_reading;
use super::text::OutputText;
use session_tape_core::bundle::{BundleError, ImportError, trace_opened};
use session_tape_core::cancellation::Cancellation;
use session_tape_core::json::Text;
use session_tape_core::run::{Column, EventColumns, Names, Range, RunError, Trace, explain_not_a_run};
use session_tape_core::signature::TrustedKeys;

/// Approximate size, in bytes, of the text that is handed over at a time.
const PAYLOADS_BYTES: usize = 1 << 20;

/// The columns of a run, which may still grow.
#[napi]
pub struct NativeRunColumns {
    columns: Arc<Mutex<EventColumns>>,
    log: Arc<Log>,
}

/// Where the events are.
struct Log {
    path: String,
    /// Whether the path is the directory of a bundle that has been verified and not changed since.
    is_verified: bool,
    /// The bundle, once it is open: it is verified only once.
    bundle: Mutex<Option<Arc<Unpacked>>>,
}

/// The numbers of a column.
#[napi(object, object_from_js = false)]
pub struct NativeColumn {
    pub name: &'static str,
    /// Size of a number in bytes.
    pub bytes: u32,
    pub numbers: Buffer,
}

#[napi]
impl NativeRunColumns {
    /// Columns of the run at `path`, without events. `is_verified` says that it is the directory of a bundle that has already been verified;
    /// `nodes` are those of the graph, in its order.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, is_verified: bool, nodes: Vec<String>) -> Self {
        let columns = EventColumns::new(nodes.iter().map(|node| Text::from_plain(node)));
        let log = Log { path, is_verified, bundle: Mutex::default() };
        NativeRunColumns { columns: Arc::new(Mutex::new(columns)), log: Arc::new(log) }
    }

    /// Reads the events that have not been read yet. The result is null, or the error of the first line that is not an event.
    #[napi(catch_unwind)]
    pub fn read(&self, bundles: &NativeBundles, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        let columns = self.columns.clone();
        self.start_reading(bundles, on_ready, move |log, bundles, cancellation| {
            let mut columns = columns.lock();
            let range = Range { from: columns.next(), ..Range::default() };
            match log.trace(range, bundles, cancellation)?.and_then(|trace| columns.read(trace)) {
                Ok(()) => Ok(JobEnd::done(|json| json.syntax("null"))),
                Err(error) if cancellation.is_cancelled() => Ok(JobEnd::failed(&ErrorJson::from(&error))),
                Err(error) => Ok(JobEnd::done(|json| json.value(&ErrorJson::from(&error)))),
            }
        })
    }

    /// Reads the payloads of events from the logical time `from` on, up to `to`. The result is `{ count, text }`: each payload is a line of the
    /// text, as it is in the log. `count` is 0 at the end.
    #[napi(catch_unwind)]
    pub fn read_payloads(
        &self,
        bundles: &NativeBundles,
        from: f64,
        to: f64,
        on_ready: Function<'_, (), ()>,
    ) -> Result<NativeJob> {
        let range = Range { from: from as u64, to: to as u64, ..Range::default() };
        self.start_reading(bundles, on_ready, move |log, bundles, cancellation| {
            match log.trace(range, bundles, cancellation)?.and_then(payloads) {
                Ok((count, text)) => Ok(JobEnd::done(|json| {
                    json.open();
                    json.member("count", &count);
                    json.member("text", &text);
                    json.close();
                })),
                Err(error) => Ok(JobEnd::failed(&ErrorJson::from(&error))),
            }
        })
    }

    /// Adds the names of workers and statuses that occur in no event but in the state with which the log begins.
    #[napi(catch_unwind)]
    pub fn add_names(&self, workers: Vec<String>, statuses: Vec<String>) {
        let mut columns = self.columns.lock();
        workers.iter().for_each(|worker| columns.workers.add(&Text::from_plain(worker)));
        statuses.iter().for_each(|status| columns.statuses.add(&Text::from_plain(status)));
    }

    /// Number of events.
    #[napi(getter, catch_unwind)]
    pub fn length(&self) -> u32 {
        self.columns.lock().len() as u32
    }

    /// Index of the first of the latest events whose payloads, at most `longest` bytes of each, fit in `room` bytes.
    #[napi(catch_unwind)]
    pub fn latest_with_payloads(&self, room: u32, longest: u32) -> u32 {
        self.columns.lock().latest_with_payloads(room as usize, longest as usize) as u32
    }

    /// All columns, from the event at index `from` on.
    #[napi(catch_unwind)]
    pub fn encode(&self, from: u32) -> Vec<NativeColumn> {
        let columns = self.columns.lock();
        let encoded = Column::ALL.map(|(column, name)| {
            let (bytes, numbers) = columns.encode(column, from as usize);
            NativeColumn { name, bytes: bytes as u32, numbers: numbers.into() }
        });
        encoded.into()
    }

    /// The meaning of the numbers, as JSON: lists of names, the logical time of the first event, and its wall-clock time in milliseconds.
    #[napi(catch_unwind)]
    pub fn names(&self) -> OutputText {
        let columns = self.columns.lock();
        let mut json = JsonText::default();
        json.open();
        let EventColumns { nodes, workers, labels, statuses, started_workers, .. } = &*columns;
        for (key, names) in [("nodes", nodes), ("workers", workers), ("labels", labels), ("statuses", statuses)] {
            json.key(key);
            append_names(&mut json, names);
        }
        json.member("startedWorkers", started_workers);
        json.member("first", &columns.first());
        json.member("start", &columns.start());
        json.close();
        json.finish()
    }
}

impl NativeRunColumns {
    fn start_reading(
        &self,
        bundles: &NativeBundles,
        on_ready: Function<'_, (), ()>,
        work: impl FnOnce(&Log, &Bundles, &Cancellation) -> std::result::Result<JobEnd, ImportError> + Send + 'static,
    ) -> Result<NativeJob> {
        let (log, shared) = (self.log.clone(), bundles.shared());
        start_reading(bundles, on_ready, vec![self.log.path.clone()], false, move |_, reporter| {
            work(&log, &shared, reporter.cancellation())
                .unwrap_or_else(|refusal| JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ)))
        })
    }
}

impl Log {
    /// The events of a range. The outer error is that of a bundle that can't be opened.
    fn trace(
        &self,
        range: Range,
        bundles: &Bundles,
        cancellation: &Cancellation,
    ) -> std::result::Result<std::result::Result<Trace, RunError>, ImportError> {
        let mut bundle = self.bundle.lock();
        if bundle.is_none() {
            let open = if self.is_verified { OpenedRun::open_verified } else { OpenedRun::open };
            match open(&self.path, TrustedKeys::default(), cancellation, &mut |_| ())? {
                // It may be sealed later.
                plain @ OpenedRun::Plain(_) => {
                    return Ok(plain.trace(range).map_err(|error| explain_not_a_run(&plain.directory(), error)));
                }
                OpenedRun::Bundle(opened) => *bundle = Some(bundles.keep(*opened)),
            }
        }
        let trace = bundle.as_ref().and_then(|bundle| bundle.read(|opened| trace_opened(opened, range)));
        trace.ok_or_else(|| BundleError::cancelled().into())
    }
}

/// The number of events, and their payloads, one on each line, up to about [`PAYLOADS_BYTES`].
fn payloads(mut trace: Trace) -> std::result::Result<(u32, String), RunError> {
    let (mut count, mut text) = (0, String::new());
    while text.len() < PAYLOADS_BYTES {
        let Some(event) = trace.next().transpose()? else { break };
        text.push_str(event.payload);
        text.push('\n');
        count += 1;
    }
    Ok((count, text))
}

fn append_names(json: &mut JsonText, names: &Names) {
    json.array(names.list(), |json, name| {
        json.syntax("\"");
        json.raw(name.as_bytes());
        json.syntax("\"");
    });
}
