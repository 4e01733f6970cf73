//! Any bytes around a secret, as a line of a session and as a blob: no panic, no leak, and no hit in a second redaction.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::fuzzing;

fuzz_target!(init: fuzzing::prepare_redaction(), |bytes: &[u8]| fuzzing::redaction(bytes));
