//! The secrets that were found: each is removed wherever else it occurs, and it is proven that it occurs nowhere.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::bundle::error::{BundleCode, BundleError};

/// A shorter text occurs by chance, and is no secret.
const MIN_BYTES: usize = 6;

/// The same of what somebody's own rule found: who asks for it means it, whatever it looks like.
pub const MIN_BYTES_ASKED_FOR: usize = 4;

/// From this length on hex digits in a row are a hash, in which short ones occur by chance.
const MIN_HASH: usize = 32;

/// From this length on letters alone do not occur by chance: `postgres` is a word as well, `swordfish` stands where it was meant.
const MIN_LETTERS: usize = 9;

/// The same of digits, and of what may be a part of a hash.
const MIN_HEX_DIGITS: usize = 12;

/// A longer text is not looked for elsewhere.
pub const MAX_BYTES: usize = 64 << 10;

/// The most secrets, and the most bytes of them all together.
const MAX_COUNT: usize = 100_000;
const MAX_TOTAL_BYTES: usize = 16 << 20;

/// Secrets, each with the rule by which it was found.
#[derive(Debug, Default)]
pub struct Secrets {
    known: HashMap<Vec<u8>, usize>,
    bytes: usize,
    /// What finds those that were known when the round began, in the order of `rules`.
    automaton: Option<AhoCorasick>,
    rules: Vec<usize>,
    /// Of each whether it is made of a few digits or hex digits.
    digits: Vec<Digits>,
    longest: usize,
    /// How many there were then.
    built: usize,
}

/// Whether a text occurs by chance: too short, or a short one of letters alone, of digits alone, or like a part of a hash.
pub fn is_plain(text: &[u8]) -> bool {
    if text.len() < MIN_BYTES {
        return true;
    }
    let is_hex = || text.iter().all(is_hex_digit);
    let is_word = || text.iter().all(u8::is_ascii_alphabetic);
    (text.len() < MIN_HEX_DIGITS && is_hex()) || (text.len() < MIN_LETTERS && is_word())
}

/// What a secret is that could be a part of a number or of a hash.
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

    /// Whether it occurs by chance where it was found: in a longer number, or in a hash.
    fn are_by_chance(self, text: &[u8], start: usize, end: usize) -> bool {
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
    /// Notes a secret that `rule` found; whether somebody asked for it, by a rule of their own.
    pub fn note(&mut self, secret: &[u8], rule: usize, is_asked_for: bool) -> Result<(), BundleError> {
        let occurs_by_chance = if is_asked_for { secret.len() < MIN_BYTES_ASKED_FOR } else { is_plain(secret) };
        if occurs_by_chance || secret.len() > MAX_BYTES || self.known.contains_key(secret) {
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

    /// Whether there are more than those that are looked for.
    pub fn has_more(&self) -> bool {
        self.known.len() > self.built
    }

    /// From now on looks for all that are known.
    pub fn build(&mut self) -> Result<(), BundleError> {
        let mut all: Vec<_> = self.known.iter().collect();
        all.sort_unstable();
        self.rules = all.iter().map(|(_, rule)| **rule).collect();
        self.digits = all.iter().map(|(secret, _)| Digits::of(secret)).collect();
        self.longest = all.iter().map(|(secret, _)| secret.len()).max().unwrap_or(0);
        self.built = all.len();
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(all.iter().map(|(secret, _)| secret));
        let too_many = |error: aho_corasick::BuildError| {
            BundleError::new(
                BundleCode::RedactionConflict,
                format!("The secrets are too many to be looked for: {error}"),
            )
        };
        self.automaton = if all.is_empty() { None } else { Some(automaton.map_err(too_many)?) };
        Ok(())
    }

    /// Whether any are looked for.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// How many bytes the longest has.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Where in a text any of them is, and by which rule it was found.
    pub fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, usize, usize)> + 't {
        let found = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(text));
        let found = found.map(|found| (found.start(), found.end(), found.pattern().as_usize()));
        let meant = found.filter(|(start, end, secret)| !self.digits[*secret].are_by_chance(text, *start, *end));
        meant.map(|(start, end, secret)| (start, end, self.rules[secret]))
    }

    /// The rule of the first one in a text.
    pub fn first(&self, text: &[u8]) -> Option<usize> {
        self.find(text).next().map(|(_, _, rule)| rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_occurs_by_chance_is_not_looked_for() {
        for plain in ["", "hunt2", "postgres", "12345678", "beef1234", "cafe12345ab"] {
            assert!(is_plain(plain.as_bytes()), "{plain}");
        }
        for secret in ["hunter2", "pass-word", "swordfish", "correcthorsebattery", "123456789012", "beef12345678"] {
            assert!(!is_plain(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn secrets_that_overlap_are_all_found() {
        let mut secrets = Secrets::default();
        for (secret, rule) in [("xyz123", 1), ("123uvw", 2), ("xyz123", 3), ("x", 4)] {
            secrets.note(secret.as_bytes(), rule, false).unwrap();
        }
        assert!(secrets.has_more() && secrets.is_empty());
        secrets.build().unwrap();
        assert!(!secrets.has_more() && !secrets.is_empty());
        let mut found: Vec<_> = secrets.find(b"xxyz123uvw").collect();
        found.sort_unstable();
        assert_eq!(found, [(1, 7, 1), (4, 10, 2)]);
        assert_eq!((secrets.first(b"..123uvw"), secrets.first(b"xyz12")), (Some(2), None));
    }

    #[test]
    fn what_was_asked_for_is_looked_for_whatever_it_is() {
        let mut secrets = Secrets::default();
        for secret in ["abc", "letmein", "1234", "beef"] {
            secrets.note(secret.as_bytes(), 1, true).unwrap();
        }
        secrets.build().unwrap();
        let hash = "0123456789abcdef1234beef01234567a";
        for (text, count) in [("abc", 0), ("xletmeinx", 1), ("a1234,51234", 1), ("beefy", 1), (hash, 0)] {
            assert_eq!(secrets.find(text.as_bytes()).count(), count, "{text}");
            assert_eq!(secrets.first(text.as_bytes()).is_some(), count > 0);
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut secrets = Secrets::default();
        let fill = |secrets: &mut Secrets| {
            (0..300u32)
                .try_for_each(|n| secrets.note(&[format!("{n}-").into_bytes(), vec![b'x'; 60_000]].concat(), 0, false))
        };
        let error = fill(&mut secrets).unwrap_err();
        assert_eq!(error.code, BundleCode::RedactionConflict);
    }
}
