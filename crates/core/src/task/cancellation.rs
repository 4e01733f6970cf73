//! Stops reads whose results are no longer wanted.
//!
//! Work on a background thread checks now and then whether to go on, but between two checks it may read a line of many gigabytes, or wait
//! for a pipe. So code that reads in a loop checks before each read too. It uses the [`Cancellation`] of the work that its thread does,
//! taken when the file is opened or the reader is created. A thread that does no such work has a cancellation that is never set.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    static CURRENT: RefCell<Cancellation> = RefCell::default();
}

/// Says whether some work was cancelled. Clones belong to the same work.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    flag: Arc<AtomicBool>,
    steps: Arc<AtomicU64>,
}

impl Cancellation {
    /// The cancellation of the work that this thread does; one that is never set if it does none.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the work was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Returns an error if the work was cancelled. To be called before each read: it also counts as a step of the work.
    #[inline]
    pub fn check(&self) -> io::Result<()> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.check_while_waiting()
    }

    /// Number of steps of the work so far. It does not get on while that stays the same.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns an error if the work was cancelled. To be called while the work waits and does not get on.
    #[inline]
    pub fn check_while_waiting(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Runs `work` with this as the cancellation of the current thread. A thread that helps with the work has to call this itself.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restored = Restored(CURRENT.replace(self.clone()));
        work()
    }
}

/// Restores the thread's cancellation, even if the work panics.
struct Restored(Cancellation);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

#[cfg(unix)]
#[cold]
pub(super) fn cancelled() -> io::Error {
    io::Error::from_raw_os_error(libc::ECANCELED)
}

#[cfg(not(unix))]
#[cold]
pub(super) fn cancelled() -> io::Error {
    io::Error::other("the work was cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn cancellation_is_scoped_to_its_work() {
        let (outer, inner) = (Cancellation::default(), Cancellation::default());
        outer.during(|| {
            inner.during(|| Cancellation::current().cancel());
            let panicked = catch_unwind(AssertUnwindSafe(|| inner.during(|| panic!("work that panics"))));
            assert!(panicked.is_err() && !Cancellation::current().is_cancelled());
            outer.cancel();
            assert!(Cancellation::current().check().is_err());
        });
        assert!(inner.is_cancelled());
        assert!(Cancellation::current().check().is_ok());
    }

    #[test]
    fn cancellation_is_not_inherited_by_threads() {
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let elsewhere = || std::thread::spawn(|| Cancellation::current().is_cancelled()).join().unwrap();
        assert!(!cancellation.during(elsewhere));
    }
}
