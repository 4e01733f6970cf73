//! Physical lines. A line ends at `\n` and nowhere else (`docs/session-format.md` section 2, rule 1): U+2028 is text, and
//! a `\r` before the `\n` is white space to every reader of the line, so it needs no care here.

/// The lines of a text, without their endings. A text that ends with `\n` has no empty line after it.
pub struct Lines<'a> {
    rest: &'a [u8],
    at: usize,
    newlines: memchr::Memchr<'a>,
}

impl<'a> Lines<'a> {
    /// The lines of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Lines { rest: bytes, at: 0, newlines: memchr::memchr_iter(b'\n', bytes) }
    }
}

impl<'a> Iterator for Lines<'a> {
    /// The offset of the line, and its bytes.
    type Item = (usize, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if let Some(end) = self.newlines.next() {
            self.at = end + 1;
            return Some((start, &self.rest[start..end]));
        }
        if start == self.rest.len() {
            return None;
        }
        self.at = self.rest.len();
        Some((start, &self.rest[start..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, &str)> {
        Lines::new(text.as_bytes()).map(|(at, line)| (at, std::str::from_utf8(line).unwrap())).collect()
    }

    #[test]
    fn only_a_newline_ends_a_line() {
        assert_eq!(lines(""), []);
        assert_eq!(lines("\n"), [(0, "")]);
        assert_eq!(lines("a\nb"), [(0, "a"), (2, "b")]);
        assert_eq!(lines("a\r\n\nb\n"), [(0, "a\r"), (3, ""), (4, "b")]);
        assert_eq!(lines("a\u{2028}b\rc"), [(0, "a\u{2028}b\rc")]);
    }
}
