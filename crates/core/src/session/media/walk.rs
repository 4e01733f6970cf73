//! Finds the references of a payload, at any depth, in one pass without recursion.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::reference::{Dimensions, Stored, objects_of};
use crate::json::{Cursor, Nesting, NotJson, spells};
use crate::session::format::{keys, number};

/// A text without these bytes has no reference: a recorder writes no white space around a colon, and escapes no letter.
static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""encoding":"reference""#));

/// The value of `encoding` as a writer that escapes no letter writes it.
static PLAIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""reference""#));

/// Begins the escape of a letter, and that of a character that needs one.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br"\u00"));

/// The most objects and arrays in each other. What is nested deeper has no references, so that the memory for a hostile text is bounded.
pub(crate) const MAX_LEVELS: usize = 1 << 20;

/// Whether a text of any writer may have a reference, whatever white space and escapes it has: most have none, which two searches find out.
pub(crate) fn could_have_reference(json: &[u8]) -> bool {
    let is_letter = |at: usize| matches!(json.get(at + 4), Some(b'6' | b'7'));
    PLAIN.find(json).is_some() || ESCAPE.find_iter(json).any(is_letter)
}

/// Whether a payload that a recorder has written may have a reference: most have none, which a search finds out.
#[inline]
pub(in crate::session) fn may_have_reference(payload: &[u8]) -> bool {
    MARK.find(payload).is_some()
}

/// Whether a payload, given as JSON text, has a reference.
pub(in crate::session) fn has_reference(payload: &[u8]) -> bool {
    may_have_reference(payload) && !references_of(payload).is_empty()
}

/// A reference of a payload.
#[derive(Clone)]
pub struct Reference<'a> {
    /// The object that it was made of.
    pub original: Stored<'a>,
    /// The object that is shown.
    pub selected: Stored<'a>,
    /// Its place in the text of the payload.
    pub place: Range<usize>,
}

impl<'a> Reference<'a> {
    /// The reference that a block is, given as JSON text.
    pub(crate) fn of_block(block: &'a [u8]) -> Option<Self> {
        if !could_have_reference(block) {
            return None;
        }
        references_of(block).pop().filter(|outermost| outermost.place == (0..block.len()))
    }
}

/// The references of a payload, given as JSON text, in the order of their ends. A text that is no JSON has none.
pub(super) fn references_of(payload: &[u8]) -> Vec<Reference<'_>> {
    let mut walk = Walk::default();
    match walk.walk(payload) {
        Ok(()) => walk.found,
        Err(NotJson) => Vec::new(),
    }
}

keys! {
    /// The members of references and of what is in them that are read.
    pub(super) Name {
        Type = "type", Encoding = "encoding", Data = "data", SourcePath = "sourcePath", ContentId = "contentId",
        OriginalContentId = "originalContentId", SelectedContentId = "selectedContentId",
        OriginalObject = "originalObject", SelectedObject = "selectedObject", MimeType = "mimeType",
        ByteLength = "byteLength", NormalizedBase64Length = "normalizedBase64Length", Dimensions = "dimensions",
        Width = "width", Height = "height",
    }
}

/// Whether a reader of references looks at members of this name, given without its quotes.
pub(crate) fn is_member_name(inside: &[u8]) -> bool {
    Name::of(inside) != Name::Other
}

/// A member of an object.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub name: Name,
    pub value: Value<'a>,
}

/// A value, as far as references need it.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    /// The inside of a string.
    Text(&'a [u8]),
    Number(f64),
    Stored(Stored<'a>),
    Dimensions(Dimensions),
    Other,
}

/// An object or array whose end is not reached.
struct Level {
    is_object: bool,
    /// Where it begins.
    start: usize,
    /// The name of the member that is being read.
    name: Name,
    /// The number of members that are kept for the levels around it.
    members_before: usize,
}

/// A walk over a value. It keeps those members of the open objects that a reference could have, so that it takes linear time however the value is nested.
#[derive(Default)]
struct Walk<'a> {
    open: Vec<Level>,
    members: Vec<Member<'a>>,
    nesting: Nesting,
    found: Vec<Reference<'a>>,
}

impl<'a> Walk<'a> {
    /// Finds the references of a value.
    fn walk(&mut self, json: &'a [u8]) -> Result<(), NotJson> {
        let mut cursor = Cursor::new(json);
        cursor.white_space();
        loop {
            if let Some(value) = self.begin(&mut cursor)?
                && self.end(&mut cursor, value)?
            {
                return Ok(());
            }
        }
    }

    /// Reads the next value. `None` if it is an object or an array that has something in it, whose first value is next then.
    fn begin(&mut self, cursor: &mut Cursor<'a>) -> Result<Option<Value<'a>>, NotJson> {
        let value = match cursor.peek() {
            Some(open @ (b'{' | b'[')) => {
                let (is_object, start) = (open == b'{', cursor.position());
                cursor.skip(1);
                cursor.white_space();
                if self.open.len() == MAX_LEVELS {
                    return Err(NotJson);
                }
                if cursor.peek() != Some(if is_object { b'}' } else { b']' }) {
                    let name = if is_object { Name::of(cursor.key()?) } else { Name::Other };
                    self.open.push(Level { is_object, start, name, members_before: self.members.len() });
                    return Ok(None);
                }
                cursor.skip(1);
                Value::Other
            }
            Some(b'"') => {
                let string = cursor.value_bytes(&mut self.nesting)?;
                Value::Text(&string[1..string.len() - 1])
            }
            _ => number(cursor.value_bytes(&mut self.nesting)?).map_or(Value::Other, Value::Number),
        };
        Ok(Some(value))
    }

    /// After a value: closes the objects and arrays that end with it, and moves to the next one. Returns whether there is none.
    fn end(&mut self, cursor: &mut Cursor<'a>, mut value: Value<'a>) -> Result<bool, NotJson> {
        while let Some(level) = self.open.last_mut() {
            if level.name != Name::Other {
                let member = Member { name: level.name, value };
                // Of two the last one counts.
                match self.members[level.members_before..].iter_mut().find(|known| known.name == member.name) {
                    Some(known) => *known = member,
                    None => self.members.push(member),
                }
            }
            cursor.white_space();
            let next = cursor.peek();
            cursor.skip(1);
            match (next, level.is_object) {
                (Some(b','), is_object) => {
                    cursor.white_space();
                    if is_object {
                        level.name = Name::of(cursor.key()?);
                    }
                    return Ok(false);
                }
                (Some(b'}'), true) | (Some(b']'), false) => value = self.close(cursor.position()),
                _ => return Err(NotJson),
            }
        }
        Ok(true)
    }

    /// Closes the innermost object or array, which ends at `end`. Returns what it is to the one around it.
    fn close(&mut self, end: usize) -> Value<'a> {
        let Some(level) = self.open.pop() else { return Value::Other };
        let own = &self.members[level.members_before..];
        if let Some([original, selected]) = objects_of(own) {
            self.found.push(Reference { original, selected, place: level.start..end });
        }
        let value = match self.open.last().filter(|_| level.is_object).map(|around| around.name) {
            Some(Name::OriginalObject | Name::SelectedObject) => Stored::of(own).map(Value::Stored),
            Some(Name::Dimensions) => Dimensions::of(own).map(Value::Dimensions),
            _ => None,
        };
        self.members.truncate(level.members_before);
        value.unwrap_or(Value::Other)
    }
}
