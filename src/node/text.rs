//! Strings between V8 and Rust, each copied once.

use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{Status, ValueType, sys};

use crate::jsonl::payload::Payload;

/// Text for V8, in the encoding that costs V8 least.
pub enum OutputText {
    /// One byte a character: what V8 parses fastest.
    Latin1(Vec<u8>),
    /// For text that would be longer than a string can be if its characters beyond Latin-1 were escaped.
    Utf16(Vec<u16>),
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
        let status = match &text {
            // SAFETY: the caller gives a live `env` on its own thread; pointer and length are those of a vector that lives
            // until the call returns, and V8 copies. (Strings that V8 reads in place were tried: it is slow to collect them, and
            // the event loop stopped twice as long.)
            OutputText::Latin1(bytes) => unsafe {
                sys::napi_create_string_latin1(env, bytes.as_ptr().cast(), bytes.len() as isize, &mut value)
            },
            // SAFETY: as above.
            OutputText::Utf16(units) => unsafe {
                sys::napi_create_string_utf16(env, units.as_ptr(), units.len() as isize, &mut value)
            },
        };
        napi::check_status!(status, "a text of the session could not be made a JavaScript string")?;
        Ok(value)
    }
}

/// A JavaScript string that stays where it is until its text is wanted. Good for the call it was passed to.
pub struct JsText {
    env: sys::napi_env,
    value: sys::napi_value,
    units: usize,
}

/// Up to this length a string is copied into room for the worst case, which saves a pass to measure it.
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
        // SAFETY: the caller gives a live `env` and a value of it. Without a buffer the call gives only the length.
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
        // SAFETY: `env` and `value` are those of the running call. Without a buffer the call gives only the length.
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

    fn append_to(self, buffer: &mut Vec<u8>) -> napi::Result<()> {
        // One more for the zero that N-API ends a string with.
        let room = self.utf8_bytes()? + 1;
        buffer.reserve(room);
        let start = buffer.len();
        let mut written = 0;
        // SAFETY: there are at least `room` bytes behind the buffer's end, and no more than `room` are written.
        let status = unsafe {
            let end = buffer.as_mut_ptr().add(start).cast();
            sys::napi_get_value_string_utf8(self.env, self.value, end, room, &mut written)
        };
        napi::check_status!(status)?;
        // SAFETY: `written` bytes behind `start` were just initialised; the capacity holds them.
        unsafe { buffer.set_len(start + written) };
        Ok(())
    }
}
