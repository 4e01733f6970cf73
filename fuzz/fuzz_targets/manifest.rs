//! Any bytes as a bundle's manifest, list of redactions and metadata: verified without a panic, and a bundle that names none of its files is none.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::{VerifyOptions, verify};
use session_tape_core::{Cancellation, Task};

fuzz_target!(|bytes: &[u8]| {
    let root = tempfile::tempdir().expect("a temporary directory");
    for name in ["manifest.json", "redactions.json", "metadata.json"] {
        fs::write(root.path().join(name), bytes).expect("room for it");
    }
    let (cancellation, mut quietly) = (Cancellation::default(), |_| ());
    let mut task = Task { cancellation: &cancellation, progress: &mut quietly };
    let report = verify(root.path(), &VerifyOptions::default(), &mut task).expect("no system call fails");
    assert!(!report.is_ok());
});
