//! Reads pipes like files: everything that is written to one, without waiting forever for a writer.

use std::io;
use std::path::Path;

use crate::disk::system::OsError;

#[cfg(not(unix))]
pub use others::{drain, is_at_end, is_pipe};
#[cfg(unix)]
pub use unix::{drain, is_at_end, is_pipe};

/// Maximum size, in bytes, of what is read into memory from a source without a known size.
#[cfg(not(test))]
pub const MAX_BYTES: usize = 1 << 30;

/// Less in tests, which write more than that.
#[cfg(test)]
pub const MAX_BYTES: usize = 4 << 20;

/// The error for a source without a size that has more than [`MAX_BYTES`].
pub fn too_large() -> OsError {
    let message = "more than 1 GiB came from what is not a regular file; write it to a file first";
    OsError { message, ..failed(&io::ErrorKind::FileTooLarge.into(), "read") }
}

fn no_writer(path: &Path) -> OsError {
    OsError::not_a_file("a pipe without a writer, not a regular file", path)
}

fn failed(error: &io::Error, syscall: &'static str) -> OsError {
    OsError::new(error, syscall, None)
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsRawFd, RawFd};
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::{MAX_BYTES, failed, no_writer, too_large};
    use crate::disk::open::file::File;
    use crate::disk::system::{FileKind, Metadata, OsError};
    use crate::task::Cancellation;

    /// How long to wait for a writer to open the pipe: usually it is started together with the reader.
    pub(crate) const WRITER_PATIENCE: Duration = Duration::from_secs(3);

    /// How long to wait between two checks for cancellation.
    const LOOK_UP: Duration = Duration::from_millis(20);

    pub(crate) const BLOCK_BYTES: usize = 64 << 10;

    /// Reads everything that is written to a pipe, until its last writer has closed it.
    pub fn drain(pipe: File, path: &Path, cancellation: &Cancellation) -> Result<Vec<u8>, OsError> {
        let deadline = Instant::now() + WRITER_PATIENCE;
        let (mut content, mut block) = (Vec::new(), vec![0; BLOCK_BYTES]);
        // A pipe without a name gets no new writers.
        let mut had_writer = has_no_name(&pipe);
        loop {
            match cancellation.check_while_waiting().and_then(|()| pipe.read(&mut block)) {
                Ok(0) if had_writer || was_closed(&pipe) => return Ok(content),
                Ok(0) if Instant::now() >= deadline => return Err(no_writer(path)),
                Ok(0) => std::thread::sleep(LOOK_UP),
                Ok(count) => {
                    had_writer = true;
                    content.extend_from_slice(&block[..count]);
                    if content.len() > MAX_BYTES {
                        return Err(too_large());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    had_writer = true;
                    wait_for(&pipe, libc::POLLIN, LOOK_UP);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&error, "read")),
            }
        }
    }

    /// Whether it is a pipe, with or without a name.
    pub fn is_pipe(metadata: &Metadata) -> bool {
        metadata.kind == FileKind::Pipe
    }

    /// Whether a device reports its end at once, as `/dev/null` does. Any other one may never end.
    pub fn is_at_end(file: &File, metadata: &Metadata) -> bool {
        metadata.kind == FileKind::CharacterDevice && file.read(&mut [0]).is_ok_and(|count| count == 0)
    }

    /// Whether the pipe was created by `pipe(2)`. A shell creates such pipes between commands; `/dev/stdin` leads to
    /// them.
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods)] // `/proc` describes this process, and is not a recorded file.
    fn has_no_name(pipe: &File) -> bool {
        let target = descriptor(pipe).map(|descriptor| std::fs::read_link(format!("/proc/self/fd/{descriptor}")));
        target.and_then(Result::ok).is_some_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"pipe:"))
    }

    #[cfg(not(target_os = "linux"))]
    fn has_no_name(_: &File) -> bool {
        false
    }

    /// Whether a writer has opened and closed the pipe. Linux reports that for writers since the pipe was opened for
    /// reading.
    fn was_closed(pipe: &File) -> bool {
        cfg!(target_os = "linux") && wait_for(pipe, 0, Duration::ZERO) & libc::POLLHUP != 0
    }

    /// Waits until one of `events` occurs on the pipe or its last writer closes it, but not longer than `most`.
    /// Returns what occurred.
    fn wait_for(pipe: &File, events: i16, most: Duration) -> i16 {
        let Some(descriptor) = descriptor(pipe) else { return 0 };
        let mut poll = libc::pollfd { fd: descriptor, events, revents: 0 };
        // SAFETY: the pointer is to one `pollfd` and the count is 1; the call keeps no pointer.
        unsafe { libc::poll(&raw mut poll, 1, most.as_millis() as i32) };
        poll.revents
    }

    /// The file descriptor of a pipe. Only the operating system has pipes.
    fn descriptor(pipe: &File) -> Option<RawFd> {
        pipe.as_real().map(AsRawFd::as_raw_fd)
    }
}

/// On these systems no path leads to such a pipe or device.
#[cfg(not(unix))]
mod others {
    use std::path::Path;

    use crate::disk::open::file::File;
    use crate::disk::system::{Metadata, OsError};
    use crate::task::Cancellation;

    pub fn drain(_: File, path: &Path, _: &Cancellation) -> Result<Vec<u8>, OsError> {
        Err(super::no_writer(path))
    }

    pub fn is_pipe(_: &Metadata) -> bool {
        false
    }

    pub fn is_at_end(_: &File, _: &Metadata) -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
