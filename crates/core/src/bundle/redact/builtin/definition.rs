//! What a built-in rule is.

use crate::bundle::redact::named;

/// A built-in rule.
#[derive(Debug)]
pub(crate) struct Builtin {
    /// The name of the rule.
    pub name: &'static str,
    /// The regular expression. Only its group `secret`, if it has one, is redacted.
    pub pattern: &'static str,
    /// Literals of which every match contains at least one.
    pub literals: &'static [&'static str],
    /// Lower-case parts of keys. The value of such a key is also matched as `key: value`.
    pub keys: &'static [&'static str],
    /// Decides whether a match is a secret.
    pub accepts: fn(&[u8]) -> bool,
}

/// A rule without further conditions.
pub(super) const fn pattern(name: &'static str, literals: &'static [&'static str], pattern: &'static str) -> Builtin {
    Builtin { name, pattern, literals, keys: &[], accepts: |_| true }
}

/// Whether a text is neither a variable nor a placeholder.
pub(super) fn is_given(secret: &[u8]) -> bool {
    let text = String::from_utf8_lossy(secret);
    !(text.starts_with(['$', '<', '{', '%', '['])
        || text == "value"
        || text == "password"
        || named::is_placeholder(&text))
}

/// Whether a text has a digit.
pub(super) fn has_digit(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_digit)
}

/// Whether what follows a prefix is made rather than written: it has a digit, or capitals as words do not have them.
pub(super) fn is_made(secret: &[u8]) -> bool {
    let end = &secret[secret.len().saturating_sub(20)..];
    let count = |test: fn(&[u8]) -> bool| end.windows(3).filter(|three| test(three)).count();
    let begins_word: fn(&[u8]) -> bool = |three| three[0].is_ascii_lowercase() && three[1].is_ascii_uppercase();
    let has_capitals: fn(&[u8]) -> bool =
        |three| three[0].is_ascii_lowercase() && three[1..].iter().all(u8::is_ascii_uppercase);
    has_digit(secret) || count(begins_word) >= 3 && count(has_capitals) > 0
}

/// Whether a part of a text between marks has letters and digits in turn, as neither words nor numbers have them.
pub(super) fn has_mixed_part(secret: &[u8]) -> bool {
    let turns = |part: &[u8]| part.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    let parts = secret.split(|byte| !byte.is_ascii_alphanumeric());
    parts.filter(|part| part.len() >= 12).any(|part| turns(part) >= 2)
}
