//! Receives the items of lines while the lines are scanned.

use crate::json::{Cursor, Span};

/// Takes items while their lines are scanned, before it is known whether a line adds an item: the rest of it may not even be JSON.
pub trait ItemSink {
    /// The next line begins at this offset in the file.
    fn begin_line(&mut self, offset: u64);

    /// Takes the object at the cursor, and moves the cursor past it. Calls `member` with each key, as written between its quotes, and the span
    /// of its value. Returns false if the object was not taken, for whatever reason; the cursor is then unchanged, but `member` may have been
    /// called.
    fn take(&mut self, cursor: &mut Cursor<'_>, member: impl FnMut(&[u8], Span)) -> bool;
}

/// Takes nothing.
pub struct NoItems;

impl ItemSink for NoItems {
    #[inline]
    fn begin_line(&mut self, _: u64) {}

    #[inline]
    fn take(&mut self, _: &mut Cursor<'_>, _: impl FnMut(&[u8], Span)) -> bool {
        false
    }
}
