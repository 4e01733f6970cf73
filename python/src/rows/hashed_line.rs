//! Lines with their hashes.

use session_tape_core::hash::{Hash, sha256};
use session_tape_core::lines::Lines;
use session_tape_core::session::read::RecordReader;

/// A line and its hash.
#[derive(Clone, Copy)]
pub(super) struct HashedLine<'l> {
    /// Its offset in the text.
    pub at: usize,
    /// Its bytes without `\n`.
    pub line: &'l [u8],
    /// Its bytes without the whole ending, `\n` or `\r\n`: these are hashed.
    pub content: &'l [u8],
    /// The hash of `content`.
    pub sha256: Hash,
}

/// The lines of a text, hashed one after the other.
pub(super) fn hashed_lines(text: &[u8]) -> impl Iterator<Item = HashedLine<'_>> {
    Lines::new(text).map(|(at, line)| {
        let content = RecordReader::content_of(line, at + line.len() < text.len());
        HashedLine { at, line, content, sha256: sha256([content]) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_the_content_without_its_line_ending() {
        let found: Vec<_> = hashed_lines(b"a\r\n\nb\n\rc\r").map(|line| (line.at, line.sha256)).collect();
        // Without a `\n`, a final `\r` is part of the content.
        assert_eq!(found, [(0, sha256([b"a"])), (3, sha256([b""])), (4, sha256([b"b"])), (6, sha256([b"\rc\r"]))]);
    }
}
