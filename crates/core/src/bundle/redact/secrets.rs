//! The secrets that rules have found, to remove their other occurrences and to check that none remains.

use std::borrow::Cow;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::bundle::format::{BundleCode, BundleError};
use crate::bundle::redact::{encoded, spellings};
use crate::order;

/// The minimum length of a secret of a built-in rule. Shorter texts occur by coincidence.
const MIN_BYTES: usize = 6;

/// The minimum length of a secret of a user's rule, which may also be a common word.
pub(super) const MIN_USER_RULE_BYTES: usize = 4;

/// The minimum length of a sequence of hex digits that counts as a hash, in which short sequences occur by coincidence.
const MIN_HASH: usize = 32;

/// The minimum length of a secret that consists of letters. `postgres` occurs by coincidence, `swordfish` does not.
const MIN_LETTERS: usize = 9;

/// The minimum length of a secret that consists of digits or hex digits.
const MIN_HEX_DIGITS: usize = 12;

/// The maximum length of a secret. Other occurrences of longer ones are not searched for.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// The maximum number of secrets, and of their bytes together.
const MAX_COUNT: usize = 100_000;
const MAX_TOTAL_BYTES: usize = 16 << 20;

/// How many bytes of encodings are searched for. Encodings of further secrets are not.
const MAX_ENCODED_BYTES: usize = 16 << 20;

/// How many bytes are searched for by an automaton with a table for each of them, which is the fastest. The tables for a private key in all
/// its encodings would take seconds to build, and hundreds of megabytes.
const MAX_DFA_BYTES: usize = 8 << 10;

/// The found secrets, each with the rule that found it first.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    known: HashMap<Vec<u8>, usize>,
    bytes: usize,
    /// Searches for the secrets that were known at the last call of [`build`](Self::build).
    automaton: Option<AhoCorasick>,
    /// The rule of each of them.
    rules: Vec<usize>,
    /// Whether each of them is a short sequence of digits.
    digits: Vec<Digits>,
    /// Whether each of them is a part of an encoded text, which is removed as a whole.
    is_within_run: Vec<bool>,
    /// The length of the longest of them.
    longest: usize,
    /// The number of them.
    built: usize,
}

/// Whether a text is likely to occur by coincidence: very short, or short and only letters, digits or hex digits.
pub(super) fn is_common(text: &[u8]) -> bool {
    if text.len() < MIN_BYTES {
        return true;
    }
    let is_hex = || text.iter().all(is_hex_digit);
    let is_word = || text.iter().all(u8::is_ascii_alphabetic);
    (text.len() < MIN_HEX_DIGITS && is_hex()) || (text.len() < MIN_LETTERS && is_word())
}

/// Whether a secret could be a part of a number or a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    None,
    Decimal,
    Hex,
}

impl Digits {
    fn of(secret: &[u8]) -> Self {
        let is_short = secret.len() < MIN_HEX_DIGITS;
        match secret {
            _ if is_short && secret.iter().all(u8::is_ascii_digit) => Digits::Decimal,
            _ if is_short && secret.iter().all(is_hex_digit) => Digits::Hex,
            _ => Digits::None,
        }
    }

    /// Whether an occurrence of such a secret is a part of a longer number or of a hash.
    fn is_coincidence(self, text: &[u8], start: usize, end: usize) -> bool {
        let (before, after) = (&text[..start], &text[end..]);
        let hash = || {
            let before = before.iter().rev().take(MIN_HASH).take_while(|byte| is_hex_digit(byte)).count();
            let after = after.iter().take(MIN_HASH).take_while(|byte| is_hex_digit(byte)).count();
            before + (end - start) + after >= MIN_HASH
        };
        let number = || [before.last(), after.first()].into_iter().flatten().any(u8::is_ascii_digit);
        match self {
            Digits::None => false,
            Digits::Decimal => number() || hash(),
            Digits::Hex => hash(),
        }
    }
}

fn is_hex_digit(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

impl Secrets {
    /// Adds a secret that `rule` found, unless it is too common or too long. Fails if there are too many.
    pub(crate) fn add(&mut self, secret: &[u8], rule: usize, is_user_rule: bool) -> Result<(), BundleError> {
        let is_too_common = if is_user_rule { secret.len() < MIN_USER_RULE_BYTES } else { is_common(secret) };
        if is_too_common || secret.len() > MAX_BYTES || self.known.contains_key(secret) {
            return Ok(());
        }
        self.bytes += secret.len();
        if self.known.len() == MAX_COUNT || self.bytes > MAX_TOTAL_BYTES {
            let message = "The redaction rules match too many different texts (more than 100000, or than 16 MiB of them) to \
                           remove each from everywhere; rules should match secrets only";
            return Err(BundleError::new(BundleCode::RedactionConflict, message));
        }
        self.known.insert(secret.to_vec(), rule);
        Ok(())
    }

    /// Whether secrets were added since the last call of [`build`](Self::build).
    pub(crate) fn has_new(&self) -> bool {
        self.known.len() > self.built
    }

    /// Builds the search for all known secrets.
    pub(crate) fn build(&mut self) -> Result<(), BundleError> {
        let mut known: Vec<_> = self.known.iter().collect();
        order::sort_by(&mut known, Ord::cmp);
        self.built = known.len();
        let (mut all, mut encoded) = (Vec::new(), 0);
        for (secret, rule) in known {
            all.push((Cow::Borrowed(&secret[..]), *rule, Digits::of(secret), false));
            let is_short = secret.len() <= spellings::MAX_BYTES && encoded < MAX_ENCODED_BYTES;
            for spelling in is_short.then(|| spellings::spellings(secret)).into_iter().flatten() {
                encoded += spelling.bytes.len();
                all.push((Cow::Owned(spelling.bytes), *rule, Digits::None, spelling.is_within_run));
            }
        }
        self.rules = all.iter().map(|(_, rule, ..)| *rule).collect();
        self.digits = all.iter().map(|(_, _, digits, _)| *digits).collect();
        self.is_within_run = all.iter().map(|(.., is_within_run)| *is_within_run).collect();
        self.longest = all.iter().map(|(text, ..)| text.len()).max().unwrap_or(0);
        let is_small = all.iter().map(|(text, ..)| text.len()).sum::<usize>() <= MAX_DFA_BYTES;
        let kind = if is_small { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        let mut builder = AhoCorasick::builder();
        let builder = builder.match_kind(MatchKind::Standard).kind(Some(kind));
        let automaton = builder.build(all.iter().map(|(text, ..)| text));
        let too_many = |error: aho_corasick::BuildError| {
            BundleError::new(
                BundleCode::RedactionConflict,
                format!("The secrets are too many to be looked for: {error}"),
            )
        };
        self.automaton = if all.is_empty() { None } else { Some(automaton.map_err(too_many)?) };
        Ok(())
    }

    /// Whether there are no secrets to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// The length of the longest secret, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// All occurrences of secrets in a text: start, end and rule.
    pub(crate) fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, usize, usize)> + 't {
        let found = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(text));
        let found = found.map(|found| (found.start(), found.end(), found.pattern().as_usize()));
        let found = found.filter(|(start, end, secret)| !self.digits[*secret].is_coincidence(text, *start, *end));
        // Several occurrences may be in one encoded text, whose ends are searched for once.
        let mut last = (0, 0);
        found.map(move |(start, end, secret)| {
            let rule = self.rules[secret];
            if !self.is_within_run[secret] {
                return (start, end, rule);
            }
            if !(last.0 <= start && end <= last.1) {
                last = encoded::whole_run(text, start, end);
            }
            (last.0, last.1, rule)
        })
    }

    /// The rule of the first occurrence in a text.
    pub(crate) fn first(&self, text: &[u8]) -> Option<usize> {
        let mut found = self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(text));
        let secret = found
            .find(|found| !self.digits[found.pattern().as_usize()].is_coincidence(text, found.start(), found.end()));
        secret.map(|found| self.rules[found.pattern().as_usize()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_texts_are_not_secrets() {
        for plain in ["", "hunt2", "postgres", "12345678", "beef1234", "cafe12345ab"] {
            assert!(is_common(plain.as_bytes()), "{plain}");
        }
        for secret in ["hunter2", "pass-word", "swordfish", "correcthorsebattery", "123456789012", "beef12345678"] {
            assert!(!is_common(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn overlapping_secrets_are_all_found() {
        let mut secrets = Secrets::default();
        for (secret, rule) in [("xyz123", 1), ("123uvw", 2), ("xyz123", 3), ("x", 4)] {
            secrets.add(secret.as_bytes(), rule, false).unwrap();
        }
        assert!(secrets.has_new() && secrets.is_empty());
        secrets.build().unwrap();
        assert!(!secrets.has_new() && !secrets.is_empty());
        let mut found: Vec<_> = secrets.find(b"xxyz123uvw").collect();
        found.sort_unstable();
        assert_eq!(found, [(1, 7, 1), (4, 10, 2)]);
        assert_eq!((secrets.first(b"..123uvw"), secrets.first(b"xyz12")), (Some(2), None));
    }

    #[test]
    fn secrets_of_user_rules_may_be_common() {
        let mut secrets = Secrets::default();
        for secret in ["abc", "letmein", "1234", "beef"] {
            secrets.add(secret.as_bytes(), 1, true).unwrap();
        }
        secrets.build().unwrap();
        let hash = "0123456789abcdef1234beef01234567a";
        for (text, count) in [("abc", 0), ("xletmeinx", 1), ("a1234,51234", 1), ("beefy", 1), (hash, 0)] {
            assert_eq!(secrets.find(text.as_bytes()).count(), count, "{text}");
            assert_eq!(secrets.first(text.as_bytes()).is_some(), count > 0);
        }
    }

    #[test]
    fn too_many_secrets_are_an_error() {
        let mut secrets = Secrets::default();
        let fill = |secrets: &mut Secrets| {
            (0..300u32)
                .try_for_each(|n| secrets.add(&[format!("{n}-").into_bytes(), vec![b'x'; 60_000]].concat(), 0, false))
        };
        let error = fill(&mut secrets).unwrap_err();
        assert_eq!(error.code, BundleCode::RedactionConflict);
    }
}
