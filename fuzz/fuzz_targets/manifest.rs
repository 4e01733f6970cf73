//! Any bytes as a bundle's manifest, list of redactions and metadata: rejected, or printed as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::fuzzing;

fuzz_target!(|bytes: &[u8]| fuzzing::documents(bytes));
