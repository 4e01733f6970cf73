//! Any bytes after the beginning of a session: each session equals itself, and two are compared without a panic, in either order.
#![no_main]

use std::io::Write;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use session_tape_core::diff::Diff;
use session_tape_core::diff::DiffError;
use session_tape_core::diff::DiffOptions;
use session_tape_core::diff::Source;
use session_tape_core::diff::diff;
use session_tape_core::diff::print;
use session_tape_core::json::JsonText;
use session_tape_core::task::{Cancellation, Task};

const START: &[u8] =
    b"{\"v\":1,\"seq\":1,\"type\":\"session_start\",\"payload\":{\"sessionId\":\"s\",\"projectHash\":\"h\"}}\n";

fn compared(left: &Path, right: &Path) -> Result<Option<Diff>, DiffError> {
    let (cancelled, options) = (Cancellation::default(), DiffOptions { full: true, ..DiffOptions::default() });
    let mut task = Task { cancellation: &cancelled, progress: &mut |_| {} };
    let found = diff(&Source::session(left), &Source::session(right), &options, &mut task);
    if let Ok(found) = &found {
        let mut json = JsonText::default();
        print(&mut json, found.as_ref());
        serde_json::from_slice::<serde::de::IgnoredAny>(&json.into_bytes()).expect("the answer is JSON");
    }
    found
}

fuzz_target!(|input: (bool, &[u8], &[u8])| {
    let (begins, left, right) = input;
    let [left, right] = [left, right].map(|bytes| {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(if begins { START } else { b"" }).and_then(|()| file.write_all(bytes)).expect("room for it");
        file
    });
    if let Ok(found) = compared(left.path(), left.path()) {
        assert!(found.is_none());
    }
    let (one, other) = (compared(left.path(), right.path()), compared(right.path(), left.path()));
    if let (Ok(one), Ok(other)) = (one, other) {
        assert_eq!(one.is_none(), other.is_none());
        assert_eq!(one.map(|found| found.divergence_event), other.map(|found| found.divergence_event));
    }
});
