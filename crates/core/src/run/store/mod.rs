//! A run's directory: its log, its workflow and its blobs.

mod absence;
mod blob;
mod directory;
mod documents;

pub use absence::explain_not_a_run;
pub use blob::BlobStore;
pub use directory::RunDirectory;
pub use documents::{read_dag, read_text};
