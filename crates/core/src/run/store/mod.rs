//! A run's directory: its log, its workflow and its blobs.

mod absence;
mod blob;
mod directory;
mod documents;

pub(crate) use blob::BlobStore;
pub use directory::RunDirectory;
