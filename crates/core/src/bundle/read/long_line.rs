//! A long line without the content of its longer strings, so that the memory for it does not depend on these: most of a long line is one string.

/// The longest string that is kept. No member of a reference that counts is longer.
const MAX_STRING_BYTES: usize = 1 << 10;

/// The most that is kept of a line. Of one with more besides its longer strings only the beginning is kept, which is no JSON.
const MAX_BYTES: usize = 16 << 20;

/// A line that is read in pieces.
#[derive(Default)]
pub(super) struct LongLine {
    kept: Vec<u8>,
    /// Where the content of the string begins in which the last piece ended.
    string: Option<usize>,
    /// Whether that string is too long.
    is_dropped: bool,
    /// Whether the last byte was the `\\` of an escape.
    is_escaped: bool,
}

impl LongLine {
    /// Adds a piece.
    pub(super) fn add(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() && self.kept.len() <= MAX_BYTES {
            let taken = match self.string {
                None => self.outside(piece),
                Some(start) => self.inside(start, piece),
            };
            piece = &piece[taken..];
        }
    }

    /// What is kept.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.kept
    }

    /// Takes what is before the next string, and its quote.
    fn outside(&mut self, piece: &[u8]) -> usize {
        let quote = memchr::memchr(b'"', piece);
        let taken = quote.map_or(piece.len(), |at| at + 1);
        self.kept.extend_from_slice(&piece[..taken]);
        if quote.is_some() {
            (self.string, self.is_dropped) = (Some(self.kept.len()), false);
        }
        taken
    }

    /// Takes the content of a string, up to an escape or its quote.
    fn inside(&mut self, start: usize, piece: &[u8]) -> usize {
        let end = if std::mem::take(&mut self.is_escaped) { None } else { Some(memchr::memchr2(b'"', b'\\', piece)) };
        let taken = end.map_or(1, |end| end.map_or(piece.len(), |at| at + 1));
        let is_quote = end.is_some_and(|end| end.is_some() && piece[taken - 1] == b'"');
        self.is_escaped = end.is_some_and(|end| end.is_some()) && !is_quote;
        if !self.is_dropped {
            self.kept.extend_from_slice(&piece[..taken - usize::from(is_quote)]);
            self.is_dropped = self.kept.len() - start > MAX_STRING_BYTES;
        }
        if self.is_dropped {
            self.kept.truncate(start);
        }
        if is_quote {
            self.kept.push(b'"');
            self.string = None;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same value with its longer strings empty.
    fn shortened(value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value::{Array, Object, String as Text};
        match value {
            Text(text) if serde_json::to_string(&text).unwrap().len() - 2 > MAX_STRING_BYTES => Text(String::new()),
            Array(values) => Array(values.into_iter().map(shortened).collect()),
            Object(members) => Object(members.into_iter().map(|(key, value)| (key, shortened(value))).collect()),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn only_the_content_of_longer_strings_is_left_out_whatever_the_pieces(
            texts in prop::collection::vec((prop::sample::select(vec!["x", "\"", "\\", "é", "\u{1}", "{", "[1,\"a\"]"]), 0..1200usize), 0..8),
            cuts in prop::collection::vec(1..700usize, 1..8),
        ) {
            let texts: Vec<_> = texts.iter().map(|(unit, count)| unit.repeat(*count)).collect();
            let value = serde_json::json!({ "a": texts, "b": { "c": texts.first(), "d": 1.5 } });
            let line = value.to_string();
            let (mut long, mut rest, mut cuts) = (LongLine::default(), line.as_bytes(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                long.add(piece);
                rest = later;
            }
            prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(long.bytes()).unwrap(), shortened(value));
        }
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let mut long = LongLine::default();
        for _ in 0..200 {
            long.add(&[b'['; 1 << 20]);
        }
        assert!(long.bytes().len() <= MAX_BYTES + (1 << 20));
    }
}
