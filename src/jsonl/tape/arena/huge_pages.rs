//! Huge pages in a process that has none.
//!
//! Bun switches huge pages off for its whole process, because of its own heap. That also refuses them to memory that asks for them, where they
//! save a fifth of a long replay. So this allows them where they are asked for, and leaves everything else as it is.

use std::fs;
use std::sync::Once;

use libc::{PR_GET_THP_DISABLE, PR_SET_THP_DISABLE, c_int, c_ulong};

/// The flag with which the system refuses huge pages except where they are asked for. Linux has it since 6.18.
const EXCEPT_ADVISED: c_ulong = 2;

/// Allows huge pages for memory that asks for them, if the process refuses them to all memory. Does nothing more than once.
pub fn allow() {
    static ONCE: Once = Once::new();
    ONCE.call_once(allow_advised);
}

/// Without the flag, huge pages can only be allowed altogether. That comes to the same if the system never uses them unasked.
pub(super) fn allow_advised() {
    if prctl(PR_GET_THP_DISABLE, 0, 0) == 1
        && prctl(PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED) != 0
        && is_used_only_if_advised()
    {
        prctl(PR_SET_THP_DISABLE, 0, 0);
    }
}

#[allow(clippy::disallowed_methods)] // A setting of the system, not a recorded file.
fn is_used_only_if_advised() -> bool {
    fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|modes| modes.contains("[madvise]"))
}

/// Returns the result, which is negative if the system does not know the option.
pub(super) fn prctl(option: c_int, first: c_ulong, second: c_ulong) -> c_int {
    const UNUSED: c_ulong = 0;
    // SAFETY: the two options that this module uses take numbers, and change nothing but a flag of the process.
    unsafe { libc::prctl(option, first, second, UNUSED, UNUSED) }
}
