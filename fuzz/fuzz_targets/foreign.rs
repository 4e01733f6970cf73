//! Any bytes as the session of another program, of a format that the first byte chooses: converted without a panic, with a receipt that covers every record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::foreign::{ConvertOptions, Converted, convert};
use session_tape_core::lines::LineSource;

/// A beginning by which each format is recognised, and the end of a document.
const FORMATS: [(&str, &str); 9] = [
    ("", ""),
    ("{\"type\":\"user\",\"message\":{}}\n", ""),
    ("{\"type\":\"session_meta\",\"payload\":{\"id\":\"s\"}}\n", ""),
    ("{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n", ""),
    ("{\"type\":\"session\",\"id\":\"s\"}\n", ""),
    ("{\"uuid\":\"u\",\"message\":{\"parts\":[]}}\n", ""),
    ("{\"role\":\"user\",\"message\":{}}\n", ""),
    ("{\"sessionID\":\"ses_a\",\"id\":\"m\",\"role\":\"user\"}", ""),
    ("{\"schema_version\":\"ATIF-v1.8\",\"steps\":[", "]}"),
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let (beginning, end) = FORMATS[*choice as usize % FORMATS.len()];
    let bytes = [beginning.as_bytes(), rest, end.as_bytes()].concat();
    let options = ConvertOptions { receipt: true, ..ConvertOptions::default() };
    let Ok(Converted::Foreign(mut conversion)) = convert(LineSource::in_memory(bytes), &options, &mut |_, _| ()) else {
        return;
    };
    let (mut records, mut end) = (0, 0);
    while let Ok(Some(entry)) = conversion.next_entry() {
        assert!(entry.offset >= end);
        end = entry.offset + entry.length;
        records += 1;
    }
    let summary = &conversion.summary;
    assert_eq!(records, summary.records);
    assert_eq!(summary.records, summary.mapped + summary.kept + summary.dropped);
});
