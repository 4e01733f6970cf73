//! Where a hit of a built-in rule may begin and end: within one string of the JSON around it, and not within an escape.

use std::cell::OnceCell;

use crate::bundle::redact::escapes::{escape_length, map_to_encoded};
use crate::bundle::redact::views::View;

/// The longest escape.
const MAX_ESCAPE: usize = 6;

/// A text, and the same text with one level of escapes more. In the latter, a quote without an escape ends a string: in the decoded text
/// it looks like those that the string contains.
pub(super) struct Edges<'t> {
    text: &'t [u8],
    before: Option<&'t [u8]>,
    quotes: OnceCell<Quotes>,
}

/// The quotes in a text that end or begin strings around a part of it.
struct Quotes {
    /// Those that had no escape before the text was decoded.
    outer: Vec<usize>,
    /// Those that have no escape, if the text is JSON.
    own: Vec<usize>,
}

impl<'t> Edges<'t> {
    /// The edges in `text`, which is `before` decoded.
    pub(crate) fn new(text: &'t [u8], before: Option<&'t [u8]>) -> Self {
        Edges { text, before, quotes: OnceCell::new() }
    }

    /// The part of a hit that lies within one string, and consists of whole escapes.
    pub(crate) fn narrowed(&self, start: usize, end: usize) -> (usize, usize) {
        let (start, end) = whole_escapes(self.text, start, end);
        let quotes = memchr::memchr_iter(b'"', &self.text[start..end.max(start)]).skip_while(|at| *at == 0);
        (start, quotes.map(|at| start + at).find(|at| self.is_end(start, *at)).unwrap_or(end))
    }

    /// The part of a hit in a view of the text that lies within one string.
    pub(crate) fn narrowed_in(&self, view: &View, start: usize, end: usize) -> (usize, usize) {
        let source_start = view.map(start, end).0;
        let quotes = memchr::memchr_iter(b'"', &view.text[start..end]).skip_while(|at| *at == 0).map(|at| start + at);
        let mut ends = quotes.filter(|at| {
            let (from, to) = view.map(*at, at + 1);
            to - from == 1 && self.is_end(source_start, from)
        });
        (start, ends.next().unwrap_or(end))
    }

    /// Whether the quote at `at` ends the string in which `start` is.
    fn is_end(&self, start: usize, at: usize) -> bool {
        let quotes = self.quotes.get_or_init(|| self.quotes());
        let is_in_string = || quotes.own.partition_point(|quote| *quote < start) % 2 == 1;
        quotes.outer.binary_search(&at).is_ok() || quotes.own.binary_search(&at).is_ok() && is_in_string()
    }

    fn quotes(&self) -> Quotes {
        let all = || memchr::memchr_iter(b'"', self.text);
        let outer = self.before.map(|before| {
            let mut ranges: Vec<_> = all().map(|at| (at, at + 1)).collect();
            map_to_encoded(before, &mut ranges);
            all().zip(ranges).filter(|(_, (start, end))| end - start == 1).map(|(at, _)| at).collect()
        });
        let own = if looks_like_json(self.text) {
            all().filter(|at| backslashes(&self.text[..*at]).is_multiple_of(2)).collect()
        } else {
            Vec::new()
        };
        Quotes { outer: outer.unwrap_or_default(), own }
    }
}

/// Moves the start of a range behind the escape in which it is, and its end before that.
fn whole_escapes(text: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    if let Some(after) = escape_around(text, start).map(|(_, after)| after) {
        start = after.min(end);
    }
    if let Some((before, _)) = escape_around(text, end) {
        end = before.max(start);
    }
    (start, end)
}

/// The range of the escape in the middle of which `at` is.
fn escape_around(text: &[u8], at: usize) -> Option<(usize, usize)> {
    (1..MAX_ESCAPE.min(at + 1)).find_map(|distance| {
        let from = at - distance;
        let is_escape = text.get(from) == Some(&b'\\') && backslashes(&text[..from]).is_multiple_of(2);
        let length = is_escape.then(|| escape_length(&text[from..])).flatten()?;
        (length > distance).then_some((from, from + length))
    })
}

/// The number of backslashes at the end of a text.
fn backslashes(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| **byte == b'\\').count()
}

/// Whether a text is JSON by its first character.
pub(super) fn looks_like_json(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'{' | b'['))
}
