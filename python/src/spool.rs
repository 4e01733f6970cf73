//! Reads the bytes of Python objects when they are needed. Large contents go to a temporary file.

use std::io::Write as _;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::Failure;
use crate::input::Input;
use crate::kept_file::KeptFile;

/// Maximum number of bytes that are kept in memory, and number of bytes read at a time.
const KEPT_BYTES: usize = 1 << 20;

/// Reads a recording from a bytes-like object, or from the current position of a binary file, which need not have a name.
pub fn spool(name: Option<String>, content: &Bound<'_, PyAny>) -> PyResult<Input> {
    match name {
        Some(name) => spool_named(name, content),
        None => spool_named(String::new(), content).map(Input::without_name),
    }
}

fn spool_named(name: String, content: &Bound<'_, PyAny>) -> PyResult<Input> {
    if content.hasattr("read")? {
        return spool_file(name, content);
    }
    // Does not copy an object that is `bytes` already.
    let bytes = content.py().get_type::<PyBytes>().call1((content,))?.cast_into::<PyBytes>()?;
    let bytes = bytes.as_bytes();
    if bytes.len() <= KEPT_BYTES {
        return Ok(Input::in_memory(name, bytes.to_vec()));
    }
    KeptFile::with(bytes).map(|file| Input::kept(name, file)).map_err(failed)
}

fn spool_file(name: String, content: &Bound<'_, PyAny>) -> PyResult<Input> {
    let (mut kept, mut file) = (Vec::new(), None);
    loop {
        content.py().check_signals()?;
        let read = content.call_method1("read", (KEPT_BYTES,))?;
        let read = read
            .cast::<PyBytes>()
            .map_err(|_| PyTypeError::new_err("a file in paths must be open in binary mode, and blocking"))?;
        let bytes = read.as_bytes();
        match (&mut file, bytes.is_empty()) {
            (None, true) => return Ok(Input::in_memory(name, kept)),
            (Some(_), true) => break,
            (None, false) if kept.len() + bytes.len() <= KEPT_BYTES => kept.extend_from_slice(bytes),
            (file, false) => {
                let (_, file) = match file {
                    Some(file) => file,
                    None => file.insert(KeptFile::create().map_err(failed)?),
                };
                file.write_all(&std::mem::take(&mut kept)).and_then(|()| file.write_all(bytes)).map_err(failed)?;
            }
        }
    }
    match file {
        Some((file, _)) => Ok(Input::kept(name, file)),
        None => Ok(Input::in_memory(name, kept)),
    }
}

fn failed(error: std::io::Error) -> PyErr {
    Failure::of_temporary_file(&error).into()
}
