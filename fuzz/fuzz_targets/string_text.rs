//! Any bytes as a JSON string: its text is what an independent parser reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::json::decode;
use session_tape_core::json::spells;

fuzz_target!(|token: &[u8]| {
    let lossy = String::from_utf8_lossy(token);
    let Ok(expected) = serde_json::from_str::<String>(&lossy) else { return };
    let token = token.trim_ascii();
    let inside = &token[1..token.len() - 1];
    assert!(decode(inside).eq(expected.encode_utf16()));
    if expected.is_ascii() {
        assert!(spells(inside, &expected));
    }
});
