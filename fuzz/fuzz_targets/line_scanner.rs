//! Any bytes as one line: the scanner agrees with an independent JSON parser, and what it finds lies within the line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use session_tape_core::json::Nesting;
use session_tape_core::json::is_blank;
use session_tape_core::session::format::{Body, Line, Mode};

fuzz_target!(|line: &[u8]| {
    // When it builds no value, serde_json accepts the same grammar as JSON.parse: no limit on depth or on the size of numbers, and lone surrogates
    // and bytes that are not UTF-8 are allowed in strings.
    let parses = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
    match Line::read(line, Mode::Lenient, &mut Nesting::default()) {
        Line::Blank => assert!(is_blank(line) && !parses),
        Line::Null => assert!(parses && line.trim_ascii() == b"null"),
        Line::Unparseable => assert!(!parses && !is_blank(line)),
        Line::WithoutSeq | Line::Unsupported { .. } => {
            panic!("only the strict mode refuses a line for its seq or version")
        }
        Line::Event(event) => {
            assert!(parses);
            if let Body::Content(item) | Body::Compressed(item) = event.body {
                let item = item.of(line);
                assert!(item.starts_with(b"{"));
                assert!(serde_json::from_slice::<serde::de::IgnoredAny>(item).is_ok());
            }
        }
    }
    if let Line::Event(event) = Line::read(line, Mode::Strict, &mut Nesting::default()) {
        assert!(event.seq.is_some_and(|seq| seq >= 0.0 && seq.fract() == 0.0));
    }
    if let Some((payload, _)) = Line::start_payload(line) {
        assert!(parses && payload.of(line).starts_with(b"{"));
    }
});
