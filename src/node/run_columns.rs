//! The events of a run in columns, for the pages of the command line.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Function, Result};
use napi_derive::napi;
use parking_lot::Mutex;

use super::bundles::NativeBundles;
use super::error_json::{CANT_BE_READ, ErrorJson};
use super::job::{JobEnd, NativeJob};
use super::json::JsonText;
use super::opened_run::OpenedRun;
use super::reading::start_reading;
use super::text::OutputText;
use crate::run::absence::explain_not_a_run;
use crate::run::columns::{Column, EventColumns, Names};
use crate::run::error::RunError;
use crate::run::text::Text;
use crate::run::trace::Range;
use crate::signature::TrustedKeys;

/// Approximate size, in bytes, of the text that is handed over at a time.
const PAYLOADS_BYTES: usize = 1 << 20;

/// The columns of a run, which may still grow.
#[napi]
pub struct NativeRunColumns {
    columns: Arc<Mutex<EventColumns>>,
    path: String,
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
    /// Columns of the run at `path`, without events. `nodes` are those of the graph, in its order.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, nodes: Vec<String>) -> Self {
        let columns = EventColumns::new(nodes.iter().map(|node| Text::from_plain(node)));
        NativeRunColumns { columns: Arc::new(Mutex::new(columns)), path }
    }

    /// Reads the events that have not been read yet. The result is null, or the error of the first line that is not an event.
    #[napi(catch_unwind)]
    pub fn read(&self, bundles: &NativeBundles, on_ready: Function<'_, (), ()>) -> Result<NativeJob> {
        let columns = self.columns.clone();
        start_reading(bundles, on_ready, vec![self.path.clone()], false, move |paths, reporter| {
            let cancellation = reporter.cancellation();
            match OpenedRun::open(&paths[0], TrustedKeys::default(), cancellation, &mut |_| ()) {
                Ok(run) => match add_events(&run, &columns) {
                    Ok(()) => JobEnd::done(|json| json.syntax("null")),
                    Err(error) if cancellation.is_cancelled() => JobEnd::failed(&ErrorJson::from(&error)),
                    Err(error) => JobEnd::done(|json| json.value(&ErrorJson::from(&error))),
                },
                Err(refusal) => JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ)),
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
        start_reading(bundles, on_ready, vec![self.path.clone()], false, move |paths, reporter| {
            let run = match OpenedRun::open(&paths[0], TrustedKeys::default(), reporter.cancellation(), &mut |_| ()) {
                Ok(run) => run,
                Err(refusal) => return JobEnd::failed(&ErrorJson::refusal(&refusal, CANT_BE_READ)),
            };
            match payloads(&run, Range { from: from as u64, to: to as u64, ..Range::default() }) {
                Ok((count, text)) => JobEnd::done(|json| {
                    json.open();
                    json.member("count", &count);
                    json.member("text", &text);
                    json.close();
                }),
                Err(error) => JobEnd::failed(&ErrorJson::from(&error)),
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

fn add_events(run: &OpenedRun, columns: &Mutex<EventColumns>) -> std::result::Result<(), RunError> {
    let mut columns = columns.lock();
    let range = Range { from: columns.next(), ..Range::default() };
    let trace = run.trace(range).map_err(|error| explain_not_a_run(&run.directory(), error))?;
    columns.read(trace)
}

/// The number of events, and their payloads, one on each line, up to about [`PAYLOADS_BYTES`].
fn payloads(run: &OpenedRun, range: Range) -> std::result::Result<(u32, String), RunError> {
    let mut trace = run.trace(range)?;
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
