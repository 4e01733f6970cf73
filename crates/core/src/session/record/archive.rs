//! Archives a session, and restores it (`docs/session-format.md`, "Archived sessions").
//!
//! The file that goes is removed only when the one that stays is whole, proven to be equal, and on stable storage. A crash leaves one of them or
//! both, and at worst a temporary file.

use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::media_list::MediaList;
use crate::archived::{ArchiveWriter, FRAME_BYTES, Survey, archive_of, session_of};
use crate::disk::append::lock_against_other_writers;
use crate::disk::lock::{FileLock, LockError};
use crate::disk::write::{Naming, StagedFile, sync_entry};
use crate::disk::{File, Links, Metadata, OsError, files, sync_entries};
use crate::hash::Hash;
use crate::lines::{LineSource, ReadError, WriteError};
use crate::session::media::NamedImages;
use crate::task::{Cancellation, Cancelled, Task};

/// The names of files that are not whole yet. Listings do not mistake them for sessions, and cleaning removes them.
pub(super) const UNFINISHED: Naming = (".session-tape-", ".archive");

const PIECE_BYTES: usize = 256 << 10;

/// What a session is after it was archived or restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The file that there is now.
    pub path: PathBuf,
    /// The size of the session in bytes.
    pub bytes: u64,
    /// The size of the archive in bytes: of the one that there is, or that was restored. `None` if there was none.
    pub archived_bytes: Option<u64>,
}

/// Why a session was not archived or restored. Nothing is lost then.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A system call failed.
    #[error("{0}")]
    System(#[from] OsError),
    /// A recorder has the session for itself.
    #[error("the session is being recorded by {}", if owner.is_empty() { "another recorder" } else { owner })]
    Locked {
        /// The owner in the lock file; empty if it is unknown.
        owner: String,
    },
    /// The name of the file is not that of a session.
    #[error("'{}' has not the name of a session: it ends neither in .jsonl nor in .jsonl.zst", .0.display())]
    NotASession(PathBuf),
    /// The file has the name of an archive, and is none.
    #[error("'{}' has the name of an archived session, but is no zstd file; remove it, or give it another name", .0.display())]
    NotAnArchive(PathBuf),
    /// The session was written to in the meantime.
    #[error("'{}' was changed in the meantime", .0.display())]
    Changed(PathBuf),
    /// The archive can't be read to its end. It stays as it is.
    #[error("'{}' is damaged: only its first {readable} bytes of content can be read; it is left as it is", path.display())]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// The number of bytes before the first frame that does not check.
        readable: u64,
    },
    /// There are both a session and an archive, and the archive has what the session has not.
    #[error("'{}' is there too, with other content; remove one of them", .0.display())]
    Differs(PathBuf),
    /// What has the name of the list of the session's images is another file.
    #[error(
        "'{}' is in the way: the list of the session's images must have that name; rename the file, or the session with it",
        .0.display()
    )]
    NotAList(PathBuf),
    /// The caller has cancelled the work.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for ArchiveError {
    fn from(Cancelled: Cancelled) -> Self {
        ArchiveError::Cancelled
    }
}

impl From<ArchiveError> for WriteError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::System(error) => error.into(),
            ArchiveError::Locked { owner } => WriteError::Locked { owner },
            other => WriteError::Archived { code: other.code(), message: other.to_string() },
        }
    }
}

impl ArchiveError {
    /// The path that the error is about, unless that is in the system's error.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ArchiveError::NotASession(path)
            | ArchiveError::NotAnArchive(path)
            | ArchiveError::NotAList(path)
            | ArchiveError::Changed(path)
            | ArchiveError::Differs(path)
            | ArchiveError::Damaged { path, .. } => Some(path),
            ArchiveError::System(_) | ArchiveError::Locked { .. } | ArchiveError::Cancelled => None,
        }
    }

    /// The code by which programs tell errors apart.
    pub fn code(&self) -> &'static str {
        match self {
            ArchiveError::System(error) => error.code,
            ArchiveError::Locked { .. } => "ESESSIONLOCKED",
            ArchiveError::NotASession(_) | ArchiveError::NotAnArchive(_) => "NotASession",
            ArchiveError::Changed(_) => "Changed",
            ArchiveError::Damaged { .. } => "Damaged",
            ArchiveError::Differs(_) | ArchiveError::NotAList(_) => "Differs",
            ArchiveError::Cancelled => "Cancelled",
        }
    }
}

/// The two names of a session.
struct Names {
    session: PathBuf,
    archive: PathBuf,
}

impl Names {
    fn of(path: &Path) -> Result<Self, ArchiveError> {
        let session = session_of(path).unwrap_or_else(|| path.to_path_buf());
        let archive = archive_of(&session).ok_or_else(|| ArchiveError::NotASession(path.to_path_buf()))?;
        Ok(Names { session, archive })
    }
}

/// Replaces the session file at `path` by its archive. Does nothing if that was done before. The caller holds the session's lock; `owner` describes
/// it in the file's lock.
pub fn archive(path: &Path, owner: &str, task: &mut Task<'_>) -> Result<Archived, ArchiveError> {
    let names = Names::of(path)?;
    if !files::is_there(&names.session)? && files::is_there(&names.archive)? {
        return archived(&names);
    }
    let _lock = lock(&names.session, owner)?;
    let source = match Opened::at(&names.session) {
        Err(error) if error.code == "ENOENT" && files::is_there(&names.archive)? => return archived(&names),
        opened => opened?,
    };
    let mut temporary = StagedFile::in_place_of(&source.file, &names.archive, UNFINISHED)?;
    failpoint!("archive::created");
    let bytes = source.metadata.size;
    let mut work = Work { task, done: 0, total: 2 * bytes };
    let survey = survey(&source, &work)?;
    let (hash, images) = compress(&source, &names, &survey, temporary.file(), &mut work)?;
    failpoint!("archive::compressed");
    let archived_bytes = verify(&temporary, &names, (bytes, hash), &mut work)?;
    failpoint!("archive::verified");
    temporary.sync()?;
    failpoint!("archive::synced");
    work.task.conclude()?;
    source.expect_unchanged()?;
    failpoint!("archive::compared");
    let list = MediaList::of(&names.session);
    exchange(&mut temporary, &names.archive, &source, |temporary| place(temporary, &names, &list, &images))
        .inspect_err(|_| {
            // An archive that is there may need it.
            if files::is_there(&names.archive) == Ok(false) {
                list.remove();
            }
        })?;
    failpoint!("archive::forgotten");
    remove_snapshots(&names);
    Ok(Archived { path: names.archive, bytes, archived_bytes: Some(archived_bytes) })
}

/// Replaces the archive of a session by its file: `path` is that of either. Does nothing if that was done before.
pub fn restore(path: &Path, owner: &str, task: &mut Task<'_>) -> Result<Archived, ArchiveError> {
    let names = Names::of(path)?;
    let list = MediaList::of(&names.session);
    if !files::is_there(&names.archive)? && !list.is_there() {
        return restored(&names);
    }
    let _lock = lock(&names.session, owner)?;
    let archive = match Opened::at(&names.archive) {
        Err(error) if error.code == "ENOENT" => return restored(&names).inspect(|_| list.remove()),
        opened => opened?,
    };
    if files::is_there(&names.session)? {
        return forget_archive(&names, &archive).inspect(|_| list.remove());
    }
    let mut temporary = StagedFile::in_place_of(&archive.file, &names.session, UNFINISHED)?;
    failpoint!("restore::created");
    let bytes = decompress(&names, temporary.file(), task)?;
    failpoint!("restore::written");
    temporary.sync()?;
    failpoint!("restore::synced");
    task.conclude()?;
    archive.expect_unchanged()?;
    exchange(&mut temporary, &names.session, &archive, |temporary| Ok(temporary.place_at(&names.session)?))?;
    failpoint!("restore::forgotten");
    list.remove();
    failpoint!("restore::unlisted");
    remove_snapshots(&names);
    Ok(Archived { path: names.session, bytes, archived_bytes: Some(archive.metadata.size) })
}

/// Removes a session, its archive with the list of its images, and the lock file. Fails if a recorder has the session for itself. The caller holds the
/// session's lock. The archive goes first: alone, it would be the session again.
pub fn remove(path: &Path, owner: &str) -> Result<(), ArchiveError> {
    let names = Names::of(path)?;
    let _lock = lock(&names.session, owner)?;
    for path in [&names.archive, &names.session] {
        match files::remove_file(path) {
            Err(error) if error.code != "ENOENT" => return Err(error.into()),
            _ => {}
        }
    }
    MediaList::of(&names.session).remove();
    Ok(())
}

/// The file to append to: `path`, or the session's file after its archive was restored. The caller holds the session's lock.
pub(super) fn to_append_to(path: PathBuf, owner: &str) -> Result<PathBuf, ArchiveError> {
    let Ok(names) = Names::of(&path) else { return Ok(path) };
    if !files::is_there(&names.archive).unwrap_or(false) {
        return Ok(path);
    }
    let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| () };
    Ok(restore(&path, owner, &mut task)?.path)
}

/// The work that is reported.
struct Work<'w, 't> {
    task: &'w mut Task<'t>,
    done: u64,
    total: u64,
}

impl Work<'_, '_> {
    fn add(&mut self, bytes: usize) -> Result<(), ArchiveError> {
        self.done += bytes as u64;
        Ok(self.task.report_bytes(self.done, self.total)?)
    }
}

/// The lock of recorders that have a session for themselves. A file system without locks has no such recorders.
fn lock(session: &Path, owner: &str) -> Result<Option<FileLock>, ArchiveError> {
    match FileLock::acquire(session, owner) {
        Ok(lock) => Ok(Some(lock)),
        Err(LockError::Held { owner }) => Err(ArchiveError::Locked { owner }),
        Err(LockError::System(error)) => Err(error.into()),
        Err(LockError::Unsupported(_)) => Ok(None),
    }
}

/// A regular file that is open, as it was when it was opened.
struct Opened {
    file: File,
    metadata: Metadata,
    path: PathBuf,
}

impl Opened {
    /// Opens a file. A link is refused: what is replaced is the file at the path, not one elsewhere.
    fn at(path: &Path) -> Result<Self, OsError> {
        let (file, metadata) = File::open_any(path, Links::Refused)?;
        metadata.expect_regular(path)?;
        Ok(Opened { file, metadata, path: path.to_path_buf() })
    }

    /// Calls `take` with all content that the file had.
    fn each_piece(&self, mut take: impl FnMut(&[u8]) -> Result<(), ArchiveError>) -> Result<(), ArchiveError> {
        let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0);
        while at < self.metadata.size {
            let most = usize::try_from(self.metadata.size - at).map_or(PIECE_BYTES, |rest| rest.min(PIECE_BYTES));
            let read = self.file.read_at(&mut piece[..most], at);
            let count = read.map_err(|error| OsError::new(&error, "read", Some(&self.path)))?;
            if count == 0 {
                return Err(ArchiveError::Changed(self.path.clone()));
            }
            take(&piece[..count])?;
            at += count as u64;
        }
        Ok(())
    }

    /// Fails unless the file is as it was, and still at its path.
    fn expect_unchanged(&self) -> Result<(), ArchiveError> {
        expect_same(&self.file, &self.metadata, &self.path)
    }
}

/// Opens a session's file or archive for its content.
fn open_content(path: &Path) -> Result<LineSource, ArchiveError> {
    LineSource::open_unread(path).map_err(|error| match error {
        ReadError::System(error) if error.is_cancelled() => ArchiveError::Cancelled,
        ReadError::System(error) => error.into(),
        ReadError::Changed | ReadError::Damaged(_) | ReadError::LineTooLong { .. } | ReadError::Conversation(_) => {
            ArchiveError::Changed(path.to_path_buf())
        }
    })
}

/// The state of a session that is archived already.
fn archived(names: &Names) -> Result<Archived, ArchiveError> {
    let source = open_content(&names.archive)?;
    if source.archived_bytes().is_none() {
        return Err(ArchiveError::NotAnArchive(names.archive.clone()));
    }
    Ok(Archived { path: names.archive.clone(), bytes: source.size(), archived_bytes: source.archived_bytes() })
}

/// The state of a session that is not archived.
fn restored(names: &Names) -> Result<Archived, ArchiveError> {
    let Opened { path, metadata, .. } = Opened::at(&names.session)?;
    Ok(Archived { path, bytes: metadata.size, archived_bytes: None })
}

/// Removes the archive of a session that has its file, if nothing is lost by that: an earlier restoration was interrupted.
fn forget_archive(names: &Names, old: &Opened) -> Result<Archived, ArchiveError> {
    let (archive, session) = (archived(names)?, restored(names)?);
    expect_contained(names)?;
    give_up(&old.file, &old.metadata, &old.path)?;
    Ok(Archived { archived_bytes: archive.archived_bytes, ..session })
}

/// Looks through a session for what its frames depend on. One that fits into a frame has only that one.
fn survey(source: &Opened, work: &Work<'_, '_>) -> Result<Survey, ArchiveError> {
    let mut survey = Survey::default();
    if source.metadata.size > FRAME_BYTES as u64 {
        source.each_piece(|piece| {
            survey.add(piece);
            Ok(work.task.check()?)
        })?;
    }
    Ok(survey)
}

/// Compresses the file as it was when it was opened. Returns the hash of its content, and the images that it names.
fn compress(
    source: &Opened,
    names: &Names,
    survey: &Survey,
    out: &mut File,
    work: &mut Work<'_, '_>,
) -> Result<(Hash, NamedImages), ArchiveError> {
    let failed = |error: io::Error| OsError::new(&error, "write", Some(&names.archive));
    let mut writer = ArchiveWriter::new(BufWriter::with_capacity(PIECE_BYTES, out), survey).map_err(failed)?;
    let (mut hasher, mut images) = (Sha256::new(), NamedImages::default());
    source.each_piece(|piece| {
        hasher.update(piece);
        images.add(piece);
        writer.add(piece).map_err(failed)?;
        work.add(piece.len())
    })?;
    writer.finish().map_err(failed)?;
    Ok((hasher.finalize().into(), images))
}

/// Decompresses the archive again, and checks that it has the content. Returns its size.
fn verify(
    temporary: &StagedFile,
    names: &Names,
    content: (u64, Hash),
    work: &mut Work<'_, '_>,
) -> Result<u64, ArchiveError> {
    let source = open_content(temporary.path())?;
    let damaged = |readable| ArchiveError::Damaged { path: names.archive.clone(), readable };
    let archived_bytes = source.archived_bytes().ok_or_else(|| damaged(0))?;
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    read_all(source, &names.archive, |piece| {
        hasher.update(piece);
        bytes += piece.len() as u64;
        work.add(piece.len())
    })?;
    if (bytes, hasher.finalize().into()) == content { Ok(archived_bytes) } else { Err(damaged(bytes)) }
}

/// Writes the content of an archive. Returns its size.
fn decompress(names: &Names, out: &mut File, task: &mut Task<'_>) -> Result<u64, ArchiveError> {
    let archive = &names.archive;
    let source = open_content(archive)?;
    if source.archived_bytes().is_none() {
        return Err(ArchiveError::Damaged { path: archive.clone(), readable: 0 });
    }
    let (total, mut done) = (source.size(), 0);
    let source = read_all(source, archive, |piece| {
        out.write_all(piece).map_err(|error| OsError::new(&error, "write", Some(&names.session)))?;
        done += piece.len() as u64;
        Ok(task.report_bytes(done, total)?)
    })?;
    let damaged = |readable| ArchiveError::Damaged { path: archive.clone(), readable };
    source.damage().map_or(Ok(done), |readable| Err(damaged(readable)))
}

/// Calls `take` with all content, and returns the source.
fn read_all(
    source: LineSource,
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), ArchiveError>,
) -> Result<LineSource, ArchiveError> {
    let (mut reader, mut piece) = (source.into_reader(), vec![0; PIECE_BYTES]);
    loop {
        match reader.read(&mut piece).map_err(|error| OsError::new(&error, "read", Some(path)))? {
            0 => return Ok(reader.into_source()),
            count => take(&piece[..count])?,
        }
    }
}

/// Fails unless an open file is as it was, and still at its path. The last look is the one through the handle.
fn expect_same(file: &File, before: &Metadata, path: &Path) -> Result<(), ArchiveError> {
    let is_there = files::symlink_metadata(path)?.id() == before.id();
    let now = metadata_of(file, path)?;
    let is_same = (now.size, now.modified) == (before.size, before.modified);
    if is_there && is_same { Ok(()) } else { Err(ArchiveError::Changed(path.to_path_buf())) }
}

fn metadata_of(file: &File, path: &Path) -> Result<Metadata, OsError> {
    file.metadata().map_err(|error| OsError::new(&error, "fstat", Some(path)))
}

/// Moves the archive to its name, after the list of its images. An archive that is there is replaced only if the session has all that is in it, so
/// that the list has its images too.
fn place(
    temporary: &mut StagedFile,
    names: &Names,
    list: &MediaList,
    images: &NamedImages,
) -> Result<(), ArchiveError> {
    let is_replaced = files::is_there(&names.archive)?;
    if is_replaced {
        expect_contained(names)?;
    }
    list.put(images, temporary.file())?;
    if is_replaced {
        return Ok(temporary.replace()?);
    }
    temporary.place_at(&names.archive).map_err(|error| match error.code {
        "EEXIST" => ArchiveError::Differs(names.archive.clone()),
        _ => error.into(),
    })
}

/// Fails unless the session begins with the content of the archive.
fn expect_contained(names: &Names) -> Result<(), ArchiveError> {
    let (archive, session) = (open_content(&names.archive)?, open_content(&names.session)?);
    let (mut at, mut scratch) = (0, Vec::new());
    let mut is_contained = archive.archived_bytes().is_some();
    let archive = read_all(archive, &names.archive, |piece| {
        is_contained &= session.bytes_at(at, piece.len(), &mut scratch).is_ok_and(|bytes| bytes == piece);
        at += piece.len() as u64;
        Ok(())
    })?;
    if is_contained && archive.damage().is_none() { Ok(()) } else { Err(ArchiveError::Differs(names.archive.clone())) }
}

/// Moves the new file to its name by `place`, and removes the old one, which it stands for from then on. If the old one was written to meanwhile, it
/// stays, and the new one goes.
fn exchange(
    new: &mut StagedFile,
    to: &Path,
    old: &Opened,
    place: impl FnOnce(&mut StagedFile) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let size = metadata_of(new.file(), to)?.size;
    place(new)?;
    failpoint!("archive::renamed");
    keep_time(new.file(), to, old)
        .and_then(|()| sync_entry(to))
        .map_err(ArchiveError::from)
        .and_then(|()| {
            failpoint!("archive::placed");
            give_up(&old.file, &old.metadata, &old.path)
        })
        .inspect_err(|_| {
            // If a recorder has gone on in it already, there are both.
            let placed = metadata_of(new.file(), to).map(|now| Metadata { size, ..now });
            let _ = placed.map(|placed| give_up(new.file(), &placed, to));
        })
}

/// Gives the new file the time of the old one: when it has its name, because what is old under a temporary name is removed as the left-over of a
/// process that has ended.
fn keep_time(new: &mut File, to: &Path, old: &Opened) -> Result<(), OsError> {
    if let Some(modified) = old.metadata.modified {
        new.set_modified(modified).map_err(|error| OsError::new(&error, "futimens", Some(to)))?;
        files::sync_if_possible(new, to)?;
    }
    Ok(())
}

/// Removes a file that another one stands for, unless it was written to. Directly before the removal comes the last look, under the lock under which
/// recorders write their batches. If the removal is not durable, a power cut leaves both.
fn give_up(file: &File, before: &Metadata, path: &Path) -> Result<(), ArchiveError> {
    if !lock_against_other_writers(file) {
        return Err(ArchiveError::Changed(path.to_path_buf()));
    }
    match expect_same(file, before, path).and_then(|()| Ok(files::remove_file(path)?)) {
        // Another process has given it up.
        Err(ArchiveError::System(error)) if error.code == "ENOENT" => {}
        removed => removed?,
    }
    failpoint!("archive::removed");
    let directory = files::parent(path);
    let _ = sync_entries(directory, directory);
    Ok(())
}

/// Removes the snapshots that earlier versions kept beside a session, which nothing reads any more.
fn remove_snapshots(names: &Names) {
    for path in [&names.session, &names.archive] {
        let mut snapshot = path.clone().into_os_string();
        snapshot.push(".snap");
        let _ = files::remove_file(Path::new(&snapshot));
    }
}

#[cfg(test)]
mod tests;
