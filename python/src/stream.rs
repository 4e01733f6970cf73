//! The rows of a table as an iterator of batches.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::pyarrow::PyArrowType;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::engine::{Done, Engine, GROUP_BYTES, GROUP_FILES, Job, LargeSession};
use crate::input::Input;
use crate::interrupt::interruptible;
use crate::options::Options;
use crate::python_inputs::PythonInputs;
use crate::schema::Table;
use crate::session_table::SessionTables;

/// Batches of a table. Iterating converts; other Python threads run meanwhile.
///
/// Never locked: what threads make can't be part of what Python threads share.
#[pyclass(module = "session_tape._native")]
pub struct BatchStream(Mutex<Rows>);

impl BatchStream {
    /// The rows of `table` of these recordings.
    pub fn new(table: Table, inputs: PythonInputs, options: Options, on_progress: Option<Py<PyAny>>) -> Self {
        BatchStream(Mutex::new(Rows::new(table, inputs, options, on_progress)))
    }
}

struct Rows {
    table: Table,
    inputs: Option<PythonInputs>,
    /// The recording that comes behind those that were handed over.
    ahead: Option<Input>,
    engine: Engine,
    tables: SessionTables,
    large: Option<LargeSession>,
    ready: VecDeque<RecordBatch>,
    cancelled: Arc<AtomicBool>,
    needs_hash: bool,
    on_progress: Option<Py<PyAny>>,
    files_done: u64,
    bytes_done: u64,
    is_over: bool,
}

impl Rows {
    fn new(table: Table, inputs: PythonInputs, options: Options, on_progress: Option<Py<PyAny>>) -> Self {
        let cancelled = Arc::new(AtomicBool::new(false));
        Rows {
            table,
            inputs: Some(inputs),
            ahead: None,
            engine: Engine::new(&options, &cancelled),
            needs_hash: options.sessions,
            tables: SessionTables::new(options),
            large: None,
            ready: VecDeque::new(),
            cancelled,
            on_progress,
            files_done: 0,
            bytes_done: 0,
            is_over: false,
        }
    }

    fn next_batch(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_over {
                return Ok(None);
            }
            self.fill(py)?;
            let done = interruptible(py, &self.cancelled, None, |_| self.engine.next())?;
            match done {
                Some(done) => self.take(done)?,
                None => self.is_over = self.large.is_none() && self.ahead.is_none() && self.inputs.is_none(),
            }
            py.check_signals()?;
            if let Some(on_progress) = &self.on_progress {
                on_progress.call1(py, (self.files_done, self.bytes_done))?;
            }
        }
    }

    /// Hands over as much as there is room for.
    fn fill(&mut self, py: Python<'_>) -> PyResult<()> {
        while !self.engine.is_full() {
            if let Some(large) = &mut self.large {
                match large.next_job() {
                    Some(job) => self.engine.push(job),
                    // Its last parts must be taken before anything behind it.
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
                if input.is_large() && !self.table.is_of_runs() {
                    if group.is_empty() {
                        let needs_hash = self.needs_hash;
                        let cancelled = self.cancelled.clone();
                        self.large = interruptible(py, &cancelled, None, |_| {
                            LargeSession::open(&input, needs_hash, &cancelled)
                        })?;
                        if self.large.is_none() {
                            group.push(input);
                        }
                    } else {
                        self.ahead = Some(input);
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
                let (batches, converted) = converted.map_err(PyRuntimeError::new_err)?;
                self.files_done += converted.len() as u64;
                self.bytes_done += converted.iter().map(|converted| converted.identity.bytes).sum::<u64>();
                self.ready
                    .extend(batches.into_iter().filter(|(table, _)| *table == self.table).map(|(_, batch)| batch));
            }
            Done::Scanned(scanned) => {
                let Some(large) = &mut self.large else { return Ok(()) };
                let (columns, scanned) = *scanned;
                let batch = large.take(columns, scanned, &mut self.tables).map_err(PyRuntimeError::new_err)?;
                self.ready.extend(batch.filter(|_| self.table == Table::Events));
                self.bytes_done += large.taken_bytes();
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
        let calls = self.tables.take_calls().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        self.ready.extend(Some(calls).filter(|calls| self.table == Table::ToolCalls && calls.num_rows() > 0));
        Ok(())
    }

    fn end_large(&mut self) -> PyResult<()> {
        if let Some(mut large) = self.large.take() {
            while large.drain_calls(&mut self.tables) {
                self.add_calls()?;
            }
            large.finish(&mut self.tables);
            self.files_done += 1;
        }
        let sessions = self.tables.take_sessions().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        self.ready.extend(Some(sessions).filter(|rows| self.table == Table::Sessions && rows.num_rows() > 0));
        Ok(())
    }
}

#[pymethods]
impl BatchStream {
    fn __iter__(stream: Py<Self>) -> Py<Self> {
        stream
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyArrowType<RecordBatch>>> {
        // A panic of a conversion is raised; the rows that it broke off are over.
        let rows = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let next = rows.next_batch(py);
        if next.is_err() {
            rows.is_over = true;
            py.detach(|| rows.engine.stop(&rows.cancelled));
        }
        Ok(next?.map(PyArrowType))
    }
}
