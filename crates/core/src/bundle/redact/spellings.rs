//! Encodings of a secret that can be searched for without decoding what is around them: base64, base64url, hex digits, UTF-16, marks that
//! are doubled, and `\u{e4}`.

use base64ct::{Base64, Base64Url, Encoding};

use crate::order;

/// The shortest secret whose encodings are searched for. Those of shorter ones occur by coincidence.
const MIN_BYTES: usize = 6;

/// The longest.
pub(super) const MAX_BYTES: usize = 4 << 10;

/// An encoding of a secret, as a part of an encoded text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    /// The bytes to search for.
    pub bytes: Vec<u8>,
    /// Whether it stands in a longer encoded text, which is removed as a whole.
    pub is_within_run: bool,
}

/// The encodings of a secret.
pub(super) fn spellings(secret: &[u8]) -> Vec<Spelling> {
    if secret.len() < MIN_BYTES || secret.len() > MAX_BYTES {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut add = |bytes: Vec<u8>, is_within_run| all.push(Spelling { bytes, is_within_run });
    let wide = wide(secret);
    for text in [Some(secret), wide.as_ref().map(|[little, _]| &little[..]), wide.as_ref().map(|[_, big]| &big[..])]
        .into_iter()
        .flatten()
    {
        for offset in 0..3 {
            add(base64::<Base64>(text, offset), true);
            add(base64::<Base64Url>(text, offset), true);
        }
        let hex = const_hex::encode(text);
        add(hex.to_ascii_uppercase().into_bytes(), true);
        add(hex.into_bytes(), true);
    }
    for text in wide.into_iter().flatten() {
        add(text, false);
    }
    if secret.contains(&b' ') {
        add(secret.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect(), false);
    }
    escaped(secret).into_iter().for_each(|text| add(text, false));
    order::sort_by(&mut all, |a, b| a.bytes.cmp(&b.bytes));
    all.dedup();
    all
}

/// The secret as programs write it that double a mark instead of escaping it, as YAML, SQL, CSV and INI have it, and with the escapes that
/// Rust, JavaScript and PHP need for characters that are not ASCII. Those of all characters would double the memory of the search.
fn escaped(secret: &[u8]) -> Vec<Vec<u8>> {
    let doubled = |marks: &[u8]| -> Vec<u8> {
        let times = |byte: u8| if marks.contains(&byte) { 2 } else { 1 };
        secret.iter().flat_map(|byte| std::iter::repeat_n(*byte, times(*byte))).collect()
    };
    let mut all: Vec<_> = [&b"'"[..], b"\"", b"%", b"%'", b"%\""].into_iter().map(doubled).collect();
    if let Ok(text) = std::str::from_utf8(secret) {
        let escape = |c: char| c.escape_unicode().to_string();
        all.push(text.chars().map(|c| if c.is_ascii() { c.to_string() } else { escape(c) }).collect::<String>().into());
    }
    all.retain(|text| text != secret);
    all
}

/// The digits that depend on the secret alone if it stands `offset` bytes after a multiple of three.
fn base64<E: Encoding>(secret: &[u8], offset: usize) -> Vec<u8> {
    let padded = [&[0, 0, 0][..offset], secret].concat();
    let encoded = E::encode_string(&padded).into_bytes();
    let (start, end) = ((offset * 8).div_ceil(6), padded.len() * 8 / 6);
    encoded[start..end].to_vec()
}

/// A text in UTF-16, little-endian and big-endian.
fn wide(secret: &[u8]) -> Option<[Vec<u8>; 2]> {
    let text = std::str::from_utf8(secret).ok()?;
    Some([
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_found_with_doubled_marks_and_with_the_escapes_of_programs() {
        for (secret, written) in [
            ("it's9x", "it''s9x"),
            ("ab\"cd9", "ab\"\"cd9"),
            ("100%sure", "100%%sure"),
            ("a'b%c'd", "a''b%%c''d"),
            ("pässwort", r"p\u{e4}sswort"),
        ] {
            let found = spellings(secret.as_bytes()).into_iter().find(|it| it.bytes == written.as_bytes());
            assert_eq!(found.map(|it| it.is_within_run), Some(false), "{secret}");
        }
    }

    proptest! {
        #[test]
        fn a_secret_is_found_in_every_encoding_of_a_text_around_it(
            before in "[ -~]{0,9}", secret in "[!-~é]{6,20}", after in "[ -~]{0,9}",
        ) {
            let text = format!("{before}{secret}{after}");
            let found = |encoded: &[u8]| spellings(secret.as_bytes()).iter().any(|it| memchr::memmem::find(encoded, &it.bytes).is_some());
            prop_assert!(found(Base64::encode_string(text.as_bytes()).as_bytes()));
            prop_assert!(found(Base64Url::encode_string(text.as_bytes()).as_bytes()));
            prop_assert!(found(const_hex::encode(&text).as_bytes()));
            let [little, big] = wide(text.as_bytes()).unwrap();
            prop_assert!(found(&little) && found(&big));
            prop_assert!(found(Base64::encode_string(&little).as_bytes()));
        }
    }
}
