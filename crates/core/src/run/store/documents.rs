//! Reads the documents of a run other than its log, each as a whole.

use std::path::Path;

use super::directory::RunDirectory;
use crate::disk::InputFile;
use crate::run::format::{ErrorCode, RunError};
use crate::run::graph::Dag;

/// The largest document that is read, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// Reads a document of at most 256 MiB, which must be UTF-8.
pub fn read_text(path: &Path) -> Result<String, RunError> {
    let mut file = InputFile::open(path)?;
    let size = file.metadata()?.size;
    if size > MAX_DOCUMENT_BYTES {
        let message = format!("{} is larger than {MAX_DOCUMENT_BYTES} bytes", path.display());
        let error = RunError::new(ErrorCode::TooLarge, message);
        return Err(error.compared(MAX_DOCUMENT_BYTES.to_string(), size.to_string()));
    }
    let bytes = file.read_up_to(MAX_DOCUMENT_BYTES)?;
    String::from_utf8(bytes)
        .map_err(|_| RunError::new(ErrorCode::WorkflowInvalid, format!("{} is not valid UTF-8", path.display())))
}

/// Reads the graph of the run in `directory`.
pub fn read_dag(directory: &RunDirectory) -> Result<Dag, RunError> {
    Dag::parse(&read_text(&directory.dag())?)
}
