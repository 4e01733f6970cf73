//! Recordings without a path that can be opened again: bytes, open files. Python copies those that are large, or must be files, to temporary
//! files (`session_tape/_spool.py`).

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::input::Input;
use crate::spooled::Spooled;
use crate::walk::Wanted;

/// Reads a recording from a bytes-like object, or from the current position of a binary file, which need not have a name.
pub fn spool(name: Option<String>, content: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Input> {
    match name {
        Some(name) => spool_named(name, content, wanted),
        None => spool_named(String::new(), content, wanted).map(Input::without_name),
    }
}

fn spool_named(name: String, content: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Input> {
    // The log of a run is opened by its path.
    let must_be_file = wanted == Wanted::Runs;
    let spooled = content.py().import("session_tape._spool")?.call_method1("spool", (content, must_be_file))?;
    if let Ok(bytes) = spooled.cast::<PyBytes>() {
        return Ok(Input::in_memory(name, bytes.as_bytes().to_vec()));
    }
    let path: PathBuf = spooled.getattr("path")?.extract()?;
    Ok(Input::spooled(name, Spooled::new(path, spooled.unbind())))
}

/// Whether content must be in a file, because a bundle or an archived session is opened by its path.
#[pyfunction]
pub fn is_archive(beginning: &[u8]) -> bool {
    session_tape_core::archived::may_be_archive(beginning)
}
