//! The text of a line, of which long values may not be in memory.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use super::edits::{ITEM_MARKER, MARKER};
use super::event::Raw;
use super::item::{Marker, marker_of, seq_of};
use crate::json::{Cursor, Nesting, NotJson, Span, is_blank_string};
use crate::lines::{Abridged, Element, LineSource, Needed, ReadError, SCALAR, each_element};

/// Length in bytes from which on an item is not read as a whole to find its marker.
const LONG_ITEM_BYTES: usize = if cfg!(test) { 256 } else { 4 << 20 };

/// The text of a line or of a part of it.
#[derive(Clone, Copy)]
pub struct LineText<'a> {
    /// The text, in its abridged form if it is long.
    bytes: &'a [u8],
    /// The file in which it is, if it is part of a line that is not in memory.
    file: Option<&'a InFile<'a>>,
}

/// Where a text is that is not in memory as a whole.
#[derive(Clone, Copy)]
pub(crate) struct InFile<'a> {
    source: &'a LineSource,
    /// The place of the line in the file.
    line: u64,
    /// The place of the text in the file.
    offset: u64,
    /// The abridged form of the text.
    abridged: Option<&'a Abridged>,
    failure: &'a Failure,
}

/// The first error of reading values of lines from a file.
#[derive(Default)]
pub(crate) struct Failure(Cell<Option<ReadError>>);

impl Failure {
    /// The value that was read; what stands for it if it could not be.
    fn or_note<T: Default>(&self, read: Result<T, ReadError>) -> T {
        read.unwrap_or_else(|error| {
            self.0.set(self.0.take().or(Some(error)));
            T::default()
        })
    }

    /// The error, if there was one.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        self.0.take().map_or(Ok(()), Err)
    }
}

impl<'a> From<&'a [u8]> for LineText<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        LineText { bytes, file: None }
    }
}

impl<'a> LineText<'a> {
    /// A line, without its ending. If it is in an abridged form, `file` says where the line is.
    pub(crate) fn of(bytes: &'a [u8], file: Option<&'a InFile<'a>>) -> Self {
        LineText { bytes, file }
    }

    /// The text, in its abridged form if it is long.
    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The place in the line of a part of the text.
    pub(crate) fn place(self, part: Span) -> Span {
        let Some(file) = self.file else { return part };
        let whole = |at: u64| file.offset - file.line + file.abridged.map_or(at, |abridged| abridged.whole_offset(at));
        // The last byte, because something may be left out behind it.
        let end = u64::from(part.end).checked_sub(1).map_or(0, |last| whole(last) + 1);
        // Shorter than any line may be.
        Span { start: whole(u64::from(part.start)) as u32, end: end as u32 }
    }

    /// The value at this place in the line.
    #[inline]
    pub(crate) fn whole(self, place: Span) -> Cow<'a, [u8]> {
        match self.file {
            None => Cow::Borrowed(place.of(self.bytes)),
            Some(file) => Cow::Owned(file.read(place)),
        }
    }

    /// The same, owned.
    #[inline]
    pub(crate) fn raw(self, place: Span) -> Raw {
        match self.file {
            None => place.of(self.bytes).into(),
            Some(file) => file.read(place).into(),
        }
    }

    /// The marker of the item at this place in the line.
    pub(crate) fn marker(self, item: Span) -> Option<Marker> {
        match self.file {
            None => marker_of(item.of(self.bytes)),
            Some(file) => {
                let marker = read_marker(file.source, file.range_of(item), &mut Vec::new());
                file.failure.or_note(marker)
            }
        }
    }

    /// Calls `take` with each element of a value of the text, and the place of the element in it. Of long ones that are not in memory there is what is
    /// `needed`. `None` if the value is not an array, or once `take` returns `None`.
    pub(crate) fn each_element(
        self,
        array: Span,
        needed: Needed,
        mut take: impl FnMut(LineText<'_>, Span) -> Option<()>,
    ) -> Option<()> {
        let mut cursor = Cursor::new(self.bytes);
        cursor.skip(array.start as usize);
        let Some(file) = self.file else {
            let mut nesting = Nesting::default();
            let whole = cursor.array(|cursor| {
                let element = cursor.value(&mut nesting)?;
                take(self, element).ok_or(NotJson)
            });
            return whole.ok().map(drop);
        };
        (cursor.peek() == Some(b'[')).then_some(())?;
        let mut result = Some(());
        let read = each_element(file.source, file.range_of(self.place(array)), needed, |element| {
            let Element { bytes, offset, abridged } = element;
            let start = bytes.len() - bytes.trim_ascii_start().len();
            let value = Span { start: start as u32, end: bytes.trim_ascii_end().len() as u32 };
            result = take(LineText { bytes, file: Some(&InFile { offset, abridged, ..*file }) }, value);
            result.is_some()
        });
        file.failure.or_note(read);
        result
    }

    /// Whether a part of the text is not in memory.
    pub(super) fn is_in_file(self) -> bool {
        self.file.is_some()
    }

    /// Whether all elements of an array are strings, given that those are which are in memory.
    pub(super) fn has_only_strings(self, array: Span) -> bool {
        self.file.is_none() || self.has_only_strings_in_file(array)
    }

    #[cold]
    fn has_only_strings_in_file(self, array: Span) -> bool {
        let is_string = |text: LineText<'_>, element: Span| element.of(text.bytes).starts_with(b"\"").then_some(());
        self.each_element(array, SCALAR, is_string).is_some()
    }

    /// The first bytes of a part of the text, at least this many if it is not shorter.
    pub(crate) fn beginning(self, part: Span, length: usize) -> Cow<'a, [u8]> {
        match self.file {
            None => Cow::Borrowed(part.of(self.bytes)),
            Some(file) => {
                let Span { start, end } = self.place(part);
                let most = u32::try_from(length).unwrap_or(u32::MAX);
                Cow::Owned(file.read(Span { start, end: end.min(start.saturating_add(most)) }))
            }
        }
    }

    /// Whether a string is blank.
    pub(super) fn is_blank(self, string: Span) -> bool {
        match self.file {
            None => super::inside_string(string.of(self.bytes)).is_none_or(is_blank_string),
            Some(file) => {
                let Range { start, end } = file.range_of(self.place(string));
                file.failure.or_note(is_blank_in(file.source, start + 1..end - 1))
            }
        }
    }
}

impl<'a> InFile<'a> {
    /// The line at `offset` of a file, of which there is the abridged form. If reading its values fails, the error is left in `failure`, and what was read of
    /// the line must not be used.
    pub(crate) fn line(abridged: &'a Abridged, offset: u64, source: &'a LineSource, failure: &'a Failure) -> Self {
        InFile { source, line: offset, offset, abridged: Some(abridged), failure }
    }

    fn range_of(self, place: Span) -> Range<u64> {
        self.line + u64::from(place.start)..self.line + u64::from(place.end)
    }

    #[cold]
    fn read(self, place: Span) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.source.append_bytes_at(self.range_of(place).start, place.len(), &mut bytes);
        self.failure.or_note(read);
        bytes
    }
}

/// The marker of the item at this place of a file.
pub(crate) fn read_marker(
    source: &LineSource,
    item: Range<u64>,
    scratch: &mut Vec<u8>,
) -> Result<Option<Marker>, ReadError> {
    let length = usize::try_from(item.end - item.start).unwrap_or(usize::MAX);
    if length < LONG_ITEM_BYTES {
        return Ok(marker_of(source.bytes_at(item.start, length, scratch)?));
    }
    let abridged = Abridged::of(source, item, ITEM_MARKER)?;
    let whole = |at: u32| abridged.whole_offset(u64::from(at)) as u32;
    Ok(marker_of(abridged.bytes()).map(|Marker { place, key }| Marker {
        place: Span { start: whole(place.start), end: whole(place.end - 1) + 1 },
        key,
    }))
}

/// The key in the marker at this place of a file.
pub(crate) fn read_seq(source: &LineSource, marker: Range<u64>) -> Result<Option<u64>, ReadError> {
    Ok(seq_of(Abridged::of(source, marker, MARKER)?.bytes()))
}

/// Number of bytes of a string that are looked at together.
const BLANK_BYTES: usize = if cfg!(test) { 16 } else { 64 << 10 };

/// Whether the inside of a string at this place of a file is blank.
#[cold]
fn is_blank_in(source: &LineSource, mut inside: Range<u64>) -> Result<bool, ReadError> {
    let mut block = Vec::new();
    while !inside.is_empty() {
        let length = BLANK_BYTES.min(usize::try_from(inside.end - inside.start).unwrap_or(usize::MAX));
        block.clear();
        source.append_bytes_at(inside.start, length, &mut block)?;
        let is_last = inside.start + length as u64 == inside.end;
        let end = if is_last { length } else { end_of_characters(&block) };
        if !is_blank_string(&block[..end]) {
            return Ok(false);
        }
        inside.start += end.max(1) as u64;
    }
    Ok(true)
}

/// The end of the last character or escape of the text that is certainly complete.
fn end_of_characters(text: &[u8]) -> usize {
    const LONGEST: usize = 6;
    let tail = text.len().saturating_sub(LONGEST);
    let begins = |byte: &u8| *byte == b'\\' || *byte >= 0xc0;
    text[tail..].iter().rposition(begins).map_or(text.len(), |at| tail + at)
}
