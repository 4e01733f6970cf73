//! Bundles: a run or a session, sealed into something that another machine can check and replay (`docs/bundle-format.md`).
//!
//! A bundle is a set of files that its manifest lists, each with size and hash; the manifest's own hash is the bundle's id.
//! The files lie in a directory, or one behind the other in an archive: both are a [`container::Container`] to what
//! reads. Nothing is believed before it is checked, nothing is kept in memory but what the manifest lists.

pub mod archive;
pub mod checked_log;
pub mod checksums;
pub mod container;
pub mod directory;
pub mod error;
pub mod export;
pub mod file_hash;
pub mod hashing_reader;
pub mod import;
pub mod import_error;
pub mod info;
pub mod limits;
pub mod manifest;
pub mod metadata;
pub mod open;
pub mod open_container;
pub mod path;
pub mod planned_file;
pub mod redact;
pub mod redactions;
pub mod replay;
#[cfg(test)]
pub mod sample;
pub mod signed;
pub mod sink;
pub mod source;
pub mod verify;
pub mod watch;
