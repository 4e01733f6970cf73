//! What fuzz targets check of bundles, for any input. Each function panics if something is wrong.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::LazyLock;

use super::format::{BundleCode, BundleError, BundleKind, BundlePath, Limits, Manifest, RedactionList, metadata};
use super::read::{ArchiveReader, Container, Visitor};
use super::redact::{Matcher, RedactOptions, RedactionRule, RuleSet, redacted_blob, redacted_line, unescaped};

const LIMITS: Limits = Limits {
    line_bytes: 1 << 10,
    blob_bytes: 1 << 16,
    files: 20,
    expansion: 20,
    total_bytes: 1 << 18,
    manifest_bytes: 1 << 16,
    redactions_bytes: 1 << 16,
};

#[derive(Default)]
struct Seen {
    files: u64,
    bytes: u64,
}

impl Visitor for Seen {
    fn file(&mut self, path: &BundlePath, size: u64, content: &mut dyn Read) -> Result<(), BundleError> {
        assert!(!path.as_str().contains("..") && !path.as_str().starts_with('/'));
        self.files += 1;
        let mut bytes = Vec::new();
        if content.read_to_end(&mut bytes).is_ok() {
            assert_eq!(bytes.len() as u64, size);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn problem(&mut self, _: BundleError) -> Result<(), BundleError> {
        Ok(())
    }
}

fn visit(archive: &[u8]) {
    let mut seen = Seen::default();
    if let Ok(mut reader) = ArchiveReader::new(archive, archive.len() as u64, &LIMITS) {
        let _ = reader.visit(&mut seen);
    }
    assert!(seen.files <= 2 * LIMITS.files + 16 && seen.bytes <= LIMITS.total_bytes + (1 << 16));
}

/// Any bytes as an archive, and any bytes as the tar in an archive: no panic, and never more output than the limits allow.
pub fn archive(bytes: &[u8]) {
    visit(bytes);
    if let Ok(archive) = zstd::encode_all(bytes, 1) {
        visit(&archive);
    }
}

/// Any bytes as a bundle's manifest, list of redactions and metadata: rejected, or printed as the same bytes.
pub fn documents(bytes: &[u8]) {
    if let Ok((manifest, id)) = Manifest::parse(bytes) {
        if manifest.problems(&id).is_empty() {
            assert_eq!(manifest.print(), bytes);
            assert!(manifest.files.keys().all(|path| BundlePath::parse(path.as_bytes()).is_ok()));
        }
    }
    if let Ok(list) = RedactionList::parse(bytes) {
        assert_eq!(list.print(), bytes);
    }
    let _ = metadata::check(bytes, BundleKind::Run, 0);
}

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
    if redacted_blob(matcher, &mut &text[..], size, None, &mut rules, &mut out, &mut tick).is_ok() {
        assert!(!leaks(&out));
        let mut again = Vec::new();
        let size = out.len() as u64;
        let hit = redacted_blob(matcher, &mut &out[..], size, None, &mut rules, &mut again, &mut tick);
        assert!(hit.is_ok_and(|hit| !hit) && again == out);
    }
}

/// Compiles the rules of [`redaction`], which takes a while.
pub fn prepare_redaction() {
    MATCHERS.with_borrow(|_| ());
}

/// Any bytes around a secret, as a line of a session and as a blob: no panic, no leak, and no hit in a second redaction.
pub fn redaction(bytes: &[u8]) {
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
}
