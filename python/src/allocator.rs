//! The global allocator, which returns free memory to the operating system at once.

use std::ffi::{c_int, c_long};

use mimalloc::MiMalloc;

/// Threads that fill columns allocate and free all the time, which takes glibc's allocator twice as long.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay` of mimalloc 2.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// Prepares the allocator. Keeping free memory for some milliseconds, as mimalloc does by default, would take some 7 % less time, but 60 to 200 MiB more:
/// what one thread frees is not what another one allocates.
pub fn prepare() {
    // SAFETY: mimalloc, which is linked, exports this function. It stores a number in a table of its own, at an index that the table has. The module is
    // initialised once, by a thread that has the GIL, before any other thread is started.
    unsafe { mi_option_set(PURGE_DELAY, 0) };
}
