//! Reads the documents of a run other than its log, each as a whole.

use std::path::Path;

use super::directory::RunDirectory;
use crate::disk::InputFile;
use crate::run::format::{ErrorCode, RunError};
use crate::run::graph::Dag;

/// The largest document that is read, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

impl RunDirectory {
    /// Reads the graph.
    pub fn read_dag(&self) -> Result<Dag, RunError> {
        Dag::parse(&self.dag_text()?)
    }

    /// Reads the text of the graph.
    pub fn dag_text(&self) -> Result<String, RunError> {
        read_text(&self.dag())
    }

    /// Reads the text of the workflow.
    pub fn workflow_text(&self) -> Result<String, RunError> {
        read_text(&self.workflow())
    }

    /// Reads the file `name` of the directory, of at most 256 MiB, which must be UTF-8.
    pub fn read_text(&self, name: &str) -> Result<String, RunError> {
        read_text(&self.root().join(name))
    }
}

/// Reads a document of at most 256 MiB, which must be UTF-8.
fn read_text(path: &Path) -> Result<String, RunError> {
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
