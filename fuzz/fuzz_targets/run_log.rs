//! Any bytes as the log of a run: every byte belongs to a whole line or a torn one, lines that are events keep their bytes, and nothing panics.
#![no_main]

use std::borrow::Cow;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use session_tape_core::json::Nesting;
use session_tape_core::run::read::EventReader;
use session_tape_core::run::{EventLine, Redactions, RunError};

fn open(path: &Path, from: u64) -> Result<EventReader<'static>, RunError> {
    EventReader::open(path, None, from, Cow::Owned(Redactions::default()))
}

/// Reads the whole log at `path`. An error is that of a line over the limit.
fn read(path: &Path, log: &[u8]) -> Result<(), RunError> {
    let (mut reader, mut spare, mut seen) = (open(path, 0)?, Vec::new(), 0);
    while let Some(chunk) = reader.next_chunk(spare)? {
        assert!(chunk.bytes().ends_with(b"\n") && log[seen..].starts_with(chunk.bytes()));
        seen += chunk.bytes().len();
        let _ = reader.decode(&chunk, |_| ControlFlow::Continue(()));
        for (_, line) in chunk.lines().map_while(Result::ok) {
            if let Ok(event) = EventLine::parse(line, &mut Nesting::default()) {
                assert_eq!(event.line, line);
            }
        }
        spare = chunk.into_spare();
    }
    assert_eq!(seen as u64 + reader.torn_bytes(), log.len() as u64);
    Ok(())
}

fuzz_target!(|log: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(log).expect("room for it");
    let _ = read(file.path(), log);
    for time in [1, 7] {
        let _ = open(file.path(), time);
    }
});
