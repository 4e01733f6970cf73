//! Stopping reads whose result is no longer wanted.
//!
//! Work on a background thread looks now and then whether to go on, but between two looks it may read a line of many gigabytes, or wait
//! for a pipe. So whatever reads in a loop asks as well, before each read. What it asks is the cancellation of the work it belongs to: that
//! of its thread, taken when the file is opened or the reader made. Without such work there is none, and nothing is ever cancelled.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Cancellation> = RefCell::default();
}

/// Whether work was cancelled. Clones are of the same work.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// That of the work that this thread does; one that is never cancelled if it does none.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Cancels the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same as a flag.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// An error if the work was cancelled: what would be read next is not wanted.
    #[inline]
    pub fn check(&self) -> io::Result<()> {
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Runs `work` as that which this cancels. A thread that helps with the work has to say so itself.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restored = Restored(CURRENT.replace(self.clone()));
        work()
    }
}

impl From<Arc<AtomicBool>> for Cancellation {
    /// The work that this flag cancels.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Cancellation(flag)
    }
}

/// Restores the thread's cancellation, also when the work panics.
struct Restored(Cancellation);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

#[cfg(unix)]
#[cold]
fn cancelled() -> io::Error {
    io::Error::from_raw_os_error(libc::ECANCELED)
}

#[cfg(not(unix))]
#[cold]
fn cancelled() -> io::Error {
    io::Error::other("the work was cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn work_has_its_cancellation_and_what_comes_after_it_has_none() {
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
    fn another_thread_has_none() {
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let elsewhere = || std::thread::spawn(|| Cancellation::current().is_cancelled()).join().unwrap();
        assert!(!cancellation.during(elsewhere));
    }
}
