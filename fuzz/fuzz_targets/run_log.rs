//! Any bytes as the log of a run: every byte belongs to a whole line or a torn one, lines that are events are printed unchanged, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::json::Nesting;
use session_tape_core::run::Event;
use session_tape_core::run::EventLine;
use session_tape_core::run::LogReader;
use session_tape_core::run::find;

fuzz_target!(|log: &[u8]| {
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
});
