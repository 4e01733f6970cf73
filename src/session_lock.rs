//! The system's part of session locks: `system-lock` of the JavaScript library is the other one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use parking_lot::Mutex;

use super::job::{JobEnd, PoolJob};
use session_tape_core::disk::lock::{FileId, Look, SystemLock};

/// The locks that this process holds, by number. They belong to the process and not to a JavaScript environment: the records of a worker
/// that was terminated may still be on their way to the file.
static HELD: Mutex<BTreeMap<u32, SystemLock>> = Mutex::new(BTreeMap::new());
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Locks the file at a path, which has this device and inode. The result is a number for [`unlock_file`], or `null` if the system
/// refuses.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn hold_lock(path: String, device: String, inode: String) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        let number = SystemLock::hold(Path::new(&path), id_of(&device, &inode)).map(keep);
        JobEnd::done(|json| json.value(&number))
    })
}

fn keep(lock: SystemLock) -> u32 {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    HELD.lock().insert(number, lock);
    number
}

/// Releases a lock. The result is `null`.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn unlock_file(number: u32) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        release(number);
        JobEnd::done(|json| json.raw(b"null"))
    })
}

/// Releases a lock, if it is still held.
pub fn release(number: u32) {
    let lock = HELD.lock().remove(&number);
    drop(lock);
}

/// Whether a lock is still held.
pub fn is_held(number: u32) -> bool {
    HELD.lock().contains_key(&number)
}

/// Looks whether any process holds the lock on the file at a path, which had this device and inode. The result is `"held"`, `"free"`,
/// `"another"` if the file is gone or another one has its path, or `"unknown"`.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn look_at_lock(path: String, device: String, inode: String) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        let found = match SystemLock::look(Path::new(&path), id_of(&device, &inode)) {
            Look::Held => "held",
            Look::Free => "free",
            Look::Another => "another",
            Look::Unknown => "unknown",
        };
        JobEnd::done(|json| json.value(found))
    })
}

/// The numbers are passed as text, because they can be larger than those that a JavaScript number represents exactly.
fn id_of(device: &str, inode: &str) -> FileId {
    (device.parse().unwrap_or_default(), inode.parse().unwrap_or_default())
}
