//! Finds the recordings in directories and globs.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sha2::{Digest as _, Sha256};

use session_tape_core::archived::{resolve, session_of};

use crate::failure::Failure;
use crate::glob_paths::{Glob, for_each_entry, has_wildcard, is_glob, is_missing};
use crate::input::{Input, RUN_LOG, ends_with, is_archive_name};
use crate::interrupt::SignalCheck;
use crate::source_name::{conversation_at, escaped_path, with_conversation};

/// Which recordings of a directory are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Sessions,
    Runs,
}

/// A file or directory that is still to be visited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    path: PathBuf,
    kind: Kind,
    /// The path of the session that is archived in the file, if the recording is named by that: archiving a session changes none of its rows.
    session: Option<PathBuf>,
    /// The conversation that is meant, of the file.
    conversation: Option<String>,
    /// The real path of the listed directory that contains it, from which its own follows. `None` for links, and for entries that were not listed.
    real_parent: Option<Arc<Path>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    File,
    Directory,
    /// A directory that cannot be listed, with the error.
    Unlisted(String),
}

impl Kind {
    fn of(is_directory: bool) -> Self {
        if is_directory { Kind::Directory } else { Kind::File }
    }
}

impl Found {
    /// The file or directory at a path, to which links are followed.
    fn at(path: PathBuf) -> Self {
        let kind = Kind::of(path.is_dir());
        Found { path, kind, session: None, conversation: None, real_parent: None }
    }

    /// What is at the path of a session: its file, or its archive if only that exists.
    fn resolved(path: PathBuf) -> Self {
        match resolve(&path) {
            Cow::Borrowed(_) => Found::at(path),
            Cow::Owned(archive) => Found { session: Some(path), ..Found::at(archive) },
        }
    }

    /// The conversation that a path names.
    fn conversation_at(path: &Path) -> Option<Self> {
        let (file, conversation) = conversation_at(path)?;
        Some(Found { conversation: Some(conversation), ..Found::resolved(file) })
    }

    /// A directory that could not be listed.
    fn unlisted(path: PathBuf, error: &io::Error) -> Self {
        let kind = Kind::Unlisted(error.to_string());
        Found { path, kind, session: None, conversation: None, real_parent: None }
    }

    /// An entry of a listed directory. Listing reports what an entry is, unless it is a link.
    fn entry(entry: &fs::DirEntry, real_parent: &Arc<Path>) -> Self {
        let session = session_of(&entry.path());
        match entry.file_type() {
            Ok(found) if !found.is_symlink() => {
                let (path, kind) = (entry.path(), Kind::of(found.is_dir()));
                Found { path, kind, session, conversation: None, real_parent: Some(real_parent.clone()) }
            }
            _ => Found { session, ..Found::at(entry.path()) },
        }
    }

    /// The path with all links resolved, and the conversation, which is a recording of its own.
    fn real_path(&self) -> PathBuf {
        let real = match (&self.real_parent, self.path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            // An anonymous pipe has no real path.
            _ => self.path.canonicalize().or_else(|_| absolute(&self.path)).unwrap_or_else(|_| self.path.clone()),
        };
        self.conversation.as_ref().map(|conversation| with_conversation(&real, conversation)).unwrap_or(real)
    }

    fn into_input(self) -> Input {
        let name = self.session.as_ref().filter(|_| self.kind == Kind::File).unwrap_or(&self.path);
        let name = self.conversation.as_ref().map_or_else(|| name.clone(), |chosen| with_conversation(name, chosen));
        Input::at(&name, self.path, self.conversation)
    }

    /// Whether it is a recording of the wanted kind, or may contain some.
    fn is_wanted(&self, wanted: Wanted) -> bool {
        match (&self.kind, wanted) {
            (Kind::Directory, Wanted::Sessions) => !self.path.join(RUN_LOG).is_file(),
            (Kind::Directory, Wanted::Runs) => self.path.join(RUN_LOG).is_file() || !is_bundle(&self.path),
            // Where a session's file exists too, its archive does not count.
            (Kind::File, Wanted::Sessions) => match &self.session {
                Some(session) => session.symlink_metadata().is_err(),
                None => ends_with(&self.path, ".jsonl") || is_archive_name(&self.path),
            },
            (Kind::File, Wanted::Runs) => is_archive_name(&self.path),
            (Kind::Unlisted(_), _) => true,
        }
    }
}

/// The files and directories that were visited, by real path: one that has several names is visited once.
#[derive(Default)]
pub struct Seen(HashSet<[u8; 16]>);

impl Seen {
    /// Adds a real path. Returns whether it is new.
    pub fn add(&mut self, real: &Path) -> bool {
        let mut hash = [0; 16];
        hash.copy_from_slice(&Sha256::digest(real.as_os_str().as_encoded_bytes())[..16]);
        self.0.insert(hash)
    }
}

/// Walks through directories and globs, one directory at a time. The order is sorted, so that it is always the same. Targets of links come last, so
/// that a recording that is also found without a link is named by its own path.
#[derive(Default)]
pub struct Walk {
    /// The next entry is last.
    open: Vec<Found>,
    links: VecDeque<Found>,
}

impl Walk {
    /// Begins a walk at a file, a directory or a glob. An error if nothing exists there.
    pub fn from(path: &Path, signals: &mut SignalCheck) -> PyResult<Self> {
        signals.check()?;
        let at = Found::resolved(path.to_owned());
        let missing = match at.path.metadata() {
            Err(error) if is_missing(&error) => Failure::at(path, &error),
            // If it cannot be read, its row has the reason.
            _ => return Ok(Walk { open: vec![at], ..Walk::default() }),
        };
        let named = path.to_str().and_then(escaped_path);
        if let Some(named) = named.as_ref().filter(|named| named.symlink_metadata().is_ok()) {
            return Ok(Walk { open: vec![Found::at(named.clone())], ..Walk::default() });
        }
        let conversation = [Some(path), named.as_deref()].into_iter().flatten().find_map(Found::conversation_at);
        if let Some(conversation) = conversation {
            return Ok(Walk { open: vec![conversation], ..Walk::default() });
        }
        if !is_glob(path) {
            return Err(missing.into());
        }
        let glob = match Glob::parse(path) {
            Ok(glob) => glob,
            // An opening bracket alone is more likely part of a name than a mistake in a glob.
            Err(_) if !has_wildcard(path) => return Err(missing.into()),
            Err(error) => {
                let glob = path.display();
                return Err(PyValueError::new_err(format!("paths has a glob that is not valid, '{glob}': {error}")));
            }
        };
        let (paths, unlisted) = glob.expand(signals)?;
        if paths.is_empty() && unlisted.is_empty() {
            return Err(missing.into());
        }
        let unlisted = unlisted.into_iter().map(|(path, error)| Found::unlisted(path, &error));
        let found = paths.into_iter().map(Found::at).chain(unlisted);
        let mut walk = Walk::default();
        let (links, others): (Vec<_>, Vec<_>) = found.partition(|found| found.path.is_symlink());
        walk.add(links, others);
        Ok(walk)
    }

    /// Whether it is at a single file.
    pub fn is_of_one_file(&self) -> bool {
        self.links.is_empty() && matches!(self.open.as_slice(), [found] if found.kind == Kind::File)
    }

    /// Adds the sorted entries that were found in one place.
    fn add(&mut self, links: Vec<Found>, others: Vec<Found>) {
        self.links.extend(links);
        self.open.extend(others.into_iter().rev());
    }

    /// The next recording that was not visited yet, or directory that cannot be listed. `None` at the end.
    pub fn next(&mut self, wanted: Wanted, seen: &mut Seen, signals: &mut SignalCheck) -> PyResult<Option<Input>> {
        while let Some(found) = self.open.pop().or_else(|| self.links.pop_front()) {
            signals.check()?;
            let real = found.real_path();
            match found.kind {
                Kind::Unlisted(error) => return Ok(Some(Input::unlisted(&found.path, &error))),
                _ if !seen.add(&real) => {}
                Kind::Directory if !is_recording(&found.path) => {
                    self.list(&found.path, &real.into(), wanted, signals)?
                }
                // A run and its log are the same recording.
                Kind::Directory if log_of_run(&found.path).is_some_and(|log| !seen.add(&log)) => {}
                _ => return Ok(Some(found.into_input())),
            }
        }
        Ok(None)
    }

    fn list(&mut self, directory: &Path, real: &Arc<Path>, wanted: Wanted, signals: &mut SignalCheck) -> PyResult<()> {
        let mut entries = Vec::new();
        let listed = for_each_entry(directory, signals, |entry| entries.push(Found::entry(&entry, real)))?;
        if let Err(error) = listed
            && !is_missing(&error)
        {
            entries.push(Found::unlisted(directory.to_owned(), &error));
        }
        let mut inside = Vec::new();
        for found in entries {
            signals.check()?;
            if found.is_wanted(wanted) {
                inside.push(found);
            }
        }
        inside.sort();
        let is_link = |found: &Found| found.real_parent.is_none() && !matches!(found.kind, Kind::Unlisted(_));
        let (links, others) = inside.into_iter().partition(is_link);
        self.add(links, others);
        Ok(())
    }
}

/// The real path of the log in the directory of a run; `None` for other directories. The log of a bundle is not all that a bundle is.
fn log_of_run(directory: &Path) -> Option<PathBuf> {
    let log = directory.join(RUN_LOG);
    (log.is_file() && !is_bundle(directory)).then(|| log.canonicalize().ok()).flatten()
}

/// Whether a directory is a run or a bundle.
pub fn is_recording(directory: &Path) -> bool {
    directory.join(RUN_LOG).is_file() || is_bundle(directory)
}

/// Whether a directory is a run with a `manifest.json` next to its log that is not the manifest of a bundle.
pub fn is_run_with_foreign_manifest(directory: &Path) -> bool {
    directory.join(RUN_LOG).is_file() && directory.join("manifest.json").exists() && !is_bundle(directory)
}

/// Whether a directory is a bundle, judged by the beginning of its manifest. If that is damaged, a bundle's name or checksum file is enough.
fn is_bundle(directory: &Path) -> bool {
    let Ok(mut manifest) = fs::File::open(directory.join("manifest.json")) else { return false };
    let mut beginning = [0; MANIFEST_BEGINS.len()];
    (manifest.read_exact(&mut beginning).is_ok() && beginning == *MANIFEST_BEGINS)
        || is_archive_name(directory)
        || directory.join("manifest.sha256").is_file()
}

const MANIFEST_BEGINS: &[u8; 13] = br#"{"bundleId":""#;
