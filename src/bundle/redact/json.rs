//! The strings of a JSON text and where they are, without recursion: nesting costs a byte a level.

use std::ops::Range;

use crate::jsonl::scan::{Cursor, Nesting, NotJson};

/// The most steps in a path, and in a pointer. What lies deeper in a document has no path of its own.
pub const MAX_STEPS: usize = 64;

/// A step from a value to one in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a member: its key as it stands between the quotes.
    Key(&'a [u8]),
    /// To an element.
    Index(usize),
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPart {
    /// A key of an object, whose path this is.
    Key,
    /// A string that is a value.
    Text,
    /// A number.
    Number,
}

/// Where a part is.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p, 'a> {
    /// The steps to it, no more than [`MAX_STEPS`].
    pub path: &'p [Step<'a>],
    /// Whether it lies deeper than its path tells.
    pub is_deep: bool,
}

impl<'a> Place<'_, 'a> {
    /// The key under which it stands; None in an array, and where it lies too deep.
    pub fn key(&self) -> Option<&'a [u8]> {
        match self.path.last().filter(|_| !self.is_deep) {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }
}

/// Whether a text is one JSON value.
pub fn is_json(text: &[u8]) -> bool {
    if text.len() > u32::MAX as usize {
        return false;
    }
    let mut cursor = Cursor::new(text);
    cursor.white_space();
    cursor.value(&mut Nesting::default()).and_then(|_| cursor.finish()).is_ok()
}

/// Shows `visit` every part of a JSON text in order: where it is, and its range, of strings without the quotes.
///
/// The text must be one JSON value; what is not is read as far as it goes.
pub fn parts<'a, E>(
    text: &'a [u8],
    mut visit: impl FnMut(JsonPart, Place<'_, 'a>, Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let mut walk = Walk { text, at: 0, levels: Vec::new(), path: Vec::new() };
    while let Some((part, range)) = walk.next() {
        let is_deep = walk.levels.len() > MAX_STEPS;
        // The path of a key is that of the object it is in.
        let known = walk.path.len() - usize::from(part == JsonPart::Key && !is_deep && !walk.path.is_empty());
        visit(part, Place { path: &walk.path[..known], is_deep }, range)?;
    }
    Ok(())
}

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    /// The open brackets.
    levels: Vec<u8>,
    /// A step for each of the first of them.
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
                        self.set(Step::Key(&self.text[range.clone()]));
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

    fn set(&mut self, step: Step<'a>) {
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
