//! The built-in rule for values given to a secret's name, whatever the value looks like: `DB_PASSWORD=…`, `"apiKey": "…"`,
//! `--token …`, `X-API-Key: …`, `<password>…</password>`.
//!
//! [`name`] decides what a secret's name is, [`place`] finds the value that a name is given, and [`value`] tells a secret from
//! variables, code, placeholders, states and prose. Each takes time proportional to the text, whatever the text.

mod name;
mod place;
mod value;
mod words;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use name::{Kind, Name};
use place::{Given, Notation};
pub(crate) use value::is_placeholder;

/// The name of the rule.
pub(crate) const NAME: &str = "named-secret";

/// Parts of names of which every name of a secret contains at least one.
pub(crate) const LITERALS: &[&str] = &[
    "assw",
    "ASSW",
    "assW",
    "assphr",
    "assPhr",
    "ASSPHR",
    "pwd",
    "Pwd",
    "PWD",
    "_pass",
    "_PASS",
    "Pass",
    "secr",
    "Secr",
    "SECR",
    "oken",
    "OKEN",
    "key",
    "Key",
    "KEY",
    "redential",
    "REDENTIAL",
    "auth",
    "Auth",
    "AUTH",
    "ookie",
    "OOKIE",
    "ession",
    "ESSION",
    "SESSID",
    "sessid",
    "asscode",
    "ASSCODE",
    "repass",
    "psk",
    "PSK",
];

/// How many bytes of a name are looked at on either side of a literal. Longer names are not those of secrets.
const MAX_NAME_SIDE: usize = 64;

/// Calls `found` with each value in `text` that is given to a secret's name, in order. `narrowed` gives the part of a value that may be one.
pub(crate) fn find(
    text: &[u8],
    narrowed: &dyn Fn(usize, usize) -> (usize, usize),
    found: &mut dyn FnMut(usize, usize),
) {
    static STEMS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let builder = &mut AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::DFA)).build(LITERALS).ok()
    });
    let Some(stems) = STEMS.as_ref() else { return };
    let mut from = 0;
    for stem in stems.find_iter(text) {
        // A value is not searched for names, nor a name twice.
        if stem.start() < from {
            continue;
        }
        let Some((start, end)) = identifier(text, stem.start(), stem.end()) else { continue };
        from = end;
        let Some(given) = place::given(text, start, end) else { continue };
        let Some(given) = given.narrowed(narrowed) else { continue };
        let setter = if text.get(end) == Some(&b'(') { setter(&text[start..end]) } else { 0 };
        let Some(name) = Name::parse(&text[start + setter..end]) else { continue };
        let secret = &text[given.start..given.end];
        if value::is_secret(&name, &given, secret) {
            found(given.start, given.end);
            from = given.end;
        } else if secret.len() > MAX_NAME_SIDE {
            from = given.end;
        }
    }
}

/// Whether a string that is the value of `key` is a secret.
pub(crate) fn is_secret_of(key: &[u8], text: &[u8]) -> bool {
    let last = key.rsplit(|byte| matches!(byte, b'.' | b':' | b'/')).next().unwrap_or(key);
    let Some(name) = Name::parse(last.trim_ascii()) else { return false };
    let given = Given {
        start: 0,
        end: text.len(),
        is_quoted: true,
        quote: b'"',
        notation: Notation::Member,
        ends_line: true,
        is_setting: false,
        is_after_colon: false,
    };
    value::is_secret(&name, &given, text)
}

/// Whether a secret does not occur by coincidence, so that it may be removed from wherever else it stands. Words do.
pub(crate) fn is_distinctive(secret: &[u8]) -> bool {
    value::is_distinctive(&String::from_utf8_lossy(secret))
}

/// Whether a string announces that the next one is a secret: a flag such as `--password`, or the name of a header.
pub(crate) fn announces_secret(text: &[u8]) -> bool {
    let bare = text.strip_prefix(b"--").or_else(|| text.strip_prefix(b"-"));
    let is_header = || text.contains(&b'-') && text[0].is_ascii_alphabetic();
    if text.len() > MAX_NAME_SIDE || !(bare.is_some() || is_header() || text.eq_ignore_ascii_case(b"authorization")) {
        return false;
    }
    Name::parse(bare.unwrap_or(text)).is_some()
}

/// Whether a string is a secret's name, as in `{"name": "DB_PASSWORD", "value": "…"}`.
pub(crate) fn is_name(text: &[u8]) -> bool {
    text.len() <= MAX_NAME_SIDE && Name::parse(text).is_some()
}

/// Whether a literal between `before` and `after`, in a text that may have escapes, may belong to a name that is given a value.
pub(crate) fn is_plausible(literal: &[u8], before: &[u8], after: &[u8]) -> bool {
    is_given(before, after) && is_name_around(literal, before, after)
}

/// Whether the identifier around a literal is a secret's name.
fn is_name_around(literal: &[u8], before: &[u8], after: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(2 * MAX_NAME_SIDE)..];
    let text = [near, literal, &after[..after.len().min(MAX_NAME_SIDE + 8)]].concat();
    let Some((start, end)) = identifier(&text, near.len(), near.len() + literal.len()) else { return false };
    // The letter of an escape is no part of the name.
    let escape = usize::from(start > 0 && text[start - 1] == b'\\');
    let escape = if escape == 1 && text[start] == b'u' { 5.min(end - start) } else { escape };
    let name = |from: usize| {
        let name = &text[(start + from).min(end)..end];
        let name = &name[name.iter().take_while(|byte| **byte == b'-').count()..];
        let setter = if text.get(end) == Some(&b'(') { setter(name) } else { 0 };
        Name::parse(&name[setter..])
    };
    match name(0) {
        Some(name) => {
            let is_id = start > 0 && text[start - 1] == b'"' && name.kind == Kind::Session && !name.is_cookie();
            let value = end.checked_sub(near.len() + literal.len()).and_then(|length| after.get(length..));
            !(is_id && value.is_some_and(is_plain_id))
        }
        None => escape > 0 && name(escape).is_some(),
    }
}

/// Whether a member of an object has an id that is no secret. Every session has such a member, and is not read again because of it.
fn is_plain_id(after: &[u8]) -> bool {
    after.strip_prefix(b"\":\"").is_some_and(|value| {
        let is_plain = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
        value.get(value.iter().take(MAX_NAME_SIDE).take_while(is_plain).count()) == Some(&b'"')
    })
}

fn is_given(before: &[u8], after: &[u8]) -> bool {
    let length = after.iter().take(MAX_NAME_SIDE + 1).take_while(|byte| is_identifier(**byte)).count();
    let rest = &after[length..];
    if rest.is_empty() || length > MAX_NAME_SIDE {
        return length <= MAX_NAME_SIDE;
    }
    let name = name_before(before);
    let line = &before[..before.len() - name.len()];
    let (mut spaces, mut is_quoted) = (0, false);
    for byte in rest.iter().take(24) {
        match byte {
            // An escape, or an encoded character.
            b'\\' | b'%' | b'&' | b'\t' => return true,
            // What may not be shown.
            0 | 8 | 0x1b | 0xc2 | 0xcd | 0xe2 | 0xef => return true,
            b'=' | b':' | b'|' | b'>' | b',' => return *byte != b',' || spaces == 0,
            b'(' => return setter(name) > 0,
            // The end of an element.
            b'<' => return rest.starts_with(b"</") || rest.starts_with(b"<\\"),
            b'"' | b'\'' | b'`' | b']' | b')' | b'*' | b'?' | b'!' | b'+' => is_quoted = true,
            b'v' | b'V' | b'c' if is_quoted => return true,
            b' ' | b'\r' | b'\n' => spaces += 1,
            _ => break,
        }
    }
    // A flag, a column of a table, a statement of a shell, a sentence.
    let is_statement =
        || [&b"ENV "[..], b"x ", b"ARG ", b"setenv ", b"define "].iter().any(|word| line.ends_with(word));
    spaces > 1 || spaces == 1 && (name.starts_with(b"-") || is_statement() || rest.starts_with(b" is "))
}

/// What is before a literal in the same name.
fn name_before(before: &[u8]) -> &[u8] {
    let length = before.iter().rev().take(MAX_NAME_SIDE).take_while(|byte| is_identifier(**byte)).count();
    let (line, name) = before.split_at(before.len() - length);
    // The letter of an escape is no part of the name.
    let escape = match name.first() {
        Some(b'u') if line.ends_with(b"\\") => 5.min(length),
        Some(_) if line.ends_with(b"\\") => 1,
        _ => 0,
    };
    &name[escape..]
}

/// The length of `set` or `with` before a name.
fn setter(name: &[u8]) -> usize {
    ["set", "with", "Set", "With"].iter().find(|word| name.starts_with(word.as_bytes())).map_or(0, |word| word.len())
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The whole identifier around a literal, without leading dashes. `None` if it is too long for a name.
fn identifier(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let before = text[..start].iter().rev().take(MAX_NAME_SIDE).take_while(|byte| is_identifier(**byte)).count();
    let after = text[end..].iter().take(MAX_NAME_SIDE).take_while(|byte| is_identifier(**byte)).count();
    if before == MAX_NAME_SIDE || after == MAX_NAME_SIDE {
        return None;
    }
    let (mut start, mut end) = (start - before, end + after);
    while start < end && text[start] == b'-' {
        start += 1;
    }
    while start < end && text[end - 1] == b'-' {
        end -= 1;
    }
    // Names of two words: `API key: …`, `session id: …`.
    let words = [&b"api "[..], b"access ", b"private ", b"secret "];
    let is_key = text[start..end].eq_ignore_ascii_case(b"key");
    let prefix = words.iter().find(|word| is_key && ends_with_ignoring_case(&text[..start], word));
    start -= prefix.map_or(0, |word| word.len());
    let is_session = text[start..end].eq_ignore_ascii_case(b"session");
    if is_session && text[end..].get(..3).is_some_and(|id| id.eq_ignore_ascii_case(b" id")) {
        end += 3;
    }
    Some((start, end))
}

fn ends_with_ignoring_case(text: &[u8], end: &[u8]) -> bool {
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

#[cfg(test)]
pub(super) mod tests;
