//! What fuzz targets check of runs, for any input. Each function panics if something is wrong.

use super::format::EventLine;
use super::read::{Event, LogReader, find};
use super::state::{Snapshot, State};
use crate::json::Nesting;
use crate::signature::TrustedKeys;

/// Any bytes as the log of a run: every byte belongs to a whole line or a torn one, and nothing panics.
pub fn log(log: &[u8]) {
    let (mut reader, mut spare, mut seen) = (LogReader::new(log, 0), Vec::new(), 0);
    let mut nesting = Nesting::default();
    loop {
        match reader.next_chunk(spare) {
            Ok(Some(chunk)) => {
                assert!(chunk.bytes().ends_with(b"\n") && log[seen..].starts_with(chunk.bytes()));
                seen += chunk.bytes().len();
                for (_, line) in chunk.lines().map_while(Result::ok) {
                    if let Ok(line) = EventLine::split(line) {
                        let _ = Event::decode(&line, &mut nesting);
                    }
                }
                spare = chunk.into_spare();
            }
            Ok(None) => break,
            Err(_) => return,
        }
    }
    assert_eq!(seen as u64 + reader.torn().bytes, log.len() as u64);
    for time in [0, 1, 7] {
        let _ = find(&mut std::io::Cursor::new(log), time);
    }
}

/// Any text as the snapshot of a run: rejected, or printed as the same text; its state is rejected or valid.
pub fn snapshot(document: &str) {
    if let Ok(snapshot) = Snapshot::parse(document, &TrustedKeys::default()) {
        assert_eq!(snapshot.print(), document.as_bytes());
        let _ = snapshot.content.decode_state();
    }
    if let Ok(state) = State::from_canonical(document) {
        assert_eq!(state.to_canonical().as_deref(), Some(document));
    }
}
