//! Finds recordings that are to be written to tables, with what decides about them: when they began, and whether they have changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, BooleanArray, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Date32Type;
use arrow::error::ArrowError;
use arrow::pyarrow::PyArrowType;
use pyo3::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::convert::CANCELLED;
use crate::engine::{Done, Engine, Job};
use crate::failure::Failure;
use crate::found::Found;
use crate::input::Input;
use crate::interrupt::{Progress, interruptible};
use crate::options::Options;
use crate::peek::Peeked;
use crate::python_inputs::PythonInputs;
use crate::values::count;
use session_tape_core::Cancellation;

/// Maximum number of recordings that are found together. A recording takes some 600 bytes.
const FOUND_FILES: usize = 1 << 15;

/// Number of bytes in memory and in temporary files at which the recordings so far are handed out.
const KEPT_BYTES: u64 = 64 << 20;

/// Number of recordings that one job peeks at.
const PEEKED_TOGETHER: usize = 64;

/// An iterator over the recordings in `paths`, many at a time: a batch with a row for each, and the recordings themselves.
///
/// The mutex is never locked: it makes the search `Sync`, which a Python class must be.
#[pyclass(module = "session_tape._native")]
pub struct Finder(Mutex<Search>);

impl Finder {
    /// Looks for recordings for the tables that `options` selects.
    pub fn new(inputs: PythonInputs, options: Options) -> Self {
        let cancelled = Cancellation::default();
        Finder(Mutex::new(Search { inputs, options, seen: HashMap::new(), cancelled }))
    }
}

struct Search {
    inputs: PythonInputs,
    options: Options,
    /// The hash of the content of each recording and whether it is at a path, by the hash of its name.
    seen: HashMap<[u8; 16], ([u8; 16], bool)>,
    cancelled: Cancellation,
}

impl Search {
    /// The next recordings; none at the end.
    fn next(&mut self, py: Python<'_>) -> PyResult<Vec<Peeked>> {
        loop {
            let (mut inputs, mut bytes) = (Vec::new(), 0);
            while inputs.len() < FOUND_FILES && bytes < KEPT_BYTES {
                py.check_signals()?;
                let Some(input) = self.inputs.next(py)? else { break };
                bytes += input.kept_bytes();
                inputs.push(input);
            }
            if inputs.is_empty() {
                return Ok(Vec::new());
            }
            let (options, cancelled) = (&self.options, &self.cancelled);
            let peeked = interruptible(py, cancelled, None, || peek(inputs, options, cancelled))??;
            let new = self.without_duplicates(peeked)?;
            if !new.is_empty() {
                return Ok(new);
            }
        }
    }

    /// Leaves out a recording that has the name and the content of an earlier one. Two different recordings must not have the same name: the rows of one
    /// of them would replace those of the other.
    fn without_duplicates(&mut self, peeked: Vec<Peeked>) -> Result<Vec<Peeked>, Failure> {
        let mut new = Vec::with_capacity(peeked.len());
        for recording in peeked {
            let Peeked { input, identity, .. } = &recording;
            let content = (short_hash(&format!("{} {}", identity.bytes, identity.fingerprint())), input.has_path());
            match self.seen.insert(short_hash(&input.name), content) {
                None => new.push(recording),
                // A directory that can't be listed may be found in several ways.
                Some(first) if first.0 == content.0 || (first.1 && content.1) => {}
                Some(_) => {
                    return Err(Failure::Argument(format!(
                        "paths has two different recordings with the name '{}'",
                        input.name
                    )));
                }
            }
        }
        Ok(new)
    }
}

#[pymethods]
impl Finder {
    fn __iter__(finder: Py<Self>) -> Py<Self> {
        finder
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<(PyArrowType<RecordBatch>, Found)>> {
        let search = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let peeked = search.next(py)?;
        if peeked.is_empty() {
            return Ok(None);
        }
        let batch = batch_of(&peeked).map_err(Failure::from)?;
        let found = Found::new(peeked.into_iter().map(|recording| recording.input).collect());
        Ok(Some((PyArrowType(batch), found)))
    }
}

/// Peeks at recordings, on all cores.
fn peek(inputs: Vec<Input>, options: &Options, cancelled: &Cancellation) -> Result<Vec<Peeked>, Failure> {
    let mut engine = Engine::new(options, cancelled, &Arc::new(Progress::default()));
    let (mut peeked, mut inputs) = (Vec::with_capacity(inputs.len()), inputs.into_iter().peekable());
    loop {
        while !engine.is_full() && inputs.peek().is_some() {
            engine.push(Job::Peek(inputs.by_ref().take(PEEKED_TOGETHER).collect()));
        }
        match engine.next() {
            Some(Done::Peeked(more)) => peeked.extend(more),
            Some(_) => {}
            None => return Ok(peeked),
        }
        if cancelled.is_cancelled() {
            engine.stop(cancelled);
            return Err(CANCELLED.into());
        }
    }
}

fn batch_of(peeked: &[Peeked]) -> Result<RecordBatch, ArrowError> {
    let days = peeked.iter().map(|recording| recording.date.map(Date32Type::from_naive_date));
    let columns: [(&str, ArrayRef); 5] = [
        ("source", Arc::new(StringArray::from_iter_values(peeked.iter().map(|recording| &recording.input.name)))),
        (
            "bytes",
            Arc::new(Int64Array::from_iter_values(peeked.iter().map(|recording| count(recording.identity.bytes)))),
        ),
        (
            "fingerprint",
            Arc::new(StringArray::from_iter_values(peeked.iter().map(|recording| recording.identity.fingerprint()))),
        ),
        ("date", Arc::new(days.collect::<Date32Array>())),
        (
            "is_unreadable",
            Arc::new(peeked.iter().map(|recording| Some(recording.is_unreadable)).collect::<BooleanArray>()),
        ),
    ];
    RecordBatch::try_from_iter(columns)
}

/// The beginning of the SHA-256 of a text. As the key of a name it takes less memory than the name.
fn short_hash(text: &str) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(text)[..16]);
    hash
}
