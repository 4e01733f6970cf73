//! Operations on an open file.

use std::fmt::Debug;
use std::fs::TryLockError;
use std::io::{self, SeekFrom};
use std::time::SystemTime;

use super::metadata::Metadata;

/// A file, or a directory to be synced, that was opened by a [`FileSystem`](super::file_system::FileSystem). Dropping it closes the file,
/// which makes nothing durable.
///
/// Written bytes are visible to every reader of the file when the call returns, and survive the end of the process. Before a sync, a
/// power cut may leave any part of them: pages in any order, or the new size without the bytes.
#[cfg_attr(not(unix), allow(dead_code))] // Windows has another kind of lock: see `lock`.
pub trait OpenFile: Debug + Send + Sync {
    /// Reads at the position and advances it. Returns 0 at the end of the file.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads at `offset`. Can be called from any thread.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The first offset, from `offset` on, that has data. What is before it is a hole: zeros that are not stored. The end of the file if only a hole
    /// follows. May move the position. Fails if the file system can't tell holes from data.
    fn next_data(&self, _offset: u64) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The first offset, from `offset` on, at which a hole begins, or the end of the file. May move the position, and may take as long as the data is.
    /// Fails if the file system can't tell holes from data.
    fn next_hole(&self, _offset: u64) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes at the position, or at the end of the file if it was opened to append, and advances the position. The bytes that are
    /// written are not mixed with what others append at the same time.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Moves the position and returns it.
    fn seek(&self, to: SeekFrom) -> io::Result<u64>;

    /// Truncates the file, or extends it with zeros. As durable as a write.
    fn set_len(&self, size: u64) -> io::Result<()>;

    /// Makes everything durable that was written to the file through any handle, and its size. An error may mean that some of it is lost
    /// for good: a second sync would not report it again.
    fn sync_data(&self) -> io::Result<()>;

    /// Like [`sync_data`](Self::sync_data), with all metadata. For a directory that was opened for reading, makes its entries durable:
    /// those that were created in it, renamed into or out of it, and removed. A file whose entry is not durable may be gone after a power
    /// cut even if the file itself was synced.
    fn sync_all(&self) -> io::Result<()>;

    /// Makes the whole file system of the file durable, including directory entries. Fails with `Unsupported` if the system can't.
    fn sync_file_system(&self) -> io::Result<()>;

    /// The current metadata of the file.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Sets the time of the last change of the content. Where that can't be set, nothing happens.
    fn set_modified(&self, _time: SystemTime) -> io::Result<()> {
        Ok(())
    }

    /// Gives the file to a user and a group. The permissions may shrink by that. A system without owners does nothing.
    fn set_owner(&self, _owner: (u32, u32)) -> io::Result<()> {
        Ok(())
    }

    /// Sets the permissions of the file, whatever the umask is. A system without permissions does nothing.
    fn set_mode(&self, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// The permissions of the file. `None` if the system has none.
    fn mode(&self) -> Option<u32> {
        None
    }

    /// Takes the file's advisory lock, without waiting. Closing the file releases it, at the latest at the end of the process.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Releases the lock.
    fn unlock(&self) -> io::Result<()>;
}
