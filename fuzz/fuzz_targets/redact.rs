//! Any bytes around a secret, as a line of a session and as a blob: no panic, no leak, and no hit in a second redaction.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::fuzzing::{Redaction, unescaped};
use session_tape_core::bundle::{BundleCode, RedactionRule};

const SECRET: &[u8] = b" AKIAIOSFODNN7EXAMPLE ";

thread_local! {
    static REDACTIONS: RefCell<[Redaction; 2]> = {
        let pointer = RedactionRule { name: "p".into(), path: Some("/content/*".into()), ..RedactionRule::default() };
        RefCell::new([vec![], vec![pointer]].map(|rules| Redaction::new(rules).expect("good rules")))
    };
}

fn leaks(text: &[u8]) -> bool {
    let holds = |text: &[u8]| text.windows(SECRET.len() - 2).any(|window| window == SECRET.trim_ascii());
    let once = unescaped(text);
    holds(text) || holds(&once) || holds(&unescaped(&once))
}

fn check(redaction: &mut Redaction, text: &[u8]) {
    match redaction.line(text) {
        Ok(None) => assert!(!leaks(text)),
        Ok(Some(redacted)) => {
            assert!(!leaks(&redacted));
            assert_eq!(redaction.line(&redacted).unwrap_or_default(), None);
        }
        Err(error) => assert_eq!(error.code, BundleCode::RedactionConflict),
    }
    if let Ok(out) = redaction.blob(text) {
        let redacted = out.as_deref().unwrap_or(text);
        assert!(!leaks(redacted));
        assert_eq!(redaction.blob(redacted), Ok(None));
    }
}

fuzz_target!(init: REDACTIONS.with_borrow(|_| ()), |bytes: &[u8]| {
    // Skips inputs that have the key within a word, where it does not count as one and is kept.
    if leaks(bytes) {
        return;
    }
    let at = bytes.first().map_or(0, |first| usize::from(*first) % bytes.len());
    let (before, after) = bytes.split_at(at);
    let planted = [before, SECRET, after].concat();
    let inside = serde_json::to_string(&String::from_utf8_lossy(&planted)).unwrap_or_default();
    let line = format!(r#"{{"type":"content","payload":{{"content":{{"text":{inside}}}}}}}"#);
    REDACTIONS.with_borrow_mut(|redactions| {
        for redaction in redactions {
            check(redaction, &planted);
            check(redaction, line.as_bytes());
        }
    });
});
