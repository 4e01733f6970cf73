//! Recordings as Arrow batches: the Python module `session_tape._native`. It writes nothing; Python writes tables and temporary files.
//!
//! - [`python_inputs`] reads the argument `paths`. [`walk`] finds recordings in directories and globs ([`glob_paths`]), each an [`input`] with a
//!   [`source_name`]; recordings that have no path are [`spooled`] ([`spool`]); [`on_disk`] opens runs and bundles.
//! - [`finder`] looks for recordings ([`found`]) and tells when recordings began and whether they have changed ([`peek`], [`identity`]).
//! - [`rows`] reads recordings as rows: the lines of a session, the events of a run.
//! - [`convert`] turns recordings into columns: [`open_session`] opens sessions, also those of other programs, [`session_scan`] parses lines, [`session_table`] puts them in order, and [`tool_calls_table`],
//!   [`sessions_table`] and [`run_tables`] build the other tables. [`engine`] has the threads, except that of a [`large_run`].
//! - [`stream`] yields batches.
//! - [`failure`] turns errors into exceptions.
//! - [`allocator`] sets the global allocator, which returns free memory at once.
//! - [`interrupt`] lets Ctrl-C interrupt long work.
//! - [`verify`] checks rows against the bytes that they came from.

mod allocator;
mod columns;
mod convert;
mod engine;
mod failure;
mod file_facts;
mod finder;
mod found;
mod glob_paths;
mod identity;
mod input;
mod interrupt;
mod large_run;
mod on_disk;
mod open_session;
mod options;
mod peek;
mod python_inputs;
mod rows;
mod run_tables;
mod schema;
mod session_scan;
mod session_table;
mod sessions_table;
mod source_name;
mod spool;
mod spooled;
mod stream;
mod tool_calls_table;
mod values;
mod verify;
mod walk;

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayData, BooleanBuilder, RecordBatchReader};
use arrow::datatypes::Schema;
use arrow::ffi_stream::RecordBatchStreamReader;
use arrow::pyarrow::PyArrowType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use session_tape_core::archived::resolve;
use session_tape_core::{DiffOptions, Recording, diff};

use crate::failure::Failure;
use crate::finder::Finder;
use crate::found::Found;
use crate::input::RUN_LOG;
use crate::interrupt::interruptible;
use crate::on_disk::opened_at;
use crate::options::Options;
use crate::python_inputs::PythonInputs;
use crate::schema::Table;
use crate::source_name::conversation_at;
use crate::stream::BatchStream;
use crate::verify::Verifier;
use crate::walk::{Wanted, is_recording};
use session_tape_core::task::{Cancellation, Task};

fn table_named(name: &str) -> PyResult<Table> {
    let all: Vec<&str> = Table::ALL.iter().map(|table| table.as_str()).collect();
    Table::named(name).ok_or_else(|| {
        PyValueError::new_err(format!("there is no table '{name}': it must be one of {}", all.join(", ")))
    })
}

/// The tables with these names: at least one, and not of sessions and of runs.
fn tables_named(names: &[String]) -> PyResult<Vec<Table>> {
    let tables = names.iter().map(|name| table_named(name)).collect::<PyResult<Vec<_>>>()?;
    if tables.is_empty() {
        return Err(PyValueError::new_err("tables must name at least one table"));
    }
    if tables.iter().any(|table| table.is_of_runs() != tables[0].is_of_runs()) {
        return Err(PyValueError::new_err("tables of sessions and tables of runs must be written by separate calls"));
    }
    Ok(tables)
}

fn options_of(tables: &[Table], text_limit: usize, include_payload: bool, verify: bool) -> Options {
    Options { text_limit, include_payload, verify, ..Options::of(tables) }
}

fn wanted_of(tables: &[Table]) -> Wanted {
    if tables.iter().any(|table| table.is_of_runs()) { Wanted::Runs } else { Wanted::Sessions }
}

/// The names of recordings, in the order in which the tables have them.
#[pyfunction]
fn recordings(py: Python<'_>, paths: &Bound<'_, PyAny>, table: &str) -> PyResult<Vec<String>> {
    let mut inputs = PythonInputs::new(paths, wanted_of(&[table_named(table)?]))?;
    let mut names = Vec::new();
    while let Some(input) = inputs.next(py)? {
        py.check_signals()?;
        names.push(input.name);
    }
    Ok(names)
}

/// The schema of a table.
#[pyfunction]
#[pyo3(name = "schema")]
fn schema_of(table: &str, include_payload: bool) -> PyResult<PyArrowType<Schema>> {
    Ok(PyArrowType(table_named(table)?.schema(include_payload).as_ref().clone()))
}

/// An iterator over the batches of tables, each with the name of its table.
#[pyfunction]
#[pyo3(name = "stream")]
fn stream_of(
    paths: &Bound<'_, PyAny>,
    tables: Vec<String>,
    text_limit: usize,
    include_payload: bool,
    verify: bool,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<BatchStream> {
    let tables = tables_named(&tables)?;
    let inputs = PythonInputs::new(paths, wanted_of(&tables))?;
    Ok(BatchStream::new(inputs, options_of(&tables, text_limit, include_payload, verify), on_progress))
}

/// An iterator over the recordings in `paths`, with what decides whether and where they are written.
#[pyfunction]
fn find(paths: &Bound<'_, PyAny>, tables: Vec<String>, verify: bool) -> PyResult<Finder> {
    let tables = tables_named(&tables)?;
    let inputs = PythonInputs::new(paths, wanted_of(&tables))?;
    Ok(Finder::new(inputs, Options { verify, ..Options::of(&tables) }))
}

/// Returns for each row whether its bytes have its hash.
#[pyfunction]
fn verify_rows(py: Python<'_>, table: PyArrowType<RecordBatchStreamReader>) -> PyResult<PyArrowType<ArrayData>> {
    let reader = table.0;
    for column in verify::COLUMNS {
        if reader.schema().column_with_name(column).is_none() {
            return Err(PyValueError::new_err(format!("table has no column '{column}'")));
        }
    }
    let cancelled = Cancellation::default();
    let verified = interruptible(py, &cancelled, None, || {
        let (mut verifier, mut verified) = (Verifier::new(cancelled.clone()), BooleanBuilder::new());
        for batch in reader {
            verifier.verify(&batch.map_err(|error| error.to_string())?, &mut verified)?;
        }
        Ok::<_, String>(verified.finish())
    })?;
    Ok(PyArrowType(verified.map_err(PyValueError::new_err)?.to_data()))
}

/// Where two recordings diverge; `None` if they do not.
#[pyfunction]
fn first_divergence<'py>(py: Python<'py>, left: PathBuf, right: PathBuf) -> PyResult<Option<Bound<'py, PyDict>>> {
    py.detach(|| must_be_recording("left", &left).and_then(|()| must_be_recording("right", &right)))?;
    let cancelled = Cancellation::default();
    let found = interruptible(py, &cancelled, None, || {
        let open = |path: &PathBuf| Recording::open(&opened_at(path), &cancelled).map_err(|error| error.to_string());
        let (left, right) = (open(&left)?, open(&right)?);
        let mut watch = Task { cancellation: &cancelled, progress: &mut |_| {} };
        let found = diff(left.source(), right.source(), &DiffOptions::default(), &mut watch);
        found.map_err(|error| error.to_string())
    })?;
    let Some(found) = found.map_err(PyValueError::new_err)? else { return Ok(None) };
    let answer = PyDict::new(py);
    answer.set_item("divergence_event", found.divergence_event)?;
    answer.set_item("kind", found.kind.as_str())?;
    answer.set_item("left", found.left.map(|side| side.event_id))?;
    answer.set_item("right", found.right.map(|side| side.event_id))?;
    Ok(Some(answer))
}

/// Checks that an argument leads to a file that can be read, or to a run or bundle.
fn must_be_recording(name: &str, path: &Path) -> PyResult<()> {
    let failed = |error: std::io::Error| Failure::at(path, &error);
    let at = |path: &Path| {
        let path = resolve(path).into_owned();
        path.metadata().map(|found| (path, found))
    };
    let (path, found) =
        at(path).or_else(|error| conversation_at(path).map_or(Err(error), |(file, _)| at(&file))).map_err(failed)?;
    let path = &*path;
    if found.is_dir() && !is_recording(path) {
        path.read_dir().map_err(failed)?;
        let path = path.display();
        return Err(PyValueError::new_err(format!(
            "{name} must be a session, a run or a bundle, and the directory '{path}' is neither a run nor a bundle: it has no {RUN_LOG} and no \
             manifest of a bundle"
        )));
    }
    let file = if found.is_dir() { path.join(RUN_LOG) } else { path.to_owned() };
    // Opening a pipe would wait for its writer.
    if file.is_file() {
        File::open(&file).map_err(|error| Failure::at(&file, &error))?;
    }
    Ok(())
}

/// The compiled part of `session_tape`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    allocator::prepare();
    module.add_class::<BatchStream>()?;
    module.add_class::<Finder>()?;
    module.add_class::<Found>()?;
    module.add_function(wrap_pyfunction!(schema_of, module)?)?;
    module.add_function(wrap_pyfunction!(recordings, module)?)?;
    module.add_function(wrap_pyfunction!(stream_of, module)?)?;
    module.add_function(wrap_pyfunction!(find, module)?)?;
    module.add_function(wrap_pyfunction!(spool::is_archive, module)?)?;
    module.add_function(wrap_pyfunction!(verify_rows, module)?)?;
    module.add_function(wrap_pyfunction!(first_divergence, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
