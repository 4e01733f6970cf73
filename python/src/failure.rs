//! Failures that are not about the content of a recording, and the exceptions that they become.

use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Why work has failed.
#[derive(Debug)]
pub enum Failure {
    /// An error of the operating system. `number` is its `errno`, if there is one.
    System { number: Option<i32>, message: String, path: Option<PathBuf> },
    /// An argument is wrong in a way that only the work could find out.
    Argument(String),
    /// Any other error.
    Other(String),
}

impl Failure {
    /// The failure of a system call for a path.
    pub fn at(path: &Path, error: &io::Error) -> Self {
        Failure::System { number: number_of(error), message: message_of(error), path: Some(path.to_owned()) }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::System { message, path: Some(path), .. } => write!(formatter, "{message}: '{}'", path.display()),
            Failure::System { message, .. } | Failure::Argument(message) | Failure::Other(message) => {
                formatter.write_str(message)
            }
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Other(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure::Other(message.to_owned())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::System { number: number_of(&error), message: message_of(&error), path: None }
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => error.into(),
            error => Failure::Other(error.to_string()),
        }
    }
}

impl From<Failure> for PyErr {
    /// Creates the exception at once. PyO3 would otherwise convert its arguments later, in a place where a Python signal handler that raises meanwhile
    /// ends the process. A path becomes `str`, since creating a `pathlib.Path` runs Python code, and with it signal handlers.
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = py.get_type::<PyOSError>();
            let created = match &failure {
                Failure::System { number: Some(number), message, path } => {
                    // Python chooses the subclass by the number: `FileNotFoundError`, `PermissionError`.
                    class.call1((*number, message, path.as_ref().map(|path| path.as_os_str())))
                }
                Failure::System { number: None, .. } => class.call1((failure.to_string(),)),
                Failure::Argument(message) => return PyValueError::new_err(message.clone()),
                Failure::Other(message) => return PyRuntimeError::new_err(message.clone()),
            };
            created.map_or_else(|error| error, PyErr::from_value)
        })
    }
}

/// The `errno` of an error. Some libraries keep only the kind of an error. The numbers of Windows are others, and the kind is all that is common.
fn number_of(error: &io::Error) -> Option<i32> {
    let by_kind = match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::AlreadyExists => Some(17),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::StorageFull => Some(28),
        io::ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    };
    if cfg!(unix) { error.raw_os_error().or(by_kind) } else { by_kind }
}

/// The message of an error without its number and what follows, which is a path if anything: Python adds both itself.
fn message_of(error: &io::Error) -> String {
    let message = error.to_string();
    message.split_once(" (os error ").map_or(message.as_str(), |(before, _)| before).to_owned()
}
