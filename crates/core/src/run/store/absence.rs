//! Explains why a path does not hold a run: says what is there instead, and what to pass.
//!
//! Runs only after a file of the run failed to open, so an existing run pays nothing.

use std::path::Path;

use super::directory::RunDirectory;
use crate::disk::{InputFile, Metadata, OsError, files};
use crate::lines::Lines;
use crate::run::format::{ErrorCode, EventLine, RunError};

/// Number of bytes at the beginning of a file that suffice to recognise its type.
const BEGINNING_BYTES: u64 = 64 << 10;

const A_RUN_IS: &str = "A run is the directory that a RunRecorder recorded to, or a bundle of it.";

impl RunDirectory {
    /// If the cause of an error is that there is no run here, returns an error that says so, and what is there instead. Returns any
    /// other error unchanged.
    #[must_use]
    pub fn explain_absence(&self, error: RunError) -> RunError {
        let is_in_vain = |system: &OsError| {
            matches!(system.syscall, "open" | "scandir") && matches!(system.code, "ENOENT" | "ENOTDIR")
        };
        match &error.system {
            Some(system) if is_in_vain(system) => instead_of_run(self).unwrap_or(error),
            _ => error,
        }
    }
}

/// The reason why there is no run. Returns `None` if the directory holds parts of one.
fn instead_of_run(directory: &RunDirectory) -> Option<RunError> {
    let root = directory.root();
    let metadata = match files::metadata(root) {
        Ok(metadata) => metadata,
        Err(error) => {
            let error = RunError::from(error);
            let message = format!("{}. {A_RUN_IS}", error.message);
            return Some(RunError { message, ..error });
        }
    };
    let parts = [directory.log(), directory.dag(), directory.workflow()];
    if metadata.is_directory() && parts.iter().any(|part| files::exists(part)) {
        return None;
    }
    let what = if metadata.is_directory() { in_directory(root) } else { in_file(root, &metadata) };
    Some(RunError::new(ErrorCode::NotARun, format!("'{}' is {what}", root.display())))
}

fn in_directory(root: &Path) -> String {
    let is_empty = files::read_directory(root).is_ok_and(|mut entries| entries.next().is_none());
    let what = if is_empty { "an empty directory" } else { "a directory without 'events.cath-log'" };
    format!("{what}, not a run. {A_RUN_IS}")
}

fn in_file(path: &Path, metadata: &Metadata) -> String {
    if metadata.is_file() && metadata.size == 0 {
        return format!("an empty file, not a run. {A_RUN_IS}");
    }
    let beginning = if metadata.is_file() { beginning_of(path) } else { Vec::new() };
    let line = Lines::new(&beginning).next().map_or(&beginning[..], |(_, line)| line);
    if EventLine::peek_time(line).is_some() {
        return format!("the log of a run. Give the run's directory: '{}'.", files::parent(path).display());
    }
    if memchr::memmem::find(line, br#""type":"session_start""#).is_some() {
        return "the recording of a session, not of a run. It is what replaySession reads.".to_owned();
    }
    format!("neither a directory nor a bundle, and so not a run. {A_RUN_IS}")
}

/// The first bytes of a file; empty if it can't be read.
fn beginning_of(path: &Path) -> Vec<u8> {
    InputFile::open(path).and_then(|mut file| file.read_up_to(BEGINNING_BYTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn missing(path: &Path) -> RunError {
        OsError::new(&std::io::ErrorKind::NotFound.into(), "open", Some(path)).into()
    }

    fn explain(root: &Path) -> RunError {
        let directory = RunDirectory::new(root);
        directory.explain_absence(missing(&directory.dag()))
    }

    #[test]
    fn error_names_what_is_found_instead_of_a_run() {
        let root = tempfile::tempdir().unwrap();
        let (nothing, file) = (root.path().join("nothing"), root.path().join("file"));
        let error = explain(&nothing);
        assert_eq!(
            error.system.as_ref().map(|system| (system.code, system.path.clone())),
            Some(("ENOENT", Some(nothing)))
        );
        assert!(error.message.ends_with(A_RUN_IS), "{error}");
        let long_line = format!("{}\n", r#"{"v":1,"seq":1,"#.to_owned() + &"x".repeat(1 << 20));
        for (content, what) in [
            ("", "an empty file"),
            (r#"{"v":1,"time":0,"ts":"#, "the log of a run. Give the run's directory"),
            ("{\"v\":1,\"seq\":1,\"type\":\"session_start\"}\n", "the recording of a session"),
            ("\n{\"type\":\"session_start\"}\n", "neither a directory nor a bundle"),
            (&long_line, "neither a directory nor a bundle"),
        ] {
            fs::write(&file, content).unwrap();
            let error = explain(&file);
            assert_eq!((error.code, error.system), (ErrorCode::NotARun, None));
            assert!(error.message.starts_with(&format!("'{}' is {what}", file.display())), "{}", error.message);
        }
        assert!(explain(root.path()).message.contains("a directory without 'events.cath-log'"));
        fs::remove_file(&file).unwrap();
        assert!(explain(root.path()).message.contains("an empty directory"));
    }

    #[test]
    fn errors_of_an_existing_run_are_unchanged() {
        let root = tempfile::tempdir().unwrap();
        let directory = RunDirectory::new(root.path());
        for part in [directory.log(), directory.dag(), directory.workflow()] {
            fs::write(&part, "").unwrap();
            assert_eq!(directory.explain_absence(missing(&directory.dag())), missing(&directory.dag()));
            fs::remove_file(part).unwrap();
        }
        for error in [
            RunError::new(ErrorCode::EmptyLog, "empty"),
            OsError::new(&std::io::ErrorKind::NotFound.into(), "read", None).into(),
            OsError::new(&std::io::ErrorKind::PermissionDenied.into(), "open", None).into(),
        ] {
            assert_eq!(directory.explain_absence(error.clone()), error);
        }
    }
}
