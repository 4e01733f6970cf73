//! Plans an export: finds and hashes the files of a source, and collects the content of manifest and metadata.
//!
//! A source is read twice, here and when the bundle is written. The second pass detects changes in between.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::export::ExportOptions;
use super::file_hash::FileHasher;
use super::hashing_reader::{HashedFile, HashingReader};
use super::partial_start::{PartialStart, find_start, start_of_partial};
use super::planned_file::{ByteSource, PlannedFile, open_session, source_changed};
use crate::archived::{is_archived, resolve};
use crate::bundle::format::{
    BundleCode, BundleError, BundleKind, BundlePath, EVENT_LOG, Limits, LogExtent, Metadata, Partial, REDACTIONS,
    RedactionList, RunSummary, SESSION_LOG, SignaturePolicy, blob_path, of_run, path,
};
use crate::bundle::read::{
    CheckedLog, CheckedSession, ImportError, OpenedBundle, VerifyOptions, is_bundle, open_file, read_failed,
};
use crate::bundle::redact::{Prefilter, Staging};
use crate::disk::{InputFile, files};
use crate::foreign::{ConvertedFile, Stop, convert_to_file};
use crate::hash::{Hash, as_text, from_hex, to_hex};
use crate::lines::ReadError;
use crate::order;
use crate::run::{EventLine, RunDirectory, Snapshot, event_id};
use crate::task::{Progress, Task};

/// The files of a source and what manifest and metadata say about them. Redaction replaces files and adds to `redactions`.
pub(crate) struct ExportPlan {
    /// The kind of recording.
    pub kind: BundleKind,
    /// The files of the source, without manifest, metadata and other files that only bundles have.
    pub files: BTreeMap<BundlePath, PlannedFile>,
    /// The entry of the manifest for the log.
    pub log: LogExtent,
    /// The snapshot of a partial bundle.
    pub partial: Option<Partial>,
    /// The content of `metadata.json`.
    pub metadata: Metadata,
    /// The redactions of this export and, if the source is a bundle, those of the source.
    pub redactions: RedactionList,
    /// The blobs that the log names.
    pub named: HashSet<Hash>,
    /// The objects of media that a session refers to.
    pub images: HashSet<Hash>,
    /// The size of the source, the unit of progress. The bundle itself is slightly larger.
    pub source_bytes: u64,
    /// The directory of the redacted files, removed on drop.
    pub staging: Option<Staging>,
}

/// Where the log of an exported run begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExportFrom {
    /// At the first event.
    #[default]
    Log,
    /// After the newest valid snapshot.
    LatestSnapshot,
    /// After the snapshot with this id.
    Snapshot(String),
}

/// The opened source of an export: a run directory, a session file, or a bundle of either.
pub(super) struct ExportSource {
    path: PathBuf,
    /// The path that the caller named.
    given: PathBuf,
    /// The verified bundle, if the source is one. Holds the unpacked archive.
    bundle: Option<OpenedBundle>,
    /// What the source became, if it is a foreign session.
    converted: Option<ConvertedFile>,
    /// Whether an archived session is exported although it is damaged: what is before the damage.
    allows_damage: bool,
}

impl ExportSource {
    /// Opens the source at `path`. A bundle is verified, except for its signature.
    pub(crate) fn open(path: &Path, options: &ExportOptions, task: &Task<'_>) -> Result<Self, BundleError> {
        let ExportOptions { limits, allows_damage, .. } = options;
        let allows_damage = *allows_damage;
        let given = path.to_path_buf();
        if !is_bundle(path) {
            let converted = task.cancellation.during(|| convert_to_file(path)).map_err(|stop| match stop {
                Stop::Read(ReadError::System(error)) => error.into(),
                stop => BundleError::new(BundleCode::NotABundle, stop.to_string()),
            })?;
            let damage = converted.as_ref().and_then(ConvertedFile::damage);
            let path = converted.as_ref().map_or(path, ConvertedFile::log).to_path_buf();
            let source = ExportSource { path, given, bundle: None, converted, allows_damage };
            return source.expect_whole(damage).map(|()| source);
        }
        let options = VerifyOptions { limits: *limits, signature: SignaturePolicy::Ignore, ..VerifyOptions::default() };
        // Progress of the export begins after this.
        let mut silent = Task { cancellation: task.cancellation, progress: &mut |_| {} };
        let bundle = OpenedBundle::open(path, &options, &mut silent).map_err(|error| match error {
            ImportError::Failed(error) => error,
            ImportError::Refused { problems } => {
                let invalid = || BundleError::new(BundleCode::SourceInvalid, "The bundle does not verify");
                problems.into_iter().next().unwrap_or_else(invalid)
            }
        })?;
        let path = bundle.root().to_path_buf();
        Ok(ExportSource { path, given, bundle: Some(bundle), converted: None, allows_damage })
    }

    /// Fails for an archive that can't be read to its end.
    fn expect_whole(&self, damage: Option<u64>) -> Result<(), BundleError> {
        let Some(damage) = damage.filter(|_| !self.allows_damage) else { return Ok(()) };
        Err(BundleError::new(BundleCode::SourceInvalid, ReadError::Damaged(damage).to_string()))
    }

    /// The redactions of a source that is a bundle, or has a bundle's files next to it.
    fn redactions(
        &self,
        beside: &Path,
        is_named_as_in_bundle: bool,
        limits: &Limits,
    ) -> Result<RedactionList, BundleError> {
        match &self.bundle {
            Some(bundle) => Ok(bundle.redactions.clone()),
            None => read_redactions(&beside.join(REDACTIONS), is_named_as_in_bundle, limits),
        }
    }

    /// The path that the caller named.
    pub(super) fn given(&self) -> &Path {
        &self.given
    }

    fn partial(&self) -> Option<&Partial> {
        self.bundle.as_ref()?.manifest.partial.as_ref()
    }
}

/// Plans the export of a source. `prefilter` runs over each file while it is hashed. `has_original` says whether the bundle of a foreign session also has
/// that as it is, and its receipt.
pub(super) fn plan(
    source: &ExportSource,
    options: &ExportOptions,
    has_original: bool,
    prefilter: Option<Arc<Prefilter>>,
    task: &mut Task<'_>,
) -> Result<ExportPlan, BundleError> {
    let ExportOptions { from, limits, .. } = options;
    let path = &*resolve(&source.path);
    let metadata = files::metadata(path)?;
    let mut planner =
        Planner { source, options, hasher: FileHasher::new(prefilter), limits, task, progress: Progress::default() };
    if metadata.is_file() {
        // The caller's path may be a link, as for a replay.
        let file = files::canonicalize(path)?;
        let mut plan = planner.session(&file, from)?;
        if let Some(converted) = source.converted.as_ref().filter(|_| has_original) {
            for (name, disk) in [(path::RECEIPT, converted.receipt()), (path::ORIGINAL, converted.original())] {
                let path = bundle_path(name)?;
                let disk = files::canonicalize(disk)?;
                let planned = planner.plan_file(&path, &disk, files::metadata(&disk)?.size)?;
                plan.files.insert(path, planned);
            }
        }
        return Ok(plan);
    }
    if metadata.is_directory() && files::is_file(&path.join(SESSION_LOG)) && !files::exists(&path.join(EVENT_LOG)) {
        return planner.session(&path.join(SESSION_LOG), from);
    }
    if !metadata.is_directory() || !files::exists(&path.join(EVENT_LOG)) {
        let message =
            format!("{} is neither a run's directory (it has no {EVENT_LOG}) nor a session's file", path.display());
        return Err(BundleError::new(BundleCode::NotABundle, message));
    }
    planner.run(&RunDirectory::new(path), from)
}

pub(super) struct Planner<'s, 'w> {
    pub(super) source: &'s ExportSource,
    pub(super) options: &'s ExportOptions,
    hasher: FileHasher,
    pub(super) limits: &'s Limits,
    task: &'s mut Task<'w>,
    pub(super) progress: Progress,
}

impl Planner<'_, '_> {
    fn session(&mut self, file: &Path, from: &ExportFrom) -> Result<ExportPlan, BundleError> {
        if *from != ExportFrom::Log {
            let message = "A session has no snapshots from which its bundle could begin";
            return Err(BundleError::new(BundleCode::InvalidOption, message));
        }
        let redactions = self.source.redactions(files::parent(file), file.ends_with(SESSION_LOG), self.limits)?;
        let mut session = CheckedSession::for_export();
        let limits = *self.limits;
        let mut read = |content: &mut HashingReader<'_>| session.read(content, &limits);
        let planned = if is_archived(file) {
            let source = open_session(file)?;
            self.progress.total = source.size();
            limits.check_total(source.size())?;
            let mut reader = source.into_reader();
            let HashedFile { listed, candidates, fingerprint, .. } = self.hash(&mut reader, read)?;
            self.source.expect_whole(reader.into_source().damage())?;
            PlannedFile { listed, origin: ByteSource::Archive(file.to_path_buf(), fingerprint), candidates }
        } else {
            let (mut input, size) = open_file(file)?;
            self.progress.total = size;
            // A size that is only claimed must not be read.
            limits.check_total(size)?;
            self.hash_file(&mut input, file, 0, size, &mut read)?
        };
        let Some(id) = session.session_id else {
            let message = format!("{} is no session: its first line is no session_start", file.display());
            return Err(BundleError::new(BundleCode::NotABundle, message));
        };
        let metadata = Metadata {
            kind: BundleKind::Session,
            id,
            workflow: None,
            status: None,
            events: session.lines,
            blobs: 0,
            media: None,
            started_at: session.started_at,
            completed_at: session.completed_at,
        };
        let log = LogExtent { count: session.lines, ..LogExtent::default() };
        let mut files = [(bundle_path(SESSION_LOG)?, planned)].into();
        let metadata = Metadata { media: self.media(file, &session.objects, &mut files)?, ..metadata };
        Ok(ExportPlan {
            kind: BundleKind::Session,
            files,
            log,
            partial: None,
            metadata,
            redactions,
            named: HashSet::new(),
            images: session.objects.each().map(|object| object.hash).collect(),
            source_bytes: self.progress.total,
            staging: None,
        })
    }

    fn run(&mut self, run: &RunDirectory, from: &ExportFrom) -> Result<ExportPlan, BundleError> {
        let mut redactions = self.source.redactions(run.root(), files::exists(&run.manifest()), self.limits)?;
        let start = match (from, self.source.partial()) {
            (ExportFrom::Snapshot(id), Some(partial)) if *id != partial.snapshot => {
                let message = format!(
                    "The source is a bundle that begins with {}, and holds no other snapshot",
                    partial.snapshot
                );
                return Err(BundleError::new(BundleCode::SnapshotNotFound, message));
            }
            (_, Some(partial)) => Some(start_of_partial(run, partial)?),
            (ExportFrom::Log, None) => None,
            (_, None) => Some(find_start(run, from, &redactions)?),
        };
        let small = self.small_files(run, start.as_ref())?;
        // Files that are too large are refused before the log is read.
        small.iter().try_for_each(|(path, _, size)| self.limits.check_file(path, *size))?;
        let blobs = list_blobs(run)?;
        let (mut log_file, _) = open_file(&run.log())?;
        let end = complete_lines_end(&mut log_file)?;
        let offset = start.as_ref().map_or(0, |start| start.offset);
        self.progress.total =
            (end - offset) + small.iter().chain(&blobs).fold(0, |sum, (_, _, size)| u64::saturating_add(sum, *size));
        self.limits.check_total(self.progress.total)?;
        let (mut checked, limits) = (CheckedLog::default(), *self.limits);
        log_file.seek(SeekFrom::Start(offset)).map_err(read_failed)?;
        let planned_log =
            self.hash_file(&mut log_file, &run.log(), offset, end - offset, |content| checked.read(content, &limits));
        let planned_log = planned_log.map_err(|error| damaged(error, EVENT_LOG))?;
        let whole = match &start {
            Some(start) => checked
                .check_first_line(&start.event_hash)
                .map(|()| checked.extent.head = checked.extent.head.or(Some(start.event_hash))),
            None if checked.extent.first_time == Some(0) => Ok(()),
            None => Err(BundleError::new(BundleCode::LogInvalid, "it does not begin with the first event")),
        };
        whole.map_err(|error| damaged(error, EVENT_LOG))?;
        if checked.torn_bytes > 0 {
            let why = "a power cut has left a hole in it; a recorder that resumes the run cuts off what is behind";
            return Err(damaged(BundleError::new(BundleCode::LogInvalid, why), EVENT_LOG));
        }
        self.check_run(run, &checked, &redactions, start.is_none())?;
        let mut files: BTreeMap<BundlePath, PlannedFile> = [(bundle_path(EVENT_LOG)?, planned_log)].into();
        for (path, disk, size) in small {
            let planned = self.plan_file(&path, &disk, size)?;
            files.insert(path, planned);
        }
        let blob_count = self.blobs(blobs, &checked, &redactions, start.is_some(), &mut files)?;
        let named = std::mem::take(&mut checked.blobs);
        if let Some(start) = &start {
            // Events before the snapshot, and blobs that only they name, are not in the bundle.
            redactions.events.retain(|time, _| *time > start.time);
            redactions.blobs.retain(|blob, _| from_hex(blob.as_bytes()).is_some_and(|hash| named.contains(&hash)));
        }
        let (log, metadata) = run_metadata(run, checked, blob_count, start.as_ref())?;
        let partial = start.map(|start| Partial { snapshot: Snapshot::id_at(start.time), logical_time: start.time });
        let source_bytes = self.progress.total;
        let kind = BundleKind::Run;
        let images = HashSet::new();
        Ok(ExportPlan { kind, files, log, partial, metadata, redactions, named, images, source_bytes, staging: None })
    }

    /// Fails for a run whose bundle would not verify, though its lines have their hashes.
    fn check_run(
        &self,
        run: &RunDirectory,
        log: &CheckedLog,
        redactions: &RedactionList,
        is_whole: bool,
    ) -> Result<(), BundleError> {
        if let Some(time) = log.unsalted.iter().find(|time| !redactions.events.contains_key(time)) {
            let why = format!("{} has no salt, and nothing says that it was redacted", event_id(*time));
            return Err(damaged(BundleError::new(BundleCode::LogInvalid, why), EVENT_LOG));
        }
        let redactions = redactions.of_run();
        match run.graph_fault(is_whole, &redactions) {
            Some(fault) => Err(of_run(BundleCode::SourceInvalid, fault)),
            None => Ok(()),
        }
    }

    /// Lists graph, workflow and snapshots of a run.
    fn small_files(&self, run: &RunDirectory, start: Option<&PartialStart>) -> Result<Vec<SourceFile>, BundleError> {
        let mut found = Vec::new();
        let mut add = |path: &str, disk: PathBuf| -> Result<bool, BundleError> {
            match files::symlink_metadata(&disk) {
                Ok(metadata) => found.push((bundle_path(path)?, disk, metadata.size)),
                Err(error) if error.code == "ENOENT" => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            Ok(true)
        };
        for (path, disk) in [(path::DAG, run.dag()), (path::WORKFLOW, run.workflow())] {
            if !add(path, disk)? {
                let message = "it is not there, and without it nobody could replay the run";
                return Err(BundleError::about(BundleCode::SourceInvalid, path, message));
            }
        }
        if let Some(start) = start {
            add(path::SNAPSHOT, start.path.clone())?;
            return Ok(found);
        }
        let times = run.snapshot_times().map_err(|error| of_run(BundleCode::SourceInvalid, error))?;
        for time in times {
            let disk = run.snapshot(time);
            add(&format!("snapshots/{}.cath-snap", Snapshot::id_at(time)), disk)?;
        }
        Ok(found)
    }

    /// Plans the blobs, all or only those that the log names, and returns their number. Fails if a named blob is missing.
    fn blobs(
        &mut self,
        blobs: Vec<SourceFile>,
        log: &CheckedLog,
        redactions: &RedactionList,
        only_named: bool,
        files: &mut BTreeMap<BundlePath, PlannedFile>,
    ) -> Result<u64, BundleError> {
        let mut count = 0;
        let path_of = |hash: &Hash| blob_path(redactions.stored(as_text(&to_hex(hash))));
        let named: HashSet<String> = log.blobs.iter().map(path_of).collect();
        for (path, disk, size) in blobs {
            if only_named && !named.contains(path.as_str()) {
                continue;
            }
            let planned = self.plan_file(&path, &disk, size)?;
            if path.blob() != Some(Some(planned.listed.sha256)) {
                let message = "it was changed after it was stored: its bytes have another hash than its name";
                return Err(BundleError::about(BundleCode::BlobNameMismatch, path.as_str(), message));
            }
            files.insert(path, planned);
            count += 1;
        }
        let missing = named.iter().filter(|path| !bundle_path(path).is_ok_and(|path| files.contains_key(&path))).min();
        match (missing, &log.invalid_blob) {
            (Some(path), _) => {
                Err(BundleError::about(BundleCode::BlobMissing, path, "the log names this blob, and it is not there"))
            }
            (None, Some(name)) => {
                let message = format!("The log names a blob '{name}', which is the name of none");
                Err(BundleError::new(BundleCode::BlobMissing, message))
            }
            (None, None) => Ok(count),
        }
    }

    /// Plans a file other than the log. A file over the limits is refused without reading it.
    pub(super) fn plan_file(&mut self, path: &BundlePath, disk: &Path, size: u64) -> Result<PlannedFile, BundleError> {
        self.limits.check_file(path, size)?;
        let (mut input, _) = open_file(disk)?;
        let mut planned = self.hash_file(&mut input, disk, 0, size, |_| Ok(()))?;
        if let Some(candidates) = &mut planned.candidates {
            // For these files it only matters whether there is any, and there may be many files.
            candidates.truncate(1);
            candidates.shrink_to_fit();
        }
        Ok(planned)
    }

    /// Hashes `size` bytes of a file while `read` parses them.
    fn hash_file(
        &mut self,
        input: &mut InputFile,
        disk: &Path,
        offset: u64,
        size: u64,
        read: impl FnOnce(&mut HashingReader<'_>) -> Result<(), BundleError>,
    ) -> Result<PlannedFile, BundleError> {
        let HashedFile { listed, candidates, fingerprint, .. } = self.hash(&mut input.take(size), read)?;
        if listed.size != size {
            return Err(source_changed(disk));
        }
        Ok(PlannedFile { listed, origin: ByteSource::File(disk.to_path_buf(), offset, fingerprint), candidates })
    }

    /// Hashes a file while `read` parses it.
    fn hash(
        &mut self,
        input: &mut dyn Read,
        read: impl FnOnce(&mut HashingReader<'_>) -> Result<(), BundleError>,
    ) -> Result<HashedFile, BundleError> {
        let (task, progress) = (&mut *self.task, &mut self.progress);
        let mut tick = |bytes| {
            progress.bytes += bytes;
            // Planning is the first half of the work; writing reads everything again.
            Ok(task.report(Progress { bytes: progress.bytes / 2, ..*progress })?)
        };
        let mut content = HashingReader::new(input, &mut self.hasher, None, &mut tick).with_fingerprint();
        if let Err(error) = read(&mut content) {
            return Err(content.take_error().unwrap_or(error));
        }
        content.finish()
    }
}

/// A file of a source: its path in the bundle, its path on disk, and its size.
type SourceFile = (BundlePath, PathBuf, u64);

pub(super) fn bundle_path(path: &str) -> Result<BundlePath, BundleError> {
    BundlePath::parse(path.as_bytes())
}

/// Reports an invalid log as damage of the source; other errors only get the path.
fn damaged(error: BundleError, path: &str) -> BundleError {
    if error.is_operational() || error.code != BundleCode::LogInvalid {
        return error.of_file(path);
    }
    BundleError::about(
        BundleCode::SourceInvalid,
        path,
        format!("damaged, so that its bundle could not be verified: {}", error.message),
    )
}

/// Reads the redactions of a source with the file names of a bundle.
fn read_redactions(path: &Path, is_bundle: bool, limits: &Limits) -> Result<RedactionList, BundleError> {
    if !is_bundle || !files::exists(path) {
        return Ok(RedactionList::default());
    }
    let (file, size) = open_file(path)?;
    limits.check_file(&bundle_path(REDACTIONS)?, size)?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(read_failed)?;
    RedactionList::parse(&bytes)
}

/// The offset after the last complete line of a log.
fn complete_lines_end(log: &mut InputFile) -> Result<u64, BundleError> {
    let failed = |error: std::io::Error| BundleError::system(&error, "read", None);
    let mut end = log.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - start) as usize];
        log.seek(SeekFrom::Start(start)).map_err(failed)?;
        log.read_exact(part).map_err(failed)?;
        if let Some(newline) = memchr::memrchr(b'\n', part) {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Lists the blobs of a run, sorted. Temporary files of interrupted writes are ignored.
fn list_blobs(run: &RunDirectory) -> Result<Vec<SourceFile>, BundleError> {
    let store = run.blob_store();
    let mut found = Vec::new();
    for directory in list(&run.blobs())? {
        for name in list(&run.blobs().join(&directory))? {
            let path = bundle_path(&blob_path(&name));
            let Some((disk, path)) = store.path_of(&name).zip(path.ok()).filter(|_| name.starts_with(&directory))
            else {
                continue;
            };
            let size = files::symlink_metadata(&disk)?.size;
            found.push((path, disk, size));
        }
    }
    order::sort_by(&mut found, Ord::cmp);
    Ok(found)
}

/// The names in a directory; none if it does not exist or is not a directory.
fn list(directory: &Path) -> Result<Vec<String>, BundleError> {
    let entries = match files::read_directory(directory) {
        Err(error) if matches!(error.code, "ENOENT" | "ENOTDIR") => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for name in entries {
        names.extend(name?.into_string().ok());
    }
    Ok(names)
}

/// The metadata of a run. The metadata of a partial bundle also describes the beginning of the run.
fn run_metadata(
    run: &RunDirectory,
    log: CheckedLog,
    blobs: u64,
    start: Option<&PartialStart>,
) -> Result<(LogExtent, Metadata), BundleError> {
    let mut first = CheckedLog::default();
    if let Some(RunSummary { created, started_at }) = start.and_then(|start| start.summary.clone()) {
        (first.created, first.started_at) = (Some(created), started_at);
    } else if log.created.is_none() {
        let (file, _) = open_file(&run.log())?;
        let mut line = Vec::new();
        let limit = EventLine::MAX_BYTES as u64 + 1;
        let mut reader = std::io::BufReader::new(file.take(limit));
        std::io::BufRead::read_until(&mut reader, b'\n', &mut line).map_err(read_failed)?;
        first.read(&mut &line[..], &Limits::default()).map_err(|error| damaged(error, EVENT_LOG))?;
    }
    let created = log.created.or(first.created);
    let Some([id, name, version]) = created else {
        return Err(BundleError::about(BundleCode::SourceInvalid, EVENT_LOG, "it does not begin with RunCreated"));
    };
    let metadata = Metadata {
        kind: BundleKind::Run,
        id,
        workflow: Some((name, version)),
        status: log.status.or(start.and_then(|start| start.status)),
        events: log.extent.count,
        blobs,
        media: None,
        started_at: first.started_at.or(log.started_at),
        completed_at: log.completed_at,
    };
    Ok((log.extent, metadata))
}
