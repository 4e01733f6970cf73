//! The recordings that a Python caller names: paths, globs, `(name, bytes)` pairs, open binary files, and iterators of all these.

use std::collections::VecDeque;
use std::path::PathBuf;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString, PyTuple};

use crate::input::Input;
use crate::source_name::name_of;
use crate::walk::{Seen, Walk, Wanted};

/// Recordings, one by one. Nothing is opened before it is asked for.
pub struct PythonInputs {
    wanted: Wanted,
    rest: Option<Py<PyIterator>>,
    walks: VecDeque<Source>,
    seen: Seen,
}

enum Source {
    Walk(Walk),
    Input(Input),
}

impl PythonInputs {
    /// From the argument `paths`. That paths exist is checked at once, unless an iterator gives them.
    pub fn new(paths: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Self> {
        let mut inputs = PythonInputs { wanted, rest: None, walks: VecDeque::new(), seen: Seen::default() };
        if let Some(source) = source_of(paths)? {
            inputs.walks.push_back(source);
            return Ok(inputs);
        }
        let iterator = paths.try_iter().map_err(|_| refused(paths))?;
        if paths.hasattr("__next__")? {
            inputs.rest = Some(iterator.unbind());
            return Ok(inputs);
        }
        for item in iterator {
            let item = item?;
            inputs.walks.push_back(source_of(&item)?.ok_or_else(|| refused(&item))?);
        }
        Ok(inputs)
    }

    /// The next recording.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Input>> {
        loop {
            match self.walks.pop_front() {
                Some(Source::Input(input)) => return Ok(Some(input)),
                Some(Source::Walk(mut walk)) => {
                    if let Some(input) = walk.next(self.wanted, &mut self.seen) {
                        self.walks.push_front(Source::Walk(walk));
                        return Ok(Some(input));
                    }
                }
                None => {
                    let Some(rest) = &self.rest else { return Ok(None) };
                    let Some(item) = rest.bind(py).clone().next() else {
                        self.rest = None;
                        return Ok(None);
                    };
                    let item = item?;
                    self.walks.push_back(source_of(&item)?.ok_or_else(|| refused(&item))?);
                }
            }
        }
    }
}

fn refused(found: &Bound<'_, PyAny>) -> PyErr {
    let found = found.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "paths must be a path, a glob, a (name, bytes) pair, a binary file, or an iterable of these, not {found}"
    ))
}

/// What a value names, if it is not an iterable of such values.
fn source_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    if let Ok(pair) = value.cast::<PyTuple>()
        && pair.len() == 2
        && !is_path(&pair.get_item(1)?)?
    {
        let (name, content) = (pair.get_item(0)?, pair.get_item(1)?);
        let name = name
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err("the name in a (name, bytes) pair must be str"))?;
        return bytes_of(&content)?
            .map(|bytes| Source::Input(Input::in_memory(name.to_string(), bytes)))
            .map(Some)
            .ok_or_else(|| PyTypeError::new_err("the content in a (name, bytes) pair must be bytes or a binary file"));
    }
    if is_path(value)? {
        let path: PathBuf = value.extract()?;
        if path.as_os_str().is_empty() {
            return Err(PyValueError::new_err("paths has an empty path"));
        }
        return Walk::from(&path).map(|walk| Some(Source::Walk(walk))).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                PyFileNotFoundError::new_err((libc_enoent(), "No such file or directory", path.clone()))
            }
            std::io::ErrorKind::InvalidInput => PyValueError::new_err(format!("paths has no glob: {error}")),
            _ => PyOSError::new_err((error.raw_os_error(), error.to_string(), path.clone())),
        });
    }
    if value.hasattr("read")? {
        let name = file_name(value);
        let bytes =
            bytes_of(value)?.ok_or_else(|| PyTypeError::new_err("a file in paths must be open in binary mode"))?;
        let name = name.map_or_else(|| "<file>".to_owned(), |name| name_of(&name));
        return Ok(Some(Source::Input(Input::in_memory(name, bytes))));
    }
    Ok(None)
}

/// The path of an open file, if it has one. Some have a number for a name.
fn file_name(file: &Bound<'_, PyAny>) -> Option<PathBuf> {
    let name = file.getattr("name").ok()?;
    let os = file.py().import("os").ok()?;
    os.call_method1("fsdecode", (name,)).ok()?.extract().ok()
}

/// The number of ENOENT, which is the same on every system.
fn libc_enoent() -> i32 {
    2
}

fn is_path(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyString>() || value.hasattr("__fspath__")?)
}

/// The bytes of an object that has some, or of a binary file. `None` for anything else.
fn bytes_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if value.hasattr("read")? {
        let read = value.call_method0("read")?;
        return Ok(read.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes().to_vec()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    if !value.hasattr("__len__")? || value.is_instance_of::<PyString>() {
        return Ok(None);
    }
    let bytes = value.py().get_type::<PyBytes>().call1((value,));
    Ok(bytes.ok().and_then(|bytes| Some(bytes.cast::<PyBytes>().ok()?.as_bytes().to_vec())))
}
