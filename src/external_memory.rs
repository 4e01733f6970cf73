//! Memory outside of V8's heap that strings keep alive.
//!
//! V8 collects garbage when its own heap has grown, and does not count the memory of external strings. Small objects that keep much of it
//! alive would pile up, so V8 is told how much there is.
//!
//! Each time that it is told of more than it likes, it interrupts the caller for some milliseconds of marking. So it is told in steps that
//! grow with what is alive: a replay that keeps everything costs it a few collections rather than one every few megabytes.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;

use napi::sys;

/// Minimum size of a step in bytes. V8 allows 64 MiB more than after the last collection before it starts another one.
const MIN_STEP: u64 = 16 << 20;

thread_local! {
    /// Environments of the same thread share a heap.
    static ACCOUNT: Cell<Account> = const { Cell::new(Account { alive: 0, told: 0 }) };
}

/// The memory of one thread, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    alive: u64,
    /// What V8 knows of.
    told: u64,
}

impl Account {
    /// Adds to what is alive. Returns by how much more V8 is told; 0 before the next step.
    fn grow(&mut self, bytes: u64) -> u64 {
        self.alive = self.alive.saturating_add(bytes);
        let untold = self.alive.saturating_sub(self.told);
        if untold < MIN_STEP.max(self.told / 2) {
            return 0;
        }
        self.told = self.alive;
        untold
    }

    /// Subtracts from what is alive. Returns by how much less V8 is told, at once: that costs nothing.
    fn shrink(&mut self, bytes: u64) -> u64 {
        self.alive = self.alive.saturating_sub(bytes);
        let gone = self.told.saturating_sub(self.alive);
        self.told -= gone;
        gone
    }
}

/// Counts the memory of a new string. May collect garbage.
///
/// # Safety
///
/// `env` is live, and this is its thread.
pub unsafe fn grow(env: sys::napi_env, bytes: usize) {
    // SAFETY: as the caller guarantees.
    if unsafe { is_counted_by_engine(env) } {
        return;
    }
    let more = update(|account| account.grow(bytes as u64));
    // SAFETY: as the caller guarantees.
    unsafe { adjust(env, more as i64) };
}

/// Discounts the memory of a string. Allowed in finalizers that run during a collection. `env` is null if the environment has ended: then
/// its heap ends too.
///
/// # Safety
///
/// `env` is null, or live and this is its thread.
pub unsafe fn shrink(env: sys::napi_env, bytes: usize) {
    // SAFETY: as the caller guarantees; it is not null where it is used.
    if env.is_null() || unsafe { is_counted_by_engine(env) } {
        return;
    }
    let less = update(|account| account.shrink(bytes as u64));
    // SAFETY: as the caller guarantees.
    unsafe { adjust(env, -(less as i64)) };
}

fn update(change: impl FnOnce(&mut Account) -> u64) -> u64 {
    let mut account = ACCOUNT.get();
    let difference = change(&mut account);
    ACCOUNT.set(account);
    difference
}

unsafe fn adjust(env: sys::napi_env, change: i64) {
    if change != 0 {
        let mut total = 0;
        // SAFETY: the caller passes a live `env` on its own thread; the call writes one number.
        unsafe { sys::napi_adjust_external_memory(env, change, &mut total) };
    }
}

/// Whether the engine counts external strings itself, as Bun's does. There the call is not allowed in finalizers either. Strings are
/// counted before they are discounted, so it is not in a finalizer that the engine is asked.
unsafe fn is_counted_by_engine(env: sys::napi_env) -> bool {
    static IS_COUNTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: the caller passes a live `env` on its own thread; the name ends with a zero.
    *IS_COUNTED.get_or_init(|| unsafe {
        let (mut global, mut is_bun) = (ptr::null_mut(), false);
        sys::napi_get_global(env, &mut global) == sys::Status::napi_ok
            && sys::napi_has_named_property(env, global, c"Bun".as_ptr(), &mut is_bun) == sys::Status::napi_ok
            && is_bun
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn v8_is_told_of_growth_in_steps_that_grow_with_what_is_alive() {
        let mut account = Account::default();
        let told: Vec<u64> = (0..1024).map(|_| account.grow(MIB) / MIB).filter(|told| *told > 0).collect();
        assert_eq!(told, [16, 16, 16, 24, 36, 54, 81, 122, 183, 274]);
        assert_eq!(account.alive, 1024 * MIB);
    }

    #[test]
    fn v8_never_knows_of_more_memory_than_is_alive() {
        let mut account = Account::default();
        account.grow(100 * MIB);
        assert_eq!(account.grow(10 * MIB), 0);
        assert_eq!(account.shrink(5 * MIB), 0);
        assert_eq!(account.shrink(25 * MIB), 20 * MIB);
        assert_eq!(account.shrink(80 * MIB), 80 * MIB);
        assert_eq!((account.alive, account.told), (0, 0));
    }
}
