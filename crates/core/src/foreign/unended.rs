//! Which values can't be whole, because one that breaks off leaves them open.

use crate::json::Cursor;

/// The most open objects and arrays that are remembered: no real source nests as deep.
const MAX_OPEN: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// The objects and arrays that a value leaves open where it stops being JSON. Each of them would stop there too, so that none has to be read again: without
/// this the work is the square of their number.
///
/// Those inside that are closed are whole values all the same.
#[derive(Default)]
pub(super) struct Unended {
    /// Offsets of their brackets, ascending.
    open: Vec<u64>,
    /// Whether there are more, between the last one of these and the end.
    has_more: bool,
    /// Where the value stops being JSON.
    end: u64,
}

impl Unended {
    /// Whether the object or array at `offset` is known to be open at the end.
    pub(super) fn leaves_open(&self, offset: u64) -> bool {
        let is_deeper = self.has_more && self.open.last().is_some_and(|last| *last < offset);
        offset < self.end && (is_deeper || self.open.binary_search(&offset).is_ok())
    }

    /// Remembers the value at `offset`, of which `text` is what is JSON. What stops earlier than the one before tells nothing new.
    pub(super) fn remember(&mut self, text: &[u8], offset: u64) {
        let end = offset + text.len() as u64;
        if end <= self.end {
            return;
        }
        self.open.clear();
        (self.has_more, self.end) = (false, end);
        // Number of open ones that are not remembered.
        let (mut more, mut at) = (0_u64, 0);
        while let Some(byte) = text.get(at) {
            at += 1;
            match byte {
                b'"' => at += Cursor::new(&text[at - 1..]).string().map_or(text.len(), |string| string.len() - 1),
                b'{' | b'[' if self.open.len() == MAX_OPEN => more += 1,
                b'{' | b'[' => self.open.push(offset + at as u64 - 1),
                b'}' | b']' if more > 0 => more -= 1,
                b'}' | b']' => drop(self.open.pop()),
                _ => {}
            }
        }
        self.has_more = more > 0;
    }
}
