//! Visits the keys, strings and numbers of a JSON text, without recursion: each level of nesting takes one byte.

use std::ops::Range;

use crate::json::{Cursor, Nesting, NotJson};

/// The maximum number of steps in a path or a pointer. Values nested deeper have the path of their ancestor at this depth.
pub(super) const MAX_STEPS: usize = 64;

/// A step from a value to one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a member of an object: its key, without the quotes and with its escapes.
    Key(&'a [u8]),
    /// To an element of an array.
    Index(usize),
}

/// A visited part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonPart {
    /// A key. Its path is that of its object.
    Key,
    /// A string that is a value.
    Text,
    /// A number.
    Number,
}

/// The place of a part in its document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentPlace<'p, 'a> {
    /// The steps from the root, at most [`MAX_STEPS`].
    pub path: &'p [Step<'a>],
    /// Whether the part is nested deeper than the path.
    pub is_deep: bool,
}

impl<'a> DocumentPlace<'_, 'a> {
    /// The key of the value; `None` for elements of arrays and for values nested too deep.
    pub(crate) fn key(&self) -> Option<&'a [u8]> {
        match self.path.last().filter(|_| !self.is_deep) {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }
}

/// Whether a text is one JSON value.
pub(super) fn is_json(text: &[u8]) -> bool {
    if text.len() > u32::MAX as usize {
        return false;
    }
    let mut cursor = Cursor::new(text);
    cursor.white_space();
    cursor.value(&mut Nesting::default()).and_then(|_| cursor.finish()).is_ok()
}

/// Calls `visit` for every part of a JSON text, in order, with its range in the text; ranges of strings exclude the quotes.
///
/// A text that is not one JSON value is visited up to an arbitrary place.
pub(super) fn visit_parts<'a, E>(
    text: &'a [u8],
    mut visit: impl FnMut(JsonPart, DocumentPlace<'_, 'a>, Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let mut walk = Walk { text, at: 0, levels: Vec::new(), path: Vec::new() };
    while let Some((part, range)) = walk.next() {
        let is_deep = walk.levels.len() > MAX_STEPS;
        // The last step is the key itself.
        let steps = walk.path.len() - usize::from(part == JsonPart::Key && !is_deep && !walk.path.is_empty());
        visit(part, DocumentPlace { path: &walk.path[..steps], is_deep }, range)?;
    }
    Ok(())
}

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    /// The open brackets.
    levels: Vec<u8>,
    /// A step for each of the first [`MAX_STEPS`] of them.
    path: Vec<Step<'a>>,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Option<(JsonPart, Range<usize>)> {
        loop {
            let byte = *self.text.get(self.at)?;
            match byte {
                b'"' => {
                    let range = self.string().ok()?;
                    if self.levels.last() == Some(&b'{') && self.is_before_colon() {
                        self.set_last_step(Step::Key(&self.text[range.clone()]));
                        return Some((JsonPart::Key, range));
                    }
                    return Some((JsonPart::Text, range));
                }
                b'{' | b'[' => {
                    self.levels.push(byte);
                    if self.levels.len() <= MAX_STEPS {
                        self.path.push(if byte == b'{' { Step::Key(b"") } else { Step::Index(0) });
                    }
                    self.at += 1;
                }
                b'}' | b']' => {
                    if self.levels.len() <= MAX_STEPS {
                        self.path.pop();
                    }
                    self.levels.pop()?;
                    self.at += 1;
                }
                b',' => {
                    if self.levels.len() <= MAX_STEPS
                        && let Some(Step::Index(index)) = self.path.last_mut()
                    {
                        *index += 1;
                    }
                    self.at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let start = self.at;
                    let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                    self.at += self.text[start..].iter().take_while(|byte| is_part(byte)).count();
                    return Some((JsonPart::Number, start..self.at));
                }
                _ => self.at += 1,
            }
        }
    }

    fn set_last_step(&mut self, step: Step<'a>) {
        if self.levels.len() <= MAX_STEPS
            && let Some(last) = self.path.last_mut()
        {
            *last = step;
        }
    }

    fn string(&mut self) -> Result<Range<usize>, NotJson> {
        let span = Cursor::new(&self.text[self.at..]).string()?;
        let start = self.at + 1;
        self.at += span.end as usize;
        Ok(start..self.at - 1)
    }

    fn is_before_colon(&self) -> bool {
        let rest = &self.text[self.at..];
        rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) == Some(&b':')
    }
}

#[cfg(test)]
mod tests;
