//! A compact form of texts that are hashes: a run keeps one for each node and each call.

use crate::hash::{as_text, from_hex, to_hex};
use crate::json::{Text, Writer};

/// A text that an event gives as a hash. It may be something else, which shows only when blobs are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredHash {
    /// 64 lower-case hex digits.
    Sha256([u8; 32]),
    /// Anything else.
    Other(Text<'static>),
}

impl StoredHash {
    /// Converts a text to its compact form.
    #[inline]
    pub fn of(text: &Text<'_>) -> Self {
        match from_hex(text.as_json().as_bytes()) {
            Some(hash) => StoredHash::Sha256(hash),
            None => StoredHash::Other(text.clone().into_owned()),
        }
    }

    /// Whether this is the form of `text`.
    pub fn is(&self, text: &Text<'_>) -> bool {
        *self == StoredHash::of(text)
    }

    /// Writes the text as a JSON string.
    pub(crate) fn write(&self, out: Writer<'_>) {
        match self {
            StoredHash::Sha256(hash) => out.text(as_text(&to_hex(hash))),
            StoredHash::Other(text) => out.text(text.as_json()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_hash_round_trips_every_text() {
        let digits = "0123456789abcdef".repeat(4);
        for text in [digits.as_str(), &digits.to_uppercase(), &digits[1..], "sha256:…", "\"\n"] {
            let (text, mut out) = (Text::from_plain(text), Vec::new());
            let stored = StoredHash::of(&text);
            stored.write(Writer::new(&mut out));
            assert_eq!(String::from_utf8(out).unwrap(), format!("\"{}\"", text.as_json()));
            assert!(stored.is(&text) && !stored.is(&Text::from_plain("other")));
        }
        assert!(matches!(StoredHash::of(&Text::from_plain(&digits)), StoredHash::Sha256(_)));
    }
}
