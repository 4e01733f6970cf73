//! Strings between V8 and Rust, each of which is copied at most once.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{Status, ValueType, sys};

use super::external_memory;
use super::tape::{Shared, Text};
use session_tape_core::json::Payload;

/// A text for V8, in the encoding that is fastest for V8.
pub enum OutputText {
    /// One byte for each character, which V8 parses fastest.
    Latin1(Vec<u8>),
    /// For a text that would be longer than a string can be if its characters beyond Latin-1 were escaped.
    Utf16(Vec<u16>),
    /// One byte for each character; V8 reads it in place.
    SharedLatin1(Shared<u8>),
    /// UTF-16; V8 reads it in place.
    SharedUtf16(Shared<u16>),
}

impl From<Text<u8>> for OutputText {
    fn from(text: Text<u8>) -> Self {
        match text {
            Text::Own(text) => OutputText::Latin1(text),
            Text::Shared(text) => OutputText::SharedLatin1(text),
        }
    }
}

impl From<Text<u16>> for OutputText {
    fn from(text: Text<u16>) -> Self {
        match text {
            Text::Own(text) => OutputText::Utf16(text),
            Text::Shared(text) => OutputText::SharedUtf16(text),
        }
    }
}

impl Default for OutputText {
    fn default() -> Self {
        OutputText::Latin1(Vec::new())
    }
}

impl TypeName for OutputText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for OutputText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        // SAFETY: the caller passes a live `env` on its own thread.
        let status = unsafe {
            match text {
                OutputText::Latin1(text) => copy_latin1(env, &text, &mut value),
                OutputText::Utf16(text) => copy_utf16(env, &text, &mut value),
                OutputText::SharedLatin1(text) => share(env, text, share_latin1, copy_latin1, &mut value),
                OutputText::SharedUtf16(text) => share(env, text, share_utf16, copy_utf16, &mut value),
            }
        };
        napi::check_status!(status, "a text of the session could not be made a JavaScript string")?;
        Ok(value)
    }
}

unsafe fn copy_latin1(env: sys::napi_env, text: &[u8], value: &mut sys::napi_value) -> sys::napi_status {
    // SAFETY: the caller passes a live `env` on its own thread; pointer and length are those of a slice, and V8 copies it.
    unsafe { sys::napi_create_string_latin1(env, text.as_ptr().cast(), text.len() as isize, value) }
}

unsafe fn copy_utf16(env: sys::napi_env, text: &[u16], value: &mut sys::napi_value) -> sys::napi_status {
    // SAFETY: as above.
    unsafe { sys::napi_create_string_utf16(env, text.as_ptr(), text.len() as isize, value) }
}

/// Creates a string from a text, which is passed to the finalizer as its hint.
type Share<Unit> = unsafe fn(
    sys::napi_env,
    &Shared<Unit>,
    sys::node_api_basic_finalize,
    *mut c_void,
    &mut sys::napi_value,
) -> sys::napi_status;

/// Creates a string that shares the text, or else copies it.
unsafe fn share<Unit>(
    env: sys::napi_env,
    text: Shared<Unit>,
    share: Share<Unit>,
    copy: unsafe fn(sys::napi_env, &[Unit], &mut sys::napi_value) -> sys::napi_status,
    value: &mut sys::napi_value,
) -> sys::napi_status {
    if !can_share(env) {
        // SAFETY: the caller passes a live `env` on its own thread.
        return unsafe { copy(env, text.units(), value) };
    }
    let bytes = size_of_val(text.units());
    let text = Box::into_raw(Box::new(text));
    // SAFETY: `text` lives until `drop_shared` is called, which happens once: when the string is collected, or at once if the engine has
    // copied it. After an error it is not called.
    unsafe {
        external_memory::grow(env, bytes);
        let status = share(env, &*text, Some(drop_shared::<Unit>), text.cast(), value);
        if status == sys::Status::napi_ok {
            return status;
        }
        external_memory::shrink(env, bytes);
        copy(env, Box::from_raw(text).units(), value)
    }
}

unsafe fn share_latin1(
    env: sys::napi_env,
    text: &Shared<u8>,
    finalize: sys::node_api_basic_finalize,
    hint: *mut c_void,
    value: &mut sys::napi_value,
) -> sys::napi_status {
    let (text, mut is_copied) = (text.units(), false);
    let (start, length) = (text.as_ptr().cast(), text.len() as isize);
    // SAFETY: the caller passes a live `env` and a text that lives until `finalize` is called.
    unsafe { sys::node_api_create_external_string_latin1(env, start, length, finalize, hint, value, &mut is_copied) }
}

unsafe fn share_utf16(
    env: sys::napi_env,
    text: &Shared<u16>,
    finalize: sys::node_api_basic_finalize,
    hint: *mut c_void,
    value: &mut sys::napi_value,
) -> sys::napi_status {
    let (text, mut is_copied) = (text.units(), false);
    let (start, length) = (text.as_ptr(), text.len() as isize);
    // SAFETY: as above.
    unsafe { sys::node_api_create_external_string_utf16(env, start, length, finalize, hint, value, &mut is_copied) }
}

unsafe extern "C" fn drop_shared<Unit>(env: sys::node_api_basic_env, _: *mut c_void, hint: *mut c_void) {
    // SAFETY: `share` has passed a box as the hint, and the finalizer is called once, on the thread of `env`, which is null if the
    // environment has ended.
    unsafe {
        let text = Box::from_raw(hint.cast::<Shared<Unit>>());
        external_memory::shrink(env.cast(), size_of_val(text.units()));
    }
}

/// Whether the engine has strings that it reads in place: since Node-API 10, and in later versions of Node 20, which have Node-API 9.
fn can_share(env: sys::napi_env) -> bool {
    static CAN_SHARE: OnceLock<bool> = OnceLock::new();
    *CAN_SHARE.get_or_init(|| is_exported() || version(env) >= 10)
}

#[cfg(unix)]
fn is_exported() -> bool {
    // SAFETY: the name ends with a zero; the symbol is only looked up, not called.
    unsafe { !libc::dlsym(libc::RTLD_DEFAULT, c"node_api_create_external_string_latin1".as_ptr()).is_null() }
}

#[cfg(not(unix))]
fn is_exported() -> bool {
    false
}

fn version(env: sys::napi_env) -> u32 {
    let mut version = 0;
    // SAFETY: `env` is live, and the call only writes the number.
    unsafe { sys::napi_get_version(env, &mut version) };
    version
}

/// A JavaScript string that stays in V8 until its text is needed. Valid only during the call it was passed to.
pub struct JsText {
    env: sys::napi_env,
    value: sys::napi_value,
    units: usize,
}

/// Maximum length, in code units, of a string for which room for the worst case is reserved, which saves a pass to measure it.
const MEASURED_UNITS: usize = 16 << 10;

impl TypeName for JsText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for JsText {}

impl FromNapiValue for JsText {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        let mut units = 0;
        // SAFETY: the caller passes a live `env` and one of its values. Without a buffer, the call returns only the length.
        let status = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &mut units) };
        napi::check_status!(status, "expected a string")?;
        Ok(JsText { env, value, units })
    }
}

impl JsText {
    fn utf8_bytes(&self) -> napi::Result<usize> {
        if self.units <= MEASURED_UNITS {
            return Ok(self.units * 3);
        }
        let mut bytes = 0;
        // SAFETY: `env` and `value` are those of the current call. Without a buffer, the call returns only the length.
        let status = unsafe { sys::napi_get_value_string_utf8(self.env, self.value, ptr::null_mut(), 0, &mut bytes) };
        napi::check_status!(status)?;
        Ok(bytes)
    }
}

impl Payload for JsText {
    type Error = napi::Error<Status>;

    fn size(&self) -> usize {
        self.units
    }

    #[inline]
    fn append_to(self, buffer: &mut Vec<u8>) -> napi::Result<()> {
        // One more for the zero with which Node-API terminates a string.
        let room = self.utf8_bytes()? + 1;
        buffer.reserve(room);
        let start = buffer.len();
        let mut written = 0;
        // SAFETY: the buffer has at least `room` bytes after its end, and no more than `room` are written.
        let status = unsafe {
            let end = buffer.as_mut_ptr().add(start).cast();
            sys::napi_get_value_string_utf8(self.env, self.value, end, room, &mut written)
        };
        napi::check_status!(status)?;
        // SAFETY: the `written` bytes after `start` were just initialised, and are within the capacity.
        unsafe { buffer.set_len(start + written) };
        Ok(())
    }
}
