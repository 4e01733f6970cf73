//! Strings that V8 reads where Rust wrote them. A long text that is parsed once and then forgotten is not worth a copy: making one costs as
//! much as half of its parsing, and all copies are garbage that V8 has to collect.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use napi::sys;

/// Node-API offers it since Node.js 20.4, under a version of its own that older releases refuse to load; so it is looked up at run time.
type CreateExternalLatin1 = unsafe extern "C" fn(
    env: sys::napi_env,
    text: *const c_char,
    length: isize,
    finalize: Option<unsafe extern "C" fn(sys::napi_env, *mut c_void, *mut c_void)>,
    hint: *mut c_void,
    result: *mut sys::napi_value,
    copied: *mut bool,
) -> sys::napi_status;

fn create_external_latin1() -> Option<CreateExternalLatin1> {
    static FUNCTION: OnceLock<Option<CreateExternalLatin1>> = OnceLock::new();
    *FUNCTION.get_or_init(|| {
        let process = this_process()?;
        // SAFETY: the name is that of a function of Node-API, whose signature is fixed; the process is never unloaded, so the pointer
        // outlives the library handle.
        unsafe {
            process.get::<CreateExternalLatin1>(c"node_api_create_external_string_latin1").ok().map(|symbol| *symbol)
        }
    })
}

#[cfg(unix)]
fn this_process() -> Option<libloading::os::unix::Library> {
    Some(libloading::os::unix::Library::this())
}

#[cfg(windows)]
fn this_process() -> Option<libloading::os::windows::Library> {
    libloading::os::windows::Library::this().ok()
}

/// V8 does not see how much memory such strings keep, and takes its time to collect those that it once has moved to its old generation.
/// With this many bytes uncollected, copies are the lesser evil.
const MOST_UNCOLLECTED_BYTES: usize = 16 << 20;

static UNCOLLECTED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Makes a JavaScript string of `text`, or gives `text` back where that can't be done, or should not.
///
/// # Safety
///
/// `env` must be alive, and this its own thread.
pub unsafe fn external_latin1(env: sys::napi_env, text: Vec<u8>) -> Result<sys::napi_value, Vec<u8>> {
    let Some(create) = create_external_latin1() else { return Err(text) };
    let bytes = text.capacity();
    if UNCOLLECTED_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes > MOST_UNCOLLECTED_BYTES {
        UNCOLLECTED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
        return Err(text);
    }
    let owner = Box::new(text);
    let (start, length) = (owner.as_ptr().cast(), owner.len() as isize);
    let hint = Box::into_raw(owner);
    let (mut value, mut copied) = (ptr::null_mut(), false);
    // SAFETY: the caller vouches for `env`. The text stays where it is, unchanged, until `drop_text` is called, which happens once, and
    // only if the call succeeds.
    let status = unsafe { create(env, start, length, Some(drop_text), hint.cast(), &mut value, &mut copied) };
    if status == sys::Status::napi_ok {
        return Ok(value);
    }
    // SAFETY: `hint` comes from `Box::into_raw` above, and nobody else has taken it.
    let text = *unsafe { Box::from_raw(hint) };
    UNCOLLECTED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    Err(text)
}

unsafe extern "C" fn drop_text(_env: sys::napi_env, _text: *mut c_void, hint: *mut c_void) {
    // SAFETY: `hint` comes from `Box::into_raw` in `external_latin1`, and V8 calls this once.
    let text = unsafe { Box::from_raw(hint.cast::<Vec<u8>>()) };
    UNCOLLECTED_BYTES.fetch_sub(text.capacity(), Ordering::Relaxed);
}
