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

/// About how much text is handed over at a time.
const PAYLOADS_BYTES: usize = 1 << 20;

/// The columns of a run that may grow.
#[napi]
pub struct NativeRunColumns {
    columns: Arc<Mutex<EventColumns>>,
    path: String,
}

/// Numbers of a column.
#[napi(object, object_from_js = false)]
pub struct NativeColumn {
    pub name: &'static str,
    /// How many a number has.
    pub bytes: u32,
    pub numbers: Buffer,
}

#[napi]
impl NativeRunColumns {
    /// Columns of the run at `path`, without events. `nodes` are those of the graph, in their order.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, nodes: Vec<String>) -> Self {
        let columns = EventColumns::new(nodes.iter().map(|node| Text::from_plain(node)));
        NativeRunColumns { columns: Arc::new(Mutex::new(columns)), path }
    }

    /// Reads the events that were not read yet. The result is null, or the error of the first line that is no event.
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

    /// Reads payloads of the events from the logical time `from` up to `to`: `{ count, text }`, each payload a line of the text as it stands in the
    /// log. `count` is 0 at the end.
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

    /// Gives numbers to workers and statuses that no event has: those of a state that the log begins with.
    #[napi(catch_unwind)]
    pub fn add_names(&self, workers: Vec<String>, statuses: Vec<String>) {
        let mut columns = self.columns.lock();
        workers.iter().for_each(|worker| columns.workers.add(&Text::from_plain(worker)));
        statuses.iter().for_each(|status| columns.statuses.add(&Text::from_plain(status)));
    }

    /// How many events there are.
    #[napi(getter, catch_unwind)]
    pub fn length(&self) -> u32 {
        self.columns.lock().len() as u32
    }

    /// The first of the latest events whose payloads, none longer than `longest` bytes, fit in `room` bytes.
    #[napi(catch_unwind)]
    pub fn latest_with_payloads(&self, room: u32, longest: u32) -> u32 {
        self.columns.lock().latest_with_payloads(room as usize, longest as usize) as u32
    }

    /// All columns from an event on.
    #[napi(catch_unwind)]
    pub fn encode(&self, from: u32) -> Vec<NativeColumn> {
        let columns = self.columns.lock();
        let encoded = Column::ALL.map(|(column, name)| {
            let (bytes, numbers) = columns.encode(column, from as usize);
            NativeColumn { name, bytes: bytes as u32, numbers: numbers.into() }
        });
        encoded.into()
    }

    /// What the numbers refer to, as JSON: lists of names, the first event's logical time and its wall clock in milliseconds.
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

/// The payloads of events, each on its line, until there are enough.
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
