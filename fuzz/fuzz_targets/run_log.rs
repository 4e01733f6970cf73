//! Any bytes as the log of a run: every byte belongs to a whole line or a torn one, lines that are events are printed unchanged, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::run::fuzzing;

fuzz_target!(|log: &[u8]| fuzzing::log(log));
