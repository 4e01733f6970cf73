//! What can be done with an open file.

use std::fmt::Debug;
use std::fs::TryLockError;
use std::io::{self, SeekFrom};

use super::metadata::Metadata;

/// A file, or a directory to be synced, that a [`FileSystem`](super::file_system::FileSystem) has opened. It is closed when this is
/// dropped, which makes nothing durable.
///
/// What is written can be read by every reader of the file when the call returns, and survives the end of the process. Before a
/// sync, a power cut may leave any part of it: pages in any order, the new size without the bytes.
#[cfg_attr(not(unix), allow(dead_code))] // Locks of Windows are of another sort: see `lock`.
pub trait OpenFile: Debug + Send + Sync {
    /// Reads at the position and moves it. 0 at the end of the file.
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads at `offset`, from any thread.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at the position, which it moves; at the end of the file if it was opened to append. What of `bytes` is written is not mixed
    /// with what others append meanwhile.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Moves the position, and returns it.
    fn seek(&self, to: SeekFrom) -> io::Result<u64>;

    /// Cuts the file, or extends it by zeros. As durable as a write.
    fn set_len(&self, size: u64) -> io::Result<()>;

    /// Makes durable what was written to the file through any handle, and its size. An error may mean that some of it is lost for good:
    /// a second sync would not say so again.
    fn sync_data(&self) -> io::Result<()>;

    /// The same with all metadata. On a directory that was opened for reading it makes its entries durable: what was created in it,
    /// renamed into and out of it, and removed. A file whose entry is not durable may be gone after a power cut though it was synced
    /// itself.
    fn sync_all(&self) -> io::Result<()>;

    /// Makes the whole file system durable that the file is in, directory entries included. False where the system can't.
    fn sync_file_system(&self) -> bool;

    /// What the system says of it now.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Takes the file's advisory lock, without waiting. It is released when the file is closed, at the latest when the process ends.
    fn try_lock(&self) -> Result<(), TryLockError>;

    /// Releases the lock.
    fn unlock(&self) -> io::Result<()>;
}
