//! Checks what events say about blobs (`docs/run-format.md` sections 11 and 12): a blob must have its hash, and the size that BlobStored gives;
//! the normalised output of a tool, the output hash; and an output that is stored, its own.

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::check::{Aspect, Check, Findings};
use crate::hash::{HexHash, as_text, sha256_hex};
use crate::json::{Text, quoted};
use crate::run::format::{ErrorCode, Payload, Redactions, RunError, event_id};
use crate::run::graph::Normalizer;
use crate::run::store::BlobStore;

/// The largest blob that is normalised, in bytes, because it must fit in memory. Blobs that are not normalised may have any size.
pub(super) const MAX_NORMALIZED_BYTES: u64 = 256 << 20;

/// Maximum number of blobs whose results are cached. Tools often return the same output again.
const REMEMBERED: usize = 1 << 16;

/// What an event says about a blob.
#[derive(Clone, Debug)]
pub(crate) struct BlobClaim {
    /// Logical time of the event.
    pub time: u64,
    blob: Name,
    says: Says,
    redacted: bool,
}

#[derive(Clone, Debug)]
enum Says {
    /// BlobStored: its size in bytes.
    Size(f64),
    /// ToolCompleted: the hash of its normalised form. The normaliser is `None` if this release does not know it.
    Output(Name, Option<Normalizer>),
    /// NodeCompleted: nothing but its name. It may be stored.
    Result,
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

impl BlobClaim {
    /// The claim of an event. Returns `None` unless it is a BlobStored, a ToolCompleted or a NodeCompleted.
    #[inline]
    pub(crate) fn of(time: u64, payload: &Payload<'_>, redacted: bool) -> Option<Self> {
        let (blob, says) = match payload {
            Payload::BlobStored { blob, size, .. } => (blob, Says::Size(*size)),
            Payload::ToolCompleted { raw_hash, output_hash, normalizer, .. } => {
                (raw_hash, Says::Output(Name::of(output_hash), Normalizer::named(&normalizer.to_plain())))
            }
            Payload::NodeCompleted { output_hash, .. } => (output_hash, Says::Result),
            _ => return None,
        };
        Some(BlobClaim { time, blob: Name::of(blob), says, redacted })
    }

    /// Whether the blob has to be read into memory, which also checks it for other claims.
    pub(crate) fn normalizes(&self) -> bool {
        matches!(self.says, Says::Output(_, Some(Normalizer::Json | Normalizer::Text)))
    }
}

/// Checks claims against the blobs of a run, on any thread. Each blob is hashed once, unless there are very many.
pub(crate) struct BlobChecker {
    blobs: BlobStore,
    redactions: Redactions,
    seen: Mutex<HashMap<HexHash, Arc<Seen>>>,
}

/// What is known about a blob. A thread that needs what another one is finding out waits for it.
#[derive(Default)]
struct Seen {
    /// Its size, if its bytes have its hash.
    size: OnceLock<Result<u64, RunError>>,
    /// The hashes of its normalised forms.
    json: OnceLock<Result<HexHash, RunError>>,
    text: OnceLock<Result<HexHash, RunError>>,
}

impl BlobChecker {
    /// A checker of claims about `blobs`.
    pub(crate) fn new(blobs: BlobStore, redactions: Redactions) -> Self {
        BlobChecker { blobs, redactions, seen: Mutex::default() }
    }

    /// Checks a claim and adds the result to `findings`.
    pub(crate) fn check(&self, claim: &BlobClaim, findings: &mut Findings) {
        let redacted = &self.redactions.blobs;
        let is_redacted = claim.redacted || (!redacted.is_empty() && redacted.contains(claim.blob.as_text()));
        let (aspect, found) = match &claim.says {
            Says::Size(size) => (Aspect::Blobs, (!is_redacted).then(|| self.compare_size(claim, *size))),
            Says::Output(output, normalizer) => {
                let found = match normalizer {
                    _ if is_redacted => None,
                    Some(normalizer) => Some(self.compare_output(claim, output, *normalizer)),
                    // The output can't be checked, but the blob can.
                    None => self.size(&claim.blob).err().map(Err),
                };
                (Aspect::OutputHashes, found)
            }
            Says::Result if is_redacted => return,
            Says::Result => return self.check_output(claim.time, &claim.blob, findings),
        };
        count(findings.of_mut(aspect), claim.time, found);
        if let Says::Output(output, _) = &claim.says
            && !is_redacted
            && *output != claim.blob
        {
            self.check_output(claim.time, output, findings);
        }
    }

    /// An output need not be stored, so it counts only if there is a file that has its name, but not its bytes.
    fn check_output(&self, time: u64, output: &Name, findings: &mut Findings) {
        match self.size(output) {
            Err(error) if error.code != ErrorCode::BlobMissing => {
                count(findings.of_mut(Aspect::Blobs), time, Some(Err(error)));
            }
            _ => {}
        }
    }

    fn compare_size(&self, claim: &BlobClaim, size: f64) -> Result<(), RunError> {
        let found = self.size(&claim.blob)?;
        if found as f64 == size {
            return Ok(());
        }
        let name = claim.blob.as_text();
        let message = format!("The blob {name} has {found} bytes, and {} gives another size", event_id(claim.time));
        Err(RunError::new(ErrorCode::BlobCorrupt, message).compared(size.to_string(), found.to_string()))
    }

    fn compare_output(&self, claim: &BlobClaim, output: &Name, normalizer: Normalizer) -> Result<(), RunError> {
        let found = self.normalized_hash(&claim.blob, normalizer)?;
        if *output == Name::Digits(found) {
            return Ok(());
        }
        let message = format!(
            "The output of {} is another than the recorded one: the blob {}, normalised as '{}', has the hash {}",
            event_id(claim.time),
            quoted(claim.blob.as_text()),
            normalizer.name(),
            as_text(&found)
        );
        Err(RunError::new(ErrorCode::OutputMismatch, message).compared(output.as_text(), as_text(&found)))
    }

    /// The size of a blob whose bytes have its hash.
    fn size(&self, blob: &Name) -> Result<u64, RunError> {
        match blob {
            Name::Digits(digits) => self.seen(digits).size.get_or_init(|| self.blobs.verify(as_text(digits))).clone(),
            // A text that is not a hash is refused without reading anything.
            Name::Other(name) => self.blobs.verify(name),
        }
    }

    /// The hash of a blob after normalisation. The blob itself is checked as well.
    fn normalized_hash(&self, blob: &Name, normalizer: Normalizer) -> Result<HexHash, RunError> {
        let Name::Digits(digits) = blob else {
            return Err(self.size(blob).err().unwrap_or_else(|| {
                RunError::new(ErrorCode::BlobMissing, "A blob is named by a hash").compared(blob.as_text(), "no hash")
            }));
        };
        let seen = self.seen(digits);
        let normalized = match normalizer {
            Normalizer::None => return self.size(blob).map(|_| *digits),
            Normalizer::Json => &seen.json,
            Normalizer::Text => &seen.text,
        };
        normalized.get_or_init(|| self.normalize(as_text(digits), normalizer, &seen)).clone()
    }

    fn normalize(&self, name: &str, normalizer: Normalizer, seen: &Seen) -> Result<HexHash, RunError> {
        if let Some(Err(known)) = seen.size.get() {
            return Err(known.clone());
        }
        let bytes = self.blobs.read(name, MAX_NORMALIZED_BYTES);
        match &bytes {
            Ok(bytes) => drop(seen.size.set(Ok(bytes.len() as u64))),
            Err(error) if error.code == ErrorCode::TooLarge => {}
            Err(error) => drop(seen.size.set(Err(error.clone()))),
        }
        Ok(sha256_hex([&normalizer.apply(&bytes?)?]))
    }

    fn seen(&self, blob: &HexHash) -> Arc<Seen> {
        let mut seen = self.seen.lock();
        if let Some(known) = seen.get(blob) {
            return known.clone();
        }
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.entry(*blob).or_default().clone()
    }
}

/// Counts a result at the time of its event; without one, the claim is unverifiable.
fn count(check: &mut Check, time: u64, found: Option<Result<(), RunError>>) {
    match found {
        None => check.unverifiable += 1,
        Some(found) => {
            check.checked += 1;
            found.unwrap_or_else(|error| check.fail(time, error.at(time)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Durability;

    fn check(checker: &BlobChecker, raw: &str, output: &str, normalizer: &str) -> (Check, Option<ErrorCode>) {
        let output = Name::of(&Text::from_plain(output));
        found(checker, raw, Says::Output(output, Normalizer::named(normalizer)), Aspect::OutputHashes)
    }

    fn found(checker: &BlobChecker, blob: &str, says: Says, aspect: Aspect) -> (Check, Option<ErrorCode>) {
        let claim = BlobClaim { time: 3, blob: Name::of(&Text::from_plain(blob)), says, redacted: false };
        let mut findings = Findings::default();
        checker.check(&claim, &mut findings);
        let mut again = Findings::default();
        checker.check(&claim, &mut again);
        assert_eq!(findings, again, "what is remembered is what was found");
        let check = findings.of(aspect).clone();
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
        let checker = BlobChecker::new(blobs.clone(), Redactions::default());
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
    fn unreadable_blob_is_not_a_match() {
        let blobs = BlobStore::new("nowhere");
        let redactions = Redactions { blobs: ["r".to_owned()].into(), ..Redactions::default() };
        let checker = BlobChecker::new(blobs, redactions);
        let (found, code) = check(&checker, "r", "x", "none");
        assert_eq!((found.checked, found.failed, found.unverifiable, code), (0, 0, 1, None));
    }

    #[test]
    fn an_output_of_an_unknown_normaliser_is_unverifiable_and_its_blob_is_not() {
        let root = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(root.path());
        let blob = as_text(&blobs.put(b"# title", Durability::Os).unwrap()).to_owned();
        let checker = || BlobChecker::new(blobs.clone(), Redactions::default());
        let (found, code) = check(&checker(), &blob, "x", "markdown");
        assert_eq!((found.checked, found.unverifiable, code), (0, 1, None));
        std::fs::remove_file(blobs.path_of(&blob).unwrap()).unwrap();
        let (found, code) = check(&checker(), &blob, "x", "markdown");
        assert_eq!((found.checked, found.failed, code), (1, 1, Some(ErrorCode::BlobMissing)));
    }

    #[test]
    fn a_stored_blob_has_its_hash_and_its_size() {
        let root = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(root.path());
        let put = |bytes: &[u8]| as_text(&blobs.put(bytes, Durability::Os).unwrap()).to_owned();
        let checker = BlobChecker::new(blobs.clone(), Redactions::default());
        let code = |blob: &str, size: f64| found(&checker, blob, Says::Size(size), Aspect::Blobs).1;
        let blob = put(b"stored");
        assert_eq!(code(&blob, 6.0), None);
        assert_eq!(code(&blob, 7.0), Some(ErrorCode::BlobCorrupt));
        assert_eq!(code(&"0".repeat(64), 6.0), Some(ErrorCode::BlobMissing));
        assert_eq!(code("x", 1.0), Some(ErrorCode::BlobMissing));
        let damaged = put(b"damaged");
        std::fs::write(blobs.path_of(&damaged).unwrap(), "Damaged").unwrap();
        assert_eq!(code(&damaged, 7.0), Some(ErrorCode::BlobCorrupt));
    }

    #[test]
    fn an_output_that_is_stored_has_its_hash_and_need_not_be_stored() {
        let root = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(root.path());
        let put = |bytes: &[u8]| as_text(&blobs.put(bytes, Durability::Os).unwrap()).to_owned();
        let (raw, output) = (put(b"a \nb"), put(b"a\nb"));
        let says = || {
            [
                (&raw, Says::Output(Name::of(&Text::from_plain(&output)), Some(Normalizer::Text))),
                (&output, Says::Result),
            ]
        };
        let stored = |redactions: &Redactions| {
            let checker = BlobChecker::new(blobs.clone(), redactions.clone());
            says().map(|(blob, says)| {
                let (check, code) = found(&checker, blob, says, Aspect::Blobs);
                (check.checked, check.failed, code)
            })
        };
        let none = Redactions::default();
        assert_eq!(stored(&none), [(0, 0, None); 2]);
        std::fs::write(blobs.path_of(&output).unwrap(), "a\nB").unwrap();
        assert_eq!(stored(&none), [(1, 1, Some(ErrorCode::BlobCorrupt)); 2]);
        let redactions = Redactions { blobs: [raw.clone(), output.clone()].into(), ..Redactions::default() };
        assert_eq!(stored(&redactions), [(0, 0, None); 2]);
        std::fs::remove_file(blobs.path_of(&output).unwrap()).unwrap();
        assert_eq!(stored(&none), [(0, 0, None); 2]);
        assert_eq!(
            found(&BlobChecker::new(blobs.clone(), none), "no hash", Says::Result, Aspect::Blobs).0,
            Check::default()
        );
    }

    #[test]
    fn blob_is_read_once_for_all_claims_about_it() {
        let root = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(root.path());
        let blob = as_text(&blobs.put(b"[1]", Durability::Os).unwrap()).to_owned();
        let checker = BlobChecker::new(blobs.clone(), Redactions::default());
        assert_eq!(check(&checker, &blob, &blob, "json").1, None);
        std::fs::remove_file(blobs.path_of(&blob).unwrap()).unwrap();
        assert_eq!(check(&checker, &blob, &blob, "none").1, None);
        assert_eq!(found(&checker, &blob, Says::Size(3.0), Aspect::Blobs).1, None);
    }
}
