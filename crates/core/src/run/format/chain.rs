//! The chain: the hash of each line covers the hash of the line before, so that no change to stored bytes or to the order of lines goes unnoticed.
//!
//! A line is checked against the *stored* hash of the line before. Whether that hash is right is part of the check of that line, so lines
//! can be checked in any order and on any thread.

use super::error::{ErrorCode, RunError, event_id};
#[cfg(test)]
use super::event::{Envelope, print_covered};
use super::event::{EventLine, HashedParts, SALT_DIGITS, print_rest};
use crate::hash::HashBatch;
use crate::hash::{HEX_BYTES, Hash, HexHash, as_text, sha256_hex, to_hex};
use crate::run::verify::Check;

/// Number of lines that are hashed together, large enough that the incomplete last group of a batch has little effect.
const GROUP_LINES: usize = 32;

/// Maximum size in bytes of a payload, and of the covered part of a line, that is hashed together with others. Longer ones are hashed in
/// place, because a batch copies its inputs.
const LONG_BYTES: usize = 16 << 10;

/// The previous hash of the first line.
pub(crate) const GENESIS: HexHash = [b'0'; HEX_BYTES];

/// The result of checking one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Line and payload have the stored hashes.
    Whole,
    /// The line has its hash; the payload was redacted, so its hash can't be checked.
    PayloadRedacted,
}

/// The hash of a payload: of the 16 bytes of the salt and the bytes of the payload as written in the line.
#[inline]
pub(crate) fn payload_hash(salt: &[u8; SALT_DIGITS], payload: &[u8]) -> HexHash {
    sha256_hex([&salt_bytes(salt), payload])
}

#[inline]
fn salt_bytes(salt: &[u8; SALT_DIGITS]) -> [u8; SALT_DIGITS / 2] {
    let mut bytes = [0; SALT_DIGITS / 2];
    // This can't fail: salts consist of hex digits, which is checked when they are read.
    let _ = const_hex::decode_to_slice(salt, &mut bytes);
    bytes
}

/// The hash of a line: of the hash of the line before, `\n`, and the line from its `{` through the closing quote of `stateHash`.
#[inline]
pub(crate) fn line_hash(previous: &HexHash, covered: &[u8]) -> HexHash {
    sha256_hex([previous, b"\n", covered])
}

/// Checks a line that follows one with the hash `previous`.
#[inline]
pub(crate) fn check(previous: &HexHash, event: &HashedParts<'_>) -> Result<Integrity, RunError> {
    let hash = line_hash(previous, event.covered);
    if hash != *event.hash {
        return Err(broken(event.time, "hash", "the event or its place in the log", &hash, event.hash));
    }
    let Some(salt) = event.salt else { return Ok(Integrity::PayloadRedacted) };
    let hash = payload_hash(salt, event.payload);
    if hash != *event.payload_hash {
        return Err(broken(event.time, "payloadHash", "the event's payload", &hash, event.payload_hash));
    }
    Ok(Integrity::Whole)
}

/// Checks lines as [`check`] does, but hashes several of them at a time.
#[derive(Default)]
pub(crate) struct ChainChecker {
    batch: HashBatch,
    hashes: Vec<Hash>,
}

impl ChainChecker {
    /// Checks consecutive lines and adds the results to `check`. `previous` is the hash of the line before the first one.
    pub(crate) fn check_all<'l>(
        &mut self,
        mut previous: &'l HexHash,
        lines: impl Iterator<Item = HashedParts<'l>>,
        check: &mut Check,
    ) {
        let mut group = Vec::with_capacity(GROUP_LINES);
        for line in lines {
            group.push((previous, line));
            previous = line.hash;
            if group.len() == GROUP_LINES {
                self.check_group(&group, check);
                group.clear();
            }
        }
        self.check_group(&group, check);
    }

    fn check_group(&mut self, group: &[(&HexHash, HashedParts<'_>)], findings: &mut Check) {
        self.hash_short_lines(group);
        let mut hashes = self.hashes.iter().map(to_hex);
        for (previous, line) in group {
            findings.checked += 1;
            findings.unverifiable += u64::from(line.salt.is_none());
            let is_whole = is_short(line)
                && hashes.next().as_ref() == Some(line.hash)
                && line.salt.is_none_or(|_| hashes.next().as_ref() == Some(line.payload_hash));
            if !is_whole && let Err(error) = check(previous, line) {
                findings.fail(line.time, error);
            }
        }
    }

    /// Hashes each short line, followed by its payload unless that is redacted.
    fn hash_short_lines(&mut self, group: &[(&HexHash, HashedParts<'_>)]) {
        self.batch.clear();
        for (previous, line) in group.iter().filter(|(_, line)| is_short(line)) {
            self.batch.push([&previous[..], b"\n", line.covered]);
            if let Some(salt) = line.salt {
                self.batch.push([&salt_bytes(salt), line.payload]);
            }
        }
        self.batch.hash_into(&mut self.hashes);
    }
}

fn is_short(line: &HashedParts<'_>) -> bool {
    line.payload.len() <= LONG_BYTES && line.covered.len() <= LONG_BYTES
}

#[cold]
fn broken(time: u64, field: &str, what: &str, expected: &HexHash, found: &HexHash) -> RunError {
    let message = format!("{} does not have its {field}: {what} was changed after it was recorded", event_id(time));
    RunError::new(ErrorCode::ChainBroken, message).at(time).compared(as_text(expected), as_text(found))
}

/// The error for an event without a salt in a log whose events must have one.
pub(crate) fn salt_missing(event: &EventLine<'_>) -> RunError {
    let message = format!(
        "{} has no salt. Only an event that the bundle's redactions.json lists may be without: its payload can't be trusted",
        event.id()
    );
    RunError::new(ErrorCode::MissingField, message).at(event.time).compared("salt", "no salt")
}

impl EventLine<'_> {
    /// Checks the hashes of a line that follows one with the hash `previous`; the first line of a log follows none.
    #[inline]
    pub fn check_hashes(&self, previous: Option<&HexHash>) -> Result<Integrity, RunError> {
        check(previous.unwrap_or(&GENESIS), &self.hashed_parts())
    }

    /// The line with another payload, and without the salt of its own: the payload was redacted. With `\n`.
    pub fn redacted(&self, payload: &[u8]) -> Vec<u8> {
        let mut line = self.covered_bytes().to_vec();
        print_rest(&mut line, self.hash, None, payload);
        line
    }
}

/// Appends the line of an event to `out`, with its `\n`, and returns its hash. `payload` is the text of a JSON object.
#[cfg(test)]
pub(crate) fn append_line(
    out: &mut Vec<u8>,
    previous: &HexHash,
    envelope: &Envelope<'_>,
    state_hash: &HexHash,
    salt: &[u8; SALT_DIGITS],
    payload: &[u8],
) -> HexHash {
    let start = out.len();
    print_covered(out, envelope, &payload_hash(salt, payload), state_hash);
    let hash = line_hash(previous, &out[start..]);
    print_rest(out, &hash, Some(salt), payload);
    hash
}

#[cfg(test)]
pub use self::tests::log_of;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Nesting;
    use crate::lines::Lines;
    use crate::run::read::check_time;
    use proptest::prelude::*;

    /// A chained log of meaningless events, each with `padding` bytes in its payload.
    pub fn log_of(count: u64, padding: usize) -> Vec<u8> {
        let mut log = Vec::new();
        let mut previous = GENESIS;
        for time in 0..count {
            let envelope = Envelope {
                time,
                ts: "2026-02-11T16:00:00.000Z",
                kind: if time % 3 == 0 { "Error" } else { "BlobStored" },
                node: (time % 2 == 0).then_some("n\u{e9}"),
                parent: time.checked_sub(1),
            };
            let salt = *as_text(&sha256_hex([&time.to_le_bytes()])).as_bytes().first_chunk().unwrap();
            let padding = "x".repeat(padding);
            let payload = match time % 3 {
                0 => format!(r#"{{"code":"{padding}","message":"","recoverable":true,"n":{time}}}"#),
                _ => format!(r#"{{"blob":"b{padding}","size":1,"n":{time}}}"#),
            };
            previous = append_line(&mut log, &previous, &envelope, &[b'0'; HEX_BYTES], &salt, payload.as_bytes());
        }
        log
    }

    /// Checks a log line by line. Returns the hash of the last line, or the first error.
    fn verify(log: &[u8]) -> Result<HexHash, RunError> {
        let (mut previous, mut next) = (GENESIS, 0);
        for (_, line) in Lines::new(log) {
            let line = std::str::from_utf8(line).map_err(|_| crate::run::format::event::not_utf8(line))?;
            let event = EventLine::parse(line, &mut Nesting::default())?;
            check_time(Some(next), event.time)?;
            if check(&previous, &event.hashed_parts())? == Integrity::PayloadRedacted {
                return Err(salt_missing(&event));
            }
            (previous, next) = (*event.hash, next + 1);
        }
        Ok(previous)
    }

    fn lines(log: &[u8]) -> Vec<Vec<u8>> {
        log.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn a_chain_can_be_recomputed_with_sha256sum() {
        let log = log_of(2, 3);
        let text = std::str::from_utf8(&log).unwrap();
        let (first, second) = text.trim_end().split_once('\n').unwrap();
        let upto = |line: &str| line[..line.find(r#","hash":"#).unwrap()].to_owned();
        let hash = |line: &str| line.split(r#""hash":""#).nth(1).unwrap()[..64].to_owned();
        let zeros = "0".repeat(64);
        assert_eq!(hash(first), as_text(&sha256_hex([format!("{zeros}\n{}", upto(first)).as_bytes()])));
        assert_eq!(hash(second), as_text(&sha256_hex([format!("{}\n{}", hash(first), upto(second)).as_bytes()])));
        assert_eq!(
            as_text(&payload_hash(b"000102030405060708090a0b0c0d0eff", b"{}")),
            as_text(&sha256_hex([b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff{}"]))
        );
    }

    #[test]
    fn chain_verification_names_the_changed_part() {
        let log = String::from_utf8(log_of(3, 3)).unwrap();
        let code = |from: &str, to: &str| {
            let changed = log.replacen(from, to, 1);
            assert_ne!(log, changed);
            verify(changed.as_bytes()).unwrap_err()
        };
        let envelope = code("\"time\":1,\"ts\":\"2026", "\"time\":1,\"ts\":\"2027");
        assert_eq!((envelope.code, envelope.time), (ErrorCode::ChainBroken, Some(1)));
        assert!(envelope.message.starts_with("evt_1 does not have its hash"), "{envelope}");
        let payload = code("\"n\":2", "\"n\":3");
        assert_eq!((payload.code, payload.time), (ErrorCode::ChainBroken, Some(2)));
        assert!(payload.message.starts_with("evt_2 does not have its payloadHash"), "{payload}");
        let found = log.split("\"payloadHash\":\"").nth(3).unwrap()[..64].to_owned();
        assert_eq!(payload.found, Some(found));
    }

    #[test]
    fn lines_that_are_hashed_together_are_checked_as_one_by_one() {
        for padding in [3, LONG_BYTES] {
            let log = String::from_utf8(log_of(70, padding)).unwrap();
            let redacted = log.replacen(
                &format!(r#","salt":"{}""#, log.split("salt\":\"").nth(41).unwrap().split('"').next().unwrap()),
                "",
                1,
            );
            let damaged = redacted
                .replace("\"n\":33}", "\"n\":34}")
                .replace("\"time\":66,\"ts\":\"2026", "\"time\":66,\"ts\":\"2027");
            let events: Vec<_> = damaged.lines().map(|line| EventLine::split(line).unwrap().hashed_parts()).collect();
            let mut expected = Check::default();
            let mut previous = &GENESIS;
            for event in &events {
                expected.checked += 1;
                match check(previous, event) {
                    Ok(Integrity::Whole) => {}
                    Ok(Integrity::PayloadRedacted) => expected.unverifiable += 1,
                    Err(error) => expected.fail(event.time, error),
                }
                previous = event.hash;
            }
            let mut found = Check::default();
            ChainChecker::default().check_all(&GENESIS, events.into_iter(), &mut found);
            assert_eq!((found.checked, found.failed, found.unverifiable), (70, 2, 1));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn any_flipped_bit_of_a_log_is_found() {
        let log = log_of(3, 3);
        for bit in 0..log.len() * 8 {
            let mut damaged = log.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // Only its head pins the end of a log: without the last newline, the last line is torn.
            assert!(verify(&damaged).is_err() || bit / 8 == log.len() - 1, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn any_line_dropped_repeated_swapped_or_inserted_is_found(
            at in 0usize..7, other in 0usize..8, what in 0..4, foreign in 0usize..8,
        ) {
            let log = lines(&log_of(8, 3));
            let mut damaged = log.clone();
            match what {
                0 => drop(damaged.remove(at)),
                1 => damaged.insert(other, log[at].clone()),
                2 => damaged.swap(at, other),
                _ => damaged.insert(other, lines(&log_of(8, 4))[foreign].clone()),
            }
            prop_assume!(damaged != log);
            prop_assert!(verify(&damaged.concat()).is_err());
        }

        #[test]
        fn any_change_of_bytes_is_found(
            at in any::<prop::sample::Index>(), cut in 0usize..20, insert in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let log = log_of(6, 3);
            let at = at.index(log.len());
            let end = (at + cut).min(log.len());
            let damaged = [&log[..at], &insert, &log[end..]].concat();
            prop_assume!(damaged != log);
            let head = verify(&log).unwrap();
            // A log without its last lines is still valid. Only its head reveals that they are missing.
            prop_assert!(verify(&damaged).map_or(true, |found| found != head || !damaged.ends_with(b"\n")));
        }
    }
}
