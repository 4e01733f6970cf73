//! Any damage to a session: what is repaired replays strictly, and repairing it again changes nothing.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use session_tape_core::repair::{RepairOptions, repair};
use session_tape_core::session::fold::FoldOptions;
use session_tape_core::session::format::Mode;
use session_tape_core::session::read::Replay;
use session_tape_core::{Cancellation, Task};

const LINES: [&str; 8] = [
    r#"{"v":1,"seq":1,"ts":"t","type":"session_start","payload":{"sessionId":"s","projectHash":"h","provider":"p","model":"m","startTime":"t"}}"#,
    r#"{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":"ai","blocks":[{"text":"{\"v\":1,\"seq\":9,\"type\":\"x\",\"payload\":{}}\n"}]}}}"#,
    r#"{"v":2,"seq":3,"type":"new","payload":{"a":{"type":"","payload":{},"seq":7}}}"#,
    r#"{"seq":4,"payload":{"severity":"info","message":"{"},"type":"session_event"}"#,
    r#"{"v":1,"seq":5,"type":"checkpoint_created","payload":{"checkpointId":"a","name":"n"}}"#,
    r#"{"v":1,"seq":6,"type":"checkpoint_deleted","payload":{"checkpointId":"a"}}"#,
    "\u{feff}[\r\n\0",
    r#"{"v":1,"seq":7,"type":"content","payload":{"content":"#,
];

/// Whole and cut lines, and the input itself: a byte that cannot begin JSON selects a line and the next one how much of it.
fn text(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut rest) = (Vec::new(), bytes);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after.split_first()) {
            (128..=255, Some((length, after))) => {
                let line = LINES[*first as usize % LINES.len()].as_bytes();
                text.extend_from_slice(&line[..line.len() * *length as usize / 255]);
                rest = after;
            }
            _ => text.push(*first),
        }
    }
    text
}

fuzz_target!(|bytes: &[u8]| {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let (cancellation, mut quietly) = (Cancellation::default(), |_| ());
    let mut task = Task { cancellation: &cancellation, progress: &mut quietly };
    let options = RepairOptions { project_hash: Some("h".to_owned()), ..RepairOptions::default() };
    fs::write(path("a"), text(bytes)).unwrap();
    if repair(&path("a"), &path("b"), &options, &mut task).is_err() {
        assert!(!path("b").exists());
        return;
    }
    let strict = FoldOptions { mode: Mode::Strict, ..FoldOptions::default() };
    let replay = Replay::open(&path("b"), strict).and_then(Replay::complete).unwrap();
    let outcome = replay.outcome(None);
    assert!(outcome.metadata.is_ok() && !outcome.is_out_of_sequence);
    assert!(outcome.warnings.iter().all(|warning| warning.to_string().contains("unknown event type")));
    let again = repair(&path("b"), &path("c"), &options, &mut task).unwrap();
    assert!(!again.changed && fs::read(path("b")).unwrap() == fs::read(path("c")).unwrap());
});
