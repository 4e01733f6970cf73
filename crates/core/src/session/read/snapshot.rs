//! The snapshot of a replay: a sidecar with the effect of what was already scanned, so that a file that has grown needs only
//! its tail scanned (`replaySession` with `snapshot: true`).
//!
//! A snapshot is disposable. It is used only if the part of the file that it covers is proved to be unchanged; otherwise it is ignored and
//! written anew. There are two proofs, tried in this order:
//!
//! 1. The file's metadata: the same file, of the same size, not modified since. It is trusted only if the file was at rest when it was scanned,
//!    since clocks of file systems tick slowly and a change within a tick leaves no trace; and only until the system restarts, since a power cut
//!    can leave a file its size and times without its bytes.
//! 2. The digests of all its blocks, which are compared with the file.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::archived::session_of;
use crate::disk::write::{TemporaryFile, new_directory};
use crate::disk::{Boot, File, Inode, InputFile, Metadata, OWNER_ONLY, OpenOptions, OsError, files};
use crate::hash::sha256_hex;
use crate::lines::{Block, Digest, LineSource, Threads, begins_with};
use crate::session::fold::{Effect, FoldOptions, Start};
use crate::session::format::Mode;

/// The beginning of a snapshot. Another version of this library may fold differently, so its snapshots are not used.
const MAGIC: &str = concat!("session-tape snapshot 4, version ", env!("CARGO_PKG_VERSION"), "\n");

/// Size of the digest of everything before it, at the end.
const CHECKSUM_BYTES: usize = 16;

/// How much larger than its file a snapshot may be, in bytes. A larger sidecar is ignored.
const MIN_LIMIT_BYTES: u64 = 64 << 10;

/// How long a file must be unmodified before its times prove that. The slowest clock of a file system (FAT) ticks every two seconds.
const AT_REST: Duration = Duration::from_secs(3);

/// How many blocks a snapshot may have beyond those that the file's size accounts for. If many small tails have added more, the file is scanned
/// anew.
const MAX_SMALL_BLOCKS: u64 = 4096;

/// The effect of a file's first lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Offset of the end of these lines, after a `\n`.
    pub end: u64,
    /// The digests of their bytes.
    pub blocks: Vec<Block>,
    /// Their effect.
    pub effect: Effect,
}

#[derive(Serialize, Deserialize)]
struct Stored<Blocks, E> {
    /// The mode of the replay that wrote it.
    mode: Mode,
    identity: Option<Identity>,
    /// The boot of the system during which `identity` is valid. `None` if it is valid during any, because the file was synced.
    boot: Option<Boot>,
    end: u64,
    blocks: Blocks,
    effect: E,
}

/// Metadata of a file that changes whenever the file is written to, replaced or restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since 1970. Programs can set the time of modification, but not that of the last change.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Option<Self> {
        let Inode { device, number: inode, modified, changed, .. } = metadata.inode?;
        Some(Identity { device, inode, size: metadata.size, modified, changed })
    }

    /// Whether the file was at rest at `time`. Checked by the system's clock in [`save`], and in [`load`] by that of the file system, which may
    /// be on another machine.
    fn was_at_rest(&self, time: SystemTime) -> bool {
        let since_1970 = |(seconds, nanoseconds): (i64, i64)| {
            Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanoseconds).ok()?))
        };
        let last = since_1970(self.modified.max(self.changed));
        let time = time.duration_since(SystemTime::UNIX_EPOCH).ok();
        last.zip(time).is_some_and(|(last, time)| time >= last + AT_REST)
    }
}

/// A snapshot that can be used.
pub struct Loaded {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Whether the file's metadata was enough to prove it. If not, a snapshot written now may spare the next reader the comparison.
    pub matches_metadata: bool,
}

/// Whether snapshots are kept, and where.
#[derive(Clone, Debug, Default)]
pub enum Snapshots {
    /// Snapshots are not kept.
    #[default]
    None,
    /// Each snapshot is next to its file.
    Beside,
    /// In a directory, which need not exist.
    Within(PathBuf),
}

impl Snapshots {
    /// The place of the snapshot of the file at `path`; `None` if snapshots are not kept, or if the file's directory can't be found.
    pub fn place_of(&self, path: &Path) -> Option<SnapshotFile> {
        match self {
            Snapshots::None => None,
            Snapshots::Beside => Some(SnapshotFile::beside(path)),
            Snapshots::Within(directory) => SnapshotFile::within(directory, path).ok(),
        }
    }
}

/// The place of the snapshot of a file.
pub struct SnapshotFile {
    path: PathBuf,
    /// The session's file.
    file: PathBuf,
    /// The snapshot's directory is created when needed.
    creates_directory: bool,
}

impl SnapshotFile {
    /// Next to the file at `path`.
    pub fn beside(path: &Path) -> Self {
        SnapshotFile { path: path_of(path), file: path.to_path_buf(), creates_directory: false }
    }

    /// In a directory for snapshots of files from any directory. The name contains a hash of the absolute path of the file at `path`. An archive shares
    /// the snapshot of its session: both have the same content, so archiving, which does not know this directory, leaves the snapshot valid. Returns an
    /// error if the file's directory can't be found.
    pub fn within(directory: &Path, path: &Path) -> Result<Self, OsError> {
        let session = session_of(path);
        let named = session.as_deref().unwrap_or(path);
        let name =
            named.file_name().ok_or_else(|| OsError::new(&io::ErrorKind::InvalidInput.into(), "open", Some(path)))?;
        let parent = files::canonicalize(files::parent(path))?;
        let hash = sha256_hex([plain(&parent.join(name)).as_os_str().as_encoded_bytes()]);
        let mut snapshot = name.to_os_string();
        snapshot.push(format!("-{}.snap", String::from_utf8_lossy(&hash[..HASH_DIGITS])));
        let file = parent.join(path.file_name().unwrap_or(name));
        Ok(SnapshotFile { path: directory.join(snapshot), file, creates_directory: true })
    }
}

/// Number of digits of the path's hash in the name of a snapshot.
const HASH_DIGITS: usize = 16;

/// A canonical path as programs usually write it: on Windows without the prefix `\\?\`.
fn plain(path: &Path) -> &Path {
    let usual = path.to_str().and_then(|text| text.strip_prefix(r"\\?\")).filter(|text| !text.starts_with("UNC"));
    usual.filter(|_| cfg!(windows)).map_or(path, Path::new)
}

/// The path of the snapshot next to the file at `path`.
pub(crate) fn path_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".snap");
    name.into()
}

/// Loads the snapshot of the file that is open as `source`. Returns `None` if there is none at this place that can be used for a fold with these
/// options. `threads` says which threads compare it with the file.
pub fn load(place: &SnapshotFile, source: &Arc<LineSource>, options: &FoldOptions, threads: Threads) -> Option<Loaded> {
    let (text, written) = read(&place.path, source.size().saturating_add(MIN_LIMIT_BYTES))?;
    let stored = decode(&text)?;
    let most_blocks = stored.end / crate::lines::SEGMENT_BYTES * 2 + MAX_SMALL_BLOCKS;
    let is_of_mode =
        stored.mode == options.mode && (stored.mode == Mode::Strict || stored.effect.tally.without_seq == 0);
    let is_consistent = is_of_mode
        && stored.blocks.last().is_some_and(|last| last.end == stored.end)
        && stored.blocks.is_sorted_by(|one, next| one.end < next.end)
        && stored.end <= source.size()
        && stored.blocks.len() as u64 <= most_blocks
        && stored.effect.is_possible(stored.end);
    if !is_consistent || !is_wanted(&stored.effect, options) {
        return None;
    }
    let counts = stored.boot.is_none_or(|boot| files::boot(&place.file) == Some(boot));
    let is_same = |identity: Identity| Some(identity) == Identity::of(source.metadata());
    let matches_metadata =
        counts && stored.identity.is_some_and(|identity| is_same(identity) && identity.was_at_rest(written));
    (matches_metadata || begins_with(source, &stored.blocks, threads)).then_some(Loaded {
        snapshot: Snapshot { end: stored.end, blocks: stored.blocks, effect: stored.effect },
        matches_metadata,
    })
}

/// Writes the snapshot of the file that is open as `source`, made in `mode`: whole or not at all. It is not synced to the disk, since a snapshot
/// that a crash has damaged is ignored.
pub(super) fn save(place: &SnapshotFile, source: &LineSource, snapshot: &Snapshot, mode: Mode) -> Result<(), OsError> {
    if place.creates_directory {
        new_directory::create(files::parent(&place.path))?;
    }
    let mut file = TemporaryFile::beside(&place.path, (".session-tape-", ".snap"), OWNER_ONLY)?;
    let boot = files::boot(&place.file);
    // If the file was not at rest when its scan began, it is unknown which of its contents has this identity.
    let identity = Identity::of(source.metadata()).filter(|identity| identity.was_at_rest(source.opened()));
    let stored = Stored {
        mode,
        identity: identity.filter(|identity| boot.is_some() || is_durable(&place.file, identity)),
        boot,
        end: snapshot.end,
        blocks: &snapshot.blocks,
        effect: &snapshot.effect,
    };
    encode(&stored, file.file()).map_err(|error| OsError::new(&error, "write", Some(&place.path)))?;
    file.keep_owner_if_possible();
    file.replace()
}

/// Puts the file on stable storage. Returns false if that fails, or if the file has another identity by now: its metadata may then survive a
/// power cut without its content.
fn is_durable(path: &Path, identity: &Identity) -> bool {
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let Ok(file) = File::open_patiently(path, &options) else { return false };
    file.sync_all().is_ok()
        && file.metadata().ok().and_then(|metadata| Identity::of(&metadata)).as_ref() == Some(identity)
}

/// Whether a snapshot should be made of this effect: that of a regular file with a valid header whose replay was not stopped.
pub(super) fn is_worth_saving(effect: &Effect, source: &LineSource) -> bool {
    source.metadata().is_file() && !effect.stopped && matches!(effect.start, Start::Metadata(_))
}

fn is_wanted(effect: &Effect, options: &FoldOptions) -> bool {
    let Start::Metadata(metadata) = &effect.start else { return false };
    !effect.stopped && options.through_seq.is_none() && options.is_expected(&metadata.project_hash)
}

/// The content of a snapshot and when it was written, by the file system's clock.
fn read(path: &Path, limit: u64) -> Option<(Vec<u8>, SystemTime)> {
    let mut file = InputFile::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if metadata.size > limit {
        return None;
    }
    Some((file.read_up_to(limit).ok()?, metadata.modified?))
}

fn decode(text: &[u8]) -> Option<Stored<Vec<Block>, Effect>> {
    let (content, checksum) = text.split_last_chunk::<CHECKSUM_BYTES>()?;
    if Digest::of(content) != u128::from_le_bytes(*checksum) {
        return None;
    }
    let stored = content.strip_prefix(MAGIC.as_bytes())?;
    match postcard::take_from_bytes(stored) {
        Ok((stored, [])) => Some(stored),
        _ => None,
    }
}

fn encode(stored: &Stored<&Vec<Block>, &Effect>, file: &mut File) -> io::Result<()> {
    let mut writer = Checked { inner: BufWriter::new(file), digest: Digest::default() };
    writer.write_all(MAGIC.as_bytes())?;
    postcard::to_io(stored, &mut writer).map_err(io::Error::other)?;
    let checksum = writer.digest.value();
    writer.inner.write_all(&checksum.to_le_bytes())?;
    writer.inner.flush()
}

/// Computes a digest of the bytes that are written.
struct Checked<W> {
    inner: W,
    digest: Digest,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.add(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
