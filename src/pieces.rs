//! Splits the JSON text of a large result into pieces, so that no turn of the event loop parses more than one of them.
//!
//! The first piece is the text without most elements of its large arrays and objects. Each further piece has elements of one of them, in
//! order, and the path that leads to it. `Pieces` of the JavaScript library puts them together.

use session_tape_core::json::{Cursor, Nesting, NotJson};

/// Size in bytes up to which a text is parsed in one turn: V8 takes a millisecond or two.
const SMALL_BYTES: usize = 256 << 10;

/// Size in bytes of a piece. Smaller, because the first piece may have as much of each container.
const PIECE_BYTES: usize = 64 << 10;

/// How deep containers are looked into for large ones inside.
const MAX_DEPTH: usize = 6;

/// The pieces of a JSON text, or `None` if it is small enough to be parsed at once. No object in it that is split may have a key twice.
pub fn split_if_large(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    if text.len() > SMALL_BYTES { split(text, PIECE_BYTES) } else { None }
}

/// The pieces of a JSON text, each the text of an object: `{"partial":…}`, then `{"into":[…],"elements":[…]}` or
/// `{"into":[…],"members":{…}}`, then `{"whole":true}`.
///
/// A piece has about `most` bytes, or as many as one element has; the first piece may have as many of each container. `None` if the text is not JSON.
fn split(text: &[u8], most: usize) -> Option<Vec<Vec<u8>>> {
    let mut splitter =
        Splitter { text, most, rest: Vec::new(), path: Vec::new(), parts: Vec::new(), nesting: Nesting::default() };
    let mut cursor = Cursor::new(text);
    splitter.value(&mut cursor, true).and_then(|_| cursor.finish()).ok()?;
    let Splitter { rest, parts, .. } = splitter;
    let first = [b"{\"partial\":", &rest[..], b"}"].concat();
    let last = br#"{"whole":true}"#.to_vec();
    Some(std::iter::once(first).chain(parts).chain([last]).collect())
}

struct Splitter<'t> {
    text: &'t [u8],
    most: usize,
    /// The text read so far, without the elements that are in parts.
    rest: Vec<u8>,
    /// The path of the current value.
    path: Vec<Step<'t>>,
    parts: Vec<Vec<u8>>,
    nesting: Nesting,
}

/// A step of a path.
enum Step<'t> {
    /// A key, still escaped and without its quotes.
    Key(&'t [u8]),
    Index(usize),
}

/// An array or object that is being read.
struct Container {
    /// `elements` or `members`.
    name: &'static str,
    brackets: [u8; 2],
    /// Where its elements that can be moved to a part begin in the rest.
    from: usize,
    /// Whether elements were moved to parts. All later ones must be, since parts are appended.
    is_split: bool,
    count: usize,
}

impl<'t> Splitter<'t> {
    /// Moves over a value and appends it to the rest. Returns whether something in it was moved to parts.
    fn value(&mut self, cursor: &mut Cursor<'t>, may_split: bool) -> Result<bool, NotJson> {
        let start = cursor.position();
        let (name, brackets) = match cursor.peek() {
            Some(b'{') => ("members", *b"{}"),
            Some(b'[') => ("elements", *b"[]"),
            _ => ("", [0; 2]),
        };
        if name.is_empty() || !may_split || self.path.len() >= MAX_DEPTH {
            cursor.value(&mut self.nesting)?;
            self.rest.extend_from_slice(&self.text[start..cursor.position()]);
            return Ok(false);
        }
        self.rest.push(brackets[0]);
        let parts_before = self.parts.len();
        let mut container = Container { name, brackets, from: self.rest.len(), is_split: false, count: 0 };
        if brackets[0] == b'{' {
            cursor.object(|cursor, key| self.element(&mut container, cursor, Step::Key(key)))?;
        } else {
            cursor.array(|cursor| {
                let index = Step::Index(container.count);
                self.element(&mut container, cursor, index)
            })?;
        }
        if container.is_split {
            self.move_to_part(&mut container);
        }
        self.rest.push(brackets[1]);
        Ok(self.parts.len() > parts_before)
    }

    fn element(&mut self, container: &mut Container, cursor: &mut Cursor<'t>, step: Step<'t>) -> Result<(), NotJson> {
        if self.rest.len() > container.from || (!container.is_split && container.count > 0) {
            self.rest.push(b',');
        }
        if let Step::Key(_) = step {
            step.append_to(&mut self.rest);
            self.rest.push(b':');
        }
        self.path.push(step);
        let has_parts = self.value(cursor, !container.is_split)?;
        self.path.pop();
        container.count += 1;
        if has_parts {
            // It stays, and so does what is before it: parts lead to it.
            container.from = self.rest.len();
        } else if self.rest.len() - container.from >= self.most {
            self.move_to_part(container);
        }
        Ok(())
    }

    /// Moves the elements that can be moved from the rest to a part.
    fn move_to_part(&mut self, container: &mut Container) {
        let elements = self.rest.split_off(container.from);
        let elements = elements.strip_prefix(b",").unwrap_or(&elements);
        container.is_split = true;
        if elements.is_empty() {
            return;
        }
        let [open, close] = container.brackets;
        let mut part = br#"{"into":["#.to_vec();
        for (index, step) in self.path.iter().enumerate() {
            if index > 0 {
                part.push(b',');
            }
            step.append_to(&mut part);
        }
        for text in [br#"],""#, container.name.as_bytes(), b"\":", &[open], elements, &[close], b"}"] {
            part.extend_from_slice(text);
        }
        self.parts.push(part);
    }
}

impl Step<'_> {
    /// Appends the step as JSON.
    fn append_to(&self, json: &mut Vec<u8>) {
        match self {
            Step::Key(key) => {
                json.push(b'"');
                json.extend_from_slice(key);
                json.push(b'"');
            }
            Step::Index(index) => json.extend_from_slice(index.to_string().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
