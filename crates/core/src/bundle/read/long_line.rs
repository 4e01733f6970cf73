//! The references of a long line, in memory that does not depend on its length: of each string only the beginning is kept, and of each object and array
//! only what a reference around it may need.

use std::collections::BTreeSet;

use crate::hash::Hash;
use crate::json::{Cursor, Nesting, spells};
use crate::session::media::{MAX_LEVELS, is_member_name, objects_in};

/// The longest string that is kept. No member of a reference that counts is longer.
const MAX_STRING_BYTES: usize = 1 << 10;

/// The most that is kept of a line. No line has more that is not made for it: members of the names that references have, again and again.
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
    /// The objects and arrays whose end is not reached.
    open: Vec<Level>,
    /// What the current member of the line names so far.
    found: BTreeSet<(Hash, u64)>,
    /// What its payload names.
    payload: BTreeSet<(Hash, u64)>,
    /// Whether it is no JSON, or nested too deep, so that it has no references.
    has_none: bool,
    nesting: Nesting,
}

/// An object or array.
struct Level {
    is_object: bool,
    is_first: bool,
    /// Where its current member or element begins in what is kept.
    part: usize,
}

/// More of a line than [`MAX_BYTES`] would have to be kept.
pub(super) struct TooLarge;

impl LongLine {
    /// Adds a piece.
    pub(super) fn add(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() && !self.has_none && self.kept.len() <= MAX_BYTES {
            let taken = match self.string {
                None => self.outside(piece),
                Some(start) => self.inside(start, piece),
            };
            piece = &piece[taken..];
        }
    }

    /// What the references of the line name, after its last piece: hash and number of bytes of each object.
    pub(super) fn objects(mut self) -> Result<BTreeSet<(Hash, u64)>, TooLarge> {
        if !self.has_none && self.kept.len() > MAX_BYTES {
            return Err(TooLarge);
        }
        let is_json = !self.has_none && self.open.is_empty() && is_value(&self.kept, &mut self.nesting);
        Ok(if is_json { self.payload } else { BTreeSet::new() })
    }

    /// Takes what is before the next string, and its quote.
    fn outside(&mut self, piece: &[u8]) -> usize {
        let quote = memchr::memchr(b'"', piece);
        for byte in &piece[..quote.unwrap_or(piece.len())] {
            if self.has_none {
                return piece.len();
            }
            self.structure(*byte);
        }
        if quote.is_some() {
            self.kept.push(b'"');
            (self.string, self.is_dropped) = (Some(self.kept.len()), false);
        }
        quote.map_or(piece.len(), |at| at + 1)
    }

    /// Takes a byte that is not in a string.
    fn structure(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.kept.push(byte);
                self.has_none |= self.open.len() > MAX_LEVELS;
                self.open.push(Level { is_object: byte == b'{', is_first: true, part: self.kept.len() });
            }
            b',' => self.end_part(false),
            b'}' | b']' => {
                self.end_part(true);
                self.has_none |= self.open.pop().is_none_or(|level| level.is_object != (byte == b'}'));
                self.kept.push(byte);
            }
            b' ' | b'\t' | b'\r' if self.kept.last() == Some(&b' ') => {}
            b'\t' | b'\r' => self.kept.push(b' '),
            _ => self.kept.push(byte),
        }
    }

    /// At the end of a member or an element: drops it, once its references are found, unless the object around it may be a part of one.
    fn end_part(&mut self, is_last: bool) {
        let is_in_line = self.open.len() == 1;
        let Some(level) = self.open.last_mut() else {
            self.has_none = true;
            return;
        };
        let mut cursor = Cursor::new(&self.kept[level.part..]);
        cursor.white_space();
        let is_empty = cursor.peek().is_none();
        // Nothing may stand in `{}`, but not before or behind a comma.
        self.has_none |= is_empty && !(is_last && level.is_first);
        let key = if level.is_object && !is_empty { cursor.key() } else { Ok(&b""[..]) };
        let Ok(key) = key else {
            self.has_none = true;
            return;
        };
        if !is_in_line && level.is_object && is_member_name(key) {
            if !is_last {
                self.kept.push(b',');
            }
        } else {
            let value = cursor.rest();
            self.has_none |= !is_empty && !is_value(value, &mut self.nesting);
            self.found.extend(objects_in(value));
            if is_in_line {
                let found = std::mem::take(&mut self.found);
                // Of two the last one counts.
                if level.is_object && spells(key, "payload") {
                    self.payload = found;
                }
            }
            self.kept.truncate(level.part);
            if is_last && self.kept.last() == Some(&b',') {
                self.kept.pop();
            }
        }
        (level.part, level.is_first) = (self.kept.len(), false);
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

/// Whether a text is one JSON value, with white space around it.
fn is_value(text: &[u8], nesting: &mut Nesting) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.white_space();
    cursor.value(nesting).and_then(|_| cursor.finish()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::media::NamedObjects;
    use proptest::prelude::*;

    fn objects_in_pieces(line: &[u8], cuts: &[usize]) -> BTreeSet<(Hash, u64)> {
        let (mut long, mut rest, mut cuts) = (LongLine::default(), line, cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            long.add(piece);
            rest = later;
        }
        assert!(long.kept.len() < 64 << 10, "{}", long.kept.len());
        long.objects().unwrap_or_default()
    }

    fn objects_at_once(line: &[u8]) -> BTreeSet<(Hash, u64)> {
        let mut named = NamedObjects::default();
        named.add_line(1, line);
        named.each().map(|object| (object.hash, object.bytes)).collect()
    }

    /// A reference to an object of this many bytes, with a member that has `inner`.
    fn reference(bytes: u32, inner: &str) -> String {
        let id = format!("sha256:{bytes:064x}");
        let base64 = bytes.div_ceil(3) * 4;
        let own = format!(
            r#""contentId":"{id}","mimeType":"image/png","byteLength":{bytes},"normalizedBase64Length":{base64}"#
        );
        format!(
            r#"{{"type":"media","x":{inner},"encoding" : "r\u0065ference",{own},"originalContentId":"{id}","selectedContentId":"{id}","originalObject":{{{own}}},"selectedObject":{{{own},"y":[1]}}}}"#
        )
    }

    fn value() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            8 => prop::sample::select(vec!["1", "null", "[]", "{}", "[ ]", "true", "\"data\""]).prop_map(str::to_owned),
            1 => prop::sample::select(vec!["", ",", "{\"a\"}", "[1,]", "1 2"]).prop_map(str::to_owned),
            4 => (0..1500usize, prop::sample::select(vec!["x", "\\\"", "\\\\", "é", "{", "[,"])).prop_map(|(count, unit)| format!("\"{}\"", unit.repeat(count))),
            8 => (1..9u32).prop_map(|bytes| reference(bytes, "0")),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(" , "))),
                prop::collection::vec(
                    (prop::sample::select(vec!["a", "data", "type", "originalObject", "payload"]), inner.clone()),
                    0..4
                )
                .prop_map(|members| {
                    let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
                (1..9u32, inner).prop_map(|(bytes, inner)| reference(bytes, &inner)),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_references_are_those_of_the_whole_line_whatever_the_pieces(
            values in prop::collection::vec((prop::sample::select(vec!["payload", "payload", "seq", "other"]), value()), 0..5),
            end in prop::sample::select(vec!["}", " }", "}", "} ", "}", ",}", "}}", "]", "", "}{}"]),
            cuts in prop::collection::vec(1..700usize, 1..8),
        ) {
            let members: Vec<_> = values.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let line = format!("{{{}{end}", members.join(","));
            prop_assert_eq!(objects_in_pieces(line.as_bytes(), &cuts), objects_at_once(line.as_bytes()));
        }
    }

    #[test]
    fn references_are_found_among_any_number_of_other_values() {
        for others in [vec!["{\"text\":\"t\"}"; 100_000].join(","), vec!["1"; 300_000].join(" , "), reference(7, "1")] {
            let line = format!(r#"{{"payload":{{"a":[{others},{}],"b":{{"c":[{others}]}}}}}}"#, reference(5, "[[1]]"));
            let found = objects_in_pieces(line.as_bytes(), &[1 << 12]);
            assert_eq!(found, objects_at_once(line.as_bytes()));
            assert!(!found.is_empty());
        }
    }

    #[test]
    fn a_line_that_would_take_too_much_memory_is_an_error() {
        let mut long = LongLine::default();
        long.add(br#"{"payload":{"#);
        (0..20).for_each(|_| long.add(&br#""type":"media","#.repeat(1 << 16)));
        assert!(long.kept.len() <= MAX_BYTES + 64);
        assert!(long.objects().is_err());
    }

    #[test]
    fn what_is_nested_too_deep_takes_little_memory() {
        let mut long = LongLine::default();
        (0..200).for_each(|_| long.add(&[b'['; 1 << 20]));
        assert!(long.open.len() <= MAX_LEVELS + 2);
        assert!(long.objects().is_ok_and(|objects| objects.is_empty()));
    }
}
