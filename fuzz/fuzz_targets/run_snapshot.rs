//! Any text as the snapshot of a run: rejected, or printed as the same text; its state is rejected or valid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::TrustedKeys;
use session_tape_core::run::{Snapshot, State};

fuzz_target!(|document: &str| {
    if let Ok(snapshot) = Snapshot::parse(document, &TrustedKeys::default()) {
        assert_eq!(snapshot.print(), document.as_bytes());
        let _ = snapshot.content.decode_state();
    }
    if let Ok(state) = State::from_canonical(document) {
        assert_eq!(state.to_canonical().as_deref(), Some(document));
    }
});
