//! The rows of tables, as an iterator of batches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::pyarrow::PyArrowType;
use pyo3::prelude::*;

use crate::convert::Converted;
use crate::engine::{Done, Engine, GROUP_BYTES, GROUP_FILES, Job, LargeSession};
use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::{Progress, Reporter, interruptible};
use crate::large_run::{LargeRun, RunStep};
use crate::options::Options;
use crate::python_inputs::PythonInputs;
use crate::schema::Table;
use crate::session_table::SessionTables;
use session_tape_core::Cancellation;

/// An iterator over the batches of tables, each with the name of its table. Each recording is read once for all of them. Iterating converts recordings,
/// while other Python threads can run.
///
/// The mutex is never locked: it makes the rows `Sync`, which a Python class must be.
#[pyclass(module = "session_tape._native")]
pub struct BatchStream(Mutex<Rows>);

impl BatchStream {
    /// The rows of these recordings in the tables that `options` selects.
    pub fn new(inputs: PythonInputs, options: Options, on_progress: Option<Py<PyAny>>) -> Self {
        BatchStream(Mutex::new(Rows::new(inputs, options, on_progress)))
    }
}

struct Rows {
    inputs: Option<PythonInputs>,
    /// The recording that follows those that were handed over.
    ahead: Option<Input>,
    engine: Engine,
    tables: SessionTables,
    large: Option<LargeSession>,
    /// A large run, whose rows follow those of the engine.
    run: Option<LargeRun>,
    ready: VecDeque<(Table, RecordBatch)>,
    /// Why recordings are no sessions or runs, or could not be read, by their names.
    errors: BTreeMap<String, String>,
    cancelled: Cancellation,
    options: Options,
    progress: Arc<Progress>,
    reporter: Reporter,
    is_over: bool,
}

impl Rows {
    fn new(inputs: PythonInputs, options: Options, on_progress: Option<Py<PyAny>>) -> Self {
        let (cancelled, progress) = (Cancellation::default(), Arc::new(Progress::default()));
        Rows {
            inputs: Some(inputs),
            ahead: None,
            engine: Engine::new(&options, &cancelled, &progress),
            tables: SessionTables::new(options.clone()),
            options,
            large: None,
            run: None,
            ready: VecDeque::new(),
            errors: BTreeMap::new(),
            cancelled,
            reporter: Reporter::new(on_progress, &progress),
            progress,
            is_over: false,
        }
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<(Table, RecordBatch)>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_over {
                return Ok(None);
            }
            self.fill(py)?;
            let done = interruptible(py, &self.cancelled, Some(&mut self.reporter), || self.engine.next())?;
            match done {
                Some(done) => self.take(done)?,
                None if self.run.is_some() => self.take_of_run(py)?,
                None => self.is_over = self.large.is_none() && self.ahead.is_none() && self.inputs.is_none(),
            }
            py.check_signals()?;
            self.reporter.report(py)?;
        }
    }

    fn take_of_run(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(run) = &mut self.run else { return Ok(()) };
        match interruptible(py, &self.cancelled, Some(&mut self.reporter), || run.next())? {
            RunStep::Batch(table, batch) => self.ready.push_back((table, batch)),
            RunStep::End(converted) => {
                self.run = None;
                self.note(converted?);
            }
        }
        Ok(())
    }

    /// Notes that a recording was converted.
    fn note(&mut self, converted: Converted) {
        self.errors.extend(converted.error.map(|error| (converted.name, error)));
        self.progress.add_files(1);
    }

    /// Hands over as many jobs as there is room for.
    fn fill(&mut self, py: Python<'_>) -> PyResult<()> {
        while !self.engine.is_full() && self.run.is_none() {
            if let Some(large) = &mut self.large {
                match large.next_job() {
                    Some(job) => self.engine.push(job),
                    // Its last parts must be taken before anything that follows it.
                    None => return Ok(()),
                }
                continue;
            }
            let mut group = Vec::new();
            let mut bytes = 0;
            while group.len() < GROUP_FILES
                && bytes < GROUP_BYTES
                && let Some(input) = self.next_input(py)?
            {
                let size = input.size();
                if input.is_large() {
                    if !group.is_empty() {
                        self.ahead = Some(input);
                    } else if self.options.is_of_runs() {
                        self.run = Some(
                            LargeRun::start(input, &self.options, &self.cancelled, &self.progress)
                                .map_err(Failure::from)?,
                        );
                    } else {
                        self.open_large(py, &input)?;
                        group.extend(self.large.is_none().then_some(input));
                    }
                    break;
                }
                bytes += size;
                group.push(input);
            }
            match (group.is_empty(), &self.large) {
                (false, _) => self.engine.push(Job::Convert(group)),
                (true, Some(_)) => {}
                (true, None) => return Ok(()),
            }
        }
        Ok(())
    }

    fn open_large(&mut self, py: Python<'_>, input: &Input) -> PyResult<()> {
        let (cancelled, progress, options) = (&self.cancelled, &self.progress, &self.options);
        let hash = options.sessions.then(|| options.file_hash());
        let open = || LargeSession::open(input, hash, cancelled, progress);
        self.large = interruptible(py, cancelled, Some(&mut self.reporter), open)?;
        Ok(())
    }

    /// Cancels the work under way.
    fn stop(&mut self) {
        self.is_over = true;
        self.engine.stop(&self.cancelled);
        self.run = None;
    }

    fn next_input(&mut self, py: Python<'_>) -> PyResult<Option<Input>> {
        if let Some(input) = self.ahead.take() {
            return Ok(Some(input));
        }
        let Some(inputs) = &mut self.inputs else { return Ok(None) };
        let input = inputs.next(py)?;
        if input.is_none() {
            self.inputs = None;
        }
        Ok(input)
    }

    fn take(&mut self, done: Done) -> PyResult<()> {
        match done {
            Done::Converted(converted) => {
                let (batches, converted) = converted?;
                converted.into_iter().for_each(|converted| self.note(converted));
                self.ready.extend(batches);
            }
            Done::Scanned(scanned) => {
                let Some(large) = &mut self.large else { return Ok(()) };
                let (columns, scanned) = *scanned;
                let batch = large.take(columns, scanned, &mut self.tables)?;
                self.ready.extend(batch.map(|batch| (Table::Events, batch)));
                if large.next_is_none() && !large.is_under_way() {
                    self.end_large()?;
                }
                self.add_calls()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_calls(&mut self) -> PyResult<()> {
        let calls = self.tables.take_calls().map_err(Failure::from)?;
        self.add(Table::ToolCalls, calls);
        Ok(())
    }

    fn end_large(&mut self) -> PyResult<()> {
        if let Some(mut large) = self.large.take() {
            while large.drain_calls(&mut self.tables) {
                self.add_calls()?;
            }
            let converted = large.finish(&mut self.tables);
            self.note(converted);
        }
        let sessions = self.tables.take_sessions().map_err(Failure::from)?;
        self.add(Table::Sessions, sessions);
        Ok(())
    }

    fn add(&mut self, table: Table, batch: RecordBatch) {
        self.ready.extend((batch.num_rows() > 0).then_some((table, batch)));
    }
}

#[pymethods]
impl BatchStream {
    fn __iter__(stream: Py<Self>) -> Py<Self> {
        stream
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<(&'static str, PyArrowType<RecordBatch>)>> {
        // A panic of a conversion is raised as an exception. The mutex is not poisoned then, since it is never locked.
        let rows = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let next = rows.next_batch(py);
        if next.is_err() {
            py.detach(|| rows.stop());
        }
        Ok(next?.map(|(table, batch)| (table.as_str(), PyArrowType(batch))))
    }

    /// Why recordings are no sessions or runs, or could not be read, by their names: of those that were converted so far.
    fn errors(&mut self) -> BTreeMap<String, String> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).errors.clone()
    }
}
