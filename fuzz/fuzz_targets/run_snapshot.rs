//! Any text as the snapshot of a run: rejected, or printed as the same text; its state is rejected or valid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::run::fuzzing;

fuzz_target!(|document: &str| fuzzing::snapshot(document));
