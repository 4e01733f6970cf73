//! Any bytes around a secret, as a line of a session and as a blob: no panic, no leak, and no hit in a second redaction.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use session_tape_core::bundle::BundleCode;
use session_tape_core::bundle::unescaped;
use session_tape_core::bundle::redacted_line;
use session_tape_core::bundle::Matcher;
use session_tape_core::bundle::RedactOptions;
use session_tape_core::bundle::RedactionRule;
use session_tape_core::bundle::RuleSet;
use session_tape_core::bundle::blobs;

const SECRET: &[u8] = b" AKIAIOSFODNN7EXAMPLE ";

/// Compiled once: compiling takes a thousand times as long as redacting a line.
static RULES: LazyLock<[RuleSet; 2]> = LazyLock::new(|| {
    let pointer = RedactionRule { name: "p".into(), path: Some("/content/*".into()), ..RedactionRule::default() };
    [vec![], vec![pointer]].map(|rules| RuleSet::new(&RedactOptions { builtin: true, rules }).expect("good rules"))
});

thread_local! {
    static MATCHERS: RefCell<Vec<Matcher<'static>>> = RefCell::new(
        RULES.iter().map(|rules| Matcher::new(rules, &BTreeSet::new()).expect("a matcher")).collect(),
    );
}

fn leaks(text: &[u8]) -> bool {
    let holds = |text: &[u8]| text.windows(SECRET.len() - 2).any(|window| window == SECRET.trim_ascii());
    let once = unescaped(text).into_owned();
    holds(text) || holds(&once) || holds(&unescaped(&once))
}

fn check(matcher: &mut Matcher<'_>, text: &[u8]) {
    let mut rules = BTreeSet::new();
    match redacted_line(matcher, text, &mut rules) {
        Ok(None) => assert!(!leaks(text)),
        Ok(Some(redacted)) => {
            assert!(!leaks(&redacted));
            assert_eq!(redacted_line(matcher, &redacted, &mut rules).unwrap_or_default(), None);
        }
        Err(error) => assert_eq!(error.code, BundleCode::RedactionConflict),
    }
    let (mut out, mut tick) = (Vec::new(), |_| Ok(()));
    let size = text.len() as u64;
    if blobs::redact(matcher, &mut &text[..], size, None, &mut rules, &mut out, &mut tick).is_ok() {
        assert!(!leaks(&out));
        let mut again = Vec::new();
        let size = out.len() as u64;
        let hit = blobs::redact(matcher, &mut &out[..], size, None, &mut rules, &mut again, &mut tick);
        assert!(hit.is_ok_and(|hit| !hit) && again == out);
    }
}

fuzz_target!(init: MATCHERS.with_borrow(|_| ()), |bytes: &[u8]| {
    // Skips inputs that have the key within a word, where it does not count as one and is kept.
    if leaks(bytes) {
        return;
    }
    let at = bytes.first().map_or(0, |first| usize::from(*first) % bytes.len());
    let (before, after) = bytes.split_at(at);
    let planted = [before, SECRET, after].concat();
    let inside = serde_json::to_string(&String::from_utf8_lossy(&planted)).unwrap_or_default();
    let line = format!(r#"{{"type":"content","payload":{{"content":{{"text":{inside}}}}}}}"#);
    MATCHERS.with_borrow_mut(|matchers| {
        for matcher in matchers {
            check(matcher, &planted);
            check(matcher, line.as_bytes());
        }
    });
});
