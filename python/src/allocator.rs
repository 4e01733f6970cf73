//! The global allocator, and how soon it returns free memory to the operating system.

use std::ffi::{c_int, c_long};
use std::sync::Once;

use mimalloc::MiMalloc;

/// Threads that fill columns allocate and free all the time, which takes glibc's allocator twice as long.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Maximum number of threads with which free memory is kept for some milliseconds before it is returned to the system. Keeping it takes a tenth less
/// time, but costs up to some 20 MiB per thread.
const KEEPING_THREADS: usize = 4;

/// `mi_option_purge_delay` of mimalloc 2.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Prepares the allocator for this number of threads: with more than `KEEPING_THREADS`, free memory is returned to the system at once.
pub fn prepare(threads: usize) {
    static ONCE: Once = Once::new();
    if threads > KEEPING_THREADS {
        // SAFETY: mimalloc, which is linked, exports this function. It stores a number in a table of its own, at an index that the table has, and
        // `ONCE` prevents concurrent calls.
        ONCE.call_once(|| unsafe { mi_option_set(PURGE_DELAY, 0) });
    }
}
