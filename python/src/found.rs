//! Recordings that were found, as a Python object.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::input::Input;

/// Recordings that were found. They can be converted in place of paths, also several times.
#[pyclass(module = "session_tape._native", frozen)]
pub struct Found(Vec<Input>);

impl Found {
    /// These recordings.
    pub fn new(inputs: Vec<Input>) -> Self {
        Found(inputs)
    }

    /// The recordings, in their order.
    pub fn inputs(&self) -> &[Input] {
        &self.0
    }
}

#[pymethods]
impl Found {
    /// The recordings with these indices.
    fn take(&self, indices: Vec<usize>) -> PyResult<Found> {
        let taken = indices.into_iter().map(|at| self.0.get(at).cloned()).collect::<Option<_>>();
        taken.map(Found).ok_or_else(|| PyIndexError::new_err("there is no recording with this index"))
    }
}
