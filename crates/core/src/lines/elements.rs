//! The elements of a long array, read from the file one after another.

use std::ops::Range;

use super::abridged::{Abridged, Needed};
use super::source::{LineSource, ReadError};

/// Number of bytes read at a time. An element that does not fit is abridged.
const WINDOW_BYTES: usize = if cfg!(test) { 64 } else { 256 << 10 };

/// A value of a file.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    /// The value, in its abridged form if it is long, with the white space around it.
    pub bytes: &'a [u8],
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// The abridged form of which `bytes` are the bytes.
    pub abridged: Option<&'a Abridged>,
}

/// Calls `take` with each element of the array at this place of a file, of long ones with what is `needed`, until it returns false. The array must
/// have been scanned before.
pub(crate) fn each_element(
    source: &LineSource,
    place: Range<u64>,
    needed: Needed,
    mut take: impl FnMut(Element<'_>) -> bool,
) -> Result<(), ReadError> {
    let mut window = Window { buffer: vec![0; WINDOW_BYTES], filled: 0, base: place.start + 1, end: place.end };
    let (mut brackets, mut offset, mut long) = (Brackets::default(), window.base, None::<Abridged>);
    loop {
        // What is in the window belongs to the element, which was searched up to here.
        let searched = window.filled;
        window.fill(source)?;
        let Some(at) = brackets.end_of_element(&window.buffer[searched..window.filled]) else {
            if window.filled == window.buffer.len() {
                long.get_or_insert_with(|| Abridged::new(needed)).add(&window.buffer);
                window.discard(window.filled);
            }
            continue;
        };
        let mut end = searched + at;
        let mut start = 0;
        loop {
            let bytes = &window.buffer[start..end];
            let element = match &mut long {
                Some(abridged) => {
                    abridged.add(bytes);
                    abridged.end();
                    Element { bytes: abridged.bytes(), offset, abridged: Some(abridged) }
                }
                None => Element { bytes, offset, abridged: None },
            };
            let is_element = !element.bytes.trim_ascii().is_empty();
            if (is_element && !take(element)) || window.base + end as u64 + 1 >= place.end {
                return Ok(());
            }
            long = None;
            start = end + 1;
            offset = window.base + start as u64;
            match brackets.end_of_element(&window.buffer[start..window.filled]) {
                Some(at) => end = start + at,
                None => break,
            }
        }
        window.discard(start);
    }
}

/// A part of a file.
struct Window {
    /// The first `filled` bytes are those of the file from offset `base` on.
    buffer: Vec<u8>,
    filled: usize,
    base: u64,
    /// Nothing is read from this offset on.
    end: u64,
}

impl Window {
    /// Fills the buffer, at least by one byte.
    fn fill(&mut self, source: &LineSource) -> Result<(), ReadError> {
        let start = self.filled;
        let room = usize::try_from(self.end - self.base).unwrap_or(usize::MAX).min(self.buffer.len());
        while self.filled < room {
            match source.read_at(&mut self.buffer[self.filled..room], self.base + self.filled as u64)? {
                0 => break,
                count => self.filled += count,
            }
        }
        if self.filled == start { Err(ReadError::Changed) } else { Ok(()) }
    }

    fn discard(&mut self, count: usize) {
        self.buffer.copy_within(count..self.filled, 0);
        self.filled -= count;
        self.base += count as u64;
    }
}

/// Where the scan of an array is.
#[derive(Default)]
struct Brackets {
    /// The number of brackets of the element that are open.
    open: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Brackets {
    /// Scans the next bytes, and returns the offset of the one behind the element.
    fn end_of_element(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if self.is_escaped {
                self.is_escaped = false;
            } else if self.in_string {
                at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
                (self.in_string, self.is_escaped) = (bytes[at] != b'"', bytes[at] == b'\\');
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'[' | b'{' => self.open += 1,
                    b',' | b']' | b'}' if self.open == 0 => return Some(at),
                    b']' | b'}' => self.open -= 1,
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::abridged::SCALAR;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_array_that_ends_early_has_changed() {
        let source = LineSource::in_memory(b"[1,2".to_vec());
        let mut count = 0;
        let result = each_element(&source, 0..10, SCALAR, |_| {
            count += 1;
            true
        });
        assert_eq!((count, result), (1, Err(ReadError::Changed)));
    }

    #[test]
    fn numbers_keep_their_value() {
        let zeros = "0".repeat(2000);
        for number in
            [format!("0.{zeros}5"), format!("1{zeros}e-2000"), format!("7{zeros}"), format!("0.{}5", &zeros[..200])]
        {
            let source = LineSource::in_memory(format!("[{number}]").into_bytes());
            let mut values = Vec::new();
            each_element(&source, 0..number.len() as u64 + 2, SCALAR, |element| {
                values.push(String::from_utf8(element.bytes.to_vec()).unwrap().parse::<f64>().unwrap());
                true
            })
            .unwrap();
            assert_eq!(values, [number.parse::<f64>().unwrap()]);
        }
    }

    proptest! {
        #[test]
        fn elements_are_found_with_their_places(
            elements in proptest::collection::vec(
                prop_oneof![
                    Just("1".to_owned()),
                    Just(" [[], {\"a\":[1,2]}] ".to_owned()),
                    (0usize..600).prop_map(|length| format!("\"{}\\\\\\\",]\"", "x".repeat(length))),
                    (0usize..70).prop_map(|length| format!("{{\"k\":[{}1]}}", "2,".repeat(length))),
                ],
                0..40,
            ),
        ) {
            let text = format!("..[{}],]", elements.join(","));
            let source = LineSource::in_memory(text.clone().into_bytes());
            let mut offsets = Vec::new();
            each_element(&source, 2..text.len() as u64 - 2, SCALAR, |element| {
                offsets.push(element.offset);
                let kept = String::from_utf8(element.bytes.to_vec()).unwrap();
                let whole = &text[element.offset as usize..];
                assert!(whole.starts_with(&kept) || element.abridged.is_some(), "{kept}");
                assert!(kept.len() < 600, "{kept}");
                true
            }).unwrap();
            let mut expected = Vec::new();
            let mut at = 3;
            for element in &elements {
                expected.push(at);
                at += element.len() as u64 + 1;
            }
            prop_assert_eq!(offsets, expected);
        }
    }
}
