//! What takes the items of lines while these are scanned.

use crate::jsonl::scan::{Cursor, Span};

/// Takes items while their lines are scanned, before it is known whether the line is one that adds an item: what follows may not even be JSON.
pub trait ItemSink {
    /// The next line begins at this offset in the file.
    fn begin_line(&mut self, offset: u64);

    /// Takes the object at the cursor, which moves behind it. `member` is called with each key, as it stands between its quotes, and the place
    /// of its value. Returns false if the object was not taken, whatever the reason, and the cursor has not moved; `member` may have been
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
