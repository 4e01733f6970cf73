//! Verifies a bundle: reads every file once and reports all problems.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::checked_log::{CheckedLog, CheckedSession};
use super::container::Container;
use super::import_error::ImportError;
use super::io_error::read_failed;
use super::media::check_media;
use crate::bundle::export::{FileHasher, HashingReader};
use crate::bundle::format::{
    BundleCode, BundleError, BundleInfo, BundleKind, BundlePath, Limits, ListedFile, LogExtent, Manifest, MediaCounts,
    RedactionList, SignaturePolicy, checksums, metadata, of_run, path, signed,
};
use crate::disk::write::StagedDirectory;
use crate::hash::{Hash, as_text, to_hex};
use crate::order;
use crate::run::Snapshot;
use crate::signature::TrustedKeys;
use crate::task::{Progress, Task};

/// The maximum number of reported problems.
const MAX_PROBLEMS: usize = 1000;

/// Options of a verification.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// The trusted keys.
    pub trusted: TrustedKeys,
    /// Which signatures are required.
    pub signature: SignaturePolicy,
    /// The limits for the bundle.
    pub limits: Limits,
    /// The store into which an import puts media; `None` for the one beside its directory, if there is one.
    pub media_dir: Option<PathBuf>,
    /// Whether an import is for a reader that removes the directory afterwards, so that nothing is synced to disk.
    pub is_for_reader: bool,
}

/// The result of a verification.
#[derive(Clone, Debug)]
pub struct Report {
    /// The summary of the bundle; `None` if its manifest is missing or invalid.
    pub info: Option<BundleInfo>,
    /// All problems, up to a maximum. Empty for a good bundle.
    pub problems: Vec<BundleError>,
    /// The manifest; `None` if it is missing or invalid.
    pub manifest: Option<Manifest>,
    /// The redactions that the bundle lists.
    pub redactions: RedactionList,
    /// Whether a trusted key signed the manifest, independent of the policy.
    pub is_trusted: bool,
}

impl Report {
    /// Whether there are no problems.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }

    /// The report, if there are no problems.
    pub(super) fn expect_ok(self) -> Result<Self, ImportError> {
        if self.is_ok() { Ok(self) } else { Err(ImportError::Refused { problems: self.problems }) }
    }
}

/// Verifies the bundle at `path`. Problems of the bundle are in the report; an error is a failed system call or a cancellation.
pub fn verify(path: &Path, options: &VerifyOptions, task: &mut Task<'_>) -> Result<Report, BundleError> {
    inspect(path, options, None, task)
}

/// Verifies a bundle, and copies every file to `copy_to`, before it is known to be valid.
pub(super) fn inspect(
    path: &Path,
    options: &VerifyOptions,
    copy_to: Option<&StagedDirectory>,
    task: &mut Task<'_>,
) -> Result<Report, BundleError> {
    let mut inspection = Inspection {
        limits: &options.limits,
        copy_to,
        hasher: FileHasher::default(),
        seen: BTreeMap::new(),
        documents: BTreeMap::new(),
        log: None,
        session: None,
        problems: Problems::default(),
        is_incomplete: false,
    };
    let mut opened = Container::open(path, &options.limits, task);
    let read = opened.as_mut().map_err(|error| error.clone()).and_then(|container| inspection.read(container));
    let progress = opened.ok().map(|container| container.progress);
    if let Err(error) = read {
        if error.is_operational() {
            return Err(error);
        }
        inspection.is_incomplete = true;
        inspection.problems.push(error);
    }
    let report = inspection.finish(path, options);
    task.check()?;
    if let Some(progress) = progress {
        (task.progress)(Progress { bytes: progress.total, ..progress });
    }
    Ok(report)
}

/// A verification, with the results so far.
struct Inspection<'i> {
    limits: &'i Limits,
    copy_to: Option<&'i StagedDirectory>,
    hasher: FileHasher,
    /// The files so far by path; `None` for a file over the limits, which is not read.
    seen: BTreeMap<String, Option<ListedFile>>,
    /// The files that are read into memory, by path.
    documents: BTreeMap<String, Vec<u8>>,
    log: Option<CheckedLog>,
    session: Option<CheckedSession>,
    problems: Problems,
    /// Whether the reading ended early, so that further files may exist.
    is_incomplete: bool,
}

impl Inspection<'_> {
    /// Reads all files.
    fn read(&mut self, container: &mut Container<'_, '_>) -> Result<(), BundleError> {
        while let Some(file) = container.next_file()? {
            let checked = file.and_then(|(path, size)| match self.limits.check_file(&path, size) {
                Ok(()) => Ok((path, size)),
                Err(error) => {
                    self.seen.insert(path.as_str().to_owned(), None);
                    Err(error)
                }
            });
            match checked {
                Ok((path, size)) => self.read_file(&path, size, container)?,
                Err(problem) => self.problems.push(problem),
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &BundlePath, size: u64, content: &mut Container<'_, '_>) -> Result<(), BundleError> {
        let limits = self.limits;
        let copy = self.copy_to.map(|staged| staged.create(&path.below(staged.path()))).transpose()?;
        let mut quietly = |_| Ok(());
        let mut content = HashingReader::new(content, &mut self.hasher, copy, &mut quietly);
        let read = match path.as_str() {
            path::EVENT_LOG => self.log.insert(CheckedLog::default()).read(&mut content, limits),
            path::SESSION_LOG => self.session.insert(CheckedSession::default()).read(&mut content, limits),
            other if limits.document_bytes(other).is_some() => {
                // `size` is within the limit, and the container returns no more than that.
                let mut document = Vec::with_capacity(size as usize);
                let read = content.read_to_end(&mut document).map_err(read_failed);
                self.documents.insert(other.to_owned(), document);
                read.map(drop)
            }
            _ => Ok(()),
        };
        let result = match content.take_error() {
            Some(error) => Err(error),
            None => content.finish(),
        };
        if result.is_err() || read.is_err() {
            self.forget(path.as_str());
        }
        let result = result?;
        if let Some((staged, copy)) = self.copy_to.zip(result.copy) {
            staged.keep(&copy)?;
        }
        if let Err(error) = read {
            self.problems.push(error.of_file(path.as_str()));
        }
        self.record_file(path, result.listed);
        Ok(())
    }

    /// What was found in a file that was not read to its end is incomplete.
    fn forget(&mut self, path: &str) {
        match path {
            path::EVENT_LOG => self.log = None,
            path::SESSION_LOG => self.session = None,
            document => drop(self.documents.remove(document)),
        }
    }

    fn record_file(&mut self, path: &BundlePath, file: ListedFile) {
        let named = [(BundleCode::BlobNameMismatch, path.blob()), (BundleCode::MediaCorrupt, path.media())];
        for (code, name) in named.into_iter().filter_map(|(code, name)| Some((code, name?))) {
            let message = match name {
                Some(hash) if hash == file.sha256 => continue,
                Some(_) => format!("its bytes have another hash than its name: {}", as_text(&to_hex(&file.sha256))),
                None => "such a file lies under its hash, <first 2 hex digits>/<64 hex digits>".to_owned(),
            };
            self.problems.about(code, path.as_str(), message);
        }
        self.seen.insert(path.as_str().to_owned(), Some(file));
    }

    /// Runs the checks that need all files, after they were read.
    fn finish(mut self, path: &Path, options: &VerifyOptions) -> Report {
        let document = self.documents.remove(path::MANIFEST);
        let parsed = document.as_deref().and_then(|document| self.problems.unless(Manifest::parse(document)));
        if document.is_none() && !self.is_incomplete && !self.seen.contains_key(path::MANIFEST) {
            let message = "There is no manifest.json: this is no bundle, or not a whole one";
            self.problems.push(BundleError::new(BundleCode::ManifestMissing, message));
        }
        let manifest = parsed.map(|(manifest, id)| {
            manifest.problems(&id).into_iter().for_each(|problem| self.problems.push(problem));
            manifest
        });
        let redactions = self.documents.get(path::REDACTIONS).map(|document| RedactionList::parse(document));
        let redactions = redactions.and_then(|parsed| self.problems.unless(parsed)).unwrap_or_default();
        let (mut is_trusted, mut media) = (false, None);
        if let Some((manifest, document)) = manifest.as_ref().zip(document.as_ref()) {
            self.check_files(manifest, document);
            media = self.check_metadata(manifest).filter(|_| manifest.kind == BundleKind::Session);
            let log = manifest.kind.log();
            if !manifest.files.contains_key(log) {
                self.missing(log, "a bundle of this kind has one");
            }
            match manifest.kind {
                BundleKind::Run => self.check_log(manifest, &redactions),
                BundleKind::Session => self.check_session(manifest, media.unwrap_or_default()),
            }
            let signature = self.documents.get(path::SIGNATURE).map(Vec::as_slice);
            is_trusted = signature.is_some_and(|signature| signed::is_signed_by(&options.trusted, signature, document));
            let problem = signed::problem(options.signature, &options.trusted, signature, document);
            problem.into_iter().for_each(|problem| self.problems.push(problem));
        }
        let info = manifest.as_ref().map(|manifest| BundleInfo::new(path, manifest, redactions.count(), media));
        Report { info, problems: self.problems.0, manifest, redactions, is_trusted }
    }

    /// Adds the problem that a file is missing, if the others were all read.
    fn missing(&mut self, path: &str, why: &str) {
        if !self.is_incomplete {
            self.problems.about(BundleCode::FileMissing, path, why);
        }
    }

    fn check_files(&mut self, manifest: &Manifest, document: &[u8]) {
        for (path, listed) in &manifest.files {
            match self.seen.get(path) {
                Some(Some(seen)) if seen.size != listed.size => {
                    let message = format!("it has {} bytes, and the manifest lists {}", seen.size, listed.size);
                    self.problems.about(BundleCode::WrongSize, path, message);
                }
                Some(Some(seen)) if seen.sha256 != listed.sha256 => {
                    let [found, expected] = [seen.sha256, listed.sha256].map(|hash| to_hex(&hash));
                    let (found, expected) = (as_text(&found), as_text(&expected));
                    let message = format!("it has the hash {found}, and the manifest lists {expected}");
                    self.problems.about(BundleCode::WrongHash, path, message);
                }
                None => self.missing(path, "the manifest lists it, and it is not there"),
                _ => {}
            }
        }
        let made = [path::MANIFEST, path::CHECKSUMS, path::SIGNATURE];
        let is_listed = |path: &String| manifest.files.contains_key(path) || made.contains(&path.as_str());
        for path in self.seen.keys().filter(|path| !is_listed(path)) {
            self.problems.about(BundleCode::NotInManifest, path, "the manifest does not list it");
        }
        let sums = self.documents.get(path::CHECKSUMS);
        if sums.is_some_and(|sums| *sums != checksums::print(manifest, document)) {
            let message = "it is not the list of the manifest's hashes and of the manifest's own";
            self.problems.about(BundleCode::ChecksumsMismatch, path::CHECKSUMS, message);
        }
    }

    /// Returns what the metadata says of media.
    fn check_metadata(&mut self, manifest: &Manifest) -> Option<MediaCounts> {
        let Some(document) = self.documents.get(path::METADATA) else {
            if !manifest.files.contains_key(path::METADATA) {
                self.missing(path::METADATA, "every bundle has one");
            }
            return None;
        };
        self.problems.unless(metadata::check(document, manifest.kind, manifest.log.count)).flatten()
    }

    fn check_session(&mut self, manifest: &Manifest, media: MediaCounts) {
        let Some(session) = self.session.take() else { return };
        self.check_count(manifest, session.lines);
        let log = &manifest.log;
        if log.head.is_some() || log.first_time.is_some() || log.last_time.is_some() {
            let message = "The manifest names a head or times, which a session does not have";
            self.problems.push(BundleError::new(BundleCode::WrongHead, message));
        }
        if !self.is_incomplete {
            let problems = check_media(&session.objects, &self.seen, media);
            problems.into_iter().for_each(|problem| self.problems.push(problem));
        }
    }

    fn check_count(&mut self, manifest: &Manifest, found: u64) {
        if found != manifest.log.count {
            let message = format!("it has {found} lines, and the manifest says {}", manifest.log.count);
            self.problems.about(BundleCode::WrongCount, manifest.kind.log(), message);
        }
    }

    fn check_log(&mut self, manifest: &Manifest, redactions: &RedactionList) {
        for path in [path::DAG, path::WORKFLOW] {
            if !manifest.files.contains_key(path) {
                self.missing(path, "no run can be replayed without it");
            }
        }
        // A log without a snapshot must begin with the first event.
        let (first_time, previous) = match self.check_snapshot(manifest) {
            Ok(Some(snapshot)) => (snapshot.content.logical_time + 1, Some(snapshot.content.event_hash)),
            Ok(None) => (0, None),
            Err(error) => {
                if !self.is_incomplete {
                    self.problems.push(error);
                }
                return;
            }
        };
        let Some(log) = self.log.take() else { return };
        self.check_count(manifest, log.extent.count);
        let expected = LogExtent { head: log.extent.head.or(previous), ..log.extent };
        if expected != (LogExtent { count: expected.count, ..manifest.log }) {
            let message = "its first or last event is not the one that the manifest names";
            self.problems.about(BundleCode::WrongHead, path::EVENT_LOG, message);
        }
        let empty_without_snapshot = log.extent.count == 0 && previous.is_none();
        if empty_without_snapshot || log.extent.first_time.is_some_and(|first| first != first_time) {
            let message = format!("it must begin with the event at time {first_time}");
            self.problems.about(BundleCode::LogInvalid, path::EVENT_LOG, message);
        } else if let Some(Err(error)) = previous.map(|previous| log.check_first_line(&previous)) {
            self.problems.push(error.of_file(path::EVENT_LOG));
        }
        if log.torn_bytes > 0 {
            let message = format!("its last line is torn: {} bytes without an end", log.torn_bytes);
            self.problems.about(BundleCode::LogInvalid, path::EVENT_LOG, message);
        }
        self.check_redactions(&log, redactions);
        self.check_blobs(&log, redactions);
    }

    /// Parses the snapshot of a partial bundle.
    fn check_snapshot(&self, manifest: &Manifest) -> Result<Option<Snapshot>, BundleError> {
        let refused = |why: &str| BundleError::about(BundleCode::SnapshotInvalid, path::SNAPSHOT, why);
        let document = self.documents.get(path::SNAPSHOT);
        let Some(partial) = &manifest.partial else {
            return match document {
                Some(_) => Err(refused("the manifest does not say that the bundle begins with it")),
                None => Ok(None),
            };
        };
        let document = document.ok_or_else(|| refused("the bundle begins with a snapshot that is not there"))?;
        let text = std::str::from_utf8(document).map_err(|_| refused("it is not UTF-8"))?;
        // The snapshot needs no signature of its own: the manifest, which may be signed, contains its hash.
        let snapshot = Snapshot::parse(text, &TrustedKeys::default());
        let snapshot = snapshot.map_err(|error| of_run(BundleCode::SnapshotInvalid, error).of_file(path::SNAPSHOT))?;
        if snapshot.content.logical_time != partial.logical_time || snapshot.id() != partial.snapshot {
            return Err(refused("it is another one than the manifest names"));
        }
        Ok(Some(snapshot))
    }

    /// Checks that `redactions.json` lists exactly the events without a salt.
    fn check_redactions(&mut self, log: &CheckedLog, redactions: &RedactionList) {
        let listed = redactions.events.keys().copied();
        if !log.unsalted.iter().copied().eq(listed) {
            let unlisted = log.unsalted.iter().find(|time| !redactions.events.contains_key(time));
            let what = match unlisted {
                Some(time) => format!("the event at time {time} has no salt, and redactions.json does not list it"),
                None => "an event that redactions.json lists as redacted is not, or not there".to_owned(),
            };
            self.problems.about(BundleCode::RedactionMismatch, path::EVENT_LOG, what);
        }
    }

    fn check_blobs(&mut self, log: &CheckedLog, redactions: &RedactionList) {
        let path_of = |hash: &Hash| path::blob_path(redactions.stored(as_text(&to_hex(hash))));
        let mut missing: Vec<(String, Hash)> = log.blobs.iter().map(|hash| (path_of(hash), *hash)).collect();
        missing.retain(|(path, _)| !self.is_incomplete && !self.seen.contains_key(path));
        order::sort_by(&mut missing, Ord::cmp);
        for (path, hash) in missing {
            let message = format!("the log names the blob {}, and it is not there", as_text(&to_hex(&hash)));
            self.problems.about(BundleCode::BlobMissing, &path, message);
        }
        if let Some(name) = &log.invalid_blob {
            let message = format!("it names a blob '{name}', which is the name of none");
            self.problems.about(BundleCode::BlobMissing, path::EVENT_LOG, message);
        }
    }
}

/// The first problems, of which not more than [`MAX_PROBLEMS`] are listed.
#[derive(Default)]
struct Problems(Vec<BundleError>);

impl Problems {
    fn push(&mut self, problem: BundleError) {
        if self.0.len() == MAX_PROBLEMS {
            let message = format!("There are more problems than the first {MAX_PROBLEMS}");
            self.0.push(BundleError::new(BundleCode::TooManyProblems, message));
        } else if self.0.len() < MAX_PROBLEMS {
            self.0.push(problem);
        }
    }

    fn about(&mut self, code: BundleCode, path: &str, message: impl Display) {
        self.push(BundleError::about(code, path, message));
    }

    /// The value, unless there is a problem instead.
    fn unless<T>(&mut self, checked: Result<T, BundleError>) -> Option<T> {
        checked.map_err(|problem| self.push(problem)).ok()
    }
}

#[cfg(test)]
mod tests;
