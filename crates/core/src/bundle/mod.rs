//! Bundles: runs and sessions, sealed so that another machine can verify and replay them. `docs/bundle-format.md` specifies the format.
//!
//! The manifest lists every file of a bundle with its size and hash; the hash of the manifest is the bundle's id. The files are
//! in a directory or in an archive, and readers see both as a [`container::Container`].
//!
//! - Operations: [`export`], [`verify`], [`import`], [`open`] for readers, [`replay`] for runs in bundles, [`redact`].
//! - Containers: [`container`], [`directory`] and [`archive`] are read, [`open_container`] chooses; [`sink`] writes, and
//!   [`staged`](crate::disk::staged) moves a finished bundle to its destination.
//! - Documents, each parsed and printed in one file: [`manifest`], [`checksums`], [`metadata`], [`redactions`], [`signed`].
//! - Export: [`source`] plans it, [`planned_file`] is an entry of the plan, [`hashing_reader`] and [`file_hash`] hash while reading.
//! - Shared: [`checked_log`], [`path`], [`limits`], [`info`], [`watch`], [`error`], [`import_error`].

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
