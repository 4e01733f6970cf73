//! Checks outputs of tools (`docs/run-format.md` section 12): the raw blob must have its hash, and the normalised blob the output hash.

use parking_lot::Mutex;

use hashbrown::HashMap;

use super::blob::BlobStore;
use super::check::Check;
use super::error::{ErrorCode, RunError, event_id, quoted};
use super::normalize::Normalizer;
use super::payload::Payload;
use super::redactions::Redactions;
use super::text::Text;
use crate::hash::{HexHash, as_text, sha256_hex};

/// The largest blob that is normalised, in bytes, because it must fit in memory. Blobs that are not normalised may have any size.
pub const MAX_NORMALIZED_BYTES: u64 = 256 << 20;

/// Maximum number of cached results. Tools often return the same output again.
const REMEMBERED: usize = 1 << 16;

/// The output hashes of a ToolCompleted.
#[derive(Clone, Debug)]
pub struct Output {
    /// Logical time of the event.
    pub time: u64,
    raw: Name,
    output: Name,
    /// `None` if this release does not know the normaliser.
    normalizer: Option<Normalizer>,
    redacted: bool,
}

/// A text that an event gives as a hash. If it has the length of a hash, it needs no allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Digits(HexHash),
    Other(String),
}

impl Name {
    #[inline]
    fn of(text: &Text<'_>) -> Self {
        match text.as_json().as_bytes().try_into() {
            // A text of that length with escapes is not a hash: it neither names a blob nor equals a hash.
            Ok(digits) => Name::Digits(digits),
            Err(_) => Name::Other(text.to_plain().into_owned()),
        }
    }

    fn as_text(&self) -> &str {
        match self {
            Name::Digits(digits) => as_text(digits),
            Name::Other(text) => text,
        }
    }
}

impl Output {
    /// The output of an event. Returns `None` unless it is a ToolCompleted.
    #[inline]
    pub fn of(time: u64, payload: &Payload<'_>, redacted: bool) -> Option<Self> {
        let Payload::ToolCompleted { raw_hash, output_hash, normalizer, .. } = payload else { return None };
        let normalizer = Normalizer::named(&normalizer.to_plain());
        Some(Output { time, raw: Name::of(raw_hash), output: Name::of(output_hash), normalizer, redacted })
    }
}

/// Checks outputs against the blobs of a run, on any thread.
pub struct OutputChecker {
    blobs: BlobStore,
    redactions: Redactions,
    seen: Mutex<HashMap<(HexHash, Normalizer), Result<HexHash, RunError>>>,
}

impl OutputChecker {
    /// A checker of outputs in `blobs`.
    pub fn new(blobs: BlobStore, redactions: Redactions) -> Self {
        OutputChecker { blobs, redactions, seen: Mutex::default() }
    }

    /// Checks outputs and adds the results to `check`.
    pub fn check_all(&self, outputs: &[Output], check: &mut Check) {
        outputs.iter().for_each(|output| self.check(output, check));
    }

    fn check(&self, output: &Output, check: &mut Check) {
        let redacted = &self.redactions.blobs;
        let is_redacted = output.redacted || (!redacted.is_empty() && redacted.contains(output.raw.as_text()));
        let (Some(normalizer), false) = (output.normalizer, is_redacted) else {
            check.unverifiable += 1;
            return;
        };
        check.checked += 1;
        if let Err(error) = self.compare(output, normalizer) {
            check.fail(output.time, error.at(output.time));
        }
    }

    fn compare(&self, output: &Output, normalizer: Normalizer) -> Result<(), RunError> {
        let found = self.normalized_hash(&output.raw, normalizer)?;
        if output.output == Name::Digits(found) {
            return Ok(());
        }
        let message = format!(
            "The output of {} is another than the recorded one: the blob {}, normalised as '{}', has the hash {}",
            event_id(output.time),
            quoted(output.raw.as_text()),
            normalizer.name(),
            as_text(&found)
        );
        Err(RunError::new(ErrorCode::OutputMismatch, message).compared(output.output.as_text(), as_text(&found)))
    }

    /// The hash of a blob after normalisation. The blob itself is checked as well.
    fn normalized_hash(&self, raw: &Name, normalizer: Normalizer) -> Result<HexHash, RunError> {
        // A text that is not a hash is not cached, because it is refused without reading anything.
        let Name::Digits(digits) = raw else { return self.hash(raw.as_text(), normalizer) };
        let key = (*digits, normalizer);
        if let Some(known) = self.seen.lock().get(&key) {
            return known.clone();
        }
        let found = self.hash(raw.as_text(), normalizer);
        let mut seen = self.seen.lock();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(key, found.clone());
        found
    }

    fn hash(&self, raw: &str, normalizer: Normalizer) -> Result<HexHash, RunError> {
        if normalizer == Normalizer::None {
            self.blobs.verify(raw)?;
            // `verify` has found a blob, so `raw` is a hash.
            return Ok(*raw.as_bytes().first_chunk().unwrap_or(&[0; 64]));
        }
        let bytes = self.blobs.read(raw, MAX_NORMALIZED_BYTES)?;
        Ok(sha256_hex([&normalizer.apply(&bytes)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::durability::Durability;

    fn check(checker: &OutputChecker, raw: &str, output: &str, normalizer: &str) -> (Check, Option<ErrorCode>) {
        let [raw, output] = [raw, output].map(|text| Name::of(&Text::from_plain(text)));
        let output = Output { time: 3, raw, output, normalizer: Normalizer::named(normalizer), redacted: false };
        let mut check = Check::default();
        checker.check(&output, &mut check);
        let mut again = Check::default();
        checker.check(&output, &mut again);
        assert_eq!(check, again, "what is remembered is what was found");
        let code = check.first_failure.as_ref().map(|failure| failure.error.code);
        assert!(check.first_failure.iter().all(|failure| failure.place == 3 && failure.error.time == Some(3)));
        (check, code)
    }

    #[test]
    fn an_output_has_its_hash_raw_and_normalised() {
        let root = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(root.path());
        let put = |bytes: &[u8]| as_text(&blobs.put(bytes, Durability::Os).unwrap()).to_owned();
        let hash = |bytes: &[u8]| as_text(&sha256_hex([bytes])).to_owned();
        let (json, text) = (put(b"{ \"b\": 1.0, \"a\": [] }"), put(b"a \r\nb"));
        let checker = OutputChecker::new(blobs.clone(), Redactions::default());
        let found = |raw: &str, output: &str, normalizer: &str| check(&checker, raw, output, normalizer).1;
        assert_eq!(found(&json, &json, "none"), None);
        assert_eq!(found(&json, &hash(br#"{"a":[],"b":1}"#), "json"), None);
        assert_eq!(found(&text, &hash(b"a\nb"), "text"), None);
        assert_eq!(found(&text, &hash(b"a \nb"), "text"), Some(ErrorCode::OutputMismatch));
        assert_eq!(found(&text, &text, "json"), Some(ErrorCode::OutputMismatch));
        assert_eq!(found(&hash(b"gone"), &hash(b"gone"), "none"), Some(ErrorCode::BlobMissing));
        assert_eq!(found("x", "x", "none"), Some(ErrorCode::BlobMissing));
        let damaged = put(b"damaged");
        std::fs::write(blobs.path_of(&damaged).unwrap(), "Damaged").unwrap();
        assert_eq!(found(&damaged, &damaged, "none"), Some(ErrorCode::BlobCorrupt));
        assert_eq!(found(&damaged, &damaged, "text"), Some(ErrorCode::BlobCorrupt));
    }

    #[test]
    fn what_cannot_be_looked_at_is_no_match() {
        let blobs = BlobStore::new("nowhere");
        let redactions = Redactions { blobs: ["r".to_owned()].into(), ..Redactions::default() };
        let checker = OutputChecker::new(blobs, redactions);
        for (raw, normalizer) in [("r", "none"), ("x", "markdown")] {
            let (found, code) = check(&checker, raw, "x", normalizer);
            assert_eq!((found.checked, found.failed, found.unverifiable, code), (0, 0, 1, None));
        }
    }
}
