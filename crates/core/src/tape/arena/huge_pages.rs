//! When to ask for huge pages.
//!
//! The system clears a huge page in an eighth of the time that it takes for as many small ones. But a virtual machine may have given its free huge
//! pages back to the host, which then finds memory for each of them piece by piece: that takes six times as long as small pages, of which the system
//! usually has some at hand. So it is measured what they take.

use std::fs;
use std::sync::Once;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use libc::{PR_GET_THP_DISABLE, PR_SET_THP_DISABLE, c_int, c_ulong};
use memmap2::{Advice, MmapRaw};

/// If the system takes longer than this for a huge page, small pages are faster. They take 0.7 to 0.9 ms.
const TOO_LONG: Duration = Duration::from_millis(1);

/// The number of chunks that then have small pages, before huge ones are tried again: doubled each time up to the maximum, as long as it is in vain.
const FIRST_PAUSE: u32 = 8;
const LONGEST_PAUSE: u32 = 64;

/// Asks for huge pages for a part of a new map that begins with a whole one, unless they were slow of late.
pub(super) fn ask_for(map: &MmapRaw, offset: usize, length: usize) {
    static POLICY: Policy = Policy::new();
    if offset >= map.len() || !POLICY.wants_huge_pages() {
        return;
    }
    allow();
    // If the system refuses, it is only slower.
    let _ = map.advise_range(Advice::HugePage, offset, length);
    let begin = Instant::now();
    // SAFETY: `offset` is within the map, which is new, so nothing else uses it yet.
    unsafe { map.as_mut_ptr().add(offset).write_volatile(0) };
    POLICY.took(begin.elapsed());
}

/// Decides for one chunk after the other whether to ask for huge pages. Shared by all threads.
pub(super) struct Policy {
    /// The number of chunks to come that have small pages.
    left: AtomicU32,
    /// The length of the next pause.
    pause: AtomicU32,
}

impl Policy {
    pub(crate) const fn new() -> Self {
        Policy { left: AtomicU32::new(0), pause: AtomicU32::new(FIRST_PAUSE) }
    }

    pub(crate) fn wants_huge_pages(&self) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }

    /// Must be called with the time that the system took for the first page of a chunk with huge pages.
    pub(crate) fn took(&self, time: Duration) {
        if time <= TOO_LONG {
            return self.pause.store(FIRST_PAUSE, Relaxed);
        }
        let pause = self.pause.load(Relaxed);
        self.left.store(pause, Relaxed);
        self.pause.store((2 * pause).min(LONGEST_PAUSE), Relaxed);
    }
}

/// The flag with which the system refuses huge pages except where they are asked for. Linux has it since 6.18.
const EXCEPT_ADVISED: c_ulong = 2;

/// Allows huge pages for memory that asks for them, if the process refuses them to all memory: Bun switches them off for the whole process, because of
/// its own heap. Does nothing more than once.
fn allow() {
    static ONCE: Once = Once::new();
    ONCE.call_once(allow_advised);
}

/// Without the flag, huge pages can only be allowed altogether. That comes to the same if the system never uses them unasked.
pub(super) fn allow_advised() {
    if prctl(PR_GET_THP_DISABLE, 0, 0) == 1
        && prctl(PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED) != 0
        && are_used_only_if_advised()
    {
        prctl(PR_SET_THP_DISABLE, 0, 0);
    }
}

#[allow(clippy::disallowed_methods)] // A setting of the system, not a recorded file.
fn are_used_only_if_advised() -> bool {
    fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").is_ok_and(|modes| modes.contains("[madvise]"))
}

/// Whether this system can allow them.
#[cfg(test)]
pub(super) fn can_allow_advised() -> bool {
    prctl(PR_SET_THP_DISABLE, 1, EXCEPT_ADVISED) == 0 || are_used_only_if_advised()
}

/// Returns the result, which is negative if the system does not know the option.
pub(super) fn prctl(option: c_int, first: c_ulong, second: c_ulong) -> c_int {
    const UNUSED: c_ulong = 0;
    // SAFETY: the two options that this module uses take numbers, and change nothing but a flag of the process.
    unsafe { libc::prctl(option, first, second, UNUSED, UNUSED) }
}
