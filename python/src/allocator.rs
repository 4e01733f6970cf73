//! The allocator of memory, and when it gives back to the system what is free.

use std::ffi::{c_int, c_long};
use std::sync::Once;

use mimalloc::MiMalloc;

/// Threads that fill columns ask for memory and give it back all the time: glibc spends twice as long on it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// As many threads may keep what is free for some milliseconds. That takes a tenth less time; each of them keeps up to some 20 MiB.
const KEEPING_THREADS: usize = 4;

/// `mi_option_purge_delay` of mimalloc 2.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// So many threads will work: what they keep together must not be too much.
pub fn prepare(threads: usize) {
    static ONCE: Once = Once::new();
    if threads > KEEPING_THREADS {
        // SAFETY: the allocator that is linked has this function, which stores a number in a table of its own, at a place that the table has.
        // Calls of several threads are excluded.
        ONCE.call_once(|| unsafe { mi_option_set(PURGE_DELAY, 0) });
    }
}
