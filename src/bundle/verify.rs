//! Verification: every file of a bundle is read once, and every problem is reported.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use super::checked_log::{CheckedLog, CheckedSession};
use super::checksums;
use super::container::{Container, Visitor};
use super::error::{BundleCode, BundleError, of_run};
use super::file_hash::FileHasher;
use super::hashing_reader::HashingReader;
use super::info::BundleInfo;
use super::limits::Limits;
use super::manifest::{BundleKind, ListedFile, Manifest};
use super::metadata;
use super::open_container::open_container;
use super::path::{self, BundlePath};
use super::redactions::RedactionList;
use super::signed::{self, SignaturePolicy};
use super::watch::{JobWatch, Progress};
use crate::disk::staged::StagedDirectory;
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::run::snapshot::Snapshot;
use crate::signature::TrustedKeys;

/// More problems than this are not listed.
const MAX_PROBLEMS: usize = 1000;

/// What is demanded of a bundle.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// The keys whose signature counts.
    pub trusted: TrustedKeys,
    /// Whether there must be one.
    pub signature: SignaturePolicy,
    /// How much the bundle may be.
    pub limits: Limits,
}

/// What a verification found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The bundle in short; None if its manifest can't be read.
    pub info: Option<BundleInfo>,
    /// Everything that is wrong. Nothing: the bundle is good.
    pub problems: Vec<BundleError>,
    /// The manifest, if it can be read.
    pub manifest: Option<Manifest>,
    /// What the bundle says was redacted.
    pub redactions: RedactionList,
    /// Whether a trusted key signed the manifest, whatever the policy.
    pub is_trusted: bool,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Verifies the bundle at `path`. An error is not about the bundle: something can't be read, or the caller asked to stop.
pub fn verify(path: &Path, options: &VerifyOptions, watch: &mut JobWatch<'_>) -> Result<Report, BundleError> {
    verify_with(path, options, None, watch)
}

/// The same. Files are copied to `copy_to` as they are read, believed or not.
pub fn verify_with(
    path: &Path,
    options: &VerifyOptions,
    copy_to: Option<&StagedDirectory>,
    watch: &mut JobWatch<'_>,
) -> Result<Report, BundleError> {
    let mut container = match open_container(path, &options.limits) {
        Ok(container) => container,
        Err(error) if error.is_outside() => return Err(error),
        Err(error) => {
            return Ok(Report {
                info: None,
                problems: vec![error],
                manifest: None,
                redactions: RedactionList::default(),
                is_trusted: false,
            });
        }
    };
    inspect(path, container.as_mut(), options, copy_to, watch)
}

/// Looks at all that a container holds. Files are copied to `copy_to` as they are read, believed or not.
pub fn inspect(
    path: &Path,
    container: &mut dyn Container,
    options: &VerifyOptions,
    copy_to: Option<&StagedDirectory>,
    watch: &mut JobWatch<'_>,
) -> Result<Report, BundleError> {
    let (total, position) = (container.total(), container.position());
    let mut files = 0;
    let mut tick = |more_files: u64| {
        files += more_files;
        watch.tell(Progress { bytes: position.get(), total, files })
    };
    let mut inspection = Inspection {
        limits: &options.limits,
        copy_to,
        tick: &mut tick,
        hasher: FileHasher::default(),
        seen: BTreeMap::new(),
        entries: 0,
        documents: BTreeMap::new(),
        log: None,
        session: None,
        problems: Vec::new(),
        broken_off: false,
    };
    match container.visit(&mut inspection) {
        Err(error) if error.is_outside() => return Err(error),
        Err(error) => {
            inspection.broken_off = true;
            inspection.note(error);
        }
        Ok(()) => {}
    }
    let report = inspection.conclude(path, options);
    watch.check()?;
    (watch.progress)(Progress { bytes: total, total, files });
    Ok(report)
}

/// What was seen so far.
struct Inspection<'i> {
    limits: &'i Limits,
    copy_to: Option<&'i StagedDirectory>,
    tick: &'i mut dyn FnMut(u64) -> Result<(), BundleError>,
    hasher: FileHasher,
    /// None for what was too large to be read.
    seen: BTreeMap<String, Option<ListedFile>>,
    entries: u64,
    /// The files that are understood as a whole.
    documents: BTreeMap<String, Vec<u8>>,
    log: Option<CheckedLog>,
    session: Option<CheckedSession>,
    problems: Vec<BundleError>,
    /// There is more that could not be reached.
    broken_off: bool,
}

impl Visitor for Inspection<'_> {
    fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError> {
        self.entries += 1;
        if self.entries > self.limits.files {
            let message = format!("There are more than {} files", self.limits.files);
            return Err(BundleError::new(BundleCode::TooManyFiles, message));
        }
        (self.tick)(1)?;
        if let Err(error) = self.limits.check_file(path, size) {
            self.note(error);
            self.seen.insert(path.as_str().to_owned(), None);
            return Ok(());
        }
        let copy = self.copy_to.map(|staged| staged.create(&path.below(staged.path()))).transpose()?;
        let (mut log, mut session, mut document) = (None, None, None);
        let limits = self.limits;
        let tick = &mut *self.tick;
        let mut count = |_| tick(0);
        let mut content = HashingReader::new(content, &mut self.hasher, copy, &mut count);
        let read = match path.as_str() {
            path::EVENT_LOG => log.insert(CheckedLog::default()).read(&mut content, limits),
            path::SESSION_LOG => session.insert(CheckedSession::default()).read(&mut content, limits),
            other if limits.document_bytes(other).is_some() => {
                // The size was checked, and no more than that is there.
                let read = content.read_to_end(document.insert(Vec::with_capacity(size as usize)));
                read.map(drop).map_err(super::container::read_failed)
            }
            _ => Ok(()),
        };
        let fault = content.fault();
        let passed = match fault {
            Some(fault) => {
                content.abandon()?;
                return Err(fault);
            }
            None => content.finish()?,
        };
        if let Some(copy) = passed.copy {
            self.copy_to.map_or(Ok(()), |staged| staged.keep(&copy))?;
        }
        if let Err(error) = read {
            self.note(error.of_file(path.as_str()));
            // What was read of it is not the whole.
            (log, session) = (None, None);
        }
        self.log = log.or(self.log.take());
        self.session = session.or(self.session.take());
        if let Some(document) = document {
            self.documents.insert(path.as_str().to_owned(), document);
        }
        self.see(path, ListedFile { sha256: passed.hashed.sha256, size: passed.size });
        Ok(())
    }

    fn problem(&mut self, problem: BundleError) -> Result<(), BundleError> {
        self.note(problem);
        Ok(())
    }
}

impl Inspection<'_> {
    fn note(&mut self, problem: BundleError) {
        if self.problems.len() == MAX_PROBLEMS {
            let message = format!("There are more problems than the first {MAX_PROBLEMS}");
            self.problems.push(BundleError::new(BundleCode::TooManyProblems, message));
        } else if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn see(&mut self, path: &BundlePath, file: ListedFile) {
        match path.blob() {
            Some(Some(hash)) if hash == file.sha256 => {}
            Some(Some(_)) => {
                let message = format!("its bytes have another hash than its name: {}", as_text(&to_hex(&file.sha256)));
                self.note(BundleError::about(BundleCode::BlobNameMismatch, path.as_str(), message));
            }
            Some(None) => {
                let message = "a blob lies under its hash, blobs/<first 2 hex digits>/<64 hex digits>";
                self.note(BundleError::about(BundleCode::BlobNameMismatch, path.as_str(), message));
            }
            None => {}
        }
        self.seen.insert(path.as_str().to_owned(), Some(file));
    }

    /// What only all files together tell.
    fn conclude(mut self, path: &Path, options: &VerifyOptions) -> Report {
        let document = self.documents.remove(path::MANIFEST);
        let manifest = match document.as_deref().map(Manifest::parse) {
            Some(Ok((manifest, id))) => {
                manifest.problems(&id).into_iter().for_each(|problem| self.note(problem));
                Some(manifest)
            }
            Some(Err(error)) => {
                self.note(error);
                None
            }
            None => {
                if !self.broken_off && !self.seen.contains_key(path::MANIFEST) {
                    let message = "There is no manifest.json: this is no bundle, or not a whole one";
                    self.note(BundleError::new(BundleCode::ManifestMissing, message));
                }
                None
            }
        };
        let redactions = self.redactions();
        let mut is_trusted = false;
        if let Some((manifest, document)) = manifest.as_ref().zip(document.as_ref()) {
            self.check_files(manifest, document);
            self.check_metadata(manifest);
            match manifest.kind {
                BundleKind::Run => self.check_log(manifest, &redactions),
                BundleKind::Session => self.check_session(manifest),
            }
            let signature = self.documents.get(path::SIGNATURE).map(Vec::as_slice);
            is_trusted = signature.is_some_and(|signature| signed::is_by(&options.trusted, signature, document));
            let problem = signed::problem(options.signature, &options.trusted, signature, document);
            problem.into_iter().for_each(|problem| self.note(problem));
        }
        let info = manifest.as_ref().map(|manifest| BundleInfo::new(path, manifest, redactions.count()));
        Report { info, problems: self.problems, manifest, redactions, is_trusted }
    }

    fn redactions(&mut self) -> RedactionList {
        match self.documents.get(path::REDACTIONS).map(|document| RedactionList::parse(document)) {
            Some(Ok(redactions)) => redactions,
            Some(Err(error)) => {
                self.note(error);
                RedactionList::default()
            }
            None => RedactionList::default(),
        }
    }

    fn check_files(&mut self, manifest: &Manifest, document: &[u8]) {
        let mut problems = Vec::new();
        for (path, listed) in &manifest.files {
            let about = |code, message: String| BundleError::about(code, path, message);
            match self.seen.get(path) {
                Some(Some(seen)) if seen.size != listed.size => {
                    let message = format!("it has {} bytes, and the manifest lists {}", seen.size, listed.size);
                    problems.push(about(BundleCode::WrongSize, message));
                }
                Some(Some(seen)) if seen.sha256 != listed.sha256 => {
                    let [found, expected] = [seen.sha256, listed.sha256].map(|hash| to_hex(&hash));
                    let (found, expected) = (as_text(&found), as_text(&expected));
                    problems.push(about(
                        BundleCode::WrongHash,
                        format!("it has the hash {found}, and the manifest lists {expected}"),
                    ));
                }
                None if !self.broken_off => {
                    problems
                        .push(about(BundleCode::FileMissing, "the manifest lists it, and it is not there".to_owned()));
                }
                _ => {}
            }
        }
        let made = [path::MANIFEST, path::CHECKSUMS, path::SIGNATURE];
        for path in
            self.seen.keys().filter(|path| !manifest.files.contains_key(*path) && !made.contains(&path.as_str()))
        {
            problems.push(BundleError::about(BundleCode::NotInManifest, path, "the manifest does not list it"));
        }
        let sums = self.documents.get(path::CHECKSUMS);
        if sums.is_some_and(|sums| *sums != checksums::print(manifest, document)) {
            let message = "it is not the list of the manifest's hashes and of the manifest's own";
            problems.push(BundleError::about(BundleCode::ChecksumsMismatch, path::CHECKSUMS, message));
        }
        problems.into_iter().for_each(|problem| self.note(problem));
    }

    fn check_metadata(&mut self, manifest: &Manifest) {
        match self.documents.get(path::METADATA) {
            Some(document) => {
                if let Err(error) = metadata::check(document, manifest.kind, manifest.log.count) {
                    self.note(error);
                }
            }
            None if !manifest.files.contains_key(path::METADATA) && !self.broken_off => {
                self.note(BundleError::about(BundleCode::FileMissing, path::METADATA, "every bundle has one"));
            }
            None => {}
        }
    }

    fn check_session(&mut self, manifest: &Manifest) {
        self.check_has_log(manifest);
        let Some(session) = self.session.take() else { return };
        self.check_count(manifest, session.lines);
        let log = &manifest.log;
        if log.head.is_some() || log.first_time.is_some() || log.last_time.is_some() {
            let message = "The manifest names a head or times, which a session does not have";
            self.note(BundleError::new(BundleCode::WrongHead, message));
        }
    }

    fn check_has_log(&mut self, manifest: &Manifest) {
        let log = manifest.kind.log();
        if !manifest.files.contains_key(log) && !self.broken_off {
            self.note(BundleError::about(BundleCode::FileMissing, log, "a bundle of this kind has one"));
        }
    }

    fn check_count(&mut self, manifest: &Manifest, found: u64) {
        if found != manifest.log.count {
            let message = format!("it has {found} lines, and the manifest says {}", manifest.log.count);
            self.note(BundleError::about(BundleCode::WrongCount, manifest.kind.log(), message));
        }
    }

    fn check_log(&mut self, manifest: &Manifest, redactions: &RedactionList) {
        self.check_has_log(manifest);
        for path in [path::DAG, path::WORKFLOW] {
            if !manifest.files.contains_key(path) && !self.broken_off {
                self.note(BundleError::about(BundleCode::FileMissing, path, "no run can be replayed without it"));
            }
        }
        // Without a snapshot the log begins at the beginning.
        let (first_time, before) = match self.check_snapshot(manifest) {
            Ok(Some(snapshot)) => (snapshot.content.logical_time + 1, Some(snapshot.content.event_hash)),
            Ok(None) => (0, None),
            Err(error) => {
                if !self.broken_off {
                    self.note(error);
                }
                return;
            }
        };
        let Some(log) = self.log.take() else { return };
        self.check_count(manifest, log.extent.count);
        let mut expected = log.extent.clone();
        expected.head = expected.head.or(before);
        let listed = &manifest.log;
        if (expected.first_time, expected.last_time, expected.head)
            != (listed.first_time, listed.last_time, listed.head)
        {
            let message = "its first or last event is not the one that the manifest names";
            self.note(BundleError::about(BundleCode::WrongHead, path::EVENT_LOG, message));
        }
        let empty_without_snapshot = log.extent.count == 0 && before.is_none();
        if empty_without_snapshot || log.extent.first_time.is_some_and(|first| first != first_time) {
            let message = format!("it must begin with the event at time {first_time}");
            self.note(BundleError::about(BundleCode::LogInvalid, path::EVENT_LOG, message));
        } else if let Some(Err(error)) = before.map(|before| log.check_first_line(&before)) {
            self.note(error.of_file(path::EVENT_LOG));
        }
        if log.torn_bytes > 0 {
            let message = format!("its last line is torn: {} bytes without an end", log.torn_bytes);
            self.note(BundleError::about(BundleCode::LogInvalid, path::EVENT_LOG, message));
        }
        self.check_redactions(&log, redactions);
        self.check_blobs(&log, redactions);
    }

    /// The snapshot of a partial bundle.
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
        // Who vouches for the bundle vouches for it: the manifest has its hash.
        let snapshot = Snapshot::parse(text, &TrustedKeys::default());
        let snapshot = snapshot.map_err(|error| of_run(BundleCode::SnapshotInvalid, error).of_file(path::SNAPSHOT))?;
        if snapshot.content.logical_time != partial.logical_time || snapshot.id() != partial.snapshot {
            return Err(refused("it is another one than the manifest names"));
        }
        Ok(Some(snapshot))
    }

    /// Events without a salt, and no others, are listed.
    fn check_redactions(&mut self, log: &CheckedLog, redactions: &RedactionList) {
        let listed = redactions.events.keys().copied();
        if !log.unsalted.iter().copied().eq(listed) {
            let unlisted = log.unsalted.iter().find(|time| !redactions.events.contains_key(time));
            let what = match unlisted {
                Some(time) => format!("the event at time {time} has no salt, and redactions.json does not list it"),
                None => "an event that redactions.json lists as redacted is not, or not there".to_owned(),
            };
            self.note(BundleError::about(BundleCode::RedactionMismatch, path::EVENT_LOG, what));
        }
    }

    fn check_blobs(&mut self, log: &CheckedLog, redactions: &RedactionList) {
        let mut missing: Vec<(String, Hash)> = Vec::new();
        for hash in &log.blobs {
            let name = as_text(&to_hex(hash)).to_owned();
            let stored =
                redactions.blobs.get(&name).and_then(|blob| from_hex(blob.redacted.as_bytes())).unwrap_or(*hash);
            let path = path::blob_path(as_text(&to_hex(&stored)));
            if !self.seen.contains_key(&path) {
                missing.push((path, *hash));
            }
        }
        missing.sort();
        let incomplete = self.broken_off;
        for (path, hash) in missing.into_iter().filter(|_| !incomplete) {
            let message = format!("the log names the blob {}, and it is not there", as_text(&to_hex(&hash)));
            self.note(BundleError::about(BundleCode::BlobMissing, &path, message));
        }
        if let Some(name) = &log.no_blob {
            let message = format!("it names a blob '{name}', which is the name of none");
            self.note(BundleError::about(BundleCode::BlobMissing, path::EVENT_LOG, message));
        }
    }
}

#[cfg(test)]
mod tests;
