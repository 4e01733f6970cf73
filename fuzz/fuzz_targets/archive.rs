//! Any bytes as an archive, and any bytes as the tar in an archive: no panic, and never more output than the limits allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::archive(bytes));
