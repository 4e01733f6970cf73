//! The recordings that a Python caller passes: paths, globs, `(name, bytes)` pairs, open binary files, and iterables of all these.

use std::collections::VecDeque;
use std::path::PathBuf;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString, PyTuple};

use crate::input::Input;
use crate::source_name::name_of;
use crate::spool::spool;
use crate::walk::{Seen, Walk, Wanted};

/// Yields recordings one by one. None is opened before it is asked for.
pub struct PythonInputs {
    wanted: Wanted,
    rest: Option<Py<PyIterator>>,
    walks: VecDeque<Source>,
    seen: Seen,
}

enum Source {
    Walk(Walk),
    /// A bytes-like object or a binary file, with its name if it has one.
    Object(Option<String>, Py<PyAny>),
}

impl PythonInputs {
    /// Takes the argument `paths`. Whether paths exist is checked at once, except for those that come from an iterator.
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

    /// The next recording; `None` after the last.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Input>> {
        loop {
            match self.walks.pop_front() {
                Some(Source::Object(name, content)) => return spool(name, content.bind(py)).map(Some),
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

/// The source that a value names. `None` if it is not the name of one, but may be an iterable of such values.
fn source_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    if let Ok(pair) = value.cast::<PyTuple>()
        && pair.len() == 2
        && !is_path(&pair.get_item(1)?)?
    {
        let (name, content) = (pair.get_item(0)?, pair.get_item(1)?);
        let name = name
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err("the name in a (name, bytes) pair must be str"))?;
        if !has_bytes(&content)? {
            return Err(PyTypeError::new_err("the content in a (name, bytes) pair must be bytes or a binary file"));
        }
        return Ok(Some(Source::Object(Some(name.to_string()), content.unbind())));
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
        if !has_bytes(value)? {
            return Err(PyTypeError::new_err("a file in paths must be open in binary mode"));
        }
        let name = file_name(value).map(|name| name_of(&name));
        return Ok(Some(Source::Object(name, value.clone().unbind())));
    }
    Ok(None)
}

/// The path of an open file, if it has one. The name of some files is a number.
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

/// Whether a value is bytes-like, or a file that is not in text mode.
fn has_bytes(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.hasattr("read")? {
        return Ok(!value.is_instance(&value.py().import("io")?.getattr("TextIOBase")?)?);
    }
    if value.is_instance_of::<PyBytes>() {
        return Ok(true);
    }
    let view = value.py().import("builtins")?.getattr("memoryview")?;
    Ok(view.call1((value,)).is_ok())
}
