//! Locks, condition variables, channels and threads for code in which threads pass work to each other: locks of parking_lot, channels and threads of
//! the standard library. In tests with the feature `interleavings` they are built on loom, which runs the same code in every order that the threads
//! can take (see `docs/durability.md`).

use std::thread;

/// Size of the stack of each thread in bytes. Set explicitly, since the environment (`RUST_MIN_STACK`) could choose one that is too small.
pub const STACK_BYTES: usize = 2 << 20;

/// Number of cores that this machine has in addition to that of the calling thread.
pub fn spare_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from) - 1
}

/// Starts threads that may borrow from the thread that starts them.
pub fn scoped_builder() -> thread::Builder {
    thread::Builder::new().name("session-tape".to_owned()).stack_size(STACK_BYTES)
}

#[cfg(not(feature = "interleavings"))]
pub use native::{Condvar, Mutex, MutexGuard, Receiver, SyncSender, spawn, sync_channel};

#[cfg(feature = "interleavings")]
mod modelled;
#[cfg(feature = "interleavings")]
pub use self::modelled::{Condvar, Mutex, MutexGuard, Receiver, SyncSender, explore, spawn, sync_channel};

#[cfg(not(feature = "interleavings"))]
mod native {
    use std::{io, thread};

    pub use parking_lot::{Condvar, Mutex, MutexGuard};
    pub use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    /// Runs `work` on a thread of its own. Returns an error, and drops `work`, if the system refuses the thread.
    #[inline]
    pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        thread::Builder::new().name(name.to_owned()).stack_size(super::STACK_BYTES).spawn(work).map(drop)
    }
}
