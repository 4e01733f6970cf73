//! What is to be exported: its files, each hashed once, and what manifest and metadata say of them.
//!
//! A source is read twice: now, and when it is written. In between it may have been changed; that is found then.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checked_log::{CheckedLog, CheckedSession};
use super::directory::open_file;
use super::error::{BundleCode, BundleError, of_run};
use super::file_hash::FileHasher;
use super::hashing_reader::HashingReader;
use super::import_error::ImportError;
use super::limits::Limits;
use super::manifest::{BundleKind, ListedFile, LogExtent, Partial};
use super::metadata::{self, Metadata, RunSummary};
use super::open::{Opened, is_bundle, open};
use super::path::{self, BundlePath, EVENT_LOG, REDACTIONS, SESSION_LOG, blob_path};
use super::planned_file::{ByteSource, PlannedFile, changed};
use super::redact::prefilter::Prefilter;
use super::redact::staging::Staging;
use super::redactions::RedactionList;
use super::signed::SignaturePolicy;
use super::verify::VerifyOptions;
use super::watch::{JobWatch, Progress};
use crate::disk::files;
use crate::disk::input_file::InputFile;
use crate::disk::parent::parent;
use crate::hash::{Hash, HexHash, as_text, from_hex, to_hex};
use crate::run::blob::BlobStore;
use crate::run::directory::RunDirectory;
use crate::run::documents::read_text;
use crate::run::replay_start::ReplayStart;
use crate::run::snapshot::{self, Snapshot, snapshot_id};
use crate::run::start_resolver::StartResolver;
use crate::run::state::State;
use crate::signature::TrustedKeys;

/// A source that was looked through. To redact it is to replace items, and to say so in `redactions`.
pub struct ExportPlan {
    /// What it is.
    pub kind: BundleKind,
    /// Its files, without those that only a bundle has.
    pub items: BTreeMap<BundlePath, PlannedFile>,
    /// What the manifest says of the log.
    pub log: LogExtent,
    /// Where a partial bundle begins.
    pub partial: Option<Partial>,
    /// For people.
    pub metadata: Metadata,
    /// What was redacted, now or before, if the source is a bundle.
    pub redactions: RedactionList,
    /// The blobs that the log names.
    pub named: HashSet<Hash>,
    /// How many bytes the source has: progress is reported in them, though a bundle has a few more.
    pub source_bytes: u64,
    /// Holds the items that were redacted; it is removed with this.
    pub staging: Option<Staging>,
}

/// Where a bundle of a run begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExportFrom {
    /// With the first event.
    #[default]
    Log,
    /// With the newest snapshot that can be used.
    LatestSnapshot,
    /// With the snapshot of this id.
    Snapshot(String),
}

/// What is to be exported, where it can be read: a run directory, a session file, or a bundle of either.
pub struct ExportSource {
    path: PathBuf,
    /// A bundle, which was verified; of an archive it holds what was unpacked.
    bundle: Option<Opened>,
}

impl ExportSource {
    /// Opens what is at `path`. A bundle is verified as far as its limits and hashes go: who signed it is of no concern.
    pub fn open(path: &Path, limits: &Limits, watch: &JobWatch<'_>) -> Result<Self, BundleError> {
        if !is_bundle(path) {
            return Ok(ExportSource { path: path.to_path_buf(), bundle: None });
        }
        let options = VerifyOptions { limits: *limits, signature: SignaturePolicy::Ignore, ..VerifyOptions::default() };
        // How far the export is begins behind this.
        let mut silent = JobWatch { cancelled: watch.cancelled, progress: &mut |_| {} };
        let bundle = open(path, &options, &mut silent).map_err(|error| match error {
            ImportError::Failed(error) => error,
            ImportError::Refused { problems } => {
                let invalid = || BundleError::new(BundleCode::SourceInvalid, "The bundle does not verify");
                problems.into_iter().next().unwrap_or_else(invalid)
            }
        })?;
        Ok(ExportSource { path: bundle.root().to_path_buf(), bundle: Some(bundle) })
    }

    /// What was redacted in it before.
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

    fn partial(&self) -> Option<&Partial> {
        self.bundle.as_ref()?.manifest.as_ref()?.partial.as_ref()
    }
}

/// Looks through a source, for `prefilter` too.
pub fn plan(
    source: &ExportSource,
    from: &ExportFrom,
    prefilter: Option<Arc<Prefilter>>,
    limits: &Limits,
    watch: &mut JobWatch<'_>,
) -> Result<ExportPlan, BundleError> {
    let path = source.path.as_path();
    let metadata = files::metadata(path)?;
    let mut planner = Planner { source, hasher: FileHasher::new(prefilter), limits, watch, done: Progress::default() };
    if metadata.is_file() {
        // The path itself is the caller's and may be a link, as it may for a replay.
        let file = files::canonicalize(path)?;
        return planner.session(&file, from);
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

struct Planner<'s, 'w> {
    source: &'s ExportSource,
    hasher: FileHasher,
    limits: &'s Limits,
    watch: &'s mut JobWatch<'w>,
    done: Progress,
}

/// A snapshot with which a bundle begins, and where in the log the events after it do.
struct Start {
    time: u64,
    event_hash: HexHash,
    path: PathBuf,
    offset: u64,
    status: Option<&'static str>,
    /// The beginning of the run, which is not in a partial bundle.
    summary: Option<RunSummary>,
}

impl Planner<'_, '_> {
    fn session(&mut self, file: &Path, from: &ExportFrom) -> Result<ExportPlan, BundleError> {
        if *from != ExportFrom::Log {
            let message = "A session has no snapshots from which its bundle could begin";
            return Err(BundleError::new(BundleCode::InvalidOption, message));
        }
        let redactions = self.source.redactions(parent(file), file.ends_with(SESSION_LOG), self.limits)?;
        let mut session = CheckedSession::of_source();
        let (mut input, size) = open_file(file)?;
        self.done.total = size;
        let limits = *self.limits;
        let item = self.item(&mut input, file, 0, size, |content| session.read(content, &limits))?;
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
            started_at: session.started_at,
            completed_at: session.completed_at,
        };
        let log = LogExtent { count: session.lines, ..LogExtent::default() };
        let items = [(known(SESSION_LOG)?, item)].into();
        Ok(ExportPlan {
            kind: BundleKind::Session,
            items,
            log,
            partial: None,
            metadata,
            redactions,
            named: HashSet::new(),
            source_bytes: size,
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
            (_, None) => Some(start(run, from, &redactions)?),
        };
        let small = self.small_files(run, start.as_ref())?;
        // What is too large is refused before the log is read.
        small.iter().try_for_each(|(path, _, size)| self.limits.check_file(path, *size))?;
        let blobs = list_blobs(run)?;
        let (mut log_file, _) = open_file(&run.log())?;
        let end = whole_bytes(&mut log_file)?;
        let offset = start.as_ref().map_or(0, |start| start.offset);
        self.done.total = (end - offset) + small.iter().chain(&blobs).map(|(_, _, size)| size).sum::<u64>();
        let (mut checked, limits) = (CheckedLog::default(), *self.limits);
        log_file.seek(SeekFrom::Start(offset)).map_err(|error| BundleError::system(&error, "read", None))?;
        let log_item =
            self.item(&mut log_file, &run.log(), offset, end - offset, |content| checked.read(content, &limits));
        let log_item = log_item.map_err(|error| damaged(error, EVENT_LOG))?;
        let whole = match &start {
            Some(start) => checked
                .check_first_line(&start.event_hash)
                .map(|()| checked.extent.head = checked.extent.head.or(Some(start.event_hash))),
            None if checked.extent.first_time == Some(0) => Ok(()),
            None => Err(BundleError::new(BundleCode::LogInvalid, "it does not begin with the first event")),
        };
        whole.map_err(|error| damaged(error, EVENT_LOG))?;
        let mut items: BTreeMap<BundlePath, PlannedFile> = [(known(EVENT_LOG)?, log_item)].into();
        for (path, disk, size) in small {
            let item = self.file(&path, &disk, size)?;
            items.insert(path, item);
        }
        let blob_count = self.blobs(blobs, &checked, &redactions, start.is_some(), &mut items)?;
        let named = std::mem::take(&mut checked.blobs);
        if let Some(start) = &start {
            // What was redacted before the snapshot is not in the bundle.
            redactions.events.retain(|time, _| *time > start.time);
            redactions.blobs.retain(|blob, _| from_hex(blob.as_bytes()).is_some_and(|hash| named.contains(&hash)));
        }
        let (log, metadata) = run_metadata(run, checked, blob_count, start.as_ref())?;
        let partial = start.map(|start| Partial { snapshot: snapshot_id(start.time), logical_time: start.time });
        let source_bytes = self.done.total;
        let kind = BundleKind::Run;
        Ok(ExportPlan { kind, items, log, partial, metadata, redactions, named, source_bytes, staging: None })
    }

    /// The files of a run but its log and its blobs.
    fn small_files(&self, run: &RunDirectory, start: Option<&Start>) -> Result<Vec<Found>, BundleError> {
        let mut found = Vec::new();
        let mut add = |path: &str, disk: PathBuf| -> Result<bool, BundleError> {
            match files::symlink_metadata(&disk) {
                Ok(metadata) => found.push((known(path)?, disk, metadata.size)),
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
        let times = snapshot::list(&run.snapshots()).map_err(|error| of_run(BundleCode::SourceInvalid, error))?;
        for time in times {
            let disk = snapshot::path_of(&run.snapshots(), time);
            add(&format!("snapshots/{}.cath-snap", snapshot_id(time)), disk)?;
        }
        Ok(found)
    }

    /// Adds the blobs: all of them, or those that the log names. One that it names and is not there fails the export.
    fn blobs(
        &mut self,
        blobs: Vec<Found>,
        log: &CheckedLog,
        redactions: &RedactionList,
        only_named: bool,
        items: &mut BTreeMap<BundlePath, PlannedFile>,
    ) -> Result<u64, BundleError> {
        let mut count = 0;
        let stored = |hash: &str| redactions.blobs.get(hash).map_or(hash.to_owned(), |blob| blob.redacted.clone());
        let named: HashSet<String> = log.blobs.iter().map(|hash| blob_path(&stored(as_text(&to_hex(hash))))).collect();
        for (path, disk, size) in blobs {
            if only_named && !named.contains(path.as_str()) {
                continue;
            }
            let item = self.file(&path, &disk, size)?;
            if path.blob() != Some(Some(item.listed.sha256)) {
                let message = "it was changed after it was stored: its bytes have another hash than its name";
                return Err(BundleError::about(BundleCode::BlobNameMismatch, path.as_str(), message));
            }
            items.insert(path, item);
            count += 1;
        }
        let missing = named.iter().filter(|path| !known(path).is_ok_and(|path| items.contains_key(&path))).min();
        match (missing, &log.no_blob) {
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

    /// A file that no more is known of. One that is too large for a bundle is not read.
    fn file(&mut self, path: &BundlePath, disk: &Path, size: u64) -> Result<PlannedFile, BundleError> {
        self.limits.check_file(path, size)?;
        let (mut input, _) = open_file(disk)?;
        let mut item = self.item(&mut input, disk, 0, size, |_| Ok(()))?;
        if let Some(marked) = &mut item.marked {
            // There may be many files.
            marked.truncate(1);
            marked.shrink_to_fit();
        }
        Ok(item)
    }

    /// Hashes `size` bytes of a file, while `read` reads them.
    fn item(
        &mut self,
        input: &mut InputFile,
        disk: &Path,
        offset: u64,
        size: u64,
        read: impl FnOnce(&mut HashingReader<'_>) -> Result<(), BundleError>,
    ) -> Result<PlannedFile, BundleError> {
        let (watch, done) = (&mut *self.watch, &mut self.done);
        let mut tick = |bytes| {
            done.bytes += bytes;
            // Half of the work: all of it is read again when it is written.
            watch.tell(Progress { bytes: done.bytes / 2, total: done.total, files: 0 })
        };
        let mut limited = input.take(size);
        let mut content = HashingReader::new(&mut limited, &mut self.hasher, None, &mut tick).with_fingerprint();
        if let Err(error) = read(&mut content) {
            return Err(content.fault().unwrap_or(error));
        }
        let passed = content.finish()?;
        if passed.size != size {
            return Err(changed(disk));
        }
        let listed = ListedFile { sha256: passed.hashed.sha256, size };
        let origin = ByteSource::File(disk.to_path_buf(), offset, passed.fingerprint);
        Ok(PlannedFile { listed, origin, marked: passed.hashed.marked })
    }
}

/// A file of a source: its path in the bundle, where it is, and its size.
type Found = (BundlePath, PathBuf, u64);

fn known(path: &str) -> Result<BundlePath, BundleError> {
    BundlePath::parse(path.as_bytes())
}

/// What is wrong with a source that could be read.
fn damaged(error: BundleError, path: &str) -> BundleError {
    if error.is_outside() || error.code != BundleCode::LogInvalid {
        return error.of_file(path);
    }
    BundleError::about(
        BundleCode::SourceInvalid,
        path,
        format!("damaged, so that its bundle could not be verified: {}", error.message),
    )
}

/// What was redacted in a source that is a bundle itself.
fn read_redactions(path: &Path, is_bundle: bool, limits: &Limits) -> Result<RedactionList, BundleError> {
    if !is_bundle || !files::exists(path) {
        return Ok(RedactionList::default());
    }
    let (file, size) = open_file(path)?;
    limits.check_file(&known(REDACTIONS)?, size)?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(|error| BundleError::system(&error, "read", None))?;
    RedactionList::parse(&bytes)
}

/// How many bytes of whole lines a log has now.
fn whole_bytes(log: &mut InputFile) -> Result<u64, BundleError> {
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

/// The blobs of a run, in order. What a crash left of one that was being stored is none.
fn list_blobs(run: &RunDirectory) -> Result<Vec<Found>, BundleError> {
    let store = BlobStore::new(run.blobs());
    let mut found = Vec::new();
    for directory in list(&run.blobs())? {
        for name in list(&run.blobs().join(&directory))? {
            let path = known(&blob_path(&name));
            let Some((disk, path)) = store.path_of(&name).zip(path.ok()).filter(|_| name.starts_with(&directory))
            else {
                continue;
            };
            let size = files::symlink_metadata(&disk)?.size;
            found.push((path, disk, size));
        }
    }
    found.sort();
    Ok(found)
}

/// The names in a directory that is one. A directory that is not there has none.
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

/// The snapshot that is asked for, proven to be one of this log.
fn start(run: &RunDirectory, from: &ExportFrom, redactions: &RedactionList) -> Result<Start, BundleError> {
    let not_found = |why: String| BundleError::new(BundleCode::SnapshotNotFound, why);
    let times = match from {
        ExportFrom::Snapshot(id) => {
            let time = snapshot::time_of_id(id);
            vec![time.ok_or_else(|| not_found(format!("'{}' is no id of a snapshot", crate::run::error::quoted(id))))?]
        }
        _ => snapshot::list(&run.snapshots()).map_err(|error| of_run(BundleCode::SnapshotNotFound, error))?,
    };
    let mut refusals = Vec::new();
    for time in times {
        match good_snapshot(run, time, redactions) {
            Ok(start) => return Ok(start),
            Err(error) => refusals.push(format!("{}: {error}", snapshot_id(time))),
        }
    }
    let why = if refusals.is_empty() { "the run has none".to_owned() } else { refusals.join("; ") };
    Err(not_found(format!("There is no snapshot with which the bundle could begin: {why}")))
}

fn good_snapshot(run: &RunDirectory, time: u64, redactions: &RedactionList) -> Result<Start, BundleError> {
    let (trusted, redactions) = (TrustedKeys::default(), redactions.of_run());
    let resolver = StartResolver { directory: run, trusted: &trusted, redactions: &redactions, until: None };
    let ReplayStart { state, previous, offset } =
        resolver.after_snapshot(time).map_err(|error| of_run(BundleCode::SnapshotNotFound, error))?;
    let path = snapshot::path_of(&run.snapshots(), time);
    Ok(Start { time, event_hash: previous, path, offset, status: status_of(&state), summary: None })
}

/// Where a bundle begins that is partial itself: with the snapshot that it begins with.
fn start_of_partial(run: &RunDirectory, partial: &Partial) -> Result<Start, BundleError> {
    let of = |error| of_run(BundleCode::SourceInvalid, error).of_file(path::SNAPSHOT);
    let path = run.root().join(path::SNAPSHOT);
    let content = Snapshot::read(&path, &TrustedKeys::default()).map_err(of)?.content;
    let status = status_of(&content.decode_state().map_err(of)?);
    let document = read_text(&run.root().join(path::METADATA))
        .map_err(|error| of_run(BundleCode::SourceInvalid, error).of_file(path::METADATA))?;
    let summary = Some(metadata::summary_of_run(&document)?);
    Ok(Start { time: partial.logical_time, event_hash: content.event_hash, path, offset: 0, status, summary })
}

fn status_of(state: &State) -> Option<&'static str> {
    state.run().map(|run| run.status.as_str())
}

/// What the metadata says of a run. A partial bundle's too says when the run began.
fn run_metadata(
    run: &RunDirectory,
    log: CheckedLog,
    blobs: u64,
    start: Option<&Start>,
) -> Result<(LogExtent, Metadata), BundleError> {
    let mut first = CheckedLog::default();
    if let Some(RunSummary { created, started_at }) = start.and_then(|start| start.summary.clone()) {
        (first.created, first.started_at) = (Some(created), started_at);
    } else if log.created.is_none() {
        let (file, _) = open_file(&run.log())?;
        let mut line = Vec::new();
        let limit = crate::run::event::MAX_LINE_BYTES as u64 + 1;
        let mut reader = std::io::BufReader::new(file.take(limit));
        std::io::BufRead::read_until(&mut reader, b'\n', &mut line)
            .map_err(|error| BundleError::system(&error, "read", None))?;
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
        started_at: first.started_at.or(log.started_at),
        completed_at: log.completed_at,
    };
    Ok((log.extent, metadata))
}
