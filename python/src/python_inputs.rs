//! The recordings that a Python caller passes: paths, globs, `(name, bytes)` pairs, open binary files, and iterables of all these.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString, PyTuple};

use crate::found::Found;
use crate::glob_paths::is_glob;
use crate::input::Input;
use crate::interrupt::SignalCheck;
use crate::source_name::name_of;
use crate::spool::spool;
use crate::walk::{Seen, Walk, Wanted};

/// Maximum number of recordings that are found, and time for which they are looked for, before the GIL is acquired again. Each time may take
/// milliseconds if other Python threads are busy.
const FOUND_TOGETHER: usize = 4096;
const FIND_FOR: Duration = Duration::from_millis(20);

/// Yields recordings one by one. None is opened before it is asked for.
pub struct PythonInputs {
    wanted: Wanted,
    rest: Option<Py<PyIterator>>,
    sources: VecDeque<Source>,
    /// Recordings that were found together, and are still to be yielded.
    found: VecDeque<Input>,
    seen: Seen,
    signals: SignalCheck,
}

enum Source {
    /// A path or glob that was not looked up yet.
    Path(PathBuf),
    Walk(Walk),
    /// A bytes-like object or a binary file, with the name that was given for it.
    Object(String, Py<PyAny>),
    /// A binary file without a given name.
    File(Py<PyAny>),
}

impl PythonInputs {
    /// Takes the argument `paths`. Whether paths exist is checked at once, except for those that come from an iterator.
    pub fn new(paths: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Self> {
        let mut inputs = PythonInputs {
            wanted,
            rest: None,
            sources: VecDeque::new(),
            found: VecDeque::new(),
            seen: Seen::default(),
            signals: SignalCheck::default(),
        };
        if let Ok(found) = paths.cast::<Found>() {
            inputs.found = found.get().inputs().iter().cloned().collect();
            return Ok(inputs);
        }
        if let Some(source) = source_of(paths)? {
            inputs.sources.push_back(source);
        } else {
            let iterator = paths.try_iter().map_err(|_| refused(paths))?;
            if paths.hasattr("__next__")? {
                inputs.rest = Some(iterator.unbind());
                return Ok(inputs);
            }
            for item in iterator {
                let item = item?;
                inputs.sources.push_back(source_of(&item)?.ok_or_else(|| refused(&item))?);
            }
        }
        inputs.look_up(paths.py())?;
        Ok(inputs)
    }

    /// The next recording; `None` after the last.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Input>> {
        loop {
            if let Some(input) = self.found.pop_front() {
                return Ok(Some(input));
            }
            match self.sources.pop_front() {
                Some(Source::Object(name, content)) => {
                    return spool(Some(name), content.bind(py), self.wanted).map(Some);
                }
                Some(Source::File(file)) => {
                    let file = file.bind(py);
                    let path = file_name(file)?;
                    if path.as_ref().is_none_or(|path| self.is_new(file, path)) {
                        return spool(path.map(|path| name_of(&path)), file, self.wanted).map(Some);
                    }
                }
                Some(source) => {
                    self.sources.push_front(source);
                    self.find(py)?;
                }
                None => {
                    let Some(rest) = &self.rest else { return Ok(None) };
                    let Some(item) = rest.bind(py).clone().next() else {
                        self.rest = None;
                        return Ok(None);
                    };
                    let item = item?;
                    self.sources.push_back(source_of(&item)?.ok_or_else(|| refused(&item))?);
                    self.look_up(py)?;
                }
            }
        }
    }

    /// Begins a walk at each path. Fails if nothing exists there.
    fn look_up(&mut self, py: Python<'_>) -> PyResult<()> {
        let PythonInputs { sources, signals, .. } = self;
        let is_short = matches!(sources.make_contiguous(), [Source::Path(path)] if !is_glob(path));
        maybe_detached(py, is_short, move || {
            for source in sources {
                if let Source::Path(path) = source {
                    *source = Source::Walk(Walk::from(path, signals)?);
                }
            }
            Ok(())
        })
    }

    /// Finds some recordings of the walks that are next.
    fn find(&mut self, py: Python<'_>) -> PyResult<()> {
        let PythonInputs { wanted, sources, found, seen, signals, .. } = self;
        let is_short = matches!(sources.make_contiguous(), [Source::Walk(walk)] if walk.is_of_one_file());
        maybe_detached(py, is_short, move || {
            let begun = Instant::now();
            while let Some(Source::Walk(walk)) = sources.front_mut()
                && found.len() < FOUND_TOGETHER
                && begun.elapsed() < FIND_FOR
            {
                match walk.next(*wanted, seen, signals)? {
                    Some(input) => {
                        // Examined now, without the GIL.
                        input.size();
                        found.push_back(input);
                    }
                    None => drop(sources.pop_front()),
                }
            }
            Ok(())
        })
    }

    /// Whether an open file with this path is none of the recordings so far. A file of which something was read before always is.
    fn is_new(&mut self, file: &Bound<'_, PyAny>, path: &Path) -> bool {
        // An error means that the file is closed, or not one of the operating system. If it matters, reading the file raises it.
        let is_same = is_unread(file, path).unwrap_or(false);
        !is_same || path.canonicalize().map_or(true, |real| self.seen.add(&real))
    }
}

/// Does work without the GIL, or with it if the work is so short that waiting for the GIL afterwards would take longer.
fn maybe_detached<T: Send>(py: Python<'_>, is_short: bool, work: impl FnOnce() -> T + Send) -> T {
    if is_short { work() } else { py.detach(work) }
}

fn refused(found: &Bound<'_, PyAny>) -> PyErr {
    let found = found.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "paths must be a path, a glob, a (name, bytes) pair, a binary file, or an iterable of these, not {found}"
    ))
}

/// The source that a value names. `None` if it is not the name of one, but may be an iterable of such values.
fn source_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return pair_of(tuple);
    }
    if is_path(value)? {
        return path_of(value).map(|path| Some(Source::Path(path)));
    }
    if value.hasattr("read")? {
        if !has_bytes(value)? {
            return Err(PyTypeError::new_err("a file in paths must be open in binary mode"));
        }
        return Ok(Some(Source::File(value.clone().unbind())));
    }
    Ok(None)
}

/// The source of a tuple that is a pair of a name and a content. `None` if it may be a tuple of recordings; an error if it can only be a mistaken pair.
fn pair_of(tuple: &Bound<'_, PyTuple>) -> PyResult<Option<Source>> {
    if tuple.len() != 2 {
        return Ok(None);
    }
    let (name, content) = (tuple.get_item(0)?, tuple.get_item(1)?);
    if is_path(&content)? || content.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    if let Ok(name) = name.cast::<PyString>() {
        if !has_bytes(&content)? {
            return Err(PyTypeError::new_err("the content in a (name, bytes) pair must be bytes or a binary file"));
        }
        return Ok(Some(Source::Object(name.to_string(), content.unbind())));
    }
    let is_recording = |value: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(value.hasattr("read")? || value.is_instance_of::<PyTuple>() || is_path(value)?)
    };
    match is_recording(&name)? && is_recording(&content)? {
        true => Ok(None),
        false => Err(PyTypeError::new_err("the name in a (name, bytes) pair must be str")),
    }
}

/// The path that an argument has.
fn path_of(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let text = match value.is_instance_of::<PyString>() {
        true => value.clone(),
        // The path of an `os.PathLike` may be bytes.
        false => fsdecode(value)?,
    };
    let path =
        text.extract::<OsString>().map_err(|error| match error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            true => PyValueError::new_err(format!("paths has a path that is not valid Unicode, {}", shown(&text))),
            false => error,
        })?;
    if path.is_empty() {
        return Err(PyValueError::new_err("paths has an empty path"));
    }
    if path.as_encoded_bytes().contains(&0) {
        return Err(PyValueError::new_err(format!("paths has a path with a null character, {}", shown(&text))));
    }
    Ok(path.into())
}

fn fsdecode<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    value.py().import("os")?.call_method1("fsdecode", (value,))
}

fn shown(text: &Bound<'_, PyAny>) -> String {
    text.repr().map_or_else(|_| String::new(), |text| text.to_string())
}

/// The path of an open file, if it has one. The name of some files is a number.
fn file_name(file: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let Ok(name) = file.getattr("name") else { return Ok(None) };
    if !is_path(&name)? && !name.is_instance_of::<PyBytes>() {
        return Ok(None);
    }
    Ok(fsdecode(&name)?.extract::<OsString>().ok().map(PathBuf::from))
}

/// Whether an open file is the regular file at `path`, at its beginning, so that reading it gives what is at the path. Only files that were opened by
/// `open` are recognized: others, like those of `gzip`, may give other bytes than the file whose name they have.
fn is_unread(file: &Bound<'_, PyAny>, path: &Path) -> PyResult<bool> {
    let (io, os) = (file.py().import("io")?, file.py().import("os")?);
    let class = file.get_type();
    let is_buffered = class.is(&io.getattr("BufferedReader")?) || class.is(&io.getattr("BufferedRandom")?);
    let raw = if is_buffered { file.getattr("raw")? } else { file.clone() };
    if !raw.get_type().is(&io.getattr("FileIO")?) || file.call_method0("tell")?.extract::<u64>()? != 0 {
        return Ok(false);
    }
    let opened = os.call_method1("fstat", (raw.call_method0("fileno")?,))?;
    // The path may lead to another file by now.
    let named = os.call_method1("stat", (path.as_os_str(),))?;
    for field in ["st_dev", "st_ino"] {
        if !opened.getattr(field)?.eq(named.getattr(field)?)? {
            return Ok(false);
        }
    }
    Ok(path.is_file())
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
